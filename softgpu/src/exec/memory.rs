//! The memory that kernels may access: device memory, and registered host memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The reason why a kernel failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An access to memory that the kernel may not access.
    IllegalAddress,
    /// A memory access that isn't aligned to its size.
    Misaligned,
    /// A `trap` instruction, or a deadlock that would hang the hardware.
    LaunchFailed,
    /// A `brkpt` instruction, or a call to an address that isn't a function.
    IllegalInstruction,
    /// A failed `assert`.
    Assert,
    /// Another block in the grid has failed.
    Cancelled,
}

/// An interval of addresses that kernels may access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Address of the first byte.
    pub start: u64,
    /// Address after the last byte.
    pub end: u64,
    /// Whether kernels may write to the interval.
    pub writable: bool,
}

/// All intervals of addresses that kernels may access, sorted by address. Each reader has a copy of
/// the table, a [`View`], and refreshes it only when an address isn't in the copy.
#[derive(Debug, Default)]
pub struct Ranges {
    table: RwLock<Arc<Vec<Range>>>,
    generation: AtomicU64,
}

impl Ranges {
    /// Creates the table from a sorted list of intervals.
    pub const fn new(table: Arc<Vec<Range>>) -> Self {
        Self { table: RwLock::new(table), generation: AtomicU64::new(1) }
    }

    fn change(&self, f: impl FnOnce(&mut Vec<Range>)) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        f(Arc::make_mut(&mut table));
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Adds an interval, which replaces the parts of existing intervals that it overlaps.
    pub fn insert(&self, range: Range) {
        if range.start >= range.end {
            return;
        }
        self.change(|table| {
            cut(table, range.start, range.end);
            let at = table.partition_point(|r| r.start < range.start);
            table.insert(at, range);
        });
    }

    /// Removes an interval, which may cover parts of existing intervals.
    pub fn remove(&self, start: u64, end: u64) {
        self.change(|table| cut(table, start, end));
    }

    /// Creates a reader's copy of the table.
    pub fn view(&self) -> View<'_> {
        let generation = self.generation.load(Ordering::Acquire);
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner).clone();
        View { ranges: self, table, generation, last: Range { start: 1, end: 0, writable: false } }
    }

    /// Returns whether kernels may access the whole interval.
    pub fn covers(&self, start: u64, len: u64) -> bool {
        let mut view = self.view();
        let Some(end) = start.checked_add(len) else { return false };
        let mut at = start;
        while at < end {
            match view.find(at) {
                Some(range) => at = range.end,
                None => return false,
            }
        }
        true
    }
}

fn cut(table: &mut Vec<Range>, start: u64, end: u64) {
    let first = table.partition_point(|r| r.end <= start);
    let last = table.partition_point(|r| r.start < end);
    if first >= last {
        return;
    }
    let mut keep = Vec::new();
    for range in &table[first..last] {
        if range.start < start {
            keep.push(Range { end: start, ..*range });
        }
        if range.end > end {
            keep.push(Range { start: end, ..*range });
        }
    }
    table.splice(first..last, keep);
}

/// A reader's copy of the table of intervals. Remembers the last interval that it found.
#[derive(Debug)]
pub struct View<'r> {
    ranges: &'r Ranges,
    table: Arc<Vec<Range>>,
    generation: u64,
    last: Range,
}

impl View<'_> {
    fn search(&self, at: u64) -> Option<Range> {
        let i = self.table.partition_point(|r| r.end <= at);
        self.table.get(i).filter(|r| r.start <= at).copied()
    }

    fn find(&mut self, at: u64) -> Option<Range> {
        if let Some(range) = self.search(at) {
            return Some(range);
        }
        let generation = self.ranges.generation.load(Ordering::Acquire);
        if generation == self.generation {
            return None;
        }
        self.generation = generation;
        self.table = self.ranges.table.read().unwrap_or_else(PoisonError::into_inner).clone();
        self.search(at)
    }

    /// Returns whether kernels may access the whole interval.
    #[inline]
    pub fn allows(&mut self, start: u64, len: u64, write: bool) -> bool {
        let Some(end) = start.checked_add(len) else { return false };
        if start >= self.last.start && end <= self.last.end && (self.last.writable || !write) {
            return true;
        }
        match self.find(start) {
            Some(range) if end <= range.end && (range.writable || !write) => {
                self.last = range;
                true
            }
            // An access may span adjacent intervals, such as two mapped chunks.
            Some(mut range) => {
                while (range.writable || !write) && range.end < end {
                    match self.find(range.end) {
                        Some(next) => range = next,
                        None => return false,
                    }
                }
                range.writable || !write
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_accesses_may_span_adjacent_intervals() {
        let ranges = Ranges::default();
        ranges.insert(Range { start: 100, end: 200, writable: true });
        ranges.insert(Range { start: 200, end: 300, writable: false });
        let mut view = ranges.view();
        assert!(view.allows(100, 100, true));
        assert!(view.allows(150, 100, false));
        assert!(!view.allows(150, 100, true));
        assert!(!view.allows(99, 2, false));
        assert!(!view.allows(299, 2, false));
        ranges.remove(120, 130);
        assert!(!ranges.covers(100, 100));
        assert!(ranges.covers(130, 170));
        // A view refreshes its copy of the table when it doesn't find an address.
        ranges.insert(Range { start: 1000, end: 1001, writable: true });
        assert!(view.allows(1000, 1, true));
        assert!(!view.allows(u64::MAX, 2, false));
    }
}
