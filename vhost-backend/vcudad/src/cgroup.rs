//! The VMs' cgroups. A cgroup limits the CPU time, host memory and process count of all workers of
//! a VM together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use control_api::VmSpec;

use crate::config::Vm;

const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];

/// Returns true if the VM has limits that need a cgroup.
pub(crate) fn has_limits(spec: &VmSpec) -> bool {
    spec.cpu.max.is_some() || spec.pids.max.is_some() || spec.memory.host_max.is_some()
}

/// The parent cgroup that contains one cgroup per VM.
pub(crate) struct Cgroups {
    base: PathBuf,
}

/// A VM's cgroup. Dropping it removes the cgroup. By then, the VM's processes must have been
/// reaped.
pub(crate) struct VmCgroup {
    path: PathBuf,
}

impl Cgroups {
    /// Sets up the parent cgroup if the host allows it. This requires cgroup v2 with the cpu,
    /// memory and pids controllers, and permission to create cgroups below the broker's own. If it
    /// fails, returns `None`, and logs a warning if a cgroup is `needed` now.
    pub(crate) fn set_up(needed: bool) -> Option<Self> {
        match Self::try_set_up() {
            Ok(cgroups) => Some(cgroups),
            Err(reason) if needed => {
                tracing::warn!(
                    "cannot enforce cpu.max, memory.host_max and pids.max on this host: {reason}"
                );
                None
            }
            Err(reason) => {
                tracing::debug!("cgroups are unavailable: {reason}");
                None
            }
        }
    }

    fn try_set_up() -> Result<Self, String> {
        let own = own_cgroup()?;
        let listed = read(&own.join("cgroup.controllers"))?;
        let missing: Vec<&str> = CONTROLLERS
            .into_iter()
            .filter(|name| !listed.split_whitespace().any(|listed| listed == *name))
            .collect();
        if !missing.is_empty() {
            let own = own.display();
            return Err(format!("cgroup controllers are missing in {own}: {}", missing.join(", ")));
        }
        // A cgroup that contains processes can't delegate controllers, so the broker moves itself
        // into a child cgroup.
        let base = own.join(format!("virtio-cuda-{}", std::process::id()));
        let broker = base.join("broker");
        fs::create_dir_all(&broker).map_err(|error| format!("{}: {error}", broker.display()))?;
        let enable = "+cpu +memory +pids";
        let done = write(&broker.join("cgroup.procs"), &std::process::id().to_string())
            .and_then(|()| write(&own.join("cgroup.subtree_control"), enable))
            .and_then(|()| write(&base.join("cgroup.subtree_control"), enable));
        if let Err(reason) = done {
            let _ = write(&own.join("cgroup.procs"), &std::process::id().to_string());
            let _ = fs::remove_dir(&broker);
            let _ = fs::remove_dir(&base);
            return Err(reason);
        }
        Ok(Self { base })
    }

    /// Creates a VM's cgroup and sets its limits.
    fn add(&self, vm: &Vm) -> Result<VmCgroup, String> {
        let path = self.base.join(format!("vm-{}", vm.name));
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let cgroup = VmCgroup { path };
        let limits = [
            ("cpu.max", vm.spec.cpu.max.clone()),
            ("memory.max", vm.spec.memory.host_max.map(|bytes| bytes.to_string())),
            ("pids.max", vm.spec.pids.max.map(|count| count.to_string())),
        ];
        for (file, value) in limits {
            if let Some(value) = value {
                write(&cgroup.path.join(file), &value)?;
            }
        }
        Ok(cgroup)
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        let Some(own) = self.base.parent() else { return };
        let _ = write(&own.join("cgroup.procs"), &std::process::id().to_string());
        let _ = fs::remove_dir(self.base.join("broker"));
        let _ = fs::remove_dir(&self.base);
    }
}

impl VmCgroup {
    /// Moves a process into the cgroup.
    pub(crate) fn take(&self, pid: u32) -> Result<(), String> {
        write(&self.path.join("cgroup.procs"), &pid.to_string())
    }
}

impl Drop for VmCgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
    }
}

/// Creates a VM's cgroup if the VM has limits that need one. If that fails, logs a warning and
/// returns `None`.
pub(crate) fn create(cgroups: Option<&Cgroups>, vm: &Vm) -> Option<VmCgroup> {
    if !has_limits(&vm.spec) {
        return None;
    }
    let Some(cgroups) = cgroups else {
        tracing::warn!(
            vm = vm.name,
            "cannot enforce cpu.max, memory.host_max and pids.max on this host"
        );
        return None;
    };
    let created = cgroups.add(vm);
    let warn = |reason: &String| tracing::warn!(vm = vm.name, "cannot create its cgroup: {reason}");
    created.inspect_err(warn).ok()
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

fn write(path: &Path, text: &str) -> Result<(), String> {
    let open = || -> io::Result<()> {
        use std::io::Write;
        fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
    };
    open().map_err(|error| format!("cannot write '{text}' to {}: {error}", path.display()))
}
