//! Information about processes, descriptors, and files of the host programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A process, as /proc describes it.
#[derive(Clone, Debug)]
pub struct Process {
    pub name: String,
    pub state: char,
    pub parent: u32,
}

/// Reads the entry of a process in /proc. Returns `None` if the process doesn't exist.
pub fn read(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The process's name is in parentheses. It may contain spaces and parentheses itself, so search
    // for the last closing one.
    let (head, tail) = stat.rsplit_once(") ")?;
    let name = head.split_once('(')?.1.to_owned();
    let mut fields = tail.split(' ');
    let state = fields.next()?.chars().next()?;
    Some(Process { name, state, parent: fields.next()?.parse().ok()? })
}

/// Returns true if a process exists and hasn't exited.
pub fn runs(pid: u32) -> bool {
    i32::try_from(pid).ok().and_then(read).is_some_and(|process| process.state != 'Z')
}

/// Returns the children of a process.
pub fn children(parent: u32) -> Vec<Process> {
    let all = virtio_cuda_tests::processes().into_iter().filter_map(read);
    all.filter(|process| process.parent == parent).collect()
}

/// Makes this process a subreaper: processes whose parent exits become its children.
pub fn adopt_orphans() {
    // SAFETY: PR_SET_CHILD_SUBREAPER takes no pointers.
    let done = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    assert_eq!(done, 0, "cannot become a subreaper");
}

/// Sends a signal to the spawner's child process `pid`, if its name begins with `name`. Returns
/// whether the signal was sent.
pub fn signal(spawner: u32, pid: i32, name: &str, signal: i32) -> bool {
    // SAFETY: the system call takes no pointers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return false;
    }
    // Check the process after opening its pidfd, because the process ID may have been reused
    // before.
    let is_it = read(pid).is_some_and(|p| p.parent == spawner && p.name.starts_with(name));
    // SAFETY: the descriptor is open, and a null pointer selects the default signal information.
    let sent =
        is_it && unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, 0, 0) } == 0;
    // SAFETY: this function has opened the descriptor, and nothing else uses it.
    unsafe { libc::close(fd as i32) };
    sent
}

/// The numbers of a process's resources, which must not grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Number of descriptors of each kind.
    pub descriptors: BTreeMap<String, usize>,
    pub threads: usize,
}

impl Resources {
    pub fn of(pid: u32) -> Self {
        let mut descriptors = BTreeMap::new();
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            let Ok(target) = fs::read_link(entry.path()) else { continue };
            let target = target.display().to_string();
            let kind = target.split(":[").next().unwrap_or_default().to_owned();
            *descriptors.entry(kind).or_default() += 1;
        }
        let threads = fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
        Self { descriptors, threads }
    }

    pub fn count(&self) -> usize {
        self.descriptors.values().sum()
    }
}

/// Returns the highest resident size of a process, in KiB.
pub fn peak_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Returns the files in the directories for sockets and shared memory whose names contain `text`.
pub fn files(text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for place in ["/dev/shm", "/sys/fs/cgroup"] {
        search(Path::new(place), text, &mut found);
    }
    found
}

fn search(folder: &Path, text: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().contains(text) {
            found.push(path.clone());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            search(&path, text, found);
        }
    }
}
