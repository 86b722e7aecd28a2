//! Small things that every one of the processes does to itself.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Has this process killed when the thread that started it ends. A change of user clears this, so
/// it is called again after one.
pub fn die_with_parent(parent: libc::pid_t) -> io::Result<()> {
    // SAFETY: prctl with integers only.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: no arguments. The parent may have ended before the call above.
    if unsafe { libc::getppid() } != parent {
        return Err(io::Error::other("the process that started this one is gone"));
    }
    Ok(())
}

/// Takes signals again: the broker blocks some for itself, and its children inherit that.
pub fn unblock_signals() {
    // SAFETY: `set` is initialised by sigemptyset before it is used.
    unsafe {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Takes as many descriptors as the host lets this process have.
pub fn raise_descriptor_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is readable and writable. If it can't be raised, it stays as it is.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// The parent's process id.
pub fn parent() -> libc::pid_t {
    // SAFETY: no arguments.
    unsafe { libc::getppid() }
}

/// Becomes a user for good: group, no supplementary groups, user; no new privileges; and nobody
/// but root may look into this process. What the kernel took without a change is an error, too: -1
/// leaves an id as it is, and the process would go on as root.
pub fn become_user(uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    let check = |what: &str, result: libc::c_int| {
        if result < 0 {
            let error = io::Error::last_os_error();
            return Err(io::Error::new(error.kind(), format!("{what}: {error}")));
        }
        Ok(())
    };
    if let Some(gid) = gid {
        // SAFETY: an empty list of groups; then integers only.
        unsafe {
            check("setgroups", libc::setgroups(0, std::ptr::null()))?;
            check("setresgid", libc::setresgid(gid, gid, gid))?;
        }
        // SAFETY: all three have room for a group's number.
        let ids = ids_now(|real, now, saved| unsafe { libc::getresgid(real, now, saved) })?;
        if ids != [gid; 3] {
            return Err(io::Error::other(format!("setresgid({gid}) left the groups {ids:?}")));
        }
    }
    if let Some(uid) = uid {
        // SAFETY: integers only.
        check("setresuid", unsafe { libc::setresuid(uid, uid, uid) })?;
        // SAFETY: all three have room for a user's number.
        let ids = ids_now(|real, now, saved| unsafe { libc::getresuid(real, now, saved) })?;
        if ids != [uid; 3] {
            return Err(io::Error::other(format!("setresuid({uid}) left the users {ids:?}")));
        }
    }
    // SAFETY: integers only.
    unsafe {
        check("no_new_privs", libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        check("dumpable", libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0))
    }
}

/// The real, effective and saved id that the kernel tells.
fn ids_now(tell: impl Fn(&mut u32, &mut u32, &mut u32) -> libc::c_int) -> io::Result<[u32; 3]> {
    let [mut real, mut now, mut saved] = [0; 3];
    if tell(&mut real, &mut now, &mut saved) < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok([real, now, saved])
}

/// Takes a descriptor that this process was started with. To be called once for each number.
pub fn inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_SETFD takes an integer, and fails if there is no such descriptor.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor exists, was passed to this process, and nothing else here owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a descriptor non-blocking.
pub fn set_nonblocking(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: F_GETFL and F_SETFL take and give integers.
    unsafe {
        let flags = libc::fcntl(fd.as_raw_fd(), libc::F_GETFL);
        if flags < 0 {
            return Err(io::Error::last_os_error());
        }
        if flags & libc::O_NONBLOCK == 0
            && libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) < 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing of this process changes: the kernel takes -1 for "as it is".
    #[test]
    fn who_stays_root_is_told_so() {
        let error = become_user(Some(u32::MAX), None).unwrap_err().to_string();
        assert!(error.contains("setresuid(4294967295)"), "{error}");
        // Only root gets as far as to the group; others may not drop their groups.
        assert!(become_user(None, Some(u32::MAX)).is_err());
    }
}
