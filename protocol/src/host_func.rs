//! Host functions: passes requests from a stream to the guest, and reports their completion. Both
//! use words in the ring's header instead of commands, because the ring may be full of commands
//! that wait for the function to return.
//!
//! The worker hands out one function at a time. It writes the function's token, then the number of
//! functions handed out so far. The guest runs the function, then writes the number of functions
//! that have run. The counts are equal when no function is running. Neither side derives its own
//! count from the other's.

use crate::shared::Shared;

#[cfg(not(loom))]
use core::sync::atomic::{Ordering, fence};
#[cfg(loom)]
use loom::sync::atomic::{Ordering, fence};

/// The guest's side of host functions. One thread uses it for the whole session.
#[derive(Debug)]
pub struct Callee {
    shared: Shared,
    ended: u64,
}

impl Callee {
    /// Creates the guest's side for a new session.
    pub fn new(shared: Shared) -> Self {
        Self { shared, ended: 0 }
    }

    /// Returns the token of the function to run, if there is one.
    pub fn next(&self) -> Option<u64> {
        let begun = self.shared.host_funcs_begun.load(Ordering::Acquire);
        (begun == self.ended + 1).then(|| self.shared.host_func.load(Ordering::Relaxed))
    }

    /// Reports that the function has run. Returns true if the worker sleeps and must be woken with
    /// a doorbell.
    pub fn end(&mut self) -> bool {
        self.ended += 1;
        self.shared.host_funcs_ended.store(self.ended, Ordering::Release);
        // Protocol: write the count before reading host_sleeps.
        fence(Ordering::SeqCst);
        self.shared.host_sleeps.load(Ordering::Relaxed) != 0
            && self.shared.host_sleeps.swap(0, Ordering::AcqRel) != 0
    }
}

/// The worker's side of host functions. Only one thread uses it.
#[derive(Debug)]
pub struct Caller {
    shared: Shared,
    begun: u64,
    /// Whether a function has been handed out and [`Caller::take_end`] hasn't returned true for it
    /// yet.
    running: bool,
}

impl Caller {
    /// Creates the worker's side for a new session.
    pub fn new(shared: Shared) -> Self {
        Self { shared, begun: 0, running: false }
    }

    /// Returns whether the guest has a function to run.
    pub fn is_running(&self) -> bool {
        self.running
    }

    /// Hands out a function. The guest must not be running another one. The caller may have to wake
    /// the guest afterwards.
    pub fn begin(&mut self, token: u64) {
        debug_assert!(!self.running, "the guest runs a function already");
        self.running = true;
        self.begun += 1;
        self.shared.host_func.store(token, Ordering::Relaxed);
        self.shared.host_funcs_begun.store(self.begun, Ordering::Release);
    }

    /// Returns true if the function that was handed out has run, but [`Caller::take_end`] hasn't
    /// returned true for it yet. If the guest writes a wrong count, the function counts as still
    /// running.
    pub fn has_ended(&self) -> bool {
        self.running && self.shared.host_funcs_ended.load(Ordering::Acquire) == self.begun
    }

    /// Returns the same as [`Caller::has_ended`]. After it has returned true, the next function can
    /// be handed out.
    pub fn take_end(&mut self) -> bool {
        let ended = self.has_ended();
        self.running &= !ended;
        ended
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::shared::tests::ring;

    #[test]
    fn functions_are_handed_out_one_by_one_and_end_in_that_order() {
        let shared = ring(8);
        let (mut guest, mut host) = (Callee::new(shared), Caller::new(shared));
        assert_eq!((guest.next(), host.take_end()), (None, false));
        for token in [7, 7, u64::MAX, 0] {
            host.begin(token);
            assert_eq!((guest.next(), host.take_end()), (Some(token), false));
            assert!(!guest.end(), "nobody sleeps");
            assert_eq!(guest.next(), None);
            assert!(host.take_end() && !host.take_end());
        }
    }

    #[test]
    fn a_wrong_count_from_the_guest_ends_no_function() {
        let shared = ring(8);
        let mut host = Caller::new(shared);
        host.begin(7);
        for count in [0, 2, u64::MAX] {
            shared.host_funcs_ended.store(count, Ordering::Relaxed);
            assert!(!host.take_end(), "{count}");
        }
        shared.host_funcs_ended.store(1, Ordering::Relaxed);
        assert!(host.take_end());
    }
}
