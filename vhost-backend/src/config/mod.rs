//! The configuration: a TOML file, or one VM by arguments. `docs/configuration.md` describes it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

mod args;
mod size;

pub use args::{DriverArgs, VmArgs};
pub use size::{BadSize, Size};

use crate::ipc::messages::Limits;

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

/// Where VMs get their users from when the file names none: the range that systemd's dynamic users
/// have, too.
const FIRST_UID: u32 = 61_184;
const LAST_UID: u32 = 65_519;

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

/// One VM's part.
#[derive(Clone, Debug, PartialEq)]
pub struct Vm {
    /// Its name, in logs.
    pub name: String,
    /// Its vhost-user socket.
    pub socket: PathBuf,
    /// Permissions of the socket.
    pub socket_mode: u32,
    /// Device memory that all its sessions may hold.
    pub memory_max: u64,
    /// Limits of its device.
    pub limits: Limits,
    /// The user of its processes; `None`: one is chosen.
    pub uid: Option<u32>,
    /// The group of its processes; `None`: the same number as the user.
    pub gid: Option<u32>,
    /// cgroup v2's cpu.max for its workers.
    pub cpu_max: Option<String>,
    /// cgroup v2's pids.max for its workers.
    pub pids_max: Option<u64>,
    /// cgroup v2's memory.max for its workers: host memory.
    pub host_memory_max: Option<u64>,
    /// Environment variables that a session may bring.
    pub env_allow: Vec<String>,
    /// How long a ring reader spins before it sleeps.
    pub spin_us: u32,
}

/// The whole configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Which driver library the workers load.
    pub driver_library: DriverLibrary,
    /// Whether kernels may reach all memory of their worker's process.
    pub allow_pageable_memory_access: bool,
    /// Workers that are kept ready.
    pub warm_workers: u32,
    /// The VMs.
    pub vms: Vec<Vm>,
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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    driver_library: Option<String>,
    #[serde(default)]
    allow_pageable_memory_access: bool,
    warm_workers: Option<u32>,
    #[serde(default)]
    defaults: Settings,
    #[serde(default)]
    vm: Vec<VmEntry>,
}

#[derive(Debug, Deserialize)]
struct VmEntry {
    name: String,
    socket: PathBuf,
    #[serde(flatten)]
    settings: toml::Table,
}

/// What can stand in `[defaults]` and in each `[[vm]]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    socket_mode: Option<String>,
    uid: Option<u32>,
    gid: Option<u32>,
    spin_us: Option<u32>,
    #[serde(default)]
    memory: Memory,
    #[serde(default)]
    sessions: Max<u32>,
    #[serde(default)]
    connections: Max<u32>,
    #[serde(default)]
    pinned: Max<Size>,
    #[serde(default)]
    plain: Max<Size>,
    #[serde(default)]
    cpu: Max<String>,
    #[serde(default)]
    pids: Max<u64>,
    #[serde(default)]
    env: Env,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    max: Option<Size>,
    host_max: Option<Size>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Max<T> {
    max: Option<T>,
}

impl<T> Default for Max<T> {
    fn default() -> Self {
        Self { max: None }
    }
}

impl<T> Max<T> {
    fn or(self, other: Self) -> Self {
        Self { max: self.max.or(other.max) }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Env {
    allow: Option<Vec<String>>,
}

impl Settings {
    /// These, and where they say nothing, those.
    fn or(self, those: Self) -> Self {
        Self {
            socket_mode: self.socket_mode.or(those.socket_mode),
            uid: self.uid.or(those.uid),
            gid: self.gid.or(those.gid),
            spin_us: self.spin_us.or(those.spin_us),
            memory: Memory {
                max: self.memory.max.or(those.memory.max),
                host_max: self.memory.host_max.or(those.memory.host_max),
            },
            sessions: self.sessions.or(those.sessions),
            connections: self.connections.or(those.connections),
            pinned: self.pinned.or(those.pinned),
            plain: self.plain.or(those.plain),
            cpu: self.cpu.or(those.cpu),
            pids: self.pids.or(those.pids),
            env: Env { allow: self.env.allow.or(those.env.allow) },
        }
    }

    /// The VM that they describe.
    fn into_vm(self, name: String, socket: PathBuf) -> Result<Vm, ConfigError> {
        let bad = |what: String| ConfigError::Value(format!("vm '{name}': {what}"));
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) || name.starts_with('.')
        {
            return Err(bad("a name is 1 to 64 letters, digits, '-', '_' and '.'".into()));
        }
        if socket.as_os_str().len() > 107 {
            return Err(bad("socket: a path of more than 107 bytes can't be a socket's".into()));
        }
        let memory_max = match self.memory.max {
            Some(Size(0)) => return Err(bad("memory.max is 0".into())),
            Some(size) => size.0,
            None => return Err(bad("memory.max is missing (in [[vm]] or [defaults])".into())),
        };
        let range = |key: &str, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                return Ok(value);
            }
            Err(bad(format!("{key} is {value}, and must be from {low} to {high}")))
        };
        let max_sessions = self.sessions.max.unwrap_or(32).into();
        let max_connections = self.connections.max.unwrap_or(64).into();
        let max_plain = self.plain.max.unwrap_or(Size(64 << 20)).0;
        let pinned_max = self.pinned.max.unwrap_or(Size(1 << 40)).0;
        let limits = Limits {
            max_sessions: range("sessions.max", max_sessions, 1, 4096)? as u32,
            max_connections: range("connections.max", max_connections, 1, 1024)? as u32,
            max_plain: range("plain.max", max_plain, 4096, 1 << 30)? as u32,
            pinned_max: range("pinned.max", pinned_max, 1 << 20, 1 << 46)?,
            max_regions: 4096,
            // A mapping each, and a process may have 65,530.
            max_segments: 16_384,
        };
        let socket_mode = match &self.socket_mode {
            None => 0o660,
            Some(text) => u32::from_str_radix(text, 8)
                .ok()
                .filter(|mode| *mode <= 0o777)
                .ok_or_else(|| bad(format!("socket_mode '{text}' is not like \"0660\"")))?,
        };
        if let Some(cpu) = &self.cpu.max {
            check_cpu_max(cpu).map_err(|what| bad(format!("cpu.max '{cpu}' {what}")))?;
        }
        if self.uid == Some(0) || self.gid == Some(0) {
            return Err(bad("uid and gid can't be root's".into()));
        }
        let env_allow = self
            .env
            .allow
            .unwrap_or_else(|| ALLOWED_ENV.iter().map(|name| (*name).to_owned()).collect());
        Ok(Vm {
            socket,
            socket_mode,
            memory_max,
            limits,
            uid: self.uid,
            gid: self.gid,
            cpu_max: self.cpu.max,
            pids_max: self.pids.max,
            host_memory_max: self.memory.host_max.map(|size| size.0),
            env_allow,
            spin_us: range("spin_us", self.spin_us.unwrap_or(50).into(), 0, 1_000_000)? as u32,
            name,
        })
    }
}

