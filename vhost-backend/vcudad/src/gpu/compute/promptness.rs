//! The priority and timer precision of the threads on which handovers from one VM to the next
//! depend.

use std::io;
use std::num::NonZero;

use rustix::thread::set_current_timer_slack;

/// The lowest real-time priority. It suffices, because VMs' threads have no real-time priority.
const PRIORITY: i32 = 1;

/// Lets this thread run before threads without real-time priority, such as those of VMs that keep
/// all CPUs busy, and wake up at most a microsecond after the end of a sleep. Fails if this process
/// may not use real-time priorities (RLIMIT_RTPRIO).
pub(super) fn run_promptly() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // If the kernel refuses this precision, handovers are only slower, so ignore the error.
    let _ = set_current_timer_slack(NonZero::new(1000));
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: `parameters` is a valid sched_param that outlives the call, and the call only reads
    // it.
    let failed = unsafe { libc::sched_setscheduler(0, policy, &parameters) } < 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns true if this process's limit permits real-time priorities.
pub(super) fn may_use_real_time() -> bool {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Rtprio);
    limit.current.is_none_or(|limit| limit >= PRIORITY as u64)
}
