//! Tracks which parts of an address range are free. An allocation gets the first part that is long
//! enough, and adjacent free parts are merged.

use std::collections::BTreeMap;

/// The free parts of an address range or of a range of offsets.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Extents {
    /// The start and length of each free part. Adjacent parts are merged.
    free: BTreeMap<u64, u64>,
}

impl Extents {
    /// Creates a range that is entirely free.
    pub fn new(start: u64, len: u64) -> Self {
        Self { free: BTreeMap::from([(start, len)]) }
    }

    /// Allocates `len` bytes from the first free part that is long enough, and returns their start.
    /// If all requested lengths are multiples of some number, all starts are multiples of it from
    /// the start of the range.
    pub fn take(&mut self, len: u64) -> Option<u64> {
        let (&start, _) = self.free.iter().find(|(_, room)| **room >= len)?;
        self.take_at(start, len)
    }

    /// Allocates `len` bytes from the first free part in which they fit at a multiple of
    /// `alignment`, and returns their start. `alignment` must be a power of two.
    pub fn take_aligned(&mut self, len: u64, alignment: u64) -> Option<u64> {
        let start = self.free.iter().find_map(|(start, room)| {
            let at = start.checked_next_multiple_of(alignment)?;
            (room.checked_sub(at - start)? >= len).then_some(at)
        })?;
        self.take_at(start, len)
    }

    /// Allocates the `len` bytes from `start`, if all of them are free.
    pub fn take_at(&mut self, start: u64, len: u64) -> Option<u64> {
        let (&base, &room) = self.free.range(..=start).next_back()?;
        let before = start - base;
        let after = room.checked_sub(before)?.checked_sub(len)?;
        self.free.remove(&base);
        if before > 0 {
            self.free.insert(base, before);
        }
        if after > 0 {
            self.free.insert(start + len, after);
        }
        Some(start)
    }

    /// Makes allocated bytes free again.
    pub fn give(&mut self, mut start: u64, mut len: u64) {
        if let Some((&before, &room)) = self.free.range(..start).next_back()
            && before + room == start
        {
            self.free.remove(&before);
            start = before;
            len += room;
        }
        if let Some(room) = self.free.remove(&(start + len)) {
            len += room;
        }
        self.free.insert(start, len);
    }

    /// Returns whether no part is free.
    pub fn is_none(&self) -> bool {
        self.free.is_empty()
    }

    /// Returns whether `start..start + len` is free and no other part is.
    pub fn is_all(&self, start: u64, len: u64) -> bool {
        self.free.len() == 1 && self.free.get(&start) == Some(&len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_stretch_that_fits_is_taken() {
        let mut extents = Extents::new(0, 100);
        assert_eq!(extents.take(40), Some(0));
        assert_eq!(extents.take(40), Some(40));
        assert_eq!(extents.take(40), None);
        extents.give(0, 40);
        assert_eq!(extents.take(10), Some(0));
        assert_eq!(extents.take(20), Some(10));
        assert_eq!(extents.take(20), Some(80));
    }

    #[test]
    fn bytes_can_be_taken_at_an_address_or_with_an_alignment() {
        let mut extents = Extents::new(0, 100);
        assert_eq!(extents.take_at(40, 20), Some(40));
        for (start, len) in [(30, 20), (50, 20), (40, 1), (90, 11), (100, 1), (0, u64::MAX)] {
            assert_eq!(extents.take_at(start, len), None, "{start} {len}");
        }
        assert_eq!(extents.take(10), Some(0));
        assert_eq!(extents.take_aligned(8, 32), Some(32));
        assert_eq!(extents.take_aligned(30, 32), Some(64));
        assert_eq!(extents.take_aligned(1, 1 << 63), None);
        for (start, len) in [(40, 20), (0, 10), (32, 8), (64, 30)] {
            extents.give(start, len);
        }
        assert!(extents.is_all(0, 100));
    }

    proptest! {
        #[test]
        fn no_byte_is_taken_twice_and_all_bytes_return(steps in prop::collection::vec((1u64..64, any::<bool>(), any::<prop::sample::Index>()), 1..200)) {
            let mut extents = Extents::new(1 << 40, 1024);
            let mut taken: Vec<(u64, u64)> = Vec::new();
            for (len, give, which) in steps {
                if give && !taken.is_empty() {
                    let (start, len) = taken.swap_remove(which.index(taken.len()));
                    extents.give(start, len);
                } else if let Some(start) = extents.take(len) {
                    prop_assert!(start >= 1 << 40 && start + len <= (1 << 40) + 1024);
                    prop_assert!(taken.iter().all(|(s, l)| start + len <= *s || s + l <= start));
                    taken.push((start, len));
                }
            }
            for (start, len) in taken {
                extents.give(start, len);
            }
            prop_assert!(extents.is_all(1 << 40, 1024));
        }
    }
}
