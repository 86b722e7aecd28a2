//! The configuration: a TOML file, or one VM by arguments. `docs/configuration.md` describes it.
//!
//! | module | what |
//! |---|---|
//! | `file` | the file's top |
//! | `args` | the same as arguments |
//! | `vm` | one VM's settings and their ranges |
//! | `users` | a user for each VM |
//! | `size`, `ratio` | how values are written |

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

/// Variables of CUDA's that a session may bring with it, unless the file says otherwise: what they
/// change stays inside the session's worker.
pub const ALLOWED_ENV: [&str; 6] = [
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_DATA_LOADING",
    "CUDA_MODULE_LOADING",
];

/// Where a broker run by root keeps its state, unless the file says otherwise.
const STATE_DIR: &str = "/var/lib/virtio-cuda";
/// Where it listens for the control API.
const CONTROL_SOCKET: &str = "/run/virtio-cuda/control.sock";

/// Which driver library the workers load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverLibrary {
    /// NVIDIA's where there is a device of theirs, else softgpu.
    Auto,
    /// softgpu's.
    Softgpu,
    /// This one.
    Path(PathBuf),
}

impl std::str::FromStr for DriverLibrary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("a driver library is auto, softgpu or a path".into()),
            "auto" => Ok(Self::Auto),
            "softgpu" => Ok(Self::Softgpu),
            path => Ok(Self::Path(path.into())),
        }
    }
}

/// What is done when the driver reports more memory of a VM than the ledger and its slack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnExcess {
    /// It is logged and counted.
    #[default]
    Log,
    /// The session ends, too.
    End,
}

/// What holds for all VMs together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// How often a GPU's memory may be promised.
    pub memory_overcommit: Ratio,
    /// What the driver may take by itself, for each VM and GPU, before that is an excess. Bytes.
    pub memory_slack: u64,
    /// What is done about an excess.
    pub on_excess: OnExcess,
    /// How often a GPU's time may be guaranteed.
    pub compute_overcommit: Ratio,
    /// Whether GPUs' time is shared by the VMs' quotas; else the driver shares it.
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
    /// Which driver library the workers load.
    pub driver_library: DriverLibrary,
    /// Whether kernels may reach all memory of their worker's process.
    pub allow_pageable_memory_access: bool,
    /// Workers that are kept ready, for each set of GPUs.
    pub warm_workers: u32,
    /// Where VMs made and changed at run time are written down. `None`: nowhere.
    pub state_dir: Option<PathBuf>,
    /// Where the control API listens. `None`: there is none.
    pub control_socket: Option<PathBuf>,
    /// The group that may use the control socket. `None`: `virtio-cuda`, where there is one.
    pub control_group: Option<String>,
    /// Where metrics can be read over TCP: a loopback address.
    pub metrics_address: Option<SocketAddr>,
    /// What holds for all VMs together.
    pub policy: Policy,
    /// The VMs.
    pub vms: Vec<VmSpec>,
    /// memory.max of the one VM was not given: it may be made less, where a GPU has not that much.
    pub memory_max_is_default: bool,
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("{path}: {reason}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// What, and where.
        reason: String,
    },
    /// A value makes no sense.
    #[error("{0}")]
    Value(String),
}

impl Config {
    /// One VM, by arguments.
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

    /// What a broker has on a host whose file says nothing about it: root's has places of its own.
    pub fn with_places(mut self, is_root: bool) -> Result<Self, ConfigError> {
        let place = |given: Option<PathBuf>, default: &str| match given {
            // Said to be nowhere.
            Some(path) if path.as_os_str().is_empty() => None,
            None if is_root => Some(PathBuf::from(default)),
            given => given,
        };
        self.state_dir = place(self.state_dir, STATE_DIR);
        self.control_socket = place(self.control_socket, CONTROL_SOCKET);
        if self.vms.is_empty() && self.control_socket.is_none() {
            return Err(ConfigError::Value(
                "there is no [[vm]], and no control_socket to add one by".into(),
            ));
        }
        Ok(self)
    }

    fn checked(self) -> Result<Self, ConfigError> {
        let bad = |what: String| Err(ConfigError::Value(what));
        if self.warm_workers > 256 {
            return bad(format!("warm_workers is {}, and at most 256", self.warm_workers));
        }
        let is_path = |path: &Path| path.as_os_str().len() <= 107;
        if self.control_socket.as_deref().is_some_and(|path| !is_path(path)) {
            return bad("control_socket: a socket's path has at most 107 bytes".into());
        }
        if let Some(address) = self.metrics_address
            && !address.ip().is_loopback()
        {
            return bad(format!("metrics_address {address} is not a loopback address (127.0.0.1)"));
        }
        check_vms(&self.vms)?;
        Ok(self)
    }
}

/// Whether VMs are what they may be, each and together; what they come to.
pub fn check_vms(specs: &[VmSpec]) -> Result<Vec<Vm>, ConfigError> {
    let mut set = VmSet::default();
    let vms = specs.iter().map(|spec| set.add(spec).map_err(|error| of_vm(&spec.name, &error)));
    vms.collect()
}

/// What VMs have that no two may have.
#[derive(Debug, Default)]
pub struct VmSet {
    names: HashSet<String>,
    sockets: HashSet<PathBuf>,
    users: HashSet<u32>,
}

impl VmSet {
    /// What a VM comes to beside those before it. One that is refused takes nothing.
    pub fn add(&mut self, spec: &VmSpec) -> Result<Vm, ApiError> {
        let vm = Vm::new(spec.clone())?;
        let conflict =
            |field: &str, says: String| Err(ApiError::new(ErrorCode::Conflict, says).of(field));
        if self.names.contains(&vm.name) {
            return conflict("name", "two VMs have it".into());
        }
        if self.sockets.contains(&vm.socket) {
            return conflict("socket", format!("two VMs have {}", vm.socket.display()));
        }
        if let Some(uid) = vm.uid.filter(|uid| self.users.contains(uid)) {
            let says = format!("{uid} is another VM's, and VMs don't trust one another");
            return conflict("uid", says);
        }
        self.names.insert(vm.name.clone());
        self.sockets.insert(vm.socket.clone());
        self.users.extend(vm.uid);
        Ok(vm)
    }
}

/// What is wrong with the VM of that name.
pub fn of_vm(name: &str, error: &ApiError) -> ConfigError {
    ConfigError::Value(format!("vm '{name}': {error}"))
}

#[cfg(test)]
mod tests;
