//! Checks the features of the kernel that vcudad needs: cgroups and namespaces.

use super::finding::Finding;
use super::host::Host;

/// The cgroup controllers with which vcudad limits the processes of a VM.
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];
/// The namespaces of a jail. For each, its names in `/proc/self/ns` and in `/proc/sys/user`.
const JAIL: [(&str, &str); 5] =
    [("net", "net"), ("ipc", "ipc"), ("uts", "uts"), ("mnt", "mnt"), ("pid", "pid")];

/// Checks that the host uses cgroup v2 and has the controllers that vcudad needs.
pub(super) fn cgroups(host: &Host) -> Finding {
    const CHECK: &str = "cgroups";
    const HYBRID: &str = "/sys/fs/cgroup/unified";
    let controllers = host.read("/sys/fs/cgroup/cgroup.controllers");
    if controllers.is_none()
        && let Some(has) = host.read(&format!("{HYBRID}/cgroup.controllers"))
    {
        let has = has.split_whitespace().collect::<Vec<_>>();
        let missing: Vec<&str> = CONTROLLERS.into_iter().filter(|one| !has.contains(one)).collect();
        if missing.is_empty() {
            return Finding::ok(
                CHECK,
                format!("cgroup v2 at {HYBRID} with {}", CONTROLLERS.join(", ")),
            );
        }
        let missing = missing.join(", ");
        return Finding::warn(
            CHECK,
            format!(
                "hybrid: cgroup v2 is at {HYBRID}, but cgroup v1 has the controllers {missing}, so VMs \
                 run without these limits"
            ),
            "boot with systemd.unified_cgroup_hierarchy=1",
        );
    }
    let Some(controllers) = controllers else {
        return Finding::warn(
            CHECK,
            "no cgroup v2 at /sys/fs/cgroup, so VMs have no limits on host memory, CPU, and processes",
            "boot with systemd.unified_cgroup_hierarchy=1, or mount cgroup2 there",
        );
    };
    let has = |name: &&str| controllers.split_whitespace().any(|word| word == *name);
    let missing: Vec<&str> = CONTROLLERS.into_iter().filter(|name| !has(name)).collect();
    if missing.is_empty() {
        return Finding::ok(CHECK, format!("cgroup v2 with {}", CONTROLLERS.join(", ")));
    }
    Finding::warn(
        CHECK,
        format!("cgroup v2 lacks the controllers {}", missing.join(", ")),
        "VMs run without these limits; don't disable the controllers (cgroup_disable= on the \
         kernel's command line)",
    )
}

/// Checks that the kernel supports the namespaces of a jail. User namespaces are optional, because
/// vcudad starts as root and doesn't need them.
pub(super) fn namespaces(host: &Host) -> Finding {
    const CHECK: &str = "namespaces";
    let is_usable = |(file, limit): &(&str, &str)| {
        let limit = host.read(&format!("/proc/sys/user/max_{limit}_namespaces"));
        host.place(&format!("/proc/self/ns/{file}")).symlink_metadata().is_ok()
            && limit.is_none_or(|limit| limit != "0")
    };
    let missing = JAIL.iter().filter(|namespace| !is_usable(namespace));
    let missing: Vec<&str> = missing.map(|(file, _)| *file).collect();
    if !missing.is_empty() {
        return Finding::warn(
            CHECK,
            format!("not available: {}", missing.join(", ")),
            "workers run without a jail, or, with jail = \"required\", vcudad doesn't start; use \
             a kernel with these namespaces, and set /proc/sys/user/max_*_namespaces above 0",
        );
    }
    let user = match is_usable(&("user", "user")) {
        true => "and user",
        false => "but not user, which vcudad doesn't need",
    };
    Finding::ok(CHECK, format!("{}, {user}", JAIL.map(|(file, _)| file).join(", ")))
}
