//! A VM's settings, as given in the file or the arguments, and with defaults filled in.

use std::path::PathBuf;

use control_api::{ApiError, ErrorCode, VmSpec};

use host_ipc::group;
use host_ipc::messages::Limits;
use host_ipc::spawner::{SOCKETS, VM_UIDS};

/// The CUDA environment variables that a guest process may pass to its worker by default. They
/// affect only that worker.
pub const ALLOWED_ENV: [&str; 6] = [
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_DATA_LOADING",
    "CUDA_MODULE_LOADING",
];

/// A VM's settings with the defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Vm {
    /// The settings as configured.
    pub spec: VmSpec,
    /// The VM's name.
    pub name: String,
    /// Path of the VM's vhost-user socket.
    pub socket: PathBuf,
    /// Permissions of the socket file.
    pub socket_mode: u32,
    /// Limits for the VM's device.
    pub limits: Limits,
    /// Group ID of the socket file. `None` for that of the broker.
    pub socket_gid: Option<u32>,
    /// User ID of the VM's processes, which is also their group ID. `None` until one is chosen.
    pub uid: Option<u32>,
    /// Environment variables that a guest process may pass to its worker.
    pub env_allow: Vec<String>,
    /// Microseconds that a worker polls an empty ring before it sleeps.
    pub spin_us: u32,
}

/// Returns the path of a VM's socket if none is set.
pub(super) fn default_socket(name: &str) -> PathBuf {
    PathBuf::from(SOCKETS).join(format!("{name}.sock"))
}

impl Vm {
    /// Checks the settings and fills in defaults. An error names the invalid field.
    pub fn new(spec: VmSpec) -> Result<Self, ApiError> {
        spec.check()?;
        let vm = Self::unchecked(spec);
        if let (Some(group), None) = (&vm.spec.socket_group, vm.socket_gid) {
            let message = format!(
                "group '{}' does not exist on this host; create it with groupadd",
                group.escape_debug()
            );
            return Err(ApiError::invalid("socket_group", message));
        }
        vm.check_group(&vm)?;
        Ok(vm)
    }

    /// Checks that another VM has a different name, socket and user, and that no process of either
    /// VM can connect to the other's socket because of its group.
    pub fn check_apart(&self, other: &Self) -> Result<(), ApiError> {
        let (name, conflict) = (&other.name, |field: &str, message: String| {
            Err(ApiError::new(ErrorCode::Conflict, message).of(field))
        });
        if self.name == *name {
            return conflict("name", format!("a VM named '{name}' already exists"));
        }
        if self.socket == other.socket {
            let socket = other.socket.display();
            return conflict("socket", format!("VM '{name}' already uses {socket}"));
        }
        if let Some(uid) = self.uid.filter(|_| self.uid == other.uid) {
            let message = format!("VM '{name}' already uses user ID {uid}; each VM needs its own");
            return conflict("uid", message);
        }
        self.check_group(other)?;
        other.check_group(self)
    }

    /// Checks that the other VM's processes don't run with the group of this VM's socket.
    fn check_group(&self, other: &Self) -> Result<(), ApiError> {
        match self.socket_gid {
            Some(group) if other.uid == Some(group) || VM_UIDS.contains(&group) => {
                let message = format!("processes of VMs run with group {group}; use another group");
                Err(ApiError::new(ErrorCode::Conflict, message).of("socket_group"))
            }
            _ => Ok(()),
        }
    }

    /// Fills in defaults without checking any ranges. Used for a VM that is listed but can't be
    /// served.
    pub fn unchecked(spec: VmSpec) -> Self {
        let name = spec.name.clone();
        let default = || default_socket(&name);
        let all = spec.with_defaults();
        // `check` refuses a mode that can't be parsed. A VM that is listed although its settings
        // are invalid gets the default mode.
        let mode = all.socket_mode.and_then(|mode| u32::from_str_radix(&mode, 8).ok());
        let allowed = || ALLOWED_ENV.iter().map(|name| (*name).to_owned()).collect();
        Self {
            socket: spec.socket.clone().unwrap_or_else(default),
            socket_mode: mode.unwrap_or(0o600),
            limits: Limits {
                max_sessions: all.sessions.max.unwrap_or_default(),
                max_connections: all.connections.max.unwrap_or_default(),
                max_plain: all.plain.max.unwrap_or_default() as u32,
                pinned_max: all.pinned.max.unwrap_or_default(),
                max_regions: 4096,
                // Each segment takes one memory mapping, and Linux limits a process to 65,530
                // mappings by default.
                max_segments: 16_384,
            },
            socket_gid: spec.socket_group.as_deref().and_then(group::find),
            uid: spec.uid,
            env_allow: spec.env.allow.clone().unwrap_or_else(allowed),
            spin_us: all.spin_us.unwrap_or_default(),
            name,
            spec,
        }
    }
}
