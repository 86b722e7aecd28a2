//! Uploads that returned before they were done: their parts of the arena are in use, and come back
//! when somebody needs room.

use super::arena::Part;
use super::{Pending, Session};
use parking_lot::Mutex;
use std::collections::VecDeque;

/// Parts of the arena whose bytes the worker still reads, the oldest first.
#[derive(Default)]
pub struct Uploads(Mutex<VecDeque<(Part, Pending)>>);

impl Session {
    /// Takes over pieces that nobody waits for.
    pub fn leave_uploads(&self, mut pieces: VecDeque<(Part, Pending)>) {
        self.uploads.0.lock().append(&mut pieces);
    }

    /// Gives back the parts whose bytes have been read; with `wait` at least one, if there is any.
    /// Tells whether there was.
    pub fn reap_uploads(&self, wait: bool) -> bool {
        let mut any = false;
        loop {
            let mut queue = self.uploads.0.lock();
            let ready = match queue.front() {
                Some((_, pending)) => self.is_answered(pending) || (wait && !any),
                None => false,
            };
            if !ready {
                return any;
            }
            let Some((part, pending)) = queue.pop_front() else { return any };
            drop(queue);
            // An error of an asynchronous copy shows up where its stream is synchronised, too.
            if self.finish(pending).is_ok() {
                self.arena.give(part);
            }
            any = true;
        }
    }
}
