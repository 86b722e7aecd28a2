//! How much of the time that it was given a VM uses.

use super::types::Nanos;

/// Time with an open gate in which the VM ran, and in which it had nothing to run; both fade.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    ran: f64,
    idle: f64,
    /// While it shared: what it was charged, the wall time, and how much of that it had work held back.
    got: f64,
    wall: f64,
    held: f64,
}

impl Load {
    /// In the last `wall` of an open gate it ran for so long, and was idle for so long; less than
    /// nothing if it is known only now that it ran before. `horizon` is how far back is looked.
    pub fn add(&mut self, wall: Nanos, ran: Nanos, idle: i64, horizon: Nanos) {
        let keep = 1.0 - (wall as f64 / horizon.max(1) as f64).min(1.0);
        self.ran = self.ran * keep + ran as f64;
        self.idle = self.idle * keep + idle as f64;
    }

    /// It was charged so much of that wall time, with others beside it. `held`: its gate let less
    /// through than there was.
    pub fn add_shared(&mut self, got: Nanos, wall: Nanos, held: bool, horizon: Nanos) {
        let keep = 1.0 - (wall as f64 / horizon.max(1) as f64).min(1.0);
        self.got = self.got * keep + got as f64;
        self.wall = self.wall * keep + wall as f64;
        self.held = self.held * keep + if held { wall as f64 } else { 0.0 };
    }

    /// Begins to share.
    pub fn begin_shared(&mut self) {
        (self.got, self.wall, self.held) = (0.0, 0.0, 0.0);
    }

    /// The part of its own time that it would use, had it the GPU to itself; while it shares, rather too
    /// much. None: not known so far.
    pub fn demand(&self, least: Nanos) -> Option<f64> {
        let idle = self.idle.max(0.0);
        let open = self.ran + idle;
        (open >= least as f64).then(|| 1.0 - idle / open)
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
        assert_eq!(load.demand(10 * MS), None);
        for _ in 0..200 {
            load.add(MS, MS / 2, (MS / 2) as i64, 40 * MS);
        }
        assert!((load.demand(10 * MS).unwrap() - 0.5).abs() < 0.01);
        for _ in 0..100 {
            load.add(MS, MS, 0, 40 * MS);
        }
        assert!(load.demand(10 * MS).unwrap() > 0.95);
    }

    #[test]
    fn who_wants_little_gets_it_and_the_rest_is_even() {
        let gets = even(&[0.7, 0.1, 0.8]);
        assert!((gets[1] - 0.1).abs() < 1e-9);
        assert!((gets[0] - 0.45).abs() < 1e-9 && (gets[2] - 0.45).abs() < 1e-9);
    }
}
