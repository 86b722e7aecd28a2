//! The groups that may use the control API's sockets.

use super::finding::Finding;
use super::host::Host;

const GROUP: &str = "virtio-cuda";
/// The name of the group that may use the read socket.
const READERS: &str = "virtio-cuda-read";

/// Checks that the group of the control socket exists, and that the caller is in that group or in
/// the group of the read socket.
pub(super) fn group(host: &Host) -> Finding {
    const CHECK: &str = "group";
    let groups = host.read("/etc/group").unwrap_or_default();
    let entry_of = |name: &str| {
        groups.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            (fields.len() >= 4 && fields[0] == name)
                .then(|| (fields[2].to_owned(), fields[3].to_owned()))
        })
    };
    let status = host.read("/proc/self/status").unwrap_or_default();
    // In these lines of the status file, the effective ID is the second number.
    let ids = |name: &str| -> Vec<String> {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    let is_root = ids("Uid:").get(1).is_some_and(|id| id == "0");
    let Some((gid, members)) = entry_of(GROUP) else {
        return Finding::warn(
            CHECK,
            format!("there is no group {GROUP}, so only root can use vcudactl"),
            format!("run groupadd --system {GROUP}, and restart vcudad"),
        );
    };
    let is_in = |gid: &String| ids("Groups:").contains(gid) || ids("Gid:").get(1) == Some(gid);
    if is_root {
        return Finding::ok(CHECK, format!("{GROUP} exists; root needs no group"));
    }
    if is_in(&gid) {
        return Finding::ok(CHECK, format!("you are in {GROUP}"));
    }
    let readers = entry_of(READERS);
    if readers.as_ref().is_some_and(|(gid, _)| is_in(gid)) {
        return Finding::ok(
            CHECK,
            format!("you are in {READERS}: you can read, but change nothing"),
        );
    }
    let to_read = readers.map(|_| format!(" (or -aG {READERS}, to only read)")).unwrap_or_default();
    let mut advice = format!("run usermod -aG {GROUP} USER{to_read} as root, then log in again");
    if !members.is_empty() {
        advice += &format!(" (members now: {members})");
    }
    Finding::warn(CHECK, format!("you aren't in {GROUP}"), advice)
}
