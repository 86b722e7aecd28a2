//! Moves the worker into its own namespaces, and protects the host's other processes from the memory
//! that it uses.

/// Leaves the host's network, IPC, host name and mount namespaces, before any library is loaded. If
/// the host doesn't allow that (for an unprivileged broker or in a container), this logs a warning
/// and the worker continues. Its separate user, its resource limits and no_new_privs still protect
/// the host.
pub(super) fn leave_namespaces() {
    let spaces = [
        (libc::CLONE_NEWNET, "network"),
        (libc::CLONE_NEWIPC, "IPC"),
        (libc::CLONE_NEWUTS, "host name"),
        (libc::CLONE_NEWNS, "mount"),
    ];
    for (flag, name) in spaces {
        // SAFETY: unshare takes only an integer.
        if unsafe { libc::unshare(flag) } < 0 {
            let error = std::io::Error::last_os_error();
            tracing::warn!("cannot create a {name} namespace for the worker: {error}");
        } else if flag == libc::CLONE_NEWNS {
            keep_mounts_to_myself();
        }
    }
}

/// Prevents this process's mounts and unmounts from propagating to other mount namespaces.
fn keep_mounts_to_myself() {
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: the target is a C string, and the other pointers may be null when only the
    // propagation changes.
    let result = unsafe {
        libc::mount(std::ptr::null(), c"/".as_ptr(), std::ptr::null(), flags, std::ptr::null())
    };
    if result < 0 {
        let error = std::io::Error::last_os_error();
        tracing::warn!("mounts of the worker are visible on the host: {error}");
    }
}

/// The highest value for `/proc/PID/oom_score_adj`.
const OOM_SCORE_MAX: &str = "1000";

/// Makes the kernel kill a worker first if the host runs out of memory, because a guest decides how
/// much memory its worker uses. A broker that runs as root does this with a capability without which
/// a process can't lower the value again, so a compromised worker can't either.
pub(super) fn be_killed_first_without_memory() {
    if let Err(error) = std::fs::write("/proc/self/oom_score_adj", OOM_SCORE_MAX) {
        tracing::warn!("the kernel may kill other processes before this worker: {error}");
    }
}
