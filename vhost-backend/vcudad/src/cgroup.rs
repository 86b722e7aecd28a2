//! The VMs' cgroups. A cgroup limits the CPU time, host memory and process count of a VM's device
//! process and workers together.

use std::fs;
use std::path::{Path, PathBuf};

use control_api::{ApiError, ErrorCode};

use crate::config::Vm;

/// The controllers that the broker uses, each with the setting that needs it.
const CONTROLLERS: [(&str, &str); 3] =
    [("cpu", "cpu.max"), ("memory", "memory.host_max"), ("pids", "pids.max")];

/// The default of `pids.max`: this many, and so many per session. A worker has up to 128 threads for
/// the guest's threads, and the driver's own; softgpu has one per CPU.
const PIDS: u64 = 256;
const PIDS_PER_SESSION: u64 = 512;
/// The default of `memory.host_max`: this much, so much per session, and `memory.max` for each GPU,
/// because softgpu's device memory is host memory. It's at most `MEMORY_PART` of the host's.
const MEMORY: u64 = 4 << 30;
const MEMORY_PER_SESSION: u64 = 1 << 30;
const MEMORY_PART: (u64, u64) = (3, 4);

/// The parent cgroup that contains one cgroup per VM.
pub(crate) struct Cgroups {
    /// `None` if the host doesn't allow it.
    base: Option<PathBuf>,
    /// The controllers of the VMs' cgroups.
    controllers: Vec<&'static str>,
    /// Why there are no cgroups, or fewer controllers than usual.
    why: String,
    /// The host's memory in bytes.
    memory: u64,
}

/// A VM's cgroup. Dropping it removes the cgroup. By then, the VM's processes must have been
/// reaped.
pub(crate) struct VmCgroup {
    path: PathBuf,
    defaults: Defaults,
}

/// The limits that apply if the VM's settings have none. `None` if the limit is set, or if its
/// controller is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Defaults {
    memory: Option<u64>,
    pids: Option<u64>,
}

impl Cgroups {
    /// Sets up the parent cgroup as far as the host allows it, below the broker's own cgroup. Logs a
    /// warning if VMs can't have all default limits.
    pub(crate) fn set_up() -> Self {
        let cgroups = Self::below(own_cgroup(), host_memory());
        let missing = ["memory.host_max", "pids.max"];
        let missing = missing.into_iter().filter(|setting| cgroups.check_setting(setting).is_err());
        let missing: Vec<&str> = missing.collect();
        if !missing.is_empty() {
            let missing = missing.join(" and ");
            tracing::warn!("VMs get no default {missing} on this host: {}", cgroups.why);
        }
        cgroups
    }

    /// Does the same as `set_up`, without a warning, below this cgroup.
    fn below(own: Result<PathBuf, String>, memory: u64) -> Self {
        let mut cgroups = Self { base: None, controllers: Vec::new(), why: String::new(), memory };
        let set_up = own.and_then(|own| {
            let listed = read(&own.join("cgroup.controllers"))?;
            let is_listed = |name: &str| listed.split_whitespace().any(|listed| listed == name);
            let (found, missing): (Vec<_>, Vec<_>) =
                CONTROLLERS.map(|(name, _)| name).into_iter().partition(|name| is_listed(name));
            if !missing.is_empty() {
                let own = own.display();
                cgroups.why =
                    format!("cgroup controllers are missing in {own}: {}", missing.join(", "));
            }
            if !found.is_empty() {
                cgroups.base = Some(move_below(&own, &found)?);
                cgroups.controllers = found;
            }
            Ok(())
        });
        if let Err(reason) = set_up {
            cgroups.why = reason;
        }
        cgroups
    }

    /// Creates a VM's cgroup, for this number of GPUs, and sets its limits. Returns `None` if the
    /// host doesn't allow cgroups and the VM's settings don't need one.
    pub(crate) fn create(&self, vm: &Vm, gpus: usize) -> Result<Option<VmCgroup>, ApiError> {
        let spec = &vm.spec;
        let asked = [
            ("cpu.max", spec.cpu.max.as_ref().is_some_and(|max| !max.starts_with("max"))),
            ("memory.host_max", spec.memory.host_max.is_some()),
            ("pids.max", spec.pids.max.is_some()),
        ];
        for (setting, _) in asked.into_iter().filter(|(_, asked)| *asked) {
            self.check_setting(setting)?;
        }
        let Some(base) = &self.base else { return Ok(None) };
        let defaults = self.defaults(vm, gpus);
        let create = || {
            let path = base.join(format!("vm-{}", vm.name));
            fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let cgroup = VmCgroup { path, defaults };
            cgroup.set("cpu.max", spec.cpu.max.clone())?;
            cgroup.set("memory.max", spec.memory.host_max.or(defaults.memory))?;
            cgroup.set("pids.max", spec.pids.max.or(defaults.pids))?;
            if self.controllers.contains(&"memory") {
                // Otherwise, a VM could also fill the host's swap space. A kernel without swap
                // doesn't have this file.
                let _ = cgroup.set("memory.swap.max", Some(0));
            }
            Ok(cgroup)
        };
        create().map(Some).map_err(|reason: String| {
            ApiError::new(ErrorCode::Unavailable, format!("cannot create its cgroup: {reason}"))
        })
    }

