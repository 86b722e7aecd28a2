//! Uploads that are still in progress after their call has returned. The arena parts that they use
//! are freed when other calls need arena memory.

use super::arena::Part;
use super::reply::Pending;
use parking_lot::Mutex;
use std::collections::VecDeque;

/// Parts of the arena that the worker may still be reading, oldest first.
#[derive(Default)]
pub struct Uploads(Mutex<VecDeque<(Part, Pending)>>);

impl Uploads {
    /// Adds uploads for whose replies no thread waits, with their parts of the arena.
    pub fn add(&self, mut pieces: VecDeque<(Part, Pending)>) {
        self.0.lock().append(&mut pieces);
    }

    /// Passes the oldest uploads to `finish`, up to the first one whose reply hasn't arrived. With
    /// `wait`, passes at least the oldest upload. Returns whether any upload was passed.
    pub fn reap(
        &self,
        wait: bool,
        is_answered: impl Fn(&Pending) -> bool,
        mut finish: impl FnMut(Part, Pending),
    ) -> bool {
        let mut any = false;
        loop {
            let mut queue = self.0.lock();
            let ready = match queue.front() {
                Some((_, pending)) => is_answered(pending) || (wait && !any),
                None => false,
            };
            if !ready {
                return any;
            }
            let Some((part, pending)) = queue.pop_front() else { return any };
            drop(queue);
            finish(part, pending);
            any = true;
        }
    }
}
