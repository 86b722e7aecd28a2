//! The most that an account contained in recent intervals. A comparison of an account with a
//! measurement that is a little older must not take memory that was freed in between for an excess.

/// The highest values in the current interval and in the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recent {
    current: u64,
    previous: u64,
}

impl Recent {
    /// Records a new value.
    pub(crate) fn record(&mut self, value: u64) {
        self.current = self.current.max(value);
    }

    /// Begins an interval, at whose start the account contains `value`.
    pub(crate) fn begin(&mut self, value: u64) {
        self.previous = self.current;
        self.current = value;
    }

    /// Returns the highest value, which is at least `value`, the current one.
    pub(crate) fn highest(&self, value: u64) -> u64 {
        value.max(self.current).max(self.previous)
    }
}
