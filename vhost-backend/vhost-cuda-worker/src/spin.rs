//! Determines how long a thread polls for work before it sleeps.

use std::time::Duration;

/// The minimum time to poll. Work can't arrive any sooner.
const MIN: Duration = Duration::from_micros(4);

/// The time for which a thread polls before it sleeps. It adapts to how soon work arrives.
#[derive(Clone, Copy, Default)]
pub(super) struct Spin {
    max: Duration,
    now: Duration,
}

impl Spin {
    pub(super) fn new(max: Duration) -> Self {
        Self { max, now: max }
    }

    pub(super) fn duration(&self) -> Duration {
        self.now
    }

    /// Adapts the time after work has arrived while the thread was polling.
    pub(super) fn work_came(&mut self) {
        self.now = self.max.min(self.now * 2);
    }

    /// Adapts the time after the thread has polled without finding work, and has then slept. If
    /// work has arrived after a total time in which polling could have found it, increases the
    /// time. If not, decreases it.
    pub(super) fn slept(&mut self, polled_and_slept: Duration, work_came: bool) {
        if work_came && polled_and_slept < self.max {
            self.work_came();
        } else {
            self.now = (self.now / 2).max(MIN.min(self.max));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_adapts_within_its_limits() {
        let us = Duration::from_micros;
        let mut spin = Spin::new(us(50));
        assert_eq!(spin.duration(), us(50));
        for expected in [25_000, 12_500, 6_250, 4_000, 4_000] {
            spin.slept(us(1000), true);
            assert_eq!(spin.duration(), Duration::from_nanos(expected));
        }
        for expected in [8, 16, 32, 50, 50] {
            spin.work_came();
            assert_eq!(spin.duration(), us(expected));
        }
        // If work comes soon after the thread has gone to sleep, polling longer would have found
        // it, so the time increases. If a sleep ends without work, the time decreases, however
        // short the sleep was.
        spin.slept(us(1000), true);
        spin.slept(us(49), true);
        assert_eq!(spin.duration(), us(50));
        spin.slept(us(49), false);
        assert_eq!(spin.duration(), us(25));
        let mut never = Spin::new(Duration::ZERO);
        never.slept(us(49), true);
        never.work_came();
        assert_eq!(never.duration(), Duration::ZERO);
    }
}
