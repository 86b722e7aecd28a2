//! The group that may use the control socket.

use super::finding::Finding;
use super::host::Host;

const GROUP: &str = "virtio-cuda";

/// Checks that the group exists, and that the caller is in it.
pub(super) fn group(host: &Host) -> Finding {
    const CHECK: &str = "group";
    let groups = host.read("/etc/group").unwrap_or_default();
    let entry = groups.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.len() >= 4 && fields[0] == GROUP)
            .then(|| (fields[2].to_owned(), fields[3].to_owned()))
    });
    let status = host.read("/proc/self/status").unwrap_or_default();
    // The effective IDs are second.
    let ids = |name: &str| -> Vec<String> {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    let is_root = ids("Uid:").get(1).is_some_and(|id| id == "0");
    let Some((gid, members)) = entry else {
        return Finding::warn(
            CHECK,
            format!("there is no group {GROUP}, so only root can use vcudactl"),
            format!("run groupadd --system {GROUP}, and restart vcudad"),
        );
    };
    let is_member = ids("Groups:").contains(&gid) || ids("Gid:").get(1) == Some(&gid);
    if is_root {
        return Finding::ok(CHECK, format!("{GROUP} exists; root needs no group"));
    }
    if is_member {
        return Finding::ok(CHECK, format!("you are in {GROUP}"));
    }
    let advice = match members.is_empty() {
        true => format!("run usermod -aG {GROUP} USER as root, then log in again"),
        false => format!(
            "run usermod -aG {GROUP} USER as root, then log in again (members now: {members})"
        ),
    };
    Finding::warn(CHECK, format!("you aren't in {GROUP}"), advice)
}
