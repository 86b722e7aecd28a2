//! Counts how often samples were too high. A single sample proves nothing, because NVML and the
//! ledger aren't read at the same instant.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// The level at which an excess is certain.
const LIMIT: u32 = 10;
/// Number of samples in a row that are too high before an excess of processes is certain.
pub(super) const SAMPLES: u32 = 2;

/// A level of suspicion. It rises with each sample that is too high, and falls more slowly with
/// each sample that isn't. A process that keeps to its limits only in some samples therefore still
/// reaches [`LIMIT`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level(u32);

impl Level {
    /// Adds a sample that is too high. With `samples` of them in a row, the excess is certain.
    pub(super) fn raise(&mut self, samples: u32) {
        self.0 = self.0.saturating_add(LIMIT.div_ceil(samples)).min(LIMIT);
    }

    /// Adds a sample that is within the limits.
    pub(super) fn lower(&mut self) {
        self.0 = self.0.saturating_sub(1);
    }

    pub(super) fn is_certain(self) -> bool {
        self.0 >= LIMIT
    }

    pub(super) fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// The levels of the VMs or workers whose samples were too high.
#[derive(Debug)]
pub(super) struct Suspicion<K>(HashMap<K, Level>);

impl<K> Default for Suspicion<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Copy + Eq + Hash> Suspicion<K> {
    /// Adds a sample. It's too high for the keys in `high`. For the other keys, the level falls,
    /// unless `is_unclear` returns true.
    pub(super) fn add(&mut self, high: &HashSet<K>, is_unclear: impl Fn(K) -> bool) {
        for (key, level) in &mut self.0 {
            if !high.contains(key) && !is_unclear(*key) {
                level.lower();
            }
        }
        for key in high {
            self.0.entry(*key).or_default().raise(SAMPLES);
        }
        self.0.retain(|_, level| !level.is_zero());
    }

    /// Returns true if the excess is certain. Call this only for a key whose latest sample is too
    /// high.
    pub(super) fn is_certain(&self, key: K) -> bool {
        self.0.get(&key).is_some_and(|level| level.is_certain())
    }

    /// Returns true if no recent sample was too high.
    pub(super) fn is_settled(&self, key: K) -> bool {
        !self.0.contains_key(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of the sample at which an excess is certain, if `high` samples are too
    /// high, the next `low` samples aren't, and so on.
    fn found(samples: u32, high: usize, low: usize) -> Option<usize> {
        let mut level = Level::default();
        (0..1000).find(|number| {
            if number % (high + low) < high {
                level.raise(samples);
            } else {
                level.lower();
            }
            level.is_certain()
        })
    }

    #[test]
    fn samples_within_the_limits_clear_only_slowly() {
        assert_eq!(found(2, 2, 0), Some(1));
        assert_eq!(found(2, 1, 1), Some(4));
        assert!((1..5).all(|low| found(2, 1, low).is_some()));
        assert_eq!(found(2, 1, 5), None);
        assert_eq!(found(5, 5, 0), Some(4));
        assert_eq!(found(5, 4, 1), Some(6));
        assert!(found(5, 1, 1).is_some());
        assert_eq!(found(5, 1, 2), None);
    }
}
