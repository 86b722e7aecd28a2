//! Waking the ring reader: by the doorbell, the control thread, or a job that ended.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host_ipc::doorbell::quiet;
use host_ipc::eventfd::{drain, eventfd, notify};

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
    /// The device process and the scheduler wake the reader by it.
    doorbell: OwnedFd,
    /// The threads of this process do by this one.
    own: OwnedFd,
}

impl Waker {
    /// A waker that sleeps at this end of the doorbell, too.
    pub fn new(doorbell: OwnedFd) -> io::Result<Self> {
        let (attention, sleeping) = (AtomicBool::new(false), AtomicBool::new(false));
        let inner = Inner { attention, sleeping, doorbell, own: eventfd()? };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Makes the ring reader look around: at control messages, and at `Executor::poll`.
    pub fn wake(&self) {
        self.inner.attention.store(true, Ordering::SeqCst);
        if self.inner.sleeping.load(Ordering::SeqCst) {
            notify(&self.inner.own);
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
            let poll = |fd: &OwnedFd| libc::pollfd {
                fd: fd.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            let mut fds = [poll(&self.inner.doorbell), poll(&self.inner.own)];
            let timeout = timeout.map(|timeout| libc::timespec {
                tv_sec: timeout.as_secs() as libc::time_t,
                tv_nsec: timeout.subsec_nanos().into(),
            });
            let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            // SAFETY: `fds` and `timeout` live across the call; two descriptors are announced. An
            // interruption or an error ends the sleep early, which the caller expects.
            unsafe { libc::ppoll(fds.as_mut_ptr(), 2, timeout, std::ptr::null()) };
            // What comes later ends the next sleep at once, which costs nothing but that.
            if fds[0].revents != 0 {
                quiet(&self.inner.doorbell);
            }
            if fds[1].revents != 0 {
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
    fn a_sleep_ends_by_a_ring_a_wake_or_its_time_and_the_next_sleeps_again() {
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
        // At most one wake is left over.
        waker.sleep(Some(Duration::from_millis(1)));
        let mut fds = [&waker.inner.doorbell, &waker.inner.own].map(|fd| libc::pollfd {
            fd: fd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        });
        // SAFETY: two descriptors are announced, and `fds` lives across the call.
        assert_eq!(unsafe { libc::poll(fds.as_mut_ptr(), 2, 0) }, 0, "something rings for ever");
    }
}
