//! Moves the worker into its own namespaces.

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
