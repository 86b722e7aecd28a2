//! Wakes the ring reader when the doorbell rings, when a message from the device process arrives,
//! or when a job on another thread ends.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host_ipc::doorbell::quiet;
use host_ipc::eventfd::{drain, eventfd, notify};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Wakes the ring reader's thread. If the thread is awake, that takes no system call.
#[derive(Clone)]
pub struct Waker {
    inner: Arc<Inner>,
}

struct Inner {
    /// Whether the reader must check for messages and finished jobs.
    attention: AtomicBool,
    /// Whether the reader is asleep or about to sleep.
    sleeping: AtomicBool,
    /// The descriptor with which the device process and the scheduler wake the reader.
    doorbell: OwnedFd,
    /// The eventfd with which other threads of this process wake the reader.
    own: OwnedFd,
}

impl Waker {
    /// Creates a waker for the ring reader. The reader also wakes when `doorbell` rings.
    pub fn new(doorbell: OwnedFd) -> io::Result<Self> {
        let (attention, sleeping) = (AtomicBool::new(false), AtomicBool::new(false));
        let inner = Inner { attention, sleeping, doorbell, own: eventfd()? };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Makes the ring reader check for messages and call `Executor::poll`.
    pub fn wake(&self) {
        self.inner.attention.store(true, Ordering::SeqCst);
        if self.inner.sleeping.load(Ordering::SeqCst) {
            notify(&self.inner.own);
        }
    }

    /// Returns whether [`Waker::wake`] was called since this function was last called.
    pub(super) fn take_attention(&self) -> bool {
        self.inner.attention.load(Ordering::Relaxed)
            && self.inner.attention.swap(false, Ordering::SeqCst)
    }

    /// Sleeps until the doorbell rings, [`Waker::wake`] is called, or `timeout` has passed.
    pub(super) fn sleep(&self, timeout: Option<Duration>) {
        self.inner.sleeping.store(true, Ordering::SeqCst);
        if !self.inner.attention.load(Ordering::SeqCst) {
            let watch = |fd| PollFd::new(fd, PollFlags::IN);
            let mut fds = [watch(&self.inner.doorbell), watch(&self.inner.own)];
            let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
            // An interruption or an error ends the sleep early, which callers must expect anyway.
            let _ = poll(&mut fds, timeout.as_ref());
            let [doorbell, own] = fds.map(|fd| !fd.revents().is_empty());
            // A call of `wake` after this point can make the next sleep end at once, which does no
            // harm.
            if doorbell {
                quiet(&self.inner.doorbell);
            }
            if own {
                drain(&self.inner.own);
            }
        }
        self.inner.sleeping.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ipc::doorbell::{doorbell, ring};

    #[test]
    fn a_ring_a_wake_or_a_timeout_ends_one_sleep() {
        let (button, chime) = doorbell().unwrap();
        let waker = Waker::new(chime).unwrap();
        waker.sleep(Some(Duration::from_millis(1)));
        for _ in 0..10 {
            ring(&button);
            waker.sleep(None);
            let other = waker.clone();
            let thread = std::thread::spawn(move || other.wake());
            while !waker.take_attention() {
                waker.sleep(None);
            }
            thread.join().unwrap();
        }
        // One notification may still be pending, so only this first sleep may end early.
        waker.sleep(Some(Duration::from_millis(1)));
        let watch = |fd| PollFd::new(fd, PollFlags::IN);
        let mut fds = [&waker.inner.doorbell, &waker.inner.own].map(watch);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        assert_eq!(poll(&mut fds, Some(&now)), Ok(0), "a descriptor stays readable");
    }
}
