//! A first-fit range allocator, used for pages, addresses, and arena bytes.

use std::collections::BTreeMap;

/// Free ranges, from start to length. Adjacent ranges are always merged.
#[derive(Default)]
pub struct FreeRanges(BTreeMap<u64, u64>);

impl FreeRanges {
    /// Allocates `len` units from the first range that is large enough. Returns the start of the
    /// allocation.
    pub fn take(&mut self, len: u64) -> Option<u64> {
        let (&at, &room) = self.0.iter().find(|&(_, &room)| room >= len)?;
        self.0.remove(&at);
        if room > len {
            self.0.insert(at + len, room - len);
        }
        Some(at)
    }

    /// Allocates the first range, and returns its start and length.
    pub fn take_first(&mut self) -> Option<(u64, u64)> {
        self.0.pop_first()
    }

    /// Frees the range that starts at `at` and has the length `len`.
    pub fn give(&mut self, mut at: u64, mut len: u64) {
        if let Some((&before, &room)) = self.0.range(..at).next_back()
            && before + room == at
        {
            self.0.remove(&before);
            at = before;
            len += room;
        }
        if let Some(room) = self.0.remove(&(at + len)) {
            len += room;
        }
        self.0.insert(at, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_ranges_merge_in_any_order() {
        let mut free = FreeRanges::default();
        free.give(100, 60);
        let parts: Vec<_> = (0..6).map(|_| free.take(10).unwrap()).collect();
        assert_eq!(parts, [100, 110, 120, 130, 140, 150]);
        assert_eq!(free.take(1), None);
        for i in [1, 4, 2, 0, 5, 3] {
            free.give(parts[i], 10);
        }
        assert_eq!(free.take(60), Some(100));
    }

    #[test]
    fn the_first_range_that_is_large_enough_is_taken() {
        let mut free = FreeRanges::default();
        free.give(0, 8);
        free.give(100, 32);
        assert_eq!(free.take(16), Some(100));
        assert_eq!(free.take(8), Some(0));
    }
}
