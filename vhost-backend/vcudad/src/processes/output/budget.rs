//! How much the processes of one VM can log.

use std::time::{Duration, Instant};

use crate::reporting::rate::{RateLimited, TokenBucket};

/// Maximum number of lines of one VM in a burst, and per second in the long run. Each read also
/// counts as a line, because a process could write one line in many small pieces.
const BURST: u32 = 500;
const PER_SECOND: u32 = 10;
/// A process's output is read only while its VM can log this many lines, so that lines are rarely
/// omitted: a process that crashes writes fewer.
const RESERVE: u32 = 100;
/// Maximum number of a process's last lines that are logged even if its VM is at its limit. They
/// may say why the process crashed.
const LAST: u32 = 20;
/// Maximum number of last lines that all processes of one VM can log in a burst.
const LAST_BURST: u32 = 200;
/// Minimum time between two lines that say that a VM is at its limit.
const REPORTS: Duration = Duration::from_secs(60);

pub(super) struct Budget {
    lines: TokenBucket,
    last_lines: TokenBucket,
    reports: RateLimited,
}

impl Budget {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            lines: TokenBucket::new(BURST, PER_SECOND, now),
            last_lines: TokenBucket::new(LAST_BURST, PER_SECOND, now),
            reports: RateLimited::new(REPORTS),
        }
    }

    /// Returns whether output of the VM may be read now.
    pub(super) fn is_open(&mut self, now: Instant) -> bool {
        self.lines.has(RESERVE, now)
    }

    /// Returns true if nothing has been read for so long that this budget is the same as a new one.
    pub(super) fn is_full(&mut self, now: Instant) -> bool {
        self.lines.is_full(now) && self.last_lines.is_full(now)
    }

    /// Counts one read that returned this number of lines. Returns how many of them to log.
    pub(super) fn count(&mut self, lines: usize, now: Instant) -> usize {
        self.lines.take(now);
        (0..lines).take_while(|_| self.lines.take(now)).count()
    }

    /// Returns true if the VM is at its limit, and a line that says so is due.
    pub(super) fn report_limit(&mut self, now: Instant) -> bool {
        !self.is_open(now) && self.reports.allow(now).is_some()
    }

    /// Counts the last lines of a process that has exited. Returns how many of them to log.
    pub(super) fn count_last(&mut self, lines: usize, now: Instant) -> usize {
        let normal = (0..lines).take_while(|_| self.lines.take(now)).count();
        let at_most = lines.min(LAST as usize).saturating_sub(normal);
        normal + (0..at_most).take_while(|_| self.last_lines.take(now)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vm_that_floods_is_read_slowly() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        let mut lines = 0;
        let mut reports = 0;
        for second in 0..100 {
            let now = start + Duration::from_secs(second);
            while budget.is_open(now) {
                lines += budget.count(4, now);
                reports += u32::from(budget.report_limit(now));
            }
        }
        assert!((1000..1500).contains(&lines), "{lines} lines");
        assert_eq!(reports, 2);
        let later = start + Duration::from_secs(1000);
        assert!(budget.is_open(later) && budget.is_full(later));
    }

    #[test]
    fn the_last_lines_of_a_crash_are_logged_unless_there_are_many_crashes() {
        let now = Instant::now();
        let mut budget = Budget::new(now);
        assert_eq!(budget.count_last(100, now), 100);
        assert_eq!(budget.count(1000, now), 399);
        assert_eq!(budget.count_last(100, now), 20);
        assert_eq!(budget.count_last(3, now), 3);
        let more: usize = (0..1000).map(|_| budget.count_last(100, now)).sum();
        assert_eq!(more, 177);
    }
}
