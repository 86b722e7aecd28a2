//! Functions that end the process.

/// Ends the worker immediately, without running the driver library's exit handlers, which may wait
/// for the GPU.
pub(super) fn end(reason: &str) -> ! {
    tracing::error!("{reason}; the session ends");
    // SAFETY: _exit takes no pointers, and the process ends here.
    unsafe { libc::_exit(1) }
}

/// Ends the worker when its device process has closed the stream: the session is over.
pub(super) fn leave() -> ! {
    tracing::debug!("the session is over");
    // SAFETY: as in `end`.
    unsafe { libc::_exit(0) }
}
