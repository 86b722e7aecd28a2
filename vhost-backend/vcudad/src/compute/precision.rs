//! The timer precision of the threads on which handovers from one VM to the next depend.

/// Lets this thread wake up at most a microsecond after the end of a sleep.
pub(super) fn sleep_precisely() {
    // SAFETY: the call takes no pointer. If it is refused, handovers are only slower.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1000) };
}
