//! Command-line arguments: the settings of one VM, the driver's, and the broker's.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use control_api::{ApiError, Class, GpuRequest, Percent, Sharing, Timespan, VmSpec, number};
use serde::de::DeserializeOwned;

use super::library::DriverLibrary;
use super::policy::{EvictionMode, JailMode, OnExcess, Policy};
use super::ratio::Ratio;
use super::size::Size;
use super::vm::{Compute, Env, Max, Memory, Mps, Settings};

/// Default of `--memory-max`.
const DEFAULT_MEMORY: Size = Size(4 << 30);

/// Arguments for a single VM.
#[derive(Args, Clone, Debug)]
pub struct VmArgs {
    /// vhost-user socket to listen on
    #[arg(long, value_name = "PATH")]
    pub socket_path: PathBuf,
    /// Name of the VM in logs
    #[arg(long, value_name = "NAME", default_value = "vm")]
    pub name: String,
    /// Comma-separated GPUs: any, an index, or a UUID [default: any]
    #[arg(long, value_name = "GPUS", value_delimiter = ',')]
    pub gpus: Option<Vec<GpuRequest>>,
    /// Device memory limit on each GPU [default: 4G, or the GPU's memory if that is less]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub memory_max: Option<Size>,
    /// Device memory limit of one session on each GPU [default: the VM's limit]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub memory_session_max: Option<Size>,
    /// Share of GPU time relative to other VMs' weights, 1 to 10000 [default: 100]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u32>("compute.weight")
    )]
    pub compute_weight: Option<u32>,
    /// Cap on GPU time, 1% to 100%, even if the GPU is otherwise idle [default: 100%]
    #[arg(long, value_name = "PERCENT")]
    pub compute_max: Option<Percent>,
    /// Guaranteed GPU time while the VM has work, 0% to the cap [default: 0%]
    #[arg(long, value_name = "PERCENT")]
    pub compute_min: Option<Percent>,
    /// Longest time that a kernel may run, 1ms to 24h [default: unlimited]
    #[arg(long, value_name = "TIME")]
    pub compute_kernel_timeout: Option<Timespan>,
    /// Scheduling class: latency VMs go before batch VMs, within their share [default: batch]
    #[arg(long, value_name = "batch|latency", value_parser = word::<Class>)]
    pub class: Option<Class>,
    /// One VM at a time (exclusive), or several that trust one another at once (mps) [default:
    /// exclusive]
    #[arg(long, value_name = "exclusive|mps", value_parser = word::<Sharing>)]
    pub sharing: Option<Sharing>,
    /// With mps: share of the GPU's multiprocessors per session, 1% to 100% [default: all]
    #[arg(long, value_name = "PERCENT")]
    pub mps_active_thread_percentage: Option<Percent>,
    /// With mps: device memory limit per session, enforced by MPS [default: none]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub mps_pinned_memory_limit: Option<Size>,
    /// Enforce compute quotas; if off, the driver shares the GPU's time [default: on]
    #[arg(long, value_name = "on|off", value_parser = switch)]
    pub scheduler: Option<bool>,
    /// Evict kernels that outlast their VM's window, if the driver supports it, or never [default:
    /// auto]
    #[arg(long, value_name = "auto|off", value_parser = word::<EvictionMode>)]
    pub eviction: Option<EvictionMode>,
    /// Ratio of promised memory to the GPU's memory, 1.0 to 100.0 [default: 1.0]
    #[arg(long, value_name = "RATIO")]
    pub memory_overcommit: Option<Ratio>,
    /// How much more memory than the ledger NVML may report before it counts as an excess
    /// [default: 256M]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub memory_slack: Option<Size>,
    /// Reaction to an excess of memory: log it, or also end the session [default: end]
    #[arg(long, value_name = "log|end", value_parser = word::<OnExcess>)]
    pub memory_on_excess: Option<OnExcess>,
    /// Reaction if NVML reports more GPU time than was charged: log it, or also end the session
    /// [default: end]
    #[arg(long, value_name = "log|end", value_parser = word::<OnExcess>)]
    pub compute_on_excess: Option<OnExcess>,
    /// Socket for the control API [default: none]
    #[arg(long, value_name = "PATH")]
    pub control_socket: Option<PathBuf>,
    /// Number of guest processes that may use the device at once [default: 32]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u32>("sessions.max")
    )]
    pub sessions_max: Option<u32>,
    /// Number of front ends (VMMs) that may be connected at once [default: 64]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u32>("connections.max")
    )]
    pub connections_max: Option<u32>,
    /// Guest memory that one session may attach [default: 1T]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub pinned_max: Option<Size>,
    /// Size limit of one command on the command queue [default: 64M]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub plain_max: Option<Size>,
    /// Permissions of the vhost-user socket [default: 0660]
    #[arg(long, value_name = "MODE")]
    pub socket_mode: Option<String>,
    /// Group of the vhost-user socket, by name or number [default: root's if run as root, otherwise
    /// the current user's]
    #[arg(long, value_name = "GROUP")]
    pub socket_group: Option<String>,
    /// User ID and group ID of the VM's processes on the host, 1 to 4294967294 [default: a free one
    /// if run as root, otherwise the current user's]
    #[arg(long, allow_negative_numbers = true, value_parser = number::<u32>("uid"))]
    pub uid: Option<u32>,
    /// CPU time limit of the VM's processes: "QUOTA PERIOD" in microseconds, as in cgroup v2's
    /// cpu.max
    #[arg(long, value_name = "MAX")]
    pub cpu_max: Option<String>,
    /// Number of processes and threads that the workers may have
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u64>("pids.max")
    )]
    pub pids_max: Option<u64>,
    /// Host memory limit of the VM's processes
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub host_memory_max: Option<Size>,
    /// Microseconds that an idle worker polls before it sleeps [default: 50]
    #[arg(
        long,
        value_name = "US",
        allow_negative_numbers = true,
        value_parser = number::<u32>("spin_us")
    )]
    pub spin_us: Option<u32>,
    /// Comma-separated environment variables that a guest process may pass to its worker
    /// [default: harmless CUDA variables]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub env_allow: Option<Vec<String>>,
}

