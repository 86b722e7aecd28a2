//! The configuration: a TOML file, or arguments for one VM. `docs/configuration.md` describes it.
//!
//! | module | contents |
//! |---|---|
//! | `file` | the configuration file |
//! | `args` | command-line arguments |
//! | `vm` | one VM's settings |
//! | `users` | choosing a user ID for each VM |
//! | `size`, `ratio` | formats of values |

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use control_api::{ApiError, ErrorCode, VmSpec};
use serde::Deserialize;

mod args;
mod file;
mod ratio;
mod size;
mod users;
mod vm;

pub use args::{BrokerArgs, DriverArgs, VmArgs};
pub use ratio::{BadRatio, Ratio};
pub use size::Size;
pub use users::choose_uids;
pub use vm::{SOCKETS, Vm};

/// CUDA variables that a guest process may pass to its worker by default. They affect only that
/// worker.
pub const ALLOWED_ENV: [&str; 6] = [
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_DATA_LOADING",
    "CUDA_MODULE_LOADING",
];

/// Default `state_dir` of a broker that runs as root.
const STATE_DIR: &str = "/var/lib/virtio-cuda";
/// Default `control_socket` of a broker that runs as root.
const CONTROL_SOCKET: &str = "/run/virtio-cuda/control.sock";

/// The driver library that workers load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverLibrary {
    /// NVIDIA's library if it finds a GPU, else softgpu's.
    Auto,
    /// softgpu's library.
    Softgpu,
    /// The library at this path.
    Path(PathBuf),
}

impl std::str::FromStr for DriverLibrary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("driver_library must be auto, softgpu, or a path".into()),
            "auto" => Ok(Self::Auto),
            "softgpu" => Ok(Self::Softgpu),
            path => Ok(Self::Path(path.into())),
        }
    }
}

/// The reaction to an excess: the driver reports more memory for a VM than the ledger plus the slack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnExcess {
    /// Log and count it.
    #[default]
    Log,
    /// Log and count it, and end the session.
    End,
}

/// Settings that apply to all VMs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Ratio of a GPU's promised memory to its memory.
    pub memory_overcommit: Ratio,
    /// Memory that the driver may use beyond the ledger's account, for each VM and GPU, before it is
    /// an excess. In bytes.
    pub memory_slack: u64,
    /// The reaction to an excess.
    pub on_excess: OnExcess,
    /// Ratio of a GPU's guaranteed time to its time.
    pub compute_overcommit: Ratio,
    /// Whether compute quotas are enforced. If not, the driver shares the GPU's time.
    pub scheduler: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            memory_overcommit: Ratio::ONE,
            memory_slack: 256 << 20,
            on_excess: OnExcess::Log,
            compute_overcommit: Ratio::ONE,
            scheduler: true,
        }
    }
}

/// The whole configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The driver library that workers load.
    pub driver_library: DriverLibrary,
    /// Whether to serve even if kernels can access all memory of their worker's process.
    pub allow_pageable_memory_access: bool,
    /// Number of workers kept ready for each set of GPUs.
    pub warm_workers: u32,
    /// Folder for VMs added and changed at run time. `None` to save nothing.
    pub state_dir: Option<PathBuf>,
    /// Socket of the control API. `None` for no control API.
    pub control_socket: Option<PathBuf>,
    /// The group that may use the control socket. `None` for `virtio-cuda`, if that group exists.
    pub control_group: Option<String>,
    /// Loopback address that serves metrics over TCP.
    pub metrics_address: Option<SocketAddr>,
    /// Settings that apply to all VMs.
    pub policy: Policy,
    /// The VMs.
    pub vms: Vec<VmSpec>,
    /// Whether `--memory-max` was not given. Then it may be reduced to fit the GPU.
    pub memory_max_is_default: bool,
}

/// An error in the configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file can't be parsed, or has a bad value.
    #[error("{path}: {reason}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// The error and its place.
        reason: String,
    },
    /// A bad value that doesn't come from a file.
    #[error("{0}")]
    Value(String),
}

