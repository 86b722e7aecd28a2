//! Waking the ring reader: by the device's doorbell, the control thread, or a job that ended.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Wakes the ring reader's thread. Cheap while that thread is awake.
#[derive(Clone)]
pub struct Waker {
    inner: Arc<Inner>,
}

struct Inner {
    /// Somebody wants the reader's attention.
    attention: AtomicBool,
    /// The reader is about to sleep, or sleeps.
    sleeping: AtomicBool,
    /// The doorbell's eventfd; the device process writes to it too.
    fd: OwnedFd,
}

impl Waker {
    /// A waker on the doorbell's eventfd, which must be non-blocking.
    pub fn new(fd: OwnedFd) -> Self {
        let inner =
            Inner { attention: AtomicBool::new(false), sleeping: AtomicBool::new(false), fd };
        Self { inner: Arc::new(inner) }
    }

    /// Makes the ring reader look around: at control messages, and at `Executor::poll`.
    pub fn wake(&self) {
        self.inner.attention.store(true, Ordering::SeqCst);
        if self.inner.sleeping.load(Ordering::SeqCst) {
            notify(&self.inner.fd);
        }
    }

    /// Whether [`Waker::wake`] was called since the last time.
    pub(super) fn take_attention(&self) -> bool {
        self.inner.attention.load(Ordering::Relaxed)
            && self.inner.attention.swap(false, Ordering::SeqCst)
    }

    /// Sleeps until a doorbell, a [`Waker::wake`] or the end of `timeout`.
    pub(super) fn sleep(&self, timeout: Option<Duration>) {
        self.inner.sleeping.store(true, Ordering::SeqCst);
        if !self.inner.attention.load(Ordering::SeqCst) {
            let mut fds =
                libc::pollfd { fd: self.inner.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            let timeout = timeout.map(|timeout| libc::timespec {
                tv_sec: timeout.as_secs() as libc::time_t,
                tv_nsec: timeout.subsec_nanos().into(),
            });
            let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            // SAFETY: `fds` and `timeout` live across the call; one descriptor is announced. An
            // interruption or an error ends the sleep early, which the caller expects.
            unsafe { libc::ppoll(&mut fds, 1, timeout, std::ptr::null()) };
        }
        self.inner.sleeping.store(false, Ordering::SeqCst);
        let mut count = [0u8; 8];
        // SAFETY: `count` has room for the eight bytes of an eventfd's counter.
        unsafe { libc::read(self.inner.fd.as_raw_fd(), count.as_mut_ptr().cast(), 8) };
    }
}

/// Adds one to an eventfd. A full counter needs no second wake, so errors are of no interest.
pub fn notify(fd: &impl AsRawFd) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: `one` is eight readable bytes.
    unsafe { libc::write(fd.as_raw_fd(), one.as_ptr().cast(), 8) };
}

/// A new non-blocking eventfd.
pub fn eventfd() -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: eventfd takes no pointers.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
