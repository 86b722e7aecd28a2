//! Host functions, from the stream that stands at one to the guest and back: words of the ring's
//! header, and not commands. The ring may be full of what waits for the function's end, and then
//! nothing more would get through it.
//!
//! The worker hands out one at a time. It writes the token, then how many it has ever handed out;
//! the guest runs the function, then writes how many have run. The counts are equal when none is
//! under way. Neither side takes its own count from the other's.

use crate::ring::Shared;

#[cfg(not(loom))]
use core::sync::atomic::{Ordering, fence};
#[cfg(loom)]
use loom::sync::atomic::{Ordering, fence};

/// The guest's end. One thread uses it, from the session's beginning to its end.
#[derive(Debug)]
pub struct Callee {
    shared: Shared,
    ended: u64,
}

impl Callee {
    /// The end of a session in which no host function was handed out yet.
    pub fn new(shared: Shared) -> Self {
        Self { shared, ended: 0 }
    }

    /// The token of the function that is to run, if one is.
    pub fn next(&self) -> Option<u64> {
        let begun = self.shared.host_funcs_begun.load(Ordering::Acquire);
        (begun == self.ended + 1).then(|| self.shared.host_func.load(Ordering::Relaxed))
    }

    /// The function has run. The result tells whether the worker sleeps and wants a doorbell.
    pub fn end(&mut self) -> bool {
        self.ended += 1;
        self.shared.host_funcs_ended.store(self.ended, Ordering::Release);
        // The rule: the count is written before host_sleeps is read.
        fence(Ordering::SeqCst);
        self.shared.host_sleeps.load(Ordering::Relaxed) != 0
            && self.shared.host_sleeps.swap(0, Ordering::AcqRel) != 0
    }
}

/// The worker's end. One thread uses it.
#[derive(Debug)]
pub struct Caller {
    shared: Shared,
    begun: u64,
    /// The last one's end has not been noticed.
    running: bool,
}

impl Caller {
    /// The end of a session in which no host function was handed out yet.
    pub fn new(shared: Shared) -> Self {
        Self { shared, begun: 0, running: false }
    }

    /// Whether the guest has one.
    pub fn is_running(&self) -> bool {
        self.running
    }

    /// Hands a function out, while the guest has none; then the guest may have to be woken.
    pub fn begin(&mut self, token: u64) {
        debug_assert!(!self.running, "one at a time");
        self.running = true;
        self.begun += 1;
        self.shared.host_func.store(token, Ordering::Relaxed);
        self.shared.host_funcs_begun.store(self.begun, Ordering::Release);
    }

    /// Whether the guest's function has run, which was not noticed yet. A guest that writes any
    /// other count than the right one has not ended it.
    pub fn has_ended(&self) -> bool {
        self.running && self.shared.host_funcs_ended.load(Ordering::Acquire) == self.begun
    }

    /// As [`Caller::has_ended`], and it is noticed.
    pub fn take_end(&mut self) -> bool {
        let ended = self.has_ended();
        self.running &= !ended;
        ended
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ring::tests::ring;
    use crate::ring::{Full, GuestRing, HostRing};

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
    fn a_count_that_the_guest_invents_ends_nothing() {
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

    #[test]
    fn the_end_rings_for_a_worker_that_takes_no_commands_and_commands_do_not() {
        let shared = ring(8);
        let (mut guest, mut host) = (Callee::new(shared), HostRing::new(shared));
        let mut commands = GuestRing::new(shared);
        host.host_funcs.begin(7);
        assert_eq!(commands.push(&[&[0; 32]]), Ok(false));
        assert!(host.begin_full_sleep());
        assert_eq!(commands.push(&[&[0; 32]]), Ok(false));
        assert_eq!(commands.push(&[&[0; 32]]), Err(Full));
        assert!(guest.end(), "the worker sleeps");
        assert!(!host.begin_full_sleep(), "it has ended");
        assert!(host.host_funcs.take_end());
        assert!(host.begin_full_sleep() && !host.begin_sleep());
    }
}
