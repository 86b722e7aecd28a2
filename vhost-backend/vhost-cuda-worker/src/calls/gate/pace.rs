//! How many commands a stream may queue while no other VM wants the GPU.
//!
//! The worker doesn't limit the estimated time of queued commands then, because that would make
//! every call slower. But queued commands must drain before another VM's window, or before a new
//! cap takes effect, and a thousand kernels that take a millisecond each would take a second. So
//! the stream's pace is measured periodically, and the stream may queue about as many commands as
//! finish within [`QUEUE`].

use super::room::{LIMIT, MARK};

/// The time that the queued commands of a stream may take, in ns.
const QUEUE: u64 = 20_000_000;
/// The number of commands that may always be queued. It is enough for the next few kernels with
/// their events.
const LEAST: u32 = 8;
/// The number of commands that may be queued before the pace is known, and the number between two
/// marks then.
const FIRST: u32 = 32;
const FIRST_MARK: u32 = 4;
/// The time between two marks once the pace is known, in ns.
const BETWEEN: u64 = 1_000_000;

/// A stream's pace.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// The time that a command takes, in ns; `None` if not known.
    each: Option<u64>,
    /// The time at which the first unfinished command began to run.
    since: u64,
}

impl Pace {
    /// Returns the number of commands that may be queued.
    pub fn limit(&self) -> u32 {
        match self.each {
            None => FIRST,
            Some(each) => (QUEUE / each.max(1)).clamp(LEAST.into(), LIMIT.into()) as u32,
        }
    }

    /// Returns the number of commands after which the stream needs a mark.
    pub fn mark(&self) -> u32 {
        match self.each {
            None => FIRST_MARK,
            Some(each) => (BETWEEN / each.max(1)).clamp(FIRST_MARK.into(), MARK.into()) as u32,
        }
    }

    pub fn is_known(&self) -> bool {
        self.each.is_some()
    }

    /// Restarts the measurement, because the stream was empty or was waiting for the host.
    pub fn restart(&mut self, now: u64) {
        self.since = now;
    }

    /// Records that `ended` commands were found finished at `now`; they may have finished at any
    /// time since the last look. `left` are still queued, and the next look that finds finished
    /// commands will find at least the first `first` of them.
    pub fn observe(&mut self, ended: u32, first: u32, left: u32, now: u64) {
        let took = now.saturating_sub(self.since);
        if ended == 0 {
            // The commands take at least this long.
            let first = u64::from(first.max(1));
            let expected = self.each.map_or(QUEUE / 4, |each| 2 * each * first);
            if left > 0 && took > expected {
                self.each = Some(took / first);
            }
            return;
        }
        let each = (took / u64::from(ended)).max(1);
        self.each = match self.each {
            // The stream became empty. Its commands may have finished long ago, so allow more of
            // them.
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
    fn short_kernels_may_fill_a_channel() {
        let mut pace = Pace::default();
        pace.restart(MS);
        pace.observe(8, 4, 24, MS + 160 * US);
        assert_eq!(pace.limit(), LIMIT);
    }

    #[test]
    fn twenty_kernels_of_a_millisecond_may_be_queued() {
        let mut pace = Pace::default();
        pace.restart(MS);
        for at in 2..100 {
            pace.observe(1, 1, 10, at * MS);
        }
        assert_eq!(pace.limit(), 20);
    }

    #[test]
    fn a_long_kernel_is_known_before_it_ends() {
        let mut pace = Pace::default();
        pace.restart(MS);
        for at in 0..200 {
            pace.observe(0, 4, 30, MS + at * MS);
        }
        assert_eq!(pace.limit(), LEAST);
    }

    #[test]
    fn a_stream_whose_pace_was_underestimated_may_queue_more_each_time_it_runs_dry() {
        let mut pace = Pace::default();
        pace.restart(MS);
        pace.observe(1, 4, 31, 11 * MS);
        assert_eq!(pace.limit(), LEAST);
        for at in 0..8 {
            pace.restart((20 + at) * MS);
            pace.observe(pace.limit(), 0, 0, (21 + at) * MS);
        }
        assert_eq!(pace.limit(), LIMIT);
    }

    #[test]
    fn time_at_a_host_function_does_not_count() {
        let mut pace = Pace::default();
        pace.restart(MS);
        pace.observe(10, 10, 10, MS + 200 * US);
        pace.restart(500 * MS);
        pace.observe(10, 0, 0, 500 * MS + 200 * US);
        assert_eq!(pace.limit(), LIMIT);
    }
}
