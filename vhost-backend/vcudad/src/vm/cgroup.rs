//! The limits of the VMs' cgroups. A cgroup limits the CPU time, host memory and process count of a
//! VM's device process and workers together. The spawner creates the cgroups.

use std::fs;
use std::path::PathBuf;

use control_api::ApiError;
use serde::{Deserialize, Serialize};

use crate::config::Vm;
use crate::processes::spawner::Spawner;
use host_ipc::spawner::{Answer, Call, CgroupLimits};

/// The controllers that the broker uses, each with the setting that needs it.
const CONTROLLERS: [(&str, &str); 3] =
    [("cpu", "cpu.max"), ("memory", "memory.host_max"), ("pids", "pids.max")];

/// The default of `pids.max`: `PIDS`, and `PIDS_PER_SESSION` for each session. A worker has up to
/// 128 threads for the guest's threads, and the driver's threads, of which softgpu has one per CPU.
const PIDS: u64 = 256;
const PIDS_PER_SESSION: u64 = 512;
/// The default of `memory.host_max`: `MEMORY`, `MEMORY_PER_SESSION` for each session, and
/// `memory.max` for each GPU, because softgpu's device memory is host memory. The sum is at most
/// `MEMORY_PART` of the host's memory.
const MEMORY: u64 = 4 << 30;
const MEMORY_PER_SESSION: u64 = 1 << 30;
const MEMORY_PART: (u64, u64) = (3, 4);

/// The cgroups that the host allows.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Cgroups {
    /// The controllers of the VMs' cgroups. Empty if there are no cgroups.
    controllers: Vec<String>,
    /// Why there are no cgroups, or fewer controllers than usual.
    why: String,
    /// The host's memory in bytes.
    memory: u64,
}

/// The limits that apply if the VM's settings have none. A limit is `None` if the settings have it,
/// or if its controller is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Defaults {
    memory: Option<u64>,
    pids: Option<u64>,
}

impl Cgroups {
    /// Has the spawner set up the parent cgroup as far as the host allows it, below its own cgroup.
    /// Logs a warning if VMs can't have all default limits.
    pub(crate) fn set_up(spawner: &Spawner) -> Self {
        let (controllers, why) = match spawner.call(Call::SetUpCgroups, &[]) {
            Ok((Answer::Cgroups { controllers, why }, _)) => (controllers, why),
            Ok(_) => (Vec::new(), "the spawner gave no answer".into()),
            Err(refusal) => (Vec::new(), refusal.reason),
        };
        let cgroups = Self { controllers, why, memory: host_memory() };
        let missing = ["memory.host_max", "pids.max"];
        let missing = missing.into_iter().filter(|setting| cgroups.check_setting(setting).is_err());
        let missing: Vec<&str> = missing.collect();
        if !missing.is_empty() {
            let missing = missing.join(" and ");
            tracing::warn!("VMs get no default {missing} on this host: {}", cgroups.why);
        }
        cgroups
    }

    /// Returns the cgroups that a broker will have if its unit gets all controllers of the host.
    /// Sets up nothing.
    pub(crate) fn of_host() -> Self {
        let root = cgroup_root();
        let listed = root.as_ref().map(|root| root.join("cgroup.controllers"));
        let listed = listed.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let listed: Vec<&str> = listed.split_whitespace().collect();
        let found = CONTROLLERS.into_iter().map(|(controller, _)| controller);
        let found = found.filter(|controller| listed.contains(controller));
        let why = match &root {
            Some(root) => format!("cgroup controllers are missing in {}", root.display()),
            None => "cgroup v2 is not mounted".into(),
        };
        Self { controllers: found.map(str::to_owned).collect(), why, memory: host_memory() }
    }

    /// Returns the limits of a VM's cgroup, for this number of GPUs. Returns `None` if the host
    /// doesn't allow cgroups and the VM's settings don't need one.
    pub(crate) fn limits(&self, vm: &Vm, gpus: usize) -> Result<Option<CgroupLimits>, ApiError> {
        let spec = &vm.spec;
        let asked = [
            ("cpu.max", limits_cpu(vm)),
            ("memory.host_max", spec.memory.host_max.is_some()),
            ("pids.max", spec.pids.max.is_some()),
        ];
        for (setting, _) in asked.into_iter().filter(|(_, asked)| *asked) {
            self.check_setting(setting)?;
        }
        let defaults = self.defaults(vm, gpus);
        Ok((!self.controllers.is_empty()).then(|| CgroupLimits {
            cpu: spec.cpu.max.clone().filter(|_| self.has("cpu")),
            memory: spec.memory.host_max.or(defaults.memory),
            pids: spec.pids.max.or(defaults.pids),
        }))
    }

    fn has(&self, controller: &str) -> bool {
        self.controllers.iter().any(|one| one == controller)
    }

    /// Checks whether the host supports this setting.
    fn check_setting(&self, setting: &str) -> Result<(), ApiError> {
        let needed = CONTROLLERS.into_iter().find(|(_, name)| *name == setting);
        match needed {
            Some((controller, _)) if !self.has(controller) => {
                let message = format!(
                    "this host cannot enforce it without the cgroup v2 controller '{controller}': \
                     {}",
                    self.why
                );
                Err(ApiError::invalid(setting, message))
            }
            _ => Ok(()),
        }
    }

