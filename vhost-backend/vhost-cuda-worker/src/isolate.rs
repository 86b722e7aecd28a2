//! Namespaces of the worker's own.

/// Leaves the host's network, IPC, host name and mounts, before anything is loaded. What the host
/// does not allow (an unprivileged broker, a container) is logged, and the worker goes on: its
/// user, its limits and no_new_privs still hold.
pub(super) fn leave_namespaces() {
    let spaces = [
        (libc::CLONE_NEWNET, "network"),
        (libc::CLONE_NEWIPC, "IPC"),
        (libc::CLONE_NEWUTS, "host name"),
        (libc::CLONE_NEWNS, "mount"),
    ];
    for (flag, name) in spaces {
        // SAFETY: unshare takes an integer.
        if unsafe { libc::unshare(flag) } < 0 {
            let error = std::io::Error::last_os_error();
            tracing::warn!("no {name} namespace of the worker's own: {error}");
        } else if flag == libc::CLONE_NEWNS {
            keep_mounts_to_myself();
        }
    }
}

/// Mounts and unmounts here are not seen outside.
fn keep_mounts_to_myself() {
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: the target is a C string; the other pointers may be null for a change of
    // propagation.
    let result = unsafe {
        libc::mount(std::ptr::null(), c"/".as_ptr(), std::ptr::null(), flags, std::ptr::null())
    };
    if result < 0 {
        let error = std::io::Error::last_os_error();
        tracing::warn!("mounts of the worker are seen outside: {error}");
    }
}
