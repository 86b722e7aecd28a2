//! The event queue. Threads that wait for the worker also process this queue, so the library
//! doesn't need a separate thread for it.

use super::queue::SplitQueue;
use super::requests::Signals;
use crate::error::TransportError;
use parking_lot::{Condvar, Mutex, MutexGuard};
use protocol::plain::Plain;
use protocol::uapi::{ENDED_HOST, ENDED_PROTOCOL, ENDED_WORKER, EVENT_ENDED, EVENT_WAKE, Event};
use std::time::{Duration, Instant};

struct EventState {
    queue: SplitQueue,
    wakes: u32,
    ended: Option<&'static str>,
    waiting: bool,
}

/// The queue on which the device reports that it wakes a session or that a session has ended.
pub struct Events {
    state: Mutex<EventState>,
    changed: Condvar,
    signals: Signals,
}

impl Events {
    pub fn new(queue: SplitQueue, signals: Signals) -> Self {
        let state = EventState { queue, wakes: 0, ended: None, waiting: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), signals }
    }

    /// Calls `use_it` with the queue and its notification descriptors, to register them with the
    /// device.
    pub fn with_queue<R>(&self, use_it: impl FnOnce(&SplitQueue, &Signals) -> R) -> R {
        use_it(&self.state.lock().queue, &self.signals)
    }

    /// Gives the device buffers for events.
    pub fn fill(&self) {
        let mut state = self.state.lock();
        for slot in 0..state.queue.slots() {
            state.queue.push(slot, &[], size_of::<Event>());
        }
        drop(state);
        let _ = self.signals.kick.write(1);
    }

    /// Implements [`Transport::wait`](crate::Transport::wait).
    pub fn wait(&self, seen: u32, timeout: Option<Duration>) -> Result<u32, TransportError> {
        let deadline = timeout.map(|t| Instant::now() + t);
        let mut state = self.state.lock();
        loop {
            self.collect(&mut state);
            if let Some(why) = state.ended {
                return Err(TransportError::Ended { why });
            }
            // The counter wraps around, so `wakes` counts as ahead of `seen` if their difference is
            // less than half the counter's range.
            if state.wakes != seen && state.wakes.wrapping_sub(seen) < 1 << 31 {
                return Ok(state.wakes);
            }
            let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(state.wakes);
            }
            if state.waiting {
                match left {
                    Some(left) => drop(self.changed.wait_for(&mut state, left)),
                    None => self.changed.wait(&mut state),
                }
                continue;
            }
            state.waiting = true;
            let waited = MutexGuard::unlocked(&mut state, || self.signals.wait(left));
            state.waiting = false;
            if waited.is_err() {
                self.collect(&mut state);
                state.ended.get_or_insert("the device process is gone");
            }
            self.changed.notify_all();
        }
    }

    fn collect(&self, state: &mut EventState) {
        let mut notify = false;
        while let Some((slot, written)) = state.queue.pop() {
            let mut bytes = [0; size_of::<Event>()];
            let len = written.min(bytes.len());
            state.queue.read(slot, 0, &mut bytes[..len]);
            if let Some(event) = Event::from_bytes(&bytes) {
                match (event.kind, event.value) {
                    (EVENT_WAKE, _) => state.wakes = state.wakes.wrapping_add(1),
                    (EVENT_ENDED, ENDED_PROTOCOL) => {
                        state.ended = Some("it violated the protocol");
                    }
                    (EVENT_ENDED, ENDED_WORKER) => state.ended = Some("its worker died"),
                    (EVENT_ENDED, ENDED_HOST) => state.ended = Some("the host ended it"),
                    (EVENT_ENDED, _) => state.ended = Some("it was destroyed"),
                    _ => {}
                }
            }
            notify |= state.queue.push(slot, &[], size_of::<Event>());
        }
        if notify {
            let _ = self.signals.kick.write(1);
        }
    }
}
