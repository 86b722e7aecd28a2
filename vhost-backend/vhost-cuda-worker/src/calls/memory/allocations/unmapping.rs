//! The mappings of device memory that are now being unmapped and freed.

use std::collections::BTreeSet;

/// The mappings that other threads are now unmapping, numbered in the order in which they began.
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

    /// Returns the number of the unmapping that began last.
    pub(super) fn last(&self) -> u64 {
        self.next
    }

    /// Returns whether all unmappings up to this number have ended.
    pub(super) fn ended(&self, last: u64) -> bool {
        self.running.first().is_none_or(|first| *first > last)
    }
}
