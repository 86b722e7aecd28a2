//! How much more host memory a VM's processes can use.

use std::fs;

/// Returns how many more bytes a process can use: what is left in its cgroup, or what is available
/// on the host, whichever is less. Ignores a limit that can't be read.
pub(crate) fn room(pid: u32) -> u64 {
    let of_cgroup = of_cgroup(pid).unwrap_or(u64::MAX);
    of_cgroup.min(available().unwrap_or(u64::MAX))
}

fn of_cgroup(pid: u32) -> Option<u64> {
    let listed = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let path = listed.lines().find_map(|line| line.strip_prefix("0::"))?;
    let folder = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(|root| format!("{root}{path}"));
    let read = |folder: &String, name: &str| {
        fs::read_to_string(format!("{folder}/{name}")).ok()?.trim().parse::<u64>().ok()
    };
    folder.iter().find_map(|folder| {
        let max = read(folder, "memory.max")?;
        Some(max.saturating_sub(read(folder, "memory.current")?))
    })
}

fn available() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_has_some_room() {
        assert!(super::available().is_some_and(|bytes| bytes > 0));
        assert!(super::room(std::process::id()) > 0);
        assert_eq!(super::of_cgroup(u32::MAX), None);
    }
}
