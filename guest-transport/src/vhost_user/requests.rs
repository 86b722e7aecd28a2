//! Requests and responses over one virtqueue, from any number of threads.

use super::queue::SplitQueue;
use crate::error::TransportError;
use crate::refusal::{Request, explain};
use parking_lot::{Condvar, Mutex};
use protocol::plain::Plain;
use protocol::uapi::{OK, Resp};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use vmm_sys_util::eventfd::{EFD_CLOEXEC, EFD_NONBLOCK, EventFd};

/// The file descriptors through which the driver and the device notify each other.
pub struct Signals {
    pub kick: EventFd,
    pub call: EventFd,
    /// The vhost-user socket, which hangs up when the device process exits.
    pub socket: i32,
}

impl Signals {
    /// Creates the notification descriptors for one queue.
    pub fn new(socket: i32) -> Result<Self, TransportError> {
        let new = || {
            EventFd::new(EFD_NONBLOCK | EFD_CLOEXEC)
                .map_err(|source| TransportError::System { what: "eventfd", source })
        };
        Ok(Self { kick: new()?, call: new()?, socket })
    }

    /// Waits at most `timeout` for a notification from the device. Fails if the device is gone.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<(), TransportError> {
        let deadline = timeout.map(|t| Instant::now() + t);
        let mut fds = [
            libc::pollfd { fd: self.call.as_raw_fd(), events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: self.socket, events: libc::POLLRDHUP, revents: 0 },
        ];
        loop {
            let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            let ms = left.map_or(-1, |d| d.as_millis().clamp(1, i32::MAX as u128) as i32);
            // SAFETY: `fds` has two entries and outlives the call.
            let ready = unsafe { libc::poll(fds.as_mut_ptr(), 2, ms) };
            if ready < 0 {
                let source = std::io::Error::last_os_error();
                if source.raw_os_error() != Some(libc::EINTR) {
                    return Err(TransportError::System { what: "poll", source });
                }
                if deadline.is_none_or(|d| Instant::now() < d) {
                    continue;
                }
                return Ok(());
            }
            if fds[0].revents & libc::POLLIN != 0 {
                // If another thread has already read the eventfd, that thread processes the queue.
                let _ = self.call.read();
                return Ok(());
            }
            if fds[1].revents != 0 {
                return Err(TransportError::Ended { why: "the device process is gone" });
            }
            if ready == 0 {
                return Ok(());
            }
        }
    }
}

struct RequestState {
    queue: SplitQueue,
    free: Vec<u16>,
    /// For each slot whose chain the device has used, the number of bytes that the device wrote.
    done: Vec<Option<usize>>,
    /// For each slot, whether it becomes free as soon as the device has used its chain, because no
    /// thread waits for the response.
    unattended: Vec<bool>,
    /// Whether a thread is waiting for the device's notification on behalf of all waiting threads.
    waiting: bool,
}

impl RequestState {
    /// Processes the chains that the device has used since the last call.
    fn collect(&mut self) {
        while let Some((slot, written)) = self.queue.pop() {
            if std::mem::take(&mut self.unattended[usize::from(slot)]) {
                self.free.push(slot);
            } else {
                self.done[usize::from(slot)] = Some(written);
            }
        }
    }
}

/// A virtqueue for requests that any thread may send.
pub struct Requests {
    state: Mutex<RequestState>,
    changed: Condvar,
    signals: Signals,
    gone: AtomicBool,
}

impl Requests {
    pub fn new(queue: SplitQueue, signals: Signals) -> Self {
        let slots = usize::from(queue.slots());
        let state = RequestState {
            free: (0..queue.slots()).rev().collect(),
            done: vec![None; slots],
            unattended: vec![false; slots],
            waiting: false,
            queue,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            signals,
            gone: AtomicBool::new(false),
        }
    }

    /// Calls `use_it` with the queue and its notification descriptors, to register them with the
    /// device.
    pub fn with_queue<R>(&self, use_it: impl FnOnce(&SplitQueue, &Signals) -> R) -> R {
        use_it(&self.state.lock().queue, &self.signals)
    }

    /// Sends a request and waits for its response. Copies the bytes after `Resp` to `answer`, and
    /// returns their number.
    pub fn ask(
        &self,
        what: &'static str,
        parts: &[&[u8]],
        answer: &mut [u8],
    ) -> Result<usize, TransportError> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let mut state = self.state.lock();
        let room = size_of::<Resp>() + answer.len();
        if len > state.queue.readable() || room > state.queue.writable() {
            return Err(TransportError::Unsupported { what: "a message of this size" });
        }
        let slot = self.take_slot(&mut state)?;
        if state.queue.push(slot, parts, room) {
            self.notify()?;
        }
        let written = loop {
            state.collect();
            if let Some(written) = state.done[usize::from(slot)].take() {
                break written;
            }
            self.sleep(&mut state)?;
        };
        let mut head = [0; size_of::<Resp>()];
        state.queue.read(slot, 0, &mut head);
        let len = written.saturating_sub(head.len()).min(answer.len());
        state.queue.read(slot, head.len(), &mut answer[..len]);
        state.free.push(slot);
        drop(state);
        self.changed.notify_all();
        match Resp::from_bytes(&head) {
            Some(resp) if written >= head.len() && resp.status == OK => {
                Ok(len.min(resp.len as usize))
            }
            Some(resp) if written >= head.len() => {
                let (status, why) = (resp.status, explain(Request::Other, resp.status, None));
                Err(TransportError::Refused { what, status, why })
            }
            _ => Err(TransportError::Ended {
                why: "the device returned a request without a response",
            }),
        }
    }

    /// Sends a message that has no response.
    pub fn tell(&self, message: &[u8]) -> Result<(), TransportError> {
        let mut state = self.state.lock();
        let slot = self.take_slot(&mut state)?;
        state.unattended[usize::from(slot)] = true;
        if state.queue.push(slot, &[message], 0) {
            self.notify()?;
        }
        Ok(())
    }

    fn take_slot(
        &self,
        state: &mut parking_lot::MutexGuard<'_, RequestState>,
    ) -> Result<u16, TransportError> {
        loop {
            state.collect();
            if let Some(slot) = state.free.pop() {
                return Ok(slot);
            }
            self.sleep(state)?;
        }
    }

    fn notify(&self) -> Result<(), TransportError> {
        match self.signals.kick.write(1) {
            Ok(()) => Ok(()),
            // The eventfd's counter is at its maximum, so the device hasn't read an earlier
            // notification yet.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(()),
            Err(source) => Err(TransportError::System { what: "kicking the device", source }),
        }
    }

    /// Releases the lock until the state may have changed. One thread waits for the device's
    /// notification; the others wait for that thread.
    fn sleep(
        &self,
        state: &mut parking_lot::MutexGuard<'_, RequestState>,
    ) -> Result<(), TransportError> {
        if self.gone.load(Ordering::Relaxed) {
            return Err(TransportError::Ended { why: "the device process is gone" });
        }
        if state.waiting {
            self.changed.wait(state);
            return Ok(());
        }
        state.waiting = true;
        let waited = parking_lot::MutexGuard::unlocked(state, || self.signals.wait(None));
        state.waiting = false;
        state.collect();
        if waited.is_err() {
            self.gone.store(true, Ordering::Relaxed);
        }
        self.changed.notify_all();
        waited
    }
}
