//! The arena: memory shared with the worker, for replies and for data in transit.

use crate::ranges::FreeRanges;
use parking_lot::{Condvar, Mutex};

/// The length of a small part in bytes, including the reply's header. Most replies fit in a small
/// part.
pub const SLOT: usize = 256;
const SLOTS: usize = 4096;
/// The unit of the lengths of larger parts, in bytes.
const GRANULE: usize = 4096;

struct State {
    slots: Vec<u32>,
    ranges: FreeRanges,
}

/// Allocates parts of the arena.
pub struct Arena {
    base: *mut u8,
    state: Mutex<State>,
    freed: Condvar,
    largest: usize,
}

// SAFETY: the arena is shared memory that any thread may access, and each part has one owner at a
// time.
unsafe impl Send for Arena {}
// SAFETY: the arena is shared memory that any thread may access, and each part has one owner at a
// time. A lock protects the lists of free parts.
unsafe impl Sync for Arena {}

/// A part of the arena, which one call uses until it is freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The offset from the start of the arena.
    pub offset: usize,
    /// The length in bytes.
    pub len: usize,
}

impl Arena {
    /// Creates an arena in which all bytes are free.
    ///
    /// # Safety
    ///
    /// `base` must be the start of `len` mapped bytes that stay mapped while the arena is used.
    pub unsafe fn new(base: *mut u8, len: usize) -> Self {
        let small = (SLOT * SLOTS).min(len / 2).next_multiple_of(GRANULE);
        let mut ranges = FreeRanges::default();
        ranges.give(small as u64, (len - small) as u64);
        let slots = (0..small / SLOT).rev().map(|i| (i * SLOT) as u32).collect();
        let state = Mutex::new(State { slots, ranges });
        Self { base, state, freed: Condvar::new(), largest: (len - small) / 2 }
    }

    /// Returns the maximum length of a part.
    pub fn largest(&self) -> usize {
        self.largest
    }

    /// Allocates a part of at least `len` bytes, if one is free.
    pub fn try_take(&self, len: usize) -> Option<Part> {
        let mut state = self.state.lock();
        if len <= SLOT
            && let Some(offset) = state.slots.pop()
        {
            return Some(Part { offset: offset as usize, len: SLOT });
        }
        let len = len.max(1).next_multiple_of(GRANULE);
        let offset = state.ranges.take(len as u64)?;
        Some(Part { offset: offset as usize, len })
    }

    /// Allocates a part of at least `len` bytes, waiting until one is free. `len` must be at most
    /// [`largest`](Self::largest).
    pub fn take(&self, len: usize) -> Part {
        debug_assert!(len <= self.largest);
        loop {
            if let Some(part) = self.try_take(len) {
                return part;
            }
            let mut state = self.state.lock();
            // Wake up soon in any case, because a part may have been freed just before this wait
            // began.
            self.freed.wait_for(&mut state, std::time::Duration::from_millis(1));
        }
    }

    /// Frees a part. The worker must no longer use it.
    pub fn give(&self, part: Part) {
        let mut state = self.state.lock();
        if part.len == SLOT {
            state.slots.push(part.offset as u32);
        } else {
            state.ranges.give(part.offset as u64, part.len as u64);
            self.freed.notify_all();
        }
    }

    /// Returns a part's address in this process.
    pub fn ptr(&self, part: Part) -> *mut u8 {
        self.base.wrapping_add(part.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap_and_can_be_reused() {
        let mut memory = vec![0u64; (4 << 20) / 8];
        // SAFETY: `memory` has 4 MiB and outlives the arena.
        let arena = unsafe { Arena::new(memory.as_mut_ptr().cast(), 4 << 20) };
        let mut parts: Vec<Part> = (0..300).map(|i| arena.take(1 + (i * 97) % 9000)).collect();
        parts.sort_by_key(|part| part.offset);
        assert!(parts.windows(2).all(|two| two[0].offset + two[0].len <= two[1].offset));
        assert!(parts.iter().all(|part| part.offset + part.len <= 4 << 20));
        parts.into_iter().for_each(|part| arena.give(part));
        let large = arena.take(arena.largest());
        assert!(large.len >= arena.largest());
    }
}
