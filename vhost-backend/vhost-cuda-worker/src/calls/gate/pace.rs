//! Limits how many commands a stream may queue while no other VM wants the GPU.
//!
//! In that case, the worker doesn't limit the estimated time of queued commands, because that would
//! make every call slower. But queued commands must finish before another VM can use the GPU, or
//! before a new cap takes effect, and a thousand kernels that take a millisecond each would need a
//! second. So the worker measures periodically how fast the stream's commands finish (its pace),
//! and the stream may queue about as many commands as finish within [`QUEUE`].

use super::room::{LIMIT, MARK};

/// The time that the queued commands of a stream should take at most, in ns.
const QUEUE: u64 = 20_000_000;
/// Even the slowest stream may queue this many commands. They are enough for the next few kernels
/// with their events.
const LEAST: u32 = 8;
/// While the pace is unknown, a stream may queue this many commands, and is marked after every
/// `FIRST_MARK` of them. A mark is an event that shows how many commands have finished.
const FIRST: u32 = 32;
const FIRST_MARK: u32 = 4;
/// The intended time between two marks once the pace is known, in ns.
const BETWEEN: u64 = 1_000_000;

/// The measured speed of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// The time per command in ns, or `None` if it hasn't been measured yet.
    each: Option<u64>,
    /// The time from which the next measurement counts: the last progress or restart.
    since: u64,
}

impl Pace {
    /// Returns the number of commands that the stream may queue.
    pub fn limit(&self) -> u32 {
        match self.each {
            None => FIRST,
            Some(each) => (QUEUE / each.max(1)).clamp(LEAST.into(), LIMIT.into()) as u32,
        }
    }

    /// Returns the number of commands after which the next mark must be recorded in the stream.
    pub fn mark(&self) -> u32 {
        match self.each {
            None => FIRST_MARK,
            Some(each) => (BETWEEN / each.max(1)).clamp(FIRST_MARK.into(), MARK.into()) as u32,
        }
    }

    pub fn is_known(&self) -> bool {
        self.each.is_some()
    }

    /// Begins a new measurement at `now`, because the stream was empty or was waiting for the host.
    pub fn restart(&mut self, now: u64) {
        self.since = now;
    }

    /// Records the result of a check of the stream at `now`. `ended` commands have finished since
    /// the last check, and `left` are still queued. `first` is the number of commands up to the
    /// next mark, so the next progress will be at least that many commands.
    pub fn observe(&mut self, ended: u32, first: u32, left: u32, now: u64) {
        let took = now.saturating_sub(self.since);
        if ended == 0 {
            // No command has finished, so each takes at least this long.
            let first = u64::from(first.max(1));
            let expected = self.each.map_or(QUEUE / 4, |each| 2 * each * first);
            if left > 0 && took > expected {
                self.each = Some(took / first);
            }
            return;
        }
        let each = (took / u64::from(ended)).max(1);
        self.each = match self.each {
            // The stream has become empty. Its commands may have finished long before this check,
            // so use at most half of the old time per command.
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
