//! Waking the ring reader: by the device's doorbell, the control thread, or a job that ended.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::ipc::eventfd::{drain, notify};

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
        drain(&self.inner.fd);
    }
}
