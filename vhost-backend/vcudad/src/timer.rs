//! The event loop's timer.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use host_ipc::eventfd::drain;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// A timerfd on the monotonic clock. It becomes readable when the timer expires.
pub(crate) struct Timer(OwnedFd);

impl Timer {
    /// Creates a timer that isn't running.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Self(timerfd_create(TimerfdClockId::Monotonic, flags)?))
    }

    /// Makes the timer expire once, after the given time.
    pub(crate) fn set(&self, after: Duration) {
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec {
            tv_sec: after.as_secs().cast_signed(),
            tv_nsec: after.subsec_nanos().into(),
        };
        let times = Itimerspec { it_interval: never, it_value: value };
        let _ = timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &times);
    }

    /// Reads the expiration count, so that the timer's descriptor is no longer readable.
    pub(crate) fn acknowledge(&self) {
        drain(&self.0);
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
