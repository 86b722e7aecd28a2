//! The counters of a VM's usage of one GPU.

use serde::{Deserialize, Serialize};

/// Counters, which only increase. They saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Counters {
    pub(crate) gpu_ns: u64,
    /// The part of `gpu_ns` for copies during other VMs' windows.
    pub(crate) copied_ns: u64,
    pub(crate) throttled_ns: u64,
    pub(crate) windows: u64,
    pub(crate) handovers: u64,
    pub(crate) handover_ns: u64,
    pub(crate) evictions: u64,
    /// Charged memory multiplied by time, in bytes times seconds.
    pub(crate) memory_byte_seconds: u64,
}

impl Counters {
    /// Adds each counter of `more` to the same counter of this value.
    pub(crate) fn add(&mut self, more: Self) {
        self.change(more, u64::saturating_add);
    }

    /// Returns what was counted since `before`. If one of the scheduler's counters has decreased,
    /// the scheduler has lost its statistics and has counted from zero since.
    pub(crate) fn since(mut self, before: Self) -> Self {
        let memory_byte_seconds = before.memory_byte_seconds;
        let of_scheduler = |of: Self| Self { memory_byte_seconds: 0, ..of };
        let (now, last) = (of_scheduler(self), of_scheduler(before));
        let mut least = now;
        least.change(last, u64::min);
        let before =
            if least == last { before } else { Self { memory_byte_seconds, ..Self::default() } };
        self.change(before, u64::saturating_sub);
        self
    }

    /// Combines each counter with the same counter in `with`.
    fn change(&mut self, with: Self, change: impl Fn(u64, u64) -> u64) {
        for (counter, with) in [
            (&mut self.gpu_ns, with.gpu_ns),
            (&mut self.copied_ns, with.copied_ns),
            (&mut self.throttled_ns, with.throttled_ns),
            (&mut self.windows, with.windows),
            (&mut self.handovers, with.handovers),
            (&mut self.handover_ns, with.handover_ns),
            (&mut self.evictions, with.evictions),
            (&mut self.memory_byte_seconds, with.memory_byte_seconds),
        ] {
            *counter = change(*counter, with);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(gpu_ns: u64, windows: u64, memory_byte_seconds: u64) -> Counters {
        Counters { gpu_ns, windows, memory_byte_seconds, ..Counters::default() }
    }

    #[test]
    fn differences_add_up_even_if_the_scheduler_starts_again() {
        let mut sum = Counters::default();
        let mut last = Counters::default();
        for now in [(5, 1, 1), (9, 2, 4), (3, 1, 6), (3, 1, 6), (8, 0, 7)] {
            let now = counters(now.0, now.1, now.2);
            sum.add(now.since(last));
            last = now;
        }
        // The scheduler has lost its statistics twice.
        assert_eq!(sum, counters(9 + 3 + 8, 2 + 1, 7));
    }

    #[test]
    fn sums_saturate() {
        let mut sum = counters(u64::MAX, 1, u64::MAX);
        sum.add(counters(1, 1, 1));
        assert_eq!(sum, counters(u64::MAX, 2, u64::MAX));
    }
}
