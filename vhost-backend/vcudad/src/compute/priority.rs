//! The priority of the threads on which handovers from one VM to the next depend.

/// Raises this thread's priority, if that is allowed.
pub(super) fn prefer_this_thread() {
    // SAFETY: neither call takes a pointer. If they are refused, handovers are only slower.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, -15);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1000);
    }
}
