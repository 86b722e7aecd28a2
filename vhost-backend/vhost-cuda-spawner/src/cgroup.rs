//! The VMs' cgroups. A cgroup limits the CPU time, host memory and process count of a VM's device
//! process and workers together.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use host_ipc::spawner::CgroupLimits;

/// The controllers that VMs' limits need.
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];
/// The weight of the broker's cgroup, which is the maximum. The VMs' cgroups have the default
/// weight, 100.
const BROKER_WEIGHT: &str = "10000";

/// The parent cgroup, which contains one cgroup per VM, and one cgroup for this process and, if its
/// parent is the broker, for its parent. Dropping this value removes the parent cgroup.
pub(crate) struct Cgroups {
    /// Directory of the parent cgroup. `None` if the host doesn't allow cgroups.
    base: Option<PathBuf>,
    /// The processes that `set_up` moves to the child cgroup `broker`.
    movers: BTreeSet<u32>,
    /// The controllers of the VMs' cgroups.
    pub(crate) controllers: Vec<&'static str>,
    /// Why there are no cgroups, or fewer controllers than `CONTROLLERS`.
    pub(crate) why: String,
}

/// A VM's cgroup. Dropping it removes the cgroup. By then, the VM's processes must have been
/// reaped.
pub(crate) struct VmCgroup(PathBuf);

impl Cgroups {
    /// Sets up the parent cgroup as far as the host allows it, below this process's own cgroup.
    /// `owner` is the process ID of this process or its parent, which becomes part of the cgroup's
    /// name.
    pub(crate) fn set_up(owner: u32) -> Self {
        Self::below(own_cgroup(), BTreeSet::from([owner, std::process::id()]), owner)
    }

    fn below(own: Result<PathBuf, String>, movers: BTreeSet<u32>, owner: u32) -> Self {
        let (controllers, why) = (Vec::new(), String::new());
        let mut cgroups = Self { base: None, movers, controllers, why };
        let set_up = own.and_then(|own| {
            let listed = read(&own.join("cgroup.controllers"))?;
            let is_listed = |name: &str| listed.split_whitespace().any(|listed| listed == name);
            let (found, missing): (Vec<_>, Vec<_>) =
                CONTROLLERS.into_iter().partition(|name| is_listed(name));
            if !missing.is_empty() {
                let own = own.display();
                cgroups.why =
                    format!("cgroup controllers are missing in {own}: {}", missing.join(", "));
            }
            if !found.is_empty() {
                cgroups.base = Some(move_below(&own, &found, &cgroups.movers, owner)?);
                cgroups.controllers = found;
            }
            Ok(())
        });
        if let Err(reason) = set_up {
            cgroups.why = reason;
        }
        cgroups
    }

    /// Creates a VM's cgroup with the given limits.
    pub(crate) fn create(&self, vm: &str, limits: &CgroupLimits) -> Result<VmCgroup, String> {
        let base = self.base.as_ref().ok_or("this host has no cgroups")?;
        let path = base.join(format!("vm-{vm}"));
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let cgroup = VmCgroup(path);
        cgroup.set(limits)?;
        if self.controllers.contains(&"memory") {
            // Don't let the VM use swap space, because it could fill all of the host's swap space.
            // A kernel without swap doesn't have this file.
            let _ = cgroup.write("memory.swap.max", Some(0));
        }
        Ok(cgroup)
    }
}

impl VmCgroup {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Sets the limits that aren't `None`.
    pub(crate) fn set(&self, limits: &CgroupLimits) -> Result<(), String> {
        self.write("cpu.max", limits.cpu.as_ref())?;
        self.write("memory.max", limits.memory)?;
        self.write("pids.max", limits.pids)
    }

    fn write(&self, file: &str, value: Option<impl ToString>) -> Result<(), String> {
        value.map_or(Ok(()), |value| write(&self.0.join(file), &value.to_string()))
    }
}

/// Moves a process into a cgroup. The process ID 0 means this process.
pub(crate) fn add(cgroup: &Path, pid: u32) -> Result<(), String> {
    write(&cgroup.join("cgroup.procs"), &pid.to_string())
}

