//! The event loop's timer.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use host_ipc::eventfd::drain;

/// A timerfd on the monotonic clock. It becomes readable when the timer expires.
pub(crate) struct Timer(OwnedFd);

impl Timer {
    /// Creates a timer that isn't running.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: timerfd_create takes only integers.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, so nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Makes the timer expire once, after the given time.
    pub(crate) fn set(&self, after: Duration) {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = libc::timespec {
            tv_sec: after.as_secs() as libc::time_t,
            tv_nsec: after.subsec_nanos().into(),
        };
        let times = libc::itimerspec { it_interval: zero, it_value: value };
        // SAFETY: `times` is a valid local variable, and the pointer for the old value may be null.
        unsafe {
            libc::timerfd_settime(self.0.as_raw_fd(), 0, &times, std::ptr::null_mut());
        }
    }

    /// Reads the expiration count, so that the descriptor is no longer readable.
    pub(crate) fn acknowledge(&self) {
        drain(&self.0);
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