    /// Returns the default limits of a VM with this number of GPUs.
    pub(crate) fn defaults(&self, vm: &Vm, gpus: usize) -> Defaults {
        let spec = &vm.spec;
        let sessions = u64::from(vm.limits.max_sessions);
        let device = spec.memory.max.saturating_mul(gpus as u64);
        let memory = (MEMORY + MEMORY_PER_SESSION * sessions).saturating_add(device);
        let (part, whole) = MEMORY_PART;
        let memory = memory.min(self.memory / whole * part);
        let pids = PIDS + PIDS_PER_SESSION * sessions;
        let unset =
            |setting: Option<u64>, controller: &str| setting.is_none() && self.has(controller);
        Defaults {
            memory: unset(spec.memory.host_max, "memory").then_some(memory),
            pids: unset(spec.pids.max, "pids").then_some(pids),
        }
    }
}

impl Defaults {
    /// Returns the limits of memory and of processes that apply: those in the VM's settings, or
    /// else the defaults.
    pub(crate) fn or(self, host_max: Option<u64>, pids: Option<u64>) -> (Option<u64>, Option<u64>) {
        (host_max.or(self.memory), pids.or(self.pids))
    }

    /// Raises the limits to those of `new`, after a change of the VM's settings. They aren't
    /// reduced, because the kernel would then kill workers that already use more. Returns the
    /// limits to set in the cgroup, or `None` if nothing changes.
    pub(crate) fn raise(&mut self, new: Self) -> Option<CgroupLimits> {
        let after = Self { memory: self.memory.max(new.memory), pids: self.pids.max(new.pids) };
        if after == *self {
            return None;
        }
        *self = after;
        Some(CgroupLimits { cpu: None, memory: after.memory, pids: after.pids })
    }
}

/// Returns true if the VM's `cpu.max` limits its CPU time. The value "max" means no limit.
pub(crate) fn limits_cpu(vm: &Vm) -> bool {
    vm.spec.cpu.max.as_ref().is_some_and(|max| !max.starts_with("max"))
}

/// Returns the directory at which cgroup v2 is mounted.
fn cgroup_root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        right.starts_with("cgroup2 ").then(|| left.split(' ').nth(4).map(PathBuf::from))?
    })
}

/// Returns the size of the host's memory, or the largest number if it is unknown.
fn host_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use control_api::VmSpec;

    const GIB: u64 = 1 << 30;

    fn host(controllers: &[&str], memory: u64) -> Cgroups {
        let controllers = controllers.iter().map(|name| (*name).to_owned()).collect();
        Cgroups { controllers, why: "some are missing".into(), memory }
    }

    fn vm(change: impl FnOnce(&mut VmSpec)) -> Vm {
        let mut spec = VmSpec::new("a", GIB);
        spec.socket = Some("/run/a".into());
        change(&mut spec);
        Vm::new(spec).unwrap()
    }

    #[test]
    fn a_vm_has_limits_without_settings() {
        let cgroups = host(&["cpu", "memory", "pids"], 1 << 50);
        let memory = (4 + 32 + 2) * GIB;
        let pids = 256 + 32 * 512;
        let limits = CgroupLimits { cpu: None, memory: Some(memory), pids: Some(pids) };
        assert_eq!(cgroups.limits(&vm(|_| {}), 2).unwrap(), Some(limits));
        // The limits rise if sessions.max is raised, but don't fall if it's lowered.
        let mut defaults = cgroups.defaults(&vm(|_| {}), 2);
        let with = |sessions| cgroups.defaults(&vm(|spec| spec.sessions.max = Some(sessions)), 2);
        let more =
            CgroupLimits { cpu: None, memory: Some(memory + 32 * GIB), pids: Some(256 + 64 * 512) };
        assert_eq!(defaults.raise(with(64)), Some(more));
        assert_eq!(defaults.raise(with(1)), None);
    }

    #[test]
    fn a_vms_default_leaves_a_quarter_of_the_hosts_memory() {
        let cgroups = host(&["cpu", "memory", "pids"], 16 * GIB);
        let limits = cgroups.limits(&vm(|_| {}), 1).unwrap().unwrap();
        assert_eq!(limits.memory, Some(12 * GIB));
    }

    #[test]
    fn settings_come_before_defaults() {
        let cgroups = host(&["cpu", "memory", "pids"], 1 << 50);
        let vm = vm(|spec| {
            spec.cpu.max = Some("1000 2000".into());
            spec.memory.host_max = Some(GIB);
            spec.pids.max = Some(7);
        });
        let limits = cgroups.limits(&vm, 1).unwrap().unwrap();
        let cpu = Some("1000 2000".into());
        assert_eq!(limits, CgroupLimits { cpu, memory: Some(GIB), pids: Some(7) });
        let mut more = vm.clone();
        more.limits.max_sessions = 4096;
        assert_eq!(cgroups.defaults(&vm, 1).raise(cgroups.defaults(&more, 1)), None);
    }

    #[test]
    fn a_setting_without_its_controller_is_refused() {
        let cgroups = host(&["cpu", "pids"], 1 << 50);
        let error = cgroups.limits(&vm(|spec| spec.memory.host_max = Some(GIB)), 1).unwrap_err();
        assert_eq!(error.field.as_deref(), Some("memory.host_max"));
        assert!(error.message.ends_with("'memory': some are missing"), "{error}");
        // There's no default limit for the missing controller.
        let limits = cgroups.limits(&vm(|spec| spec.pids.max = Some(9)), 1).unwrap().unwrap();
        assert_eq!((limits.memory, limits.pids), (None, Some(9)));

        let none = host(&[], 1 << 50);
        assert!(none.limits(&vm(|_| {}), 1).unwrap().is_none());
        assert!(none.limits(&vm(|spec| spec.cpu.max = Some("max".into())), 1).unwrap().is_none());
        let error = none.limits(&vm(|spec| spec.pids.max = Some(9)), 1).unwrap_err();
        assert!(error.message.ends_with("'pids': some are missing"), "{error}");
    }
}
