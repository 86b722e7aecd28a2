//! The entries of a table that may differ from the record from which another broker would continue.

use std::collections::BTreeSet;

/// The keys of the entries that may have changed since they were last recorded.
pub(crate) struct Touched<K> {
    keys: BTreeSet<K>,
    /// True if all entries must be recorded.
    all: bool,
}

impl<K> Default for Touched<K> {
    fn default() -> Self {
        Self { keys: BTreeSet::new(), all: false }
    }
}

impl<K: Ord> Touched<K> {
    pub(crate) fn add(&mut self, key: K) {
        self.keys.insert(key);
    }

    /// Marks the whole table to be recorded.
    pub(crate) fn add_all(&mut self) {
        self.all = true;
    }

    /// Takes the keys that were added since the last call. Returns `None` if the whole table must
    /// be recorded.
    pub(crate) fn take(&mut self) -> Option<BTreeSet<K>> {
        let keys = std::mem::take(&mut self.keys);
        (!std::mem::take(&mut self.all)).then_some(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_once() {
        let mut touched = Touched::default();
        [2, 1, 2].into_iter().for_each(|key| touched.add(key));
        assert_eq!(touched.take(), Some(BTreeSet::from([1, 2])));
        assert_eq!(touched.take(), Some(BTreeSet::new()));
        touched.add(3);
        touched.add_all();
        assert_eq!(touched.take(), None);
        assert_eq!(touched.take(), Some(BTreeSet::new()));
    }
}
