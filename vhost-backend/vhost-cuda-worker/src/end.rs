//! Functions that end the process.

/// Exits the worker with an error. The driver library's exit handlers don't run, because they may
/// wait for the GPU.
pub(super) fn end(reason: &str) -> ! {
    tracing::error!("{reason}; the session ends");
    // SAFETY: _exit takes no pointers, and the process ends here.
    unsafe { libc::_exit(1) }
}

/// Exits the worker successfully, because the device process has closed its connection, which ends
/// the session.
pub(super) fn leave() -> ! {
    tracing::debug!("the session is over");
    // SAFETY: _exit takes no pointers, and the process ends here.
    unsafe { libc::_exit(0) }
}
