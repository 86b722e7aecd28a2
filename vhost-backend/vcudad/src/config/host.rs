//! The complete configuration of a broker.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use control_api::VmSpec;

use super::args::{DriverArgs, VmArgs};
use super::error::{ConfigError, of_vm};
use super::library::DriverLibrary;
use super::policy::{JailMode, Policy};
use super::vm_set::check_vms;
use host_ipc::spawner::SOCKETS;

/// Default of `state_dir` for a broker that runs as root.
const STATE_DIR: &str = "/var/lib/virtio-cuda";
/// Default of `control_socket` for a broker that runs as root.
const CONTROL_SOCKET: &str = "/run/virtio-cuda/control.sock";

/// Default of `read_socket`, if `control_socket` has its default.
const READ_SOCKET: &str = "/run/virtio-cuda/read.sock";

/// Default of `socket_folders`.
pub(super) fn default_socket_folders() -> Vec<PathBuf> {
    vec![PathBuf::from(SOCKETS)]
}

/// The complete configuration of a broker.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The driver library that workers load.
    pub driver_library: DriverLibrary,
    /// Whether to serve even if kernels can access all memory of their worker's process.
    pub allow_pageable_memory_access: bool,
    /// Whether workers run in a jail.
    pub jail: JailMode,
    /// Number of workers kept ready for each set of GPUs.
    pub warm_workers: u32,
    /// Directory in which run-time additions and changes of VMs are saved. `None` if they aren't
    /// saved.
    pub state_dir: Option<PathBuf>,
    /// Path of the control API's socket. `None` if there is no control API.
    pub control_socket: Option<PathBuf>,
    /// The group that may use the control API's socket. `None` means `virtio-cuda`, if that group
    /// exists.
    pub control_group: Option<String>,
    /// Path of the control API's socket that is only for reading. `None` if there is none.
    pub read_socket: Option<PathBuf>,
    /// The group that may use `read_socket`. `None` means `virtio-cuda-read`, if that group exists.
    pub read_group: Option<String>,
    /// The user as which the broker runs if it was started by root. `None` means `vcudad`, if that
    /// user exists, or else a user ID that isn't in the user database.
    pub user: Option<String>,
    /// Directories that may contain the sockets of VMs that are added through the control API.
    pub socket_folders: Vec<PathBuf>,
    /// Loopback address that serves metrics over TCP.
    pub metrics_address: Option<SocketAddr>,
    /// Settings that apply to all VMs.
    pub policy: Policy,
    /// The VMs.
    pub vms: Vec<VmSpec>,
    /// True if `--memory-max` was not given. In that case, the default may be reduced to fit the
    /// GPU.
    pub memory_max_is_default: bool,
    /// The text of the configuration file. Empty if there is none.
    pub text: String,
    /// The path of the configuration file, if the text was read from it.
    pub path: Option<PathBuf>,
}

impl Config {
    /// Creates the configuration for one VM from command-line arguments.
    pub fn single(vm: &VmArgs, driver: &DriverArgs) -> Result<Self, ConfigError> {
        let spec = vm.spec().map_err(|error| of_vm(&vm.name, &error))?;
        Self {
            driver_library: driver.library.clone().unwrap_or(DriverLibrary::Auto),
            allow_pageable_memory_access: driver.allow_pageable_memory_access,
            jail: driver.jail.unwrap_or_default(),
            warm_workers: driver.warm_workers.unwrap_or(1),
            state_dir: None,
            control_socket: vm.control_socket.clone(),
            control_group: None,
            read_socket: None,
            read_group: None,
            user: None,
            socket_folders: default_socket_folders(),
            metrics_address: None,
            policy: vm.policy(),
            vms: vec![spec],
            memory_max_is_default: !vm.settings.has_memory_max(),
            text: String::new(),
            path: None,
        }
        .checked()
    }

    /// If the broker runs as root, fills in the default paths. An empty path turns its feature off.
    pub fn with_places(mut self, is_root: bool) -> Result<Self, ConfigError> {
        let place = |given: Option<PathBuf>, default: &str| match given {
            Some(path) if path.as_os_str().is_empty() => None,
            None if is_root => Some(PathBuf::from(default)),
            given => given,
        };
        self.state_dir = place(self.state_dir, STATE_DIR);
        let is_default = self.control_socket.is_none();
        self.control_socket = place(self.control_socket, CONTROL_SOCKET);
        // A broker whose control socket isn't the default may be one of several on the host, so it
        // has no default read socket.
        self.read_socket = match self.read_socket {
            None if !is_default => None,
            given => place(given, READ_SOCKET),
        };
        if self.vms.is_empty() && self.control_socket.is_none() {
            return Err(ConfigError::Value(
                "there is no [[vm]] and no control_socket to add one: set one of them".into(),
            ));
        }
        Ok(self)
    }

    /// Returns the keys and the paths of the control API's sockets.
    pub(crate) fn api_sockets(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let all = [("control_socket", &self.control_socket), ("read_socket", &self.read_socket)];
        all.into_iter().filter_map(|(key, path)| Some((key, path.as_deref()?)))
    }

    /// Returns the configuration if all its values are valid.
    pub(super) fn checked(self) -> Result<Self, ConfigError> {
        let bad = |what: String| Err(ConfigError::Value(what));
        if self.warm_workers > 256 {
            return bad(format!("warm_workers is {}, but must be at most 256", self.warm_workers));
        }
        let is_path = |path: &Path| path.as_os_str().len() <= 107;
        for (key, path) in self.api_sockets() {
            if !is_path(path) {
                return bad(format!("{key}: a socket's path has at most 107 bytes"));
            }
        }
        let is_same = |path: &PathBuf| {
            !path.as_os_str().is_empty() && Some(path) == self.control_socket.as_ref()
        };
        if self.read_socket.as_ref().is_some_and(is_same) {
            return bad("read_socket: control_socket has the same path".into());
        }
        if let Some(address) = self.metrics_address
            && !address.ip().is_loopback()
        {
            return bad(format!(
                "metrics_address {address} is not a loopback address; use one such as 127.0.0.1:9400"
            ));
        }
        if let Some(folder) = self.socket_folders.iter().find(|folder| !folder.is_absolute()) {
            return bad(format!("socket_folders: '{}' is not an absolute path", folder.display()));
        }
        check_vms(&self.vms)?;
        Ok(self)
    }
}
