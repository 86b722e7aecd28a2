//! The heap for device-side `malloc`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Alignment and granularity of allocations, in bytes.
const UNIT: u64 = 16;

/// A heap in an interval of device memory. Its bookkeeping is stored outside of that interval.
#[derive(Debug, Default)]
pub struct Heap {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    free: BTreeMap<u64, u64>,
    used: BTreeMap<u64, u64>,
    /// Whether [`Heap::begin`] has been called.
    begun: bool,
}

impl Heap {
    /// Creates a heap in an interval of device memory.
    pub fn new(start: u64, size: u64) -> Self {
        let heap = Self::default();
        heap.begin(start, size);
        heap
    }

    /// Assigns an interval of device memory to the heap, which must not have one yet.
    pub fn begin(&self, start: u64, size: u64) {
        let mut state = self.lock();
        state.begun = true;
        if size > 0 {
            state.free.insert(start, size);
        }
    }

    /// Returns whether the heap has been assigned an interval of device memory.
    pub fn has_begun(&self) -> bool {
        self.lock().begun
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates memory and returns its address, or 0 if there isn't enough.
    pub fn allocate(&self, size: u64) -> u64 {
        let Some(size) = size.max(1).checked_next_multiple_of(UNIT) else { return 0 };
        let mut state = self.lock();
        let Some((start, len)) = state.free.iter().find(|(_, len)| **len >= size) else { return 0 };
        let (start, len) = (*start, *len);
        state.free.remove(&start);
        if len > size {
            state.free.insert(start + size, len - size);
        }
        state.used.insert(start, size);
        start
    }

    /// Frees the allocation that starts at an address. Returns false if no allocation starts there.
    /// Freeing address 0 does nothing and succeeds.
    pub fn release(&self, start: u64) -> bool {
        if start == 0 {
            return true;
        }
        let mut state = self.lock();
        let Some(mut size) = state.used.remove(&start) else { return false };
        let mut start = start;
        if let Some((before, len)) = state.free.range(..start).next_back().map(|(a, b)| (*a, *b))
            && before + len == start
        {
            state.free.remove(&before);
            (start, size) = (before, size + len);
        }
        if let Some(len) = state.free.remove(&(start + size)) {
            size += len;
        }
        state.free.insert(start, size);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_freed_memory_is_merged() {
        let heap = Heap::new(0x1000, 256);
        let all: Vec<u64> = (0..4).map(|_| heap.allocate(60)).collect();
        assert_eq!(all, [0x1000, 0x1040, 0x1080, 0x10c0]);
        assert_eq!(heap.allocate(1), 0);
        for at in [all[1], all[3], all[0], all[2]] {
            assert!(heap.release(at));
        }
        assert!(!heap.release(all[2]));
        assert_eq!(heap.allocate(256), 0x1000);
    }
}
