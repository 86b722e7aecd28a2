//! Measures how much of the time in its own windows a VM uses.

use super::types::Nanos;

/// Averages of how long a VM had a window and how long it had nothing to run in it. Older time
/// counts less.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    open: f64,
    idle: f64,
    /// Time in windows since the current measurement began.
    fresh: f64,
    /// Whether the demand was known before the current measurement.
    known: bool,
    shared: Shared,
}

/// Averages of the time in shared mode.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shared {
    /// GPU time charged.
    pub got: f64,
    wall: f64,
    /// Wall time with work in flight. It includes time in which that work waits for another VM's
    /// time slice, so it's longer than the busy time in windows.
    pub busy: f64,
    /// Wall time in which the gate held back work.
    pub held: f64,
}

impl Load {
    /// Adds `wall` time of a window, in which the VM was idle for `idle`. `idle` is negative if a
    /// late report shows that the VM was busy earlier. `horizon` is the averaging period.
    pub fn add(&mut self, wall: Nanos, idle: i64, horizon: Nanos) {
        let keep = 1.0 - (wall as f64 / horizon.max(1) as f64).min(1.0);
        self.open = self.open * keep + wall as f64;
        self.idle = self.idle * keep + idle as f64;
        self.fresh += wall as f64;
    }

    /// Counts a pause between two windows, in which the VM wanted no window, as idle time.
    pub fn pause(&mut self, idle: Nanos) {
        if self.open > 0.0 {
            self.open += idle as f64;
            self.idle += idle as f64;
        }
    }

    /// Begins a new measurement. Of the earlier data, at most `counts` of window time is kept, so
    /// that it carries little weight. `least` is the window time after which the demand counts as
    /// known.
    pub fn restart(&mut self, least: Nanos, counts: Nanos) {
        self.known = self.demand(least, true).is_some();
        let keep = (counts as f64 / self.open.max(1.0)).min(1.0);
        (self.open, self.idle, self.fresh) = (self.open * keep, self.idle * keep, 0.0);
    }

    /// Adds `wall` time in shared mode. During that time, the VM was charged `got` and had work in
    /// flight for `busy`. `held` says whether its gate held back work. `horizon` is the averaging
    /// period.
    pub fn add_shared(&mut self, got: Nanos, busy: Nanos, held: bool, wall: Nanos, horizon: Nanos) {
        let keep = 1.0 - (wall as f64 / horizon.max(1) as f64).min(1.0);
        let shared = &mut self.shared;
        shared.got = shared.got * keep + got as f64;
        shared.wall = shared.wall * keep + wall as f64;
        shared.busy = shared.busy * keep + busy as f64;
        shared.held = shared.held * keep + if held { wall as f64 } else { 0.0 };
    }

    /// Discards earlier data on shared mode.
    pub fn begin_shared(&mut self) {
        self.shared = Shared::default();
    }

    /// Returns the VM's demand: the fraction of its windows that it uses. Returns `None` if less
    /// than `least` was measured. If the measurement's last window has `ended` and the demand was
    /// known before, any measured time is enough.
    pub fn demand(&self, least: Nanos, ended: bool) -> Option<f64> {
        let least = if self.known && ended { 1.0 } else { least as f64 };
        (self.fresh >= least).then(|| 1.0 - self.gaps())
    }

    /// Returns the fraction of the time in its windows in which the VM had nothing to run, as
    /// measured so far.
    pub fn gaps(&self) -> f64 {
        self.idle.max(0.0) / self.open.max(1.0)
    }

    /// Returns true if at least `least` was measured, and the VM had nothing to run for at most the
    /// fraction `part` of that time.
    pub fn pauses_seldom(&self, part: f64, least: Nanos) -> bool {
        self.open >= least as f64 && self.gaps() <= part
    }

    /// Returns the averages of the time in shared mode as fractions of the wall time, or `None` if
    /// less than `least` was measured.
    pub fn shared(&self, least: Nanos) -> Option<Shared> {
        let Shared { got, wall, busy, held } = self.shared;
        let part = Shared { got: got / wall, wall: 1.0, busy: busy / wall, held: held / wall };
        (wall >= least as f64).then_some(part)
    }
}

/// Splits the GPU's time evenly, except that no VM gets more than its demand. The rest is split
/// among the others.
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
    fn a_change_of_behavior_shows_within_the_horizon() {
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
    fn a_measurement_needs_a_window_and_learns_little_from_a_short_one() {
        let mut load = Load::default();
        for _ in 0..20 {
            load.add(MS, (MS / 2) as i64, 40 * MS);
        }
        load.restart(10 * MS, 2 * MS);
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
    fn small_demands_are_met_and_the_rest_is_split_evenly() {
        let gets = even(&[0.7, 0.1, 0.8]);
        assert!((gets[1] - 0.1).abs() < 1e-9);
        assert!((gets[0] - 0.45).abs() < 1e-9 && (gets[2] - 0.45).abs() < 1e-9);
    }
}
