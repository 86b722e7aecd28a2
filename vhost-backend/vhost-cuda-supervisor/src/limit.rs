//! Limits how often a worker may do something.

use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);

/// Limits an action to a number of times per second.
pub struct Limit {
    most: u32,
    start: Instant,
    count: u32,
}

impl Limit {
    /// Creates a limit of `most` times per second.
    pub fn new(most: u32) -> Self {
        Self { most, start: Instant::now(), count: 0 }
    }

    /// Counts one action. If the limit for the current second has been reached, first waits for the
    /// next second.
    pub fn wait(&mut self) {
        self.count += 1;
        if self.count > self.most {
            std::thread::sleep(INTERVAL.saturating_sub(self.start.elapsed()));
        } else if self.start.elapsed() < INTERVAL {
            return;
        }
        (self.start, self.count) = (Instant::now(), 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_than_allowed_waits_for_the_next_second() {
        let start = Instant::now();
        let mut limit = Limit::new(100);
        (0..100).for_each(|_| limit.wait());
        limit.wait();
        assert!(start.elapsed() >= INTERVAL);
        assert!(limit.count <= 2);
    }
}
