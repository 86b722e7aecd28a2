//! A set of address ranges, each with a value.

use std::collections::BTreeMap;

/// A set of address ranges that don't overlap, each with a value.
pub(in crate::calls) struct Spans<T> {
    spans: BTreeMap<u64, (u64, T)>,
}

impl<T> Default for Spans<T> {
    fn default() -> Self {
        Self { spans: BTreeMap::new() }
    }
}

impl<T> Spans<T> {
    /// Adds the range `start..start + len`. Returns `false` without changing anything if the range
    /// is empty, overflows, or overlaps another range.
    pub(in crate::calls) fn insert(&mut self, start: u64, len: u64, value: T) -> bool {
        let Some(end) = start.checked_add(len) else { return false };
        if len == 0 || self.spans.range(..end).next_back().is_some_and(|(s, (l, _))| s + l > start)
        {
            return false;
        }
        self.spans.insert(start, (len, value));
        true
    }

    /// Returns the length and value of the range that starts at `start`.
    pub(in crate::calls) fn get(&self, start: u64) -> Option<&(u64, T)> {
        self.spans.get(&start)
    }

    /// Returns the length and value of the range that starts at `start`, for changing them.
    pub(in crate::calls) fn get_mut(&mut self, start: u64) -> Option<&mut (u64, T)> {
        self.spans.get_mut(&start)
    }

    /// Returns the start of the range that contains an address.
    pub(in crate::calls) fn start_of(&self, address: u64) -> Option<u64> {
        let (start, (len, _)) = self.spans.range(..=address).next_back()?;
        (address - start < *len).then_some(*start)
    }

    /// Returns the value of the range that contains an address.
    pub(in crate::calls) fn at(&self, address: u64) -> Option<&T> {
        let (start, (len, value)) = self.spans.range(..=address).next_back()?;
        (address - start < *len).then_some(value)
    }

    /// Returns whether any range overlaps `start..start + len`.
    pub(in crate::calls) fn overlaps(&self, start: u64, len: u64) -> bool {
        let end = start.saturating_add(len);
        self.spans.range(..end).next_back().is_some_and(|(s, (l, _))| s + l > start)
    }

    /// Returns the starts of the ranges that exactly cover `start..start + len`, if `wanted`
    /// returns true for the values of all of them.
    pub(in crate::calls) fn covering(
        &self,
        start: u64,
        len: u64,
        wanted: impl Fn(&T) -> bool,
    ) -> Option<Vec<u64>> {
        let end = start.checked_add(len).filter(|end| *end > start)?;
        let (mut at, mut starts) = (start, Vec::new());
        for (s, (l, value)) in self.spans.range(start..end) {
            if *s != at || !wanted(value) {
                return None;
            }
            starts.push(*s);
            at = s + l;
        }
        (at == end).then_some(starts)
    }

    pub(in crate::calls) fn remove(&mut self, start: u64) -> Option<(u64, T)> {
        self.spans.remove(&start)
    }

    /// Returns the start addresses of all ranges for whose values `wanted` returns true.
    pub(in crate::calls) fn starts(&self, wanted: impl Fn(&T) -> bool) -> Vec<u64> {
        self.spans.iter().filter(|(_, (_, value))| wanted(value)).map(|(start, _)| *start).collect()
    }

    /// Returns whether one range, or several adjacent ranges, contain all of `start..start + len`.
    pub(in crate::calls) fn covers(&self, start: u64, len: u64) -> bool {
        self.covers_with(start, len, |_| true)
    }

    /// Returns whether one range, or several adjacent ranges, contain all of `start..start + len`,
    /// counting only ranges for whose values `wanted` returns true.
    pub(in crate::calls) fn covers_with(
        &self,
        start: u64,
        len: u64,
        wanted: impl Fn(&T) -> bool,
    ) -> bool {
        let Some(end) = start.checked_add(len) else { return false };
        let mut at = start;
        loop {
            match self.spans.range(..=at).next_back() {
                Some((s, (l, value))) if s + l > at && wanted(value) => at = s + l,
                _ => return false,
            }
            if at >= end {
                return true;
            }
        }
    }

    pub(in crate::calls) fn values(&self) -> impl Iterator<Item = &T> {
        self.spans.values().map(|(_, value)| value)
    }

    pub(in crate::calls) fn len(&self) -> usize {
        self.spans.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_must_be_covered_to_its_last_byte() {
        let mut spans = Spans::default();
        assert!(spans.insert(0x1000, 0x1000, ()));
        assert!(spans.insert(0x2000, 0x800, ()));
        assert!(spans.insert(0x4000, 0x1000, ()));
        for (start, len, covered) in [
            (0x1000, 0x1000, true),
            (0x1000, 0x1800, true),
            (0x1000, 0x1801, false),
            (0x27ff, 1, true),
            (0x2800, 1, false),
            (0xfff, 2, false),
            (0x2000, 0x3000, false),
            (0x4fff, u64::MAX, false),
            (u64::MAX, 1, false),
            (0, u64::MAX, false),
        ] {
            assert_eq!(spans.covers(start, len), covered, "{start:#x} {len:#x}");
        }
    }

    #[test]
    fn overlaps_are_refused() {
        let mut spans = Spans::default();
        assert!(spans.insert(0x1000, 0x1000, ()));
        for (start, len) in
            [(0x1000, 1), (0xfff, 2), (0x1fff, 1), (0, 0x10000), (5, 0), (9, u64::MAX)]
        {
            assert!(!spans.insert(start, len, ()), "{start:#x} {len:#x}");
        }
        assert!(spans.insert(0x2000, 1, ()));
        assert!(spans.insert(0xfff, 1, ()));
    }
}