/// Arguments about the driver library and the workers.
#[derive(Args, Clone, Debug)]
pub struct DriverArgs {
    /// Driver library: auto (NVIDIA's if the host has an NVIDIA GPU, else softgpu), softgpu, or
    /// the path of a libcuda.so.1 [default: auto]
    #[arg(long = "driver-library", value_name = "auto|softgpu|PATH")]
    pub library: Option<DriverLibrary>,
    /// Serve even if kernels can access all memory of their worker's process (HMM)
    #[arg(long)]
    pub allow_pageable_memory_access: bool,
    /// Whether workers run in a jail: auto (if the driver works in it), required, or off [default:
    /// auto]
    #[arg(long, value_name = "auto|required|off", value_parser = word::<JailMode>)]
    pub jail: Option<JailMode>,
    /// Number of workers kept ready for new sessions, 0 to 256 [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=256))]
    pub warm_workers: Option<u32>,
}

/// Arguments about the broker's own files.
#[derive(Args, Clone, Debug)]
pub struct BrokerArgs {
    /// Folder for VMs added and changed at run time; "" to save nothing [default for root:
    /// /var/lib/virtio-cuda]
    #[arg(long, value_name = "FOLDER", value_parser = path_or_nothing())]
    pub state_dir: Option<PathBuf>,
    /// Socket for the control API; "" for none [default for root: /run/virtio-cuda/control.sock]
    #[arg(long, value_name = "PATH", value_parser = path_or_nothing())]
    pub control_socket: Option<PathBuf>,
    /// User as which vcudad runs after its start, if it was started by root [default: vcudad, or
    /// 2113994751 if that user doesn't exist]
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
}

/// A parser for paths that also accepts an empty one, which clap's parser refuses.
fn path_or_nothing() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// Parses a setting that is one of several words.
fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let from = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(text);
    T::deserialize(from).map_err(|error| error.to_string())
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("it must be on or off".into()),
    }
}

impl VmArgs {
    pub(super) fn spec(&self) -> Result<VmSpec, ApiError> {
        let settings = Settings {
            socket_mode: self.socket_mode.clone(),
            socket_group: self.socket_group.clone(),
            uid: self.uid,
            spin_us: self.spin_us,
            gpus: self.gpus.clone(),
            class: self.class,
            sharing: self.sharing,
            memory: Memory {
                max: Some(self.memory_max.unwrap_or(DEFAULT_MEMORY)),
                session_max: self.memory_session_max,
                host_max: self.host_memory_max,
            },
            compute: Compute {
                weight: self.compute_weight,
                max: self.compute_max,
                min: self.compute_min,
                kernel_timeout: self.compute_kernel_timeout,
            },
            mps: Mps {
                active_thread_percentage: self.mps_active_thread_percentage,
                pinned_memory_limit: self.mps_pinned_memory_limit,
            },
            sessions: Max { max: self.sessions_max },
            connections: Max { max: self.connections_max },
            pinned: Max { max: self.pinned_max },
            plain: Max { max: self.plain_max },
            cpu: Max { max: self.cpu_max.clone() },
            pids: Max { max: self.pids_max },
            env: Env { allow: self.env_allow.clone() },
        };
        settings.into_spec(self.name.clone(), self.socket_path.clone())
    }

    pub(super) fn policy(&self) -> Policy {
        let default = Policy::default();
        Policy {
            memory_overcommit: self.memory_overcommit.unwrap_or(default.memory_overcommit),
            memory_slack: self.memory_slack.map_or(default.memory_slack, |size| size.0),
            on_memory_excess: self.memory_on_excess.unwrap_or(default.on_memory_excess),
            on_time_excess: self.compute_on_excess.unwrap_or(default.on_time_excess),
            compute_overcommit: default.compute_overcommit,
            scheduler: self.scheduler.unwrap_or(default.scheduler),
            eviction: self.eviction.unwrap_or(default.eviction),
        }
    }
}
