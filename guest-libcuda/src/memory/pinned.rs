//! Allocates addresses in the address window for pinned memory.

use crate::ranges::FreeRanges;
use crate::windows::PINNED;
use parking_lot::Mutex;

/// The free addresses in the address window for pinned memory.
pub struct PinnedAddresses(Mutex<FreeRanges>);

impl Default for PinnedAddresses {
    fn default() -> Self {
        let mut ranges = FreeRanges::default();
        ranges.give(PINNED.start as u64, PINNED.len() as u64);
        Self(Mutex::new(ranges))
    }
}

impl PinnedAddresses {
    /// Takes a free range of `len` bytes, a multiple of the page size.
    pub fn take(&self, len: usize) -> Option<usize> {
        self.0.lock().take(len as u64).map(|at| at as usize)
    }

    /// Frees a range of addresses. The caller must have replaced the mapping there with a
    /// reservation.
    pub fn give(&self, at: usize, len: usize) {
        self.0.lock().give(at as u64, len as u64);
    }
}