impl Config {
    /// The configuration for one VM, from arguments.
    pub fn single(vm: &VmArgs, driver: &DriverArgs) -> Result<Self, ConfigError> {
        let spec = vm.spec().map_err(|error| of_vm(&vm.name, &error))?;
        Self {
            driver_library: driver.library.clone().unwrap_or(DriverLibrary::Auto),
            allow_pageable_memory_access: driver.allow_pageable_memory_access,
            warm_workers: driver.warm_workers.unwrap_or(1),
            state_dir: None,
            control_socket: vm.control_socket.clone(),
            control_group: None,
            metrics_address: None,
            policy: vm.policy(),
            vms: vec![spec],
            memory_max_is_default: vm.memory_max.is_none(),
        }
        .checked()
    }

    /// Fills in the default paths of a broker that runs as root.
    pub fn with_places(mut self, is_root: bool) -> Result<Self, ConfigError> {
        let place = |given: Option<PathBuf>, default: &str| match given {
            // An empty path turns the feature off.
            Some(path) if path.as_os_str().is_empty() => None,
            None if is_root => Some(PathBuf::from(default)),
            given => given,
        };
        self.state_dir = place(self.state_dir, STATE_DIR);
        self.control_socket = place(self.control_socket, CONTROL_SOCKET);
        if self.vms.is_empty() && self.control_socket.is_none() {
            return Err(ConfigError::Value(
                "there is no [[vm]] and no control_socket to add one: set one of them".into(),
            ));
        }
        Ok(self)
    }

    fn checked(self) -> Result<Self, ConfigError> {
        let bad = |what: String| Err(ConfigError::Value(what));
        if self.warm_workers > 256 {
            return bad(format!("warm_workers is {}, but must be at most 256", self.warm_workers));
        }
        let is_path = |path: &Path| path.as_os_str().len() <= 107;
        if self.control_socket.as_deref().is_some_and(|path| !is_path(path)) {
            return bad("control_socket: a socket's path has at most 107 bytes".into());
        }
        if let Some(address) = self.metrics_address
            && !address.ip().is_loopback()
        {
            return bad(format!(
                "metrics_address {address} is not a loopback address; use one such as 127.0.0.1:9400"
            ));
        }
        check_vms(&self.vms)?;
        Ok(self)
    }
}

/// Checks VMs one by one and for conflicts, and resolves their settings.
pub fn check_vms(specs: &[VmSpec]) -> Result<Vec<Vm>, ConfigError> {
    let mut set = VmSet::default();
    let vms = specs.iter().map(|spec| set.add(spec).map_err(|error| of_vm(&spec.name, &error)));
    vms.collect()
}

/// Names, sockets and users of VMs, each of which must be unique.
#[derive(Debug, Default)]
pub struct VmSet {
    names: HashSet<String>,
    sockets: HashSet<PathBuf>,
    users: HashSet<u32>,
}

impl VmSet {
    /// Resolves a VM's settings and checks for conflicts with VMs added before. A refused VM is not
    /// added.
    pub fn add(&mut self, spec: &VmSpec) -> Result<Vm, ApiError> {
        let vm = Vm::new(spec.clone())?;
        let conflict =
            |field: &str, says: String| Err(ApiError::new(ErrorCode::Conflict, says).of(field));
        if self.names.contains(&vm.name) {
            return conflict("name", "two VMs have the same name".into());
        }
        if self.sockets.contains(&vm.socket) {
            return conflict(
                "socket",
                format!("two VMs have the same socket, {}", vm.socket.display()),
            );
        }
        if let Some(uid) = vm.uid.filter(|uid| self.users.contains(uid)) {
            let says = format!("another VM already uses {uid}; each VM needs its own");
            return conflict("uid", says);
        }
        self.names.insert(vm.name.clone());
        self.sockets.insert(vm.socket.clone());
        self.users.extend(vm.uid);
        Ok(vm)
    }
}

/// An error that names the VM.
pub fn of_vm(name: &str, error: &ApiError) -> ConfigError {
    ConfigError::Value(format!("vm '{name}': {error}"))
}

#[cfg(test)]
mod tests;
