//! Limits the rate of work and log lines that a guest, a worker, or a device process can cause.

use std::time::{Duration, Instant};

/// A token bucket. It allows a burst at once, but no more than a fixed rate per second in the long
/// run.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    burst: f64,
    per_second: f64,
    tokens: f64,
    at: Instant,
}

impl TokenBucket {
    pub(crate) fn new(burst: u32, per_second: u32, now: Instant) -> Self {
        let burst = f64::from(burst);
        Self { burst, per_second: f64::from(per_second), tokens: burst, at: now }
    }

    /// Takes a token. Returns true if there was one.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let has = self.has(1, now);
        if has {
            self.tokens -= 1.0;
        }
        has
    }

    /// Returns true if there are this many tokens.
    pub(crate) fn has(&mut self, count: u32, now: Instant) -> bool {
        self.refill(now);
        self.tokens >= f64::from(count)
    }

    /// Takes this many tokens, even if there are fewer. The bucket owes at most its burst, so that
    /// it isn't empty forever.
    pub(crate) fn spend(&mut self, count: f64, now: Instant) {
        self.refill(now);
        self.tokens = (self.tokens - count).max(-self.burst);
    }

    /// Returns true if the bucket allows its whole burst.
    pub(crate) fn is_full(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.tokens >= self.burst
    }

    fn refill(&mut self, now: Instant) {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.tokens = (self.tokens + since * self.per_second).min(self.burst);
    }
}

/// Lets through one log line or event per interval, and counts those that it suppresses.
#[derive(Clone, Debug)]
pub(crate) struct RateLimited {
    interval: Duration,
    last: Option<Instant>,
    suppressed: u64,
}

impl RateLimited {
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, last: None, suppressed: 0 }
    }

    /// Checks whether a line may be logged now. If so, returns the number of lines suppressed since
    /// the last one that was logged. If not, counts this line and returns `None`.
    pub(crate) fn allow(&mut self, now: Instant) -> Option<u64> {
        let soon = |last: Instant| now.saturating_duration_since(last) < self.interval;
        if self.last.is_some_and(soon) {
            self.suppressed += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_allows_its_burst_and_then_its_rate() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(3, 10, start);
        assert_eq!((0..5).filter(|_| bucket.take(start)).count(), 3);
        assert!(!bucket.take(start + Duration::from_millis(99)));
        let later = start + Duration::from_millis(350);
        assert_eq!((0..5).filter(|_| bucket.take(later)).count(), 3);
        let much_later = start + Duration::from_secs(3600);
        assert_eq!((0..5).filter(|_| bucket.take(much_later)).count(), 3);
    }

    #[test]
    fn suppressed_lines_are_counted() {
        let start = Instant::now();
        let mut limited = RateLimited::new(Duration::from_secs(1));
        assert_eq!(limited.allow(start), Some(0));
        assert_eq!(limited.allow(start), None);
        assert_eq!(limited.allow(start + Duration::from_millis(999)), None);
        assert_eq!(limited.allow(start + Duration::from_secs(1)), Some(2));
    }
}
