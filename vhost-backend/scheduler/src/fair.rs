//! Virtual time: used GPU time divided by the weight. The VM with the least virtual time goes next.
//!
//! This works as in CFS and stride scheduling. A VM isn't compensated for time in which it had no
//! work. A VM that ran too long waits until the others have caught up, but only up to a limit.

use super::types::Nanos;

/// Virtual time charged per nanosecond at weight 1.
const SCALE: u128 = 10_000;

/// A VM's virtual time on one GPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct Virtual {
    now: u128,
    /// How far the VM was behind the VMs with work, in virtual time, when it ran out of work.
    owed: u128,
    slept_at: Option<Nanos>,
}

impl Virtual {
    /// Creates the virtual time for a VM without work.
    pub fn asleep(now: Nanos) -> Self {
        Virtual { slept_at: Some(now), ..Virtual::default() }
    }

    /// Returns the current virtual time.
    pub fn get(&self) -> u128 {
        self.now
    }

    /// Adds used GPU time, divided by the weight, to the virtual time.
    pub fn charge(&mut self, used: Nanos, weight: u32) {
        self.now = self.now.saturating_add(cost(used, weight));
    }

    /// Returns the virtual time as it would be after `used` more GPU time.
    pub fn after(&self, used: Nanos, weight: u32) -> u128 {
        self.now.saturating_add(cost(used, weight))
    }

    /// Records that the VM has run out of work. `others` is the least virtual time of the VMs that
    /// have work.
    pub fn sleep(&mut self, others: u128, now: Nanos) {
        self.owed = others.saturating_sub(self.now);
        self.slept_at = Some(now);
    }

    /// Records that the VM has work again. A VM that was behind when it ran out of work stays just
    /// as far behind after a pause of at most `pause`. After a longer pause, it isn't behind at
    /// all. A VM that was ahead stays ahead, unless the others have caught up.
    pub fn wake(&mut self, others: u128, pause: Nanos, now: Nanos) {
        let Some(slept_at) = self.slept_at.take() else { return };
        let paused = now.saturating_sub(slept_at) <= pause;
        let owed = if paused { self.owed } else { 0 };
        self.now = self.now.max(others.saturating_sub(owed));
    }

    /// Returns how long the VM has been without work, or `None` if it has work.
    pub fn slept(&self, now: Nanos) -> Option<Nanos> {
        self.slept_at.map(|at| now.saturating_sub(at))
    }

    /// Limits how far the VM can be behind the others to `most` GPU time. Used for a VM that
    /// couldn't run for reasons that the others didn't cause, such as its own cap.
    pub fn limit_credit(&mut self, others: u128, most: Nanos, weight: u32) {
        self.now = self.now.max(others.saturating_sub(cost(most, weight)));
    }

    /// Limits how far the VM can be ahead, so that the others, whose weights add up to `weights`,
    /// catch up within `limit`.
    pub fn limit_debt(&mut self, others: u128, limit: Nanos, weights: u64) {
        let most = u128::from(limit) * SCALE / u128::from(weights.max(1));
        self.now = self.now.min(others.saturating_add(most));
    }

    /// Returns how far the VM is ahead of the others, in GPU time of this VM.
    pub fn ahead(&self, others: u128, weight: u32) -> Nanos {
        let ahead = self.now.saturating_sub(others);
        u64::try_from(ahead * u128::from(weight) / SCALE).unwrap_or(Nanos::MAX)
    }
}

fn cost(used: Nanos, weight: u32) -> u128 {
    u128::from(used) * SCALE / u128::from(weight.max(1))
}

#[cfg(test)]
mod tests {
    use super::super::types::{MS, SEC};
    use super::*;

    #[test]
    fn twice_the_weight_runs_twice_as_long() {
        let (mut a, mut b) = (Virtual::default(), Virtual::default());
        a.charge(10 * MS, 100);
        b.charge(20 * MS, 200);
        assert_eq!(a.get(), b.get());
        assert!(a.after(1, 100) > b.get());
    }

    #[test]
    fn sleep_earns_nothing() {
        let mut vm = Virtual::default();
        let mut other = Virtual::default();
        vm.sleep(other.get(), 0);
        other.charge(SEC, 100);
        vm.wake(other.get(), 100 * MS, SEC);
        assert_eq!(vm.get(), other.get());
    }

    #[test]
    fn a_short_pause_keeps_what_was_owed_before_it() {
        let mut vm = Virtual::default();
        let mut other = Virtual::default();
        other.charge(2 * MS, 1);
        let owed = other.get() - vm.get();
        vm.sleep(other.get(), 0);
        other.charge(2 * MS, 1);
        vm.wake(other.get(), 100 * MS, 2 * MS);
        assert_eq!(other.get() - vm.get(), owed);
    }

    #[test]
    fn debt_outlasts_sleep_and_is_bounded() {
        let mut vm = Virtual::default();
        vm.charge(60 * SEC, 100);
        let before = vm.get();
        vm.sleep(0, 0);
        vm.wake(0, 100 * MS, SEC);
        assert_eq!(vm.get(), before);
        vm.limit_debt(0, 10 * SEC, 100);
        assert_eq!(vm.ahead(0, 100), 10 * SEC);
    }
}
