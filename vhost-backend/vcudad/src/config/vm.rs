//! A VM's settings, as given in the file or the arguments, and with defaults filled in.

use std::path::PathBuf;

use control_api::{
    ApiError, Class, ComputeSpec, CpuSpec, EnvSpec, ErrorCode, GpuRequest, LimitSpec, MemorySpec,
    MpsSpec, Percent, PidsSpec, Sharing, SizeLimitSpec, Timespan, VmSpec,
};
use serde::Deserialize;

use super::size::Size;
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

    /// Checks that a VM's processes don't run with the group of this VM's socket.
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
        let mode = spec.socket_mode.as_deref().unwrap_or("0660");
        let allowed = || ALLOWED_ENV.iter().map(|name| (*name).to_owned()).collect();
        Self {
            socket: spec.socket.clone().unwrap_or_else(default),
            // `check` has validated the mode.
            socket_mode: u32::from_str_radix(mode, 8).unwrap_or(0o660),
            limits: Limits {
                max_sessions: spec.sessions.max.unwrap_or(32),
                max_connections: spec.connections.max.unwrap_or(64),
                max_plain: spec.plain.max.unwrap_or(64 << 20) as u32,
                pinned_max: spec.pinned.max.unwrap_or(1 << 40),
                max_regions: 4096,
                // Each segment takes one mapping, and Linux limits a process to 65,530 mappings by
                // default.
                max_segments: 16_384,
            },
            socket_gid: spec.socket_group.as_deref().and_then(group::find),
            uid: spec.uid,
            env_allow: spec.env.allow.clone().unwrap_or_else(allowed),
            spin_us: spec.spin_us.unwrap_or(50),
            name,
            spec,
        }
    }
}

/// The keys allowed in both `[defaults]` and `[[vm]]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    pub(super) socket_mode: Option<String>,
    pub(super) socket_group: Option<String>,
    pub(super) uid: Option<u32>,
    pub(super) spin_us: Option<u32>,
    pub(super) gpus: Option<Vec<GpuRequest>>,
    pub(super) class: Option<Class>,
    pub(super) sharing: Option<Sharing>,
    pub(super) memory: Memory,
    pub(super) compute: Compute,
    pub(super) mps: Mps,
    pub(super) sessions: Max<u32>,
    pub(super) connections: Max<u32>,
    pub(super) pinned: Max<Size>,
    pub(super) plain: Max<Size>,
    pub(super) cpu: Max<String>,
    pub(super) pids: Max<u64>,
    pub(super) env: Env,
}

/// Defines a table of optional keys. Its `or` method fills in missing keys from another table.
macro_rules! table {
    ($name:ident { $($key:ident: $type:ty),+ $(,)? }) => {
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(super) struct $name {
            $(pub(super) $key: Option<$type>,)+
        }

        impl $name {
            fn or(self, those: Self) -> Self {
                Self { $($key: self.$key.or(those.$key)),+ }
            }
        }
    };
}

table! { Memory { max: Size, session_max: Size, host_max: Size } }
table! { Compute { weight: u32, max: Percent, min: Percent, kernel_timeout: Timespan } }
table! { Mps { active_thread_percentage: Percent, pinned_memory_limit: Size } }
table! { Env { allow: Vec<String> } }

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Max<T> {
    pub(super) max: Option<T>,
}

impl<T> Default for Max<T> {
    fn default() -> Self {
        Self { max: None }
    }
}

impl<T> Max<T> {
    fn or(self, those: Self) -> Self {
        Self { max: self.max.or(those.max) }
    }
}

impl Settings {
    /// Fills in missing keys from `those`.
    pub(super) fn or(self, those: Self) -> Self {
        Self {
            socket_mode: self.socket_mode.or(those.socket_mode),
            socket_group: self.socket_group.or(those.socket_group),
            uid: self.uid.or(those.uid),
            spin_us: self.spin_us.or(those.spin_us),
            gpus: self.gpus.or(those.gpus),
            class: self.class.or(those.class),
            sharing: self.sharing.or(those.sharing),
            memory: self.memory.or(those.memory),
            compute: self.compute.or(those.compute),
            mps: self.mps.or(those.mps),
            sessions: self.sessions.or(those.sessions),
            connections: self.connections.or(those.connections),
            pinned: self.pinned.or(those.pinned),
            plain: self.plain.or(those.plain),
            cpu: self.cpu.or(those.cpu),
            pids: self.pids.or(those.pids),
            env: self.env.or(those.env),
        }
    }

    /// Converts the keys to a VM's settings, without checking ranges.
    pub(super) fn into_spec(self, name: String, socket: PathBuf) -> Result<VmSpec, ApiError> {
        let bytes = |size: Option<Size>| size.map(|size| size.0);
        let missing =
            || ApiError::invalid("memory.max", "is missing: set it in [[vm]] or [defaults]");
        let default = ComputeSpec::default();
        Ok(VmSpec {
            // An empty path can't be made absolute. It's kept here, and a later check rejects it.
            socket: Some(std::path::absolute(&socket).unwrap_or(socket)),
            name,
            socket_mode: self.socket_mode,
            socket_group: self.socket_group,
            gpus: self.gpus.unwrap_or_else(|| vec![GpuRequest::Any]),
            memory: MemorySpec {
                max: bytes(self.memory.max).ok_or_else(missing)?,
                session_max: bytes(self.memory.session_max),
                host_max: bytes(self.memory.host_max),
            },
            compute: ComputeSpec {
                weight: self.compute.weight.unwrap_or(default.weight),
                max: self.compute.max.unwrap_or(default.max),
                min: self.compute.min.unwrap_or(default.min),
                kernel_timeout: self.compute.kernel_timeout,
            },
            class: self.class.unwrap_or_default(),
            sharing: self.sharing.unwrap_or_default(),
            mps: MpsSpec {
                active_thread_percentage: self.mps.active_thread_percentage,
                pinned_memory_limit: bytes(self.mps.pinned_memory_limit),
            },
            sessions: LimitSpec { max: self.sessions.max },
            connections: LimitSpec { max: self.connections.max },
            pinned: SizeLimitSpec { max: bytes(self.pinned.max) },
            plain: SizeLimitSpec { max: bytes(self.plain.max) },
            cpu: CpuSpec { max: self.cpu.max },
            pids: PidsSpec { max: self.pids.max },
            env: EnvSpec { allow: self.env.allow },
            uid: self.uid,
            spin_us: self.spin_us,
        })
    }
}
