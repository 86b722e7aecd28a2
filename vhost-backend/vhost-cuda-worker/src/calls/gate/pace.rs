//! How much of a stream may be queued while nobody else wants the GPU.
//!
//! No depth in time is kept then, since that costs each call something. But what is queued has to
//! drain before another VM's window, or before a new cap holds; a thousand kernels of a millisecond
//! would take a second. So a stream's pace is looked at now and then, and what it may queue is about
//! [`QUEUE`] of that.

use super::room::{LIMIT, MARK};

/// What may be queued in a stream, in ns.
const QUEUE: u64 = 20_000_000;
/// Commands that may always be queued: some for the kernels that run next, and what goes with them.
const LEAST: u32 = 8;
/// Commands that may be queued before the pace is known, and between two marks then.
const FIRST: u32 = 32;
const FIRST_MARK: u32 = 4;
/// Between two marks afterwards, in ns.
const BETWEEN: u64 = 1_000_000;

/// A stream's pace.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// Time that a command takes, in ns; none: not known.
    each: Option<u64>,
    /// Since when the commands run that have not ended.
    since: u64,
}

impl Pace {
    /// Commands that may be queued.
    pub fn limit(&self) -> u32 {
        match self.each {
            None => FIRST,
            Some(each) => (QUEUE / each.max(1)).clamp(LEAST.into(), LIMIT.into()) as u32,
        }
    }

    /// Commands after which the stream wants a mark.
    pub fn mark(&self) -> u32 {
        match self.each {
            None => FIRST_MARK,
            Some(each) => (BETWEEN / each.max(1)).clamp(FIRST_MARK.into(), MARK.into()) as u32,
        }
    }

    pub fn is_known(&self) -> bool {
        self.each.is_some()
    }

    /// What went before is not its pace: nothing was queued, or what runs waits for the host.
    pub fn restarts(&mut self, now: u64) {
        self.since = now;
    }

    /// `ended` commands have ended since the last look, as was seen at `now`; they may have ended
    /// before. `left` are queued, and the end of the first `first` of those will be seen next.
    pub fn saw(&mut self, ended: u32, first: u32, left: u32, now: u64) {
        let took = now.saturating_sub(self.since);
        if ended == 0 {
            // What runs for so long is as slow as that.
            let first = u64::from(first.max(1));
            let expected = self.each.map_or(QUEUE / 4, |each| 2 * each * first);
            if left > 0 && took > expected {
                self.each = Some(took / first);
            }
            return;
        }
        let each = (took / u64::from(ended)).max(1);
        self.each = match self.each {
            // It ran dry: it may have ended long before, and more is to be queued.
            Some(before) if left == 0 => Some(each.min(before / 2).max(1)),
            Some(before) => Some((before + each) / 2),
            None => Some(each),
        };
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1000;
    const MS: u64 = 1_000_000;

    #[test]
    fn short_kernels_get_all_that_a_channel_takes() {
        let mut pace = Pace::default();
        pace.restarts(MS);
        pace.saw(8, 4, 24, MS + 160 * US);
        assert_eq!(pace.limit(), LIMIT);
    }

    #[test]
    fn of_kernels_of_a_millisecond_there_are_twenty() {
        let mut pace = Pace::default();
        pace.restarts(MS);
        for at in 2..100 {
            pace.saw(1, 1, 10, at * MS);
        }
        assert_eq!(pace.limit(), 20);
    }

    #[test]
    fn a_long_kernel_is_known_before_it_ends() {
        let mut pace = Pace::default();
        pace.restarts(MS);
        for at in 0..200 {
            pace.saw(0, 4, 30, MS + at * MS);
        }
        assert_eq!(pace.limit(), LEAST);
    }

    #[test]
    fn who_was_taken_for_slower_than_it_is_gets_more_each_time_that_it_runs_dry() {
        let mut pace = Pace::default();
        pace.restarts(MS);
        pace.saw(1, 4, 31, 11 * MS);
        assert_eq!(pace.limit(), LEAST);
        for at in 0..8 {
            pace.restarts((20 + at) * MS);
            pace.saw(pace.limit(), 0, 0, (21 + at) * MS);
        }
        assert_eq!(pace.limit(), LIMIT);
    }

    #[test]
    fn time_at_a_host_function_does_not_count() {
        let mut pace = Pace::default();
        pace.restarts(MS);
        pace.saw(10, 10, 10, MS + 200 * US);
        pace.restarts(500 * MS);
        pace.saw(10, 0, 0, 500 * MS + 200 * US);
        assert_eq!(pace.limit(), LIMIT);
    }
}