/// Creates the parent cgroup with the given controllers, and moves `movers` to a child cgroup of
/// it.
fn move_below(
    own: &Path,
    controllers: &[&str],
    movers: &BTreeSet<u32>,
    owner: u32,
) -> Result<PathBuf, String> {
    // A cgroup that contains processes can't enable controllers for its children (cgroup v2), so
    // move the processes from `own` to a child of the parent cgroup.
    let base = own.join(format!("virtio-cuda-{owner}"));
    let broker = base.join("broker");
    fs::create_dir_all(&broker).map_err(|error| format!("{}: {error}", broker.display()))?;
    let enable: Vec<String> = controllers.iter().map(|name| format!("+{name}")).collect();
    let enable = enable.join(" ");
    let move_to = |cgroup: &Path| movers.iter().try_for_each(|pid| add(cgroup, *pid));
    let done = move_to(&broker)
        .and_then(|()| write(&own.join("cgroup.subtree_control"), &enable))
        .and_then(|()| write(&base.join("cgroup.subtree_control"), &enable));
    if let Err(reason) = done {
        let _ = move_to(own);
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
        // Move the processes out of the cgroup, so that it can be removed. If the broker was
        // killed, only this process is left in it.
        for pid in &self.movers {
            let _ = add(own, *pid);
        }
        let _ = fs::remove_dir(base.join("broker"));
        let _ = fs::remove_dir(base);
    }
}

impl Drop for VmCgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
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

/// Writes a value to a file of a cgroup. Never creates the file, because only the kernel creates
/// files in a cgroup.
fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text)
        .map_err(|error| format!("cannot write '{text}' to {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a temporary directory that simulates the broker's cgroup, and cgroups below it.
    fn host(controllers: &str) -> (tempfile::TempDir, Cgroups) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cgroup.controllers"), controllers).unwrap();
        let cgroups = Cgroups::below(Ok(folder.path().to_owned()), BTreeSet::from([1]), 1);
        (folder, cgroups)
    }

    fn limit(cgroup: &VmCgroup, file: &str) -> Option<String> {
        fs::read_to_string(cgroup.0.join(file)).ok()
    }

    #[test]
    fn a_vms_limits_are_set_in_its_cgroup() {
        let (_folder, cgroups) = host("cpuset cpu io memory pids\n");
        let limits = CgroupLimits { memory: Some(5), pids: Some(7), ..CgroupLimits::default() };
        let cgroup = cgroups.create("a", &limits).unwrap();
        assert_eq!(limit(&cgroup, "memory.max").as_deref(), Some("5"));
        assert_eq!(limit(&cgroup, "memory.swap.max").as_deref(), Some("0"));
        assert_eq!(limit(&cgroup, "pids.max").as_deref(), Some("7"));
        assert_eq!(limit(&cgroup, "cpu.max"), None);
        add(cgroup.path(), 123).unwrap();
        assert_eq!(limit(&cgroup, "cgroup.procs").as_deref(), Some("123"));
        let limits = CgroupLimits { cpu: Some("1 2".into()), ..CgroupLimits::default() };
        cgroup.set(&limits).unwrap();
        assert_eq!(limit(&cgroup, "cpu.max").as_deref(), Some("1 2"));
        assert_eq!(limit(&cgroup, "pids.max").as_deref(), Some("7"));
    }

    #[test]
    fn missing_controllers_are_named() {
        let (folder, cgroups) = host("cpu pids");
        assert_eq!(cgroups.controllers, ["cpu", "pids"]);
        let why = format!("cgroup controllers are missing in {}: memory", folder.path().display());
        assert_eq!(cgroups.why, why);
        let none = Cgroups::below(Err("cgroup v2 is not mounted".into()), BTreeSet::new(), 1);
        assert!(none.controllers.is_empty() && none.why == "cgroup v2 is not mounted");
        assert!(none.create("a", &CgroupLimits::default()).is_err());
    }
}
