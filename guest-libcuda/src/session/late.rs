//! Replies that arrive after their calls have returned, because a completion word ended the wait
//! first.

use super::arena::Part;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum number of late replies. With this many, a completion word no longer ends a wait,
/// which then waits for its reply.
const MOST: usize = 64;

/// The part of the arena for a reply, and the name of the reply's call.
pub type LateReply = (Part, &'static str);

/// The replies for which no thread waits.
#[derive(Default)]
pub struct Late {
    count: AtomicUsize,
    list: Mutex<Vec<LateReply>>,
}

impl Late {
    /// Adds a reply. Returns false if there are too many already.
    pub fn add(&self, reply: LateReply) -> bool {
        let mut list = self.list.lock();
        let has_room = list.len() < MOST;
        if has_room {
            list.push(reply);
            self.count.store(list.len(), Ordering::Relaxed);
        }
        has_room
    }

    /// Removes and returns the replies that have arrived, for which `has_come` returns true.
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
