//! Bounds on what a guest, a worker or a device process can make the broker do and say.

use std::time::{Duration, Instant};

/// So many at once, and so many a second in the long run.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    burst: f64,
    per_second: f64,
    tokens: f64,
    at: Instant,
}

impl Bucket {
    pub(super) fn new(burst: u32, per_second: u32, now: Instant) -> Self {
        let burst = f64::from(burst);
        Self { burst, per_second: f64::from(per_second), tokens: burst, at: now }
    }

    /// Whether one more may be done now.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.tokens = (self.tokens + since * self.per_second).min(self.burst);
        let has = self.tokens >= 1.0;
        if has {
            self.tokens -= 1.0;
        }
        has
    }
}

/// One line, or one event, in a while; it knows how many it has kept back since.
#[derive(Clone, Debug)]
pub(super) struct Seldom {
    every: Duration,
    last: Option<Instant>,
    kept_back: u64,
}

impl Seldom {
    pub(super) fn new(every: Duration) -> Self {
        Self { every, last: None, kept_back: 0 }
    }

    /// If it may be said now: how many were not said since the last one.
    pub(super) fn say(&mut self, now: Instant) -> Option<u64> {
        let soon = |last: Instant| now.saturating_duration_since(last) < self.every;
        if self.last.is_some_and(soon) {
            self.kept_back += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.kept_back))
    }
}

/// What another process said, for a log line or an event: one line, and not a long one.
pub(super) fn printable(text: &str) -> String {
    const MAX: usize = 300;
    let mut line: String = text.chars().take(MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX).is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_allows_its_burst_and_then_its_rate() {
        let start = Instant::now();
        let mut bucket = Bucket::new(3, 10, start);
        assert_eq!((0..5).filter(|_| bucket.take(start)).count(), 3);
        assert!(!bucket.take(start + Duration::from_millis(99)));
        let later = start + Duration::from_millis(350);
        assert_eq!((0..5).filter(|_| bucket.take(later)).count(), 3);
        let much_later = start + Duration::from_secs(3600);
        assert_eq!((0..5).filter(|_| bucket.take(much_later)).count(), 3);
    }

    #[test]
    fn what_is_kept_back_is_counted() {
        let start = Instant::now();
        let mut seldom = Seldom::new(Duration::from_secs(1));
        assert_eq!(seldom.say(start), Some(0));
        assert_eq!(seldom.say(start), None);
        assert_eq!(seldom.say(start + Duration::from_millis(999)), None);
        assert_eq!(seldom.say(start + Duration::from_secs(1)), Some(2));
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(printable("a\nERROR b\x1b[31m"), "a\\nERROR b\\u{1b}[31m");
        assert!(printable(&"x".repeat(1000)).chars().count() < 310);
    }
}
