//! Command-line arguments: the settings of one VM, the driver's, and the broker's.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use control_api::{ApiError, NewVm, Size, VmSpec};
use serde::de::DeserializeOwned;

use super::library::DriverLibrary;
use super::policy::{EvictionMode, JailMode, OnExcess, Policy};
use super::ratio::Ratio;

/// Default of `--memory-max`.
const DEFAULT_MEMORY: u64 = 4 << 30;

const MEMORY_HELP: &str =
    "Device memory limit on each GPU [default: 4G, or the GPU's memory if that is less]";
const SOCKET_HELP: &str = "vhost-user socket to listen on";
const GROUP_HELP: &str = "Group of the vhost-user socket, by name or number [default: root's if run \
    as root, otherwise the current user's]";
const UID_HELP: &str = "User ID and group ID of the VM's processes on the host, 1 to 4294967294 \
    [default: a free one if run as root, otherwise the current user's]";

/// Arguments for a single VM. A few settings have other defaults than for a VM that is added
/// through the control API.
#[derive(Args, Clone, Debug)]
#[command(
    mut_arg("memory_max", |arg| arg.required(false).help(MEMORY_HELP)),
    mut_arg("socket_path", |arg| arg.required(true).help(SOCKET_HELP)),
    mut_arg("socket_group", |arg| arg.help(GROUP_HELP)),
    mut_arg("uid", |arg| arg.help(UID_HELP)),
)]
pub struct VmArgs {
    /// Name of the VM in logs
    #[arg(long, value_name = "NAME", default_value = "vm")]
    pub name: String,
    #[command(flatten)]
    pub settings: NewVm,
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

/// Parses a setting whose value must be one of a few words.
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
        let mut spec = self.settings.spec(&self.name, DEFAULT_MEMORY)?;
        spec.socket = spec.socket.map(|path| std::path::absolute(&path).unwrap_or(path));
        Ok(spec)
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
