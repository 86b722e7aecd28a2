//! Stops the ring reader and the calls on mirrors, so that another thread can take the session's
//! memory off the GPUs.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Whether the session's calls run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::calls) enum Phase {
    Runs,
    /// The ring reader takes no more commands, and stops once nothing is in flight.
    Stops,
    /// No thread but the one that has requested the stop uses the driver or the session's memory.
    Stopped,
}

/// The phase, which the ring reader checks between commands.
pub(in crate::calls) struct Stop {
    phase: AtomicU8,
    stopped: Mutex<()>,
    changed: Condvar,
}

impl Default for Stop {
    fn default() -> Self {
        let (stopped, changed) = Default::default();
        Self { phase: AtomicU8::new(Phase::Runs as u8), stopped, changed }
    }
}

impl Stop {
    #[inline]
    pub(in crate::calls) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::SeqCst) {
            0 => Phase::Runs,
            1 => Phase::Stops,
            _ => Phase::Stopped,
        }
    }

    /// Requests a stop. The caller must then wake the ring reader.
    pub(in crate::calls) fn request(&self) {
        self.set(Phase::Stops);
    }

    /// Waits until the ring reader has stopped, for at most this long. Returns whether it has.
    pub(in crate::calls) fn wait(&self, most: Duration) -> bool {
        let guard = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |_: &mut ()| self.phase() != Phase::Stopped;
        let waited = self.changed.wait_timeout_while(guard, most, waits);
        drop(waited);
        self.phase() == Phase::Stopped
    }

    /// Records that the ring reader has stopped, unless the request to stop was withdrawn. Returns
    /// whether it wasn't. Only the reader's thread calls this.
    pub(in crate::calls) fn set_stopped(&self) -> bool {
        let _guard = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let stops = self.phase() == Phase::Stops;
        if stops {
            self.phase.store(Phase::Stopped as u8, Ordering::SeqCst);
            self.changed.notify_all();
        }
        stops
    }

    /// Lets the calls run again. The caller must then wake the ring reader.
    pub(in crate::calls) fn end(&self) {
        self.set(Phase::Runs);
    }

    fn set(&self, phase: Phase) {
        let _guard = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        self.phase.store(phase as u8, Ordering::SeqCst);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_is_late_does_not_stop_after_the_request_was_withdrawn() {
        let stop = Stop::default();
        assert!(!stop.set_stopped() && stop.phase() == Phase::Runs);
        stop.request();
        stop.end();
        assert!(!stop.set_stopped() && stop.phase() == Phase::Runs);
        stop.request();
        assert!(!stop.wait(Duration::ZERO));
        assert!(stop.set_stopped() && stop.wait(Duration::ZERO));
        stop.end();
        assert_eq!(stop.phase(), Phase::Runs);
    }
}
