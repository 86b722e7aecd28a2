//! How much of the time that it was given a VM uses.

use super::types::Nanos;

/// Time in windows, and how much of it the VM had nothing to run; both fade.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    open: f64,
    idle: f64,
    /// Time in windows since the last look began, and whether enough was known before that.
    fresh: f64,
    known: bool,
    /// While it shared: what it was charged, the wall time, and how much of that it had work in flight,
    /// and work held back.
    got: f64,
    wall: f64,
    busy: f64,
    held: f64,
}

impl Load {
    /// In the last `wall` of a window it was idle for so long; less than nothing if it is known only
    /// now that it ran before. `horizon` is how far back is looked.
    pub fn add(&mut self, wall: Nanos, idle: i64, horizon: Nanos) {
        let keep = 1.0 - (wall as f64 / horizon.max(1) as f64).min(1.0);
        self.open = self.open * keep + wall as f64;
        self.idle = self.idle * keep + idle as f64;
        self.fresh += wall as f64;
    }

    /// Its window, if it has had one, was over, and for so long it wanted no other.
    pub fn pause(&mut self, idle: Nanos) {
        if self.open > 0.0 {
            self.open += idle as f64;
            self.idle += idle as f64;
        }
    }

    /// It is looked at anew. What was known so far counts as so much time, so that little is told by a
    /// window that the VM left at once.
    pub fn look(&mut self, least: Nanos, counts: Nanos) {
        self.known = self.demand(least, true).is_some();
        let keep = (counts as f64 / self.open.max(1.0)).min(1.0);
        (self.open, self.idle, self.fresh) = (self.open * keep, self.idle * keep, 0.0);
    }

    /// It was charged so much of that wall time, with others beside it, and had work in flight for so
    /// long. `held`: its gate let less through than there was.
    pub fn add_shared(&mut self, got: Nanos, busy: Nanos, held: bool, wall: Nanos, horizon: Nanos) {
        let keep = 1.0 - (wall as f64 / horizon.max(1) as f64).min(1.0);
        self.got = self.got * keep + got as f64;
        self.wall = self.wall * keep + wall as f64;
        self.busy = self.busy * keep + busy as f64;
        self.held = self.held * keep + if held { wall as f64 } else { 0.0 };
    }

    /// Begins to share.
    pub fn begin_shared(&mut self) {
        (self.got, self.wall, self.busy, self.held) = (0.0, 0.0, 0.0, 0.0);
    }

    /// The part of its own time that it uses when it has the GPU to itself. None: not known so far.
    /// `ended`: its last window is over; how much of it was left unused is enough for who was known.
    pub fn demand(&self, least: Nanos, ended: bool) -> Option<f64> {
        let least = if self.known && ended { 1.0 } else { least as f64 };
        (self.fresh >= least).then(|| 1.0 - self.gaps())
    }

    /// The part of its own time in which it had nothing to run, as far as it is known.
    pub fn gaps(&self) -> f64 {
        self.idle.max(0.0) / self.open.max(1.0)
    }

    /// Whether that is known of `least`, and no more than `part`.
    pub fn pauses_seldom(&self, part: f64, least: Nanos) -> bool {
        self.open >= least as f64 && self.gaps() <= part
    }

    /// The same while it shared: less where another's slice was in its way. None: not known so far.
    pub fn gaps_shared(&self, least: Nanos) -> Option<f64> {
        (self.wall >= least as f64).then(|| 1.0 - self.busy / self.wall)
    }

    /// The part of the GPU that it got while it shared. None: not known so far.
    pub fn got(&self, least: Nanos) -> Option<f64> {
        (self.wall >= least as f64).then(|| self.got / self.wall)
    }

    /// The part of the time that it shared in which it had work held back. None: not known so far.
    pub fn held(&self, least: Nanos) -> Option<f64> {
        (self.wall >= least as f64).then(|| self.held / self.wall)
    }
}

/// What each gets if all get the same until they have enough.
pub fn even(demands: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by(|a, b| demands[*a].total_cmp(&demands[*b]));
    let mut gets = vec![0.0; demands.len()];
    let (mut left, mut count) = (1.0, demands.len());
    for at in order {
        gets[at] = demands[at].min(left / count as f64);
        left -= gets[at];
        count -= 1;
    }
    gets
}

#[cfg(test)]
mod tests {
    use super::super::types::MS;
    use super::*;

    #[test]
    fn a_change_of_behaviour_is_seen_within_the_horizon() {
        let mut load = Load::default();
        assert_eq!(load.demand(10 * MS, false), None);
        for _ in 0..200 {
            load.add(MS, (MS / 2) as i64, 40 * MS);
        }
        assert!((load.demand(10 * MS, false).unwrap() - 0.5).abs() < 0.01);
        for _ in 0..100 {
            load.add(MS, 0, 40 * MS);
        }
        assert!(load.demand(10 * MS, false).unwrap() > 0.95);
    }

    #[test]
    fn a_look_needs_a_window_and_learns_little_from_one_that_was_left() {
        let mut load = Load::default();
        for _ in 0..20 {
            load.add(MS, (MS / 2) as i64, 40 * MS);
        }
        load.look(10 * MS, 2 * MS);
        assert_eq!(load.demand(10 * MS, true), None);
        load.add(MS / 10, 0, 40 * MS);
        assert_eq!(load.demand(10 * MS, false), None);
        assert!(load.demand(10 * MS, true).unwrap() < 0.55);
        for _ in 0..20 {
            load.add(MS, 0, 40 * MS);
        }
        assert!(load.demand(10 * MS, false).unwrap() > 0.95);
    }

    #[test]
    fn who_wants_little_gets_it_and_the_rest_is_even() {
        let gets = even(&[0.7, 0.1, 0.8]);
        assert!((gets[1] - 0.1).abs() < 1e-9);
        assert!((gets[0] - 0.45).abs() < 1e-9 && (gets[2] - 0.45).abs() < 1e-9);
    }
}
