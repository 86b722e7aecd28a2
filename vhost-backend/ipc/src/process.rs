//! Settings that each host process applies to itself: lifetime, signals, limits, user.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{
    DumpableBehavior, Pid, Resource, Signal, geteuid, getppid, getpriority_process, getrlimit,
    set_dumpable_behavior, set_parent_process_death_signal, setpriority_process, setrlimit,
};

/// Makes the kernel kill this process when the thread that started it exits. Changing the user
/// clears this setting, so call this function again after changing the user.
pub fn die_with_parent(parent_pid: libc::pid_t) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // If the parent exited before the call above, the setting has no effect.
    if parent() != parent_pid {
        return Err(io::Error::other("the parent process has already exited"));
    }
    Ok(())
}

/// Blocks all signals in this thread, and returns the mask from before.
pub fn block_signals() -> libc::sigset_t {
    // SAFETY: an empty signal mask is all zeros in every C library for Linux, sigfillset
    // initializes `all` before pthread_sigmask reads it, and `before` is writable.
    unsafe {
        let mut before = std::mem::zeroed();
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        before
    }
}

/// Sets this thread's signal mask.
pub(super) fn restore_signals(mask: &libc::sigset_t) {
    // SAFETY: `mask` is readable, and the pointer for the old mask may be null.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

/// Unblocks all signals. The broker blocks some signals, and its children inherit its signal mask.
pub fn unblock_signals() {
    // SAFETY: sigemptyset initializes `set` before sigprocmask reads it.
    unsafe {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Raises the soft limit on open descriptors to the hard limit.
pub fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If this fails, the process continues with the old limit.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// The nice value of the processes on which all VMs depend. With the default value, VMs that keep
/// all CPUs busy would delay these processes.
const NICE: i32 = -10;

/// Raises the priority of this thread, and of threads that it starts later, if the process is
/// allowed to. Returns the old nice value.
pub fn go_before_vms() -> i32 {
    let before = getpriority_process(None).unwrap_or(0);
    set_nice(NICE);
    before
}

/// Sets this thread's nice value, if the process is allowed to.
pub fn set_nice(nice: i32) {
    let _ = setpriority_process(None, nice);
}

/// Returns true if this process runs as root.
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// Returns the parent's process ID.
pub fn parent() -> libc::pid_t {
    Pid::as_raw(getppid())
}

/// Switches permanently to a user and the group with the same ID, without supplementary groups,
/// sets no_new_privs, and makes this process non-dumpable, so that only root can inspect it.
/// Verifies the IDs afterwards, because the kernel takes the ID -1 as a request to leave the ID
/// unchanged, and the process would still be root.
pub fn become_user(id: Option<u32>) -> io::Result<()> {
    match id {
        Some(id) => become_with_groups(id, id, &[]),
        None => renounce_privileges(),
    }
}

/// Does the same as [`become_user`], but with the given group and supplementary groups.
pub fn become_with_groups(uid: u32, gid: u32, groups: &[u32]) -> io::Result<()> {
    // SAFETY: setgroups reads as many IDs as the list has, and the other calls take integers.
    unsafe {
        check("setgroups", libc::setgroups(groups.len(), groups.as_ptr()))?;
        check("setresgid", libc::setresgid(gid, gid, gid))?;
        check("setresuid", libc::setresuid(uid, uid, uid))?;
    }
    // SAFETY: getresgid gets three valid, writable references.
    let gids = ids_now(|real, now, saved| unsafe { libc::getresgid(real, now, saved) })?;
    // SAFETY: getresuid gets three valid, writable references.
    let uids = ids_now(|real, now, saved| unsafe { libc::getresuid(real, now, saved) })?;
    if (uids, gids) != ([uid; 3], [gid; 3]) {
        return Err(io::Error::other(format!(
            "setresuid({uid}) left the users {uids:?} and the groups {gids:?}"
        )));
    }
    renounce_privileges()
}

fn renounce_privileges() -> io::Result<()> {
    set_no_new_privs()?;
    set_dumpable(false)
}

/// Makes this thread, and threads that it starts later, unable to gain privileges by executing a
/// program.
pub fn set_no_new_privs() -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)
        .map_err(|error| io::Error::new(error.kind(), format!("no_new_privs: {error}")))
}

fn check(what: &str, result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        let error = io::Error::last_os_error();
        return Err(io::Error::new(error.kind(), format!("{what}: {error}")));
    }
    Ok(())
}

/// Sets whether other processes of this process's user may inspect it, and whether its files in
/// /proc belong to that user. If `dumpable` is false, only root may inspect it, and the files
/// belong to root.
pub fn set_dumpable(dumpable: bool) -> io::Result<()> {
    let behavior =
        if dumpable { DumpableBehavior::Dumpable } else { DumpableBehavior::NotDumpable };
    Ok(set_dumpable_behavior(behavior)?)
}

/// Reads the real, effective and saved IDs from the kernel.
fn ids_now(get_ids: impl Fn(&mut u32, &mut u32, &mut u32) -> libc::c_int) -> io::Result<[u32; 3]> {
    let [mut real, mut now, mut saved] = [0; 3];
    if get_ids(&mut real, &mut now, &mut saved) < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok([real, now, saved])
}

/// Takes ownership of a descriptor that this process has inherited, and sets close-on-exec. Must be
/// called only once per descriptor.
pub fn inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_SETFD takes an integer, and fails if the descriptor isn't open.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, was inherited, and nothing else in this process owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a descriptor non-blocking.
pub fn set_nonblocking(fd: &impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(fd)?;
    if !flags.contains(OFlags::NONBLOCK) {
        fcntl_setfl(fd, flags | OFlags::NONBLOCK)?;
    }
    Ok(())
}

/// Makes the kernel's table of this process's descriptors large enough for `count` of them, or for
/// as many as the soft limit allows. Call this before starting threads: when the table of a process
/// with threads is full, the kernel replaces it only after an RCU grace period, which takes seconds
/// on a host whose CPUs are busy, and no thread can open a descriptor meanwhile.
pub fn reserve_descriptors(count: u32) {
    // The duplicate can be closed, because the table never becomes smaller.
    drop(duplicate_last(std::io::stderr().as_fd(), count));
}

/// Duplicates a descriptor with the number `count - 1`, or the highest number that the soft limit
/// allows, whichever is lower. If that number is taken, the duplicate gets a higher number, or the
/// call fails.
pub fn duplicate_last(fd: BorrowedFd, count: u32) -> io::Result<OwnedFd> {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let last = limit.min(count.into()).saturating_sub(1);
    Ok(fcntl_dupfd_cloexec(fd, last as RawFd)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls become_user with the ID -1. This doesn't affect the test process, because the kernel
    /// takes -1 as a request to leave the ID unchanged.
    #[test]
    fn staying_root_is_an_error() {
        // If the test doesn't run as root, the call fails because it can't drop the supplementary
        // groups.
        let error = become_user(Some(u32::MAX)).unwrap_err().to_string();
        assert!(error.contains("setresuid(4294967295)") || error.contains("setgroups"), "{error}");
    }
}
