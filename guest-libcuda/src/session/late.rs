//! Replies that come after their calls have returned: a completion word has ended the wait before.

use super::arena::Part;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// While this many replies are awaited, a wait ends only with its reply.
const MOST: usize = 64;

/// A reply's part of the arena, and the name of its call.
pub type LateReply = (Part, &'static str);

/// The replies that no thread waits for.
#[derive(Default)]
pub struct Late {
    count: AtomicUsize,
    list: Mutex<Vec<LateReply>>,
}

impl Late {
    /// Adds a reply. Returns false if there are too many.
    pub fn add(&self, reply: LateReply) -> bool {
        let mut list = self.list.lock();
        let has_room = list.len() < MOST;
        if has_room {
            list.push(reply);
            self.count.store(list.len(), Ordering::Relaxed);
        }
        has_room
    }

    /// Removes and returns the replies for which `has_come` returns true.
    #[inline]
    pub fn take(&self, has_come: impl Fn(Part) -> bool) -> Vec<LateReply> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return Vec::new();
        }
        let mut list = self.list.lock();
        let come = list.extract_if(.., |(part, _)| has_come(*part)).collect();
        self.count.store(list.len(), Ordering::Relaxed);
        come
    }
}