    /// Checks whether the host supports this setting.
    fn check_setting(&self, setting: &str) -> Result<(), ApiError> {
        let needed = CONTROLLERS.into_iter().find(|(_, name)| *name == setting);
        match needed {
            Some((controller, _)) if !self.controllers.contains(&controller) => {
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

    fn defaults(&self, vm: &Vm, gpus: usize) -> Defaults {
        let spec = &vm.spec;
        let sessions = u64::from(vm.limits.max_sessions);
        let device = spec.memory.max.saturating_mul(gpus as u64);
        let memory = (MEMORY + MEMORY_PER_SESSION * sessions).saturating_add(device);
        let (part, whole) = MEMORY_PART;
        let memory = memory.min(self.memory / whole * part);
        let pids = PIDS + PIDS_PER_SESSION * sessions;
        let unset = |setting: Option<u64>, controller: &str| {
            setting.is_none() && self.controllers.contains(&controller)
        };
        Defaults {
            memory: unset(spec.memory.host_max, "memory").then_some(memory),
            pids: unset(spec.pids.max, "pids").then_some(pids),
        }
    }

    /// Raises the default limits in a VM's cgroup after a change of its settings. They aren't
    /// reduced, because the kernel would then kill workers that already use more.
    pub(crate) fn raise(&self, cgroup: &mut VmCgroup, vm: &Vm, gpus: usize) {
        let (before, new) = (cgroup.defaults, self.defaults(vm, gpus));
        let after =
            Defaults { memory: before.memory.max(new.memory), pids: before.pids.max(new.pids) };
        if after == before {
            return;
        }
        cgroup.defaults = after;
        let done = cgroup.set("memory.max", after.memory).and(cgroup.set("pids.max", after.pids));
        if let Err(reason) = done {
            tracing::warn!(vm = vm.name, "cannot raise the limits of its cgroup: {reason}");
        }
    }
}

/// The weight of the broker's cgroup, the highest one. The VMs' have the default of 100.
const BROKER_WEIGHT: &str = "10000";

/// Creates the parent cgroup with these controllers, and moves the broker there.
fn move_below(own: &Path, controllers: &[&str]) -> Result<PathBuf, String> {
    // A cgroup that contains processes can't delegate controllers, so the broker moves itself into a
    // child cgroup.
    let pid = std::process::id().to_string();
    let base = own.join(format!("virtio-cuda-{pid}"));
    let broker = base.join("broker");
    fs::create_dir_all(&broker).map_err(|error| format!("{}: {error}", broker.display()))?;
    let enable: Vec<String> = controllers.iter().map(|name| format!("+{name}")).collect();
    let enable = enable.join(" ");
    let done = write(&broker.join("cgroup.procs"), &pid)
        .and_then(|()| write(&own.join("cgroup.subtree_control"), &enable))
        .and_then(|()| write(&base.join("cgroup.subtree_control"), &enable));
    if let Err(reason) = done {
        let _ = write(&own.join("cgroup.procs"), &pid);
        let _ = fs::remove_dir(&broker);
        let _ = fs::remove_dir(&base);
        return Err(reason);
    }
    if controllers.contains(&"cpu")
        && let Err(reason) = write(&broker.join("cpu.weight"), BROKER_WEIGHT)
    {
        tracing::warn!("VMs that keep all CPUs busy may delay the broker: {reason}");
    }
    Ok(base)
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        let Some(base) = &self.base else { return };
        let Some(own) = base.parent() else { return };
        let _ = write(&own.join("cgroup.procs"), &std::process::id().to_string());
        let _ = fs::remove_dir(base.join("broker"));
        let _ = fs::remove_dir(base);
    }
}

impl VmCgroup {
    /// Moves a process into the cgroup.
    pub(crate) fn take(&self, pid: u32) -> Result<(), String> {
        write(&self.path.join("cgroup.procs"), &pid.to_string())
    }

    /// Sets a limit, if there is one.
    fn set(&self, file: &str, value: Option<impl ToString>) -> Result<(), String> {
        value.map_or(Ok(()), |value| write(&self.path.join(file), &value.to_string()))
    }
}

impl Drop for VmCgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
    }
}

/// Returns the size of the host's memory, or the largest number if it is unknown.
fn host_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib << 10)
}

/// Returns the directory of this process's cgroup in the cgroup2 file system.
fn own_cgroup() -> Result<PathBuf, String> {
    let mounts = read(Path::new("/proc/self/mountinfo"))?;
    let mount = mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        right.starts_with("cgroup2 ").then(|| left.split(' ').nth(4).map(PathBuf::from))?
    });
    let mount = mount.ok_or("cgroup v2 is not mounted")?;
    let own = read(Path::new("/proc/self/cgroup"))?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"));
    Ok(mount.join(path.ok_or("this process is not in a v2 cgroup")?))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a value to a file of a cgroup. In a cgroup, only the kernel creates files.
fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text)
        .map_err(|error| format!("cannot write '{text}' to {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use control_api::VmSpec;
    use vmm_sys_util::tempdir::TempDir;

    const GIB: u64 = 1 << 30;

    /// A directory in place of the broker's cgroup.
    fn host(controllers: &str, memory: u64) -> (TempDir, Cgroups) {
        let folder = TempDir::new().unwrap();
        fs::write(folder.as_path().join("cgroup.controllers"), controllers).unwrap();
        let cgroups = Cgroups::below(Ok(folder.as_path().to_owned()), memory);
        (folder, cgroups)
    }

    fn vm(change: impl FnOnce(&mut VmSpec)) -> Vm {
        let mut spec = VmSpec::new("a", GIB);
        spec.socket = Some("/run/a".into());
        change(&mut spec);
        Vm::new(spec).unwrap()
    }

    fn limit(cgroup: &VmCgroup, file: &str) -> Option<String> {
        fs::read_to_string(cgroup.path.join(file)).ok()
    }

    #[test]
    fn a_vm_has_limits_without_settings() {
        let (_folder, cgroups) = host("cpuset cpu io memory pids\n", 1 << 50);
        let mut cgroup = cgroups.create(&vm(|_| {}), 2).unwrap().unwrap();
        let memory = (4 + 32 + 2) * GIB;
        assert_eq!(limit(&cgroup, "memory.max"), Some(memory.to_string()));
        assert_eq!(limit(&cgroup, "memory.swap.max").as_deref(), Some("0"));
        assert_eq!(limit(&cgroup, "pids.max"), Some((256 + 32 * 512).to_string()));
        assert_eq!(limit(&cgroup, "cpu.max"), None);
        cgroup.take(123).unwrap();
        assert_eq!(limit(&cgroup, "cgroup.procs").as_deref(), Some("123"));
        // More sessions need more; with fewer, the limits stay.
        for (sessions, pids) in [(64, 256 + 64 * 512), (1, 256 + 64 * 512)] {
            cgroups.raise(&mut cgroup, &vm(|spec| spec.sessions.max = Some(sessions)), 2);
            assert_eq!(limit(&cgroup, "pids.max"), Some(u64::to_string(&pids)));
        }
        assert_eq!(limit(&cgroup, "memory.max"), Some((memory + 32 * GIB).to_string()));
    }

    #[test]
    fn a_vms_default_leaves_a_quarter_of_the_hosts_memory() {
        let (_folder, cgroups) = host("cpu memory pids", 16 * GIB);
        let cgroup = cgroups.create(&vm(|_| {}), 1).unwrap().unwrap();
        assert_eq!(limit(&cgroup, "memory.max"), Some((12 * GIB).to_string()));
    }

    #[test]
    fn settings_come_before_defaults() {
        let (_folder, cgroups) = host("cpu memory pids", 1 << 50);
        let vm = vm(|spec| {
            spec.cpu.max = Some("1000 2000".into());
            spec.memory.host_max = Some(GIB);
            spec.pids.max = Some(7);
        });
        let mut cgroup = cgroups.create(&vm, 1).unwrap().unwrap();
        let mut more = vm.clone();
        more.limits.max_sessions = 4096;
        cgroups.raise(&mut cgroup, &more, 1);
        let limits =
            ["cpu.max", "memory.max", "pids.max"].map(|file| limit(&cgroup, file).unwrap());
        assert_eq!(limits, ["1000 2000", "1073741824", "7"]);
    }

    #[test]
    fn a_setting_without_its_controller_is_refused() {
        let (folder, cgroups) = host("cpu pids", 1 << 50);
        let error = cgroups.create(&vm(|spec| spec.memory.host_max = Some(GIB)), 1).err().unwrap();
        assert_eq!(error.field.as_deref(), Some("memory.host_max"));
        let says =
            format!("'memory': cgroup controllers are missing in {}", folder.as_path().display());
        assert!(error.message.contains(&says) && error.message.ends_with(": memory"), "{error}");
        // The default is left out.
        let cgroup = cgroups.create(&vm(|spec| spec.pids.max = Some(9)), 1).unwrap().unwrap();
        assert_eq!(limit(&cgroup, "memory.max"), None);
        assert_eq!(limit(&cgroup, "pids.max").as_deref(), Some("9"));

        let none = Cgroups::below(Err("cgroup v2 is not mounted".into()), 1 << 50);
        assert!(none.create(&vm(|_| {}), 1).unwrap().is_none());
        assert!(none.create(&vm(|spec| spec.cpu.max = Some("max".into())), 1).unwrap().is_none());
        let error = none.create(&vm(|spec| spec.pids.max = Some(9)), 1).err().unwrap();
        assert!(error.message.ends_with("'pids': cgroup v2 is not mounted"), "{error}");
    }
}
