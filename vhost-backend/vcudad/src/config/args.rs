//! The same settings as arguments, for one VM.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use control_api::{ApiError, Class, GpuRequest, Percent, Sharing, Timespan, VmSpec, number};
use serde::de::DeserializeOwned;

use super::vm::{Compute, Env, Max, Memory, Mps, Settings};
use super::{DriverLibrary, OnExcess, Policy, Ratio, Size};

/// memory.max of a VM by arguments, if they don't say.
const DEFAULT_MEMORY: Size = Size(4 << 30);

/// One VM.
#[derive(Args, Clone, Debug)]
pub struct VmArgs {
    /// The vhost-user socket to listen on
    #[arg(long, value_name = "PATH")]
    pub socket_path: PathBuf,
    /// The VM's name, in logs
    #[arg(long, value_name = "NAME", default_value = "vm")]
    pub name: String,
    /// Its GPUs, with commas between: any, an index, or a UUID [default: any]
    #[arg(long, value_name = "GPUS", value_delimiter = ',')]
    pub gpus: Option<Vec<GpuRequest>>,
    /// Device memory that the VM may hold on each GPU [default: 4G, or what the GPU has]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub memory_max: Option<Size>,
    /// Device memory that one session may hold on each GPU
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub memory_session_max: Option<Size>,
    /// The VM's part of the GPU's time beside others, 1 to 10000 [default: 100]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u32>("compute.weight")
    )]
    pub compute_weight: Option<u32>,
    /// The most of the GPU's time that it gets, 1% to 100% [default: 100%]
    #[arg(long, value_name = "PERCENT")]
    pub compute_max: Option<Percent>,
    /// What it gets of the GPU's time for sure [default: 0%]
    #[arg(long, value_name = "PERCENT")]
    pub compute_min: Option<Percent>,
    /// How long one kernel may run, such as 2s
    #[arg(long, value_name = "SPAN")]
    pub compute_kernel_timeout: Option<Timespan>,
    /// Throughput (batch), or the GPU soon (latency) [default: batch]
    #[arg(long, value_name = "batch|latency", value_parser = word::<Class>)]
    pub class: Option<Class>,
    /// One VM at a time (exclusive), or at once with others that trust one another (mps)
    #[arg(long, value_name = "exclusive|mps", value_parser = word::<Sharing>)]
    pub sharing: Option<Sharing>,
    /// With mps: of the GPU's multiprocessors, for each session
    #[arg(long, value_name = "PERCENT")]
    pub mps_active_thread_percentage: Option<Percent>,
    /// With mps: device memory of each session, as MPS counts it
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub mps_pinned_memory_limit: Option<Size>,
    /// on, or off: the driver shares the GPU's time, and compute.* has no effect
    #[arg(long, value_name = "on|off", value_parser = switch)]
    pub scheduler: Option<bool>,
    /// How often the GPU's memory may be promised [default: 1.0]
    #[arg(long, value_name = "RATIO")]
    pub memory_overcommit: Option<Ratio>,
    /// What the driver may take by itself before that is an excess [default: 256M]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub memory_slack: Option<Size>,
    /// What is done about an excess: log, or end the session [default: log]
    #[arg(long, value_name = "log|end", value_parser = word::<OnExcess>)]
    pub memory_on_excess: Option<OnExcess>,
    /// Listen for the control API there
    #[arg(long, value_name = "PATH")]
    pub control_socket: Option<PathBuf>,
    /// Guest processes that may use the device at once [default: 32]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u32>("sessions.max")
    )]
    pub sessions_max: Option<u32>,
    /// Front ends that may be connected at once [default: 64]
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
    /// Bytes of one command on the command queue [default: 64M]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub plain_max: Option<Size>,
    /// Permissions of the socket [default: 0660]
    #[arg(long, value_name = "MODE")]
    pub socket_mode: Option<String>,
    /// User of the VM's processes on the host, 1 to 4294967294 [default: one that is chosen, when run by root]
    #[arg(long, allow_negative_numbers = true, value_parser = number::<u32>("uid"))]
    pub uid: Option<u32>,
    /// Group of the VM's processes on the host, 1 to 4294967294 [default: the same number as the user]
    #[arg(long, allow_negative_numbers = true, value_parser = number::<u32>("gid"))]
    pub gid: Option<u32>,
    /// CPU time of the VM's workers, "QUOTA PERIOD" in microseconds as cgroup v2 has it
    #[arg(long, value_name = "MAX")]
    pub cpu_max: Option<String>,
    /// Processes and threads of the VM's workers
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u64>("pids.max")
    )]
    pub pids_max: Option<u64>,
    /// Host memory of the VM's workers
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub host_memory_max: Option<Size>,
    /// How long a worker spins before it sleeps, in microseconds [default: 50]
    #[arg(
        long,
        value_name = "US",
        allow_negative_numbers = true,
        value_parser = number::<u32>("spin_us")
    )]
    pub spin_us: Option<u32>,
    /// Environment variables that a session may bring, with commas between [default: some of CUDA's]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub env_allow: Option<Vec<String>>,
}

/// What the workers run.
#[derive(Args, Clone, Debug)]
pub struct DriverArgs {
    /// auto (NVIDIA's where it finds a device, else softgpu), softgpu, or a libcuda.so.1
    #[arg(long = "driver-library", value_name = "auto|softgpu|PATH")]
    pub library: Option<DriverLibrary>,
    /// Serve also where kernels can reach all memory of their worker's process (HMM)
    #[arg(long)]
    pub allow_pageable_memory_access: bool,
    /// Workers that are kept ready for new sessions [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=256))]
    pub warm_workers: Option<u32>,
}

/// Where a broker keeps and offers things.
#[derive(Args, Clone, Debug)]
pub struct BrokerArgs {
    /// Where VMs made and changed at run time are written down [default for root:
    /// /var/lib/virtio-cuda]; "": nowhere
    #[arg(long, value_name = "FOLDER", value_parser = path_or_nothing())]
    pub state_dir: Option<PathBuf>,
    /// Where the control API listens [default for root: /run/virtio-cuda/control.sock]; "": nowhere
    #[arg(long, value_name = "PATH", value_parser = path_or_nothing())]
    pub control_socket: Option<PathBuf>,
}

/// A path; an empty one, too, which clap's own refuse.
fn path_or_nothing() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// One of the words that a setting knows.
fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let from = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(text);
    T::deserialize(from).map_err(|error| error.to_string())
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("it is on or off".into()),
    }
}

impl VmArgs {
    pub(super) fn spec(&self) -> Result<VmSpec, ApiError> {
        let settings = Settings {
            socket_mode: self.socket_mode.clone(),
            uid: self.uid,
            gid: self.gid,
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
            on_excess: self.memory_on_excess.unwrap_or(default.on_excess),
            compute_overcommit: default.compute_overcommit,
            scheduler: self.scheduler.unwrap_or(default.scheduler),
        }
    }
}