/// `max`, or microseconds of each period, with or without the period, as the kernel takes them.
fn check_cpu_max(text: &str) -> Result<(), &'static str> {
    const FORM: &str = "is not \"QUOTA PERIOD\" in microseconds, as cgroup v2 has it";
    let mut words = text.split(' ');
    let (Some(quota), period, None) = (words.next(), words.next(), words.next()) else {
        return Err(FORM);
    };
    let number = |word: &str| word.parse::<u64>().is_ok_and(|number| number >= 1000);
    if (quota == "max" || number(quota)) && period.is_none_or(number) { Ok(()) } else { Err(FORM) }
}

impl Config {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|error| match error {
            ConfigError::Value(reason) => ConfigError::Parse { path: path.to_owned(), reason },
            other => other,
        })
    }

    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let file: File = toml::from_str(text).map_err(|error| one_line(text, &error))?;
        let driver_library = file.driver_library.as_deref().unwrap_or("auto");
        let mut vms = Vec::new();
        for entry in file.vm {
            let settings: Settings =
                entry.settings.try_into().map_err(|error: toml::de::Error| {
                    ConfigError::Value(format!("vm '{}': {}", entry.name, error.message().trim()))
                })?;
            vms.push(settings.or(file.defaults.clone()).into_vm(entry.name, entry.socket)?);
        }
        let driver_library = driver_library.parse().map_err(ConfigError::Value)?;
        Self {
            driver_library,
            allow_pageable_memory_access: file.allow_pageable_memory_access,
            warm_workers: file.warm_workers.unwrap_or(1),
            vms,
        }
        .checked()
    }

    /// One VM, by arguments.
    pub fn single(vm: &VmArgs, driver: &DriverArgs) -> Result<Self, ConfigError> {
        let (name, socket, settings) = vm.settings();
        let vm = settings.into_vm(name, socket)?;
        Self {
            driver_library: driver.library.clone().unwrap_or(DriverLibrary::Auto),
            allow_pageable_memory_access: driver.allow_pageable_memory_access,
            warm_workers: driver.warm_workers.unwrap_or(1),
            vms: vec![vm],
        }
        .checked()
    }

    fn checked(mut self) -> Result<Self, ConfigError> {
        let bad = |what: String| Err(ConfigError::Value(what));
        if self.vms.is_empty() {
            return bad("there is no [[vm]]".into());
        }
        if self.warm_workers > 256 {
            return bad(format!("warm_workers is {}, and at most 256", self.warm_workers));
        }
        let (mut names, mut sockets) = (HashSet::new(), HashSet::new());
        for vm in &self.vms {
            if !names.insert(vm.name.clone()) {
                return bad(format!("two VMs have the name '{}'", vm.name));
            }
            if !sockets.insert(vm.socket.clone()) {
                return bad(format!("two VMs have the socket {}", vm.socket.display()));
            }
        }
        self.choose_users()?;
        Ok(self)
    }

    /// Every VM has a user of its own.
    fn choose_users(&mut self) -> Result<(), ConfigError> {
        let mut taken: HashSet<u32> = HashSet::new();
        for vm in &self.vms {
            if let Some(uid) = vm.uid
                && !taken.insert(uid)
            {
                return Err(ConfigError::Value(format!(
                    "vm '{}': uid {uid} is another VM's, and VMs don't trust one another",
                    vm.name
                )));
            }
        }
        let mut free = (FIRST_UID..=LAST_UID).filter(|uid| !taken.contains(uid));
        for vm in &mut self.vms {
            if vm.uid.is_none() {
                let uid = free.next();
                vm.uid = Some(uid.ok_or_else(|| {
                    ConfigError::Value("too many VMs without a uid: give them one each".into())
                })?);
            }
            vm.gid = vm.gid.or(vm.uid);
        }
        Ok(())
    }
}

/// A parse error with its line, on one line.
fn one_line(text: &str, error: &toml::de::Error) -> ConfigError {
    let reason = error.message().trim().replace('\n', ", ");
    let line = error.span().map(|span| {
        text.as_bytes()[..span.start.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1
    });
    ConfigError::Value(match line {
        Some(line) => format!("line {line}: {reason}"),
        None => reason,
    })
}

#[cfg(test)]
mod tests;
