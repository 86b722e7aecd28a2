//! Tracks which mappings of device memory other threads are unmapping and freeing.

use std::collections::BTreeSet;

/// The unmappings that other threads are performing, numbered in the order in which they began.
#[derive(Default)]
pub(in crate::calls) struct Unmapping {
    next: u64,
    running: BTreeSet<u64>,
}

impl Unmapping {
    pub(in crate::calls) fn begin(&mut self) -> u64 {
        self.next += 1;
        self.running.insert(self.next);
        self.next
    }

    pub(in crate::calls) fn end(&mut self, number: u64) {
        self.running.remove(&number);
    }

    /// Returns whether no thread is unmapping anything.
    pub(in crate::calls) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Returns the number of the unmapping that began most recently.
    pub(super) fn last(&self) -> u64 {
        self.next
    }

    /// Returns whether all unmappings with numbers up to `last` have ended.
    pub(super) fn ended(&self, last: u64) -> bool {
        self.running.first().is_none_or(|first| *first > last)
    }
}
