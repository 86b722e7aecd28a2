//! The token bucket for compute.max and the account for compute.min. Both compare used GPU time
//! with wall time.

use super::types::{Nanos, WHOLE};

/// Returns `points` basis points of a duration.
fn part(time: Nanos, points: u32) -> i64 {
    let part = u128::from(time) * u128::from(points) / u128::from(WHOLE);
    i64::try_from(part).unwrap_or(i64::MAX)
}

/// The token bucket for compute.max. Tokens are GPU time. They accrue at the cap's rate and are
/// spent on used GPU time. A negative balance is debt, which must be paid off before the VM runs
/// again. Debt is never forgiven, since the cap is an upper bound.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    max: u32,
    burst: Nanos,
    tokens: i64,
    at: Nanos,
}

impl Bucket {
    /// Creates a full bucket. `max` is the cap in basis points. `burst` is the maximum number of
    /// tokens.
    pub fn new(max: u32, burst: Nanos, now: Nanos) -> Self {
        Bucket { max, burst, tokens: burst as i64, at: now }
    }

    /// Changes the cap. The new rate applies from `now`.
    pub fn set(&mut self, max: u32, now: Nanos) {
        self.refill(now);
        self.max = max;
    }

    fn refill(&mut self, now: Nanos) {
        self.tokens = self.tokens(now);
        self.at = self.at.max(now);
    }

    /// Returns the number of tokens. A negative number is debt.
    pub fn tokens(&self, now: Nanos) -> i64 {
        let come = part(now.saturating_sub(self.at), self.max);
        self.tokens.saturating_add(come).min(self.burst as i64)
    }

    /// Removes tokens for used GPU time.
    pub fn pay(&mut self, used: Nanos, now: Nanos) {
        self.refill(now);
        self.tokens = self.tokens.saturating_sub_unsigned(used);
    }

    /// Returns how long the VM can run without interruption until the tokens are used up.
    pub fn lasts(&self, now: Nanos) -> Nanos {
        let tokens = self.tokens(now).max(0) as u128;
        let net = u128::from(WHOLE.saturating_sub(self.max).max(1));
        u64::try_from(tokens * u128::from(WHOLE) / net).unwrap_or(Nanos::MAX)
    }

    /// Returns the earliest time at which the bucket contains `need` tokens.
    pub fn ready_at(&self, need: Nanos, now: Nanos) -> Nanos {
        let missing = (need as i64).saturating_sub(self.tokens(now)).max(0) as u128;
        let wait = (missing * u128::from(WHOLE)).div_ceil(u128::from(self.max.max(1)));
        now.saturating_add(u64::try_from(wait).unwrap_or(Nanos::MAX))
    }
}

/// The account for compute.min: the GPU time owed to a VM with work. The balance grows at the
/// guarantee's rate while the VM has work, and shrinks by the time used. Credit and debt are both
/// limited, so that a VM isn't penalized for time that no other VM wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Guarantee {
    /// The guarantee in basis points. If it's changed, the new rate applies from the last call of
    /// `pass`.
    pub min: u32,
    memory: Nanos,
    owed: i64,
    at: Nanos,
}

impl Guarantee {
    /// Creates an account with a balance of zero. `min` is the guarantee in basis points. Credit
    /// and debt are limited to what the guarantee accrues within `memory` of wall time.
    pub fn new(min: u32, memory: Nanos, now: Nanos) -> Self {
        Guarantee { min, memory, owed: 0, at: now }
    }

    /// Accrues credit for the time since the last call, if the VM had work during that time
    /// (`working`).
    pub fn pass(&mut self, working: bool, now: Nanos) {
        let come = if working { part(now.saturating_sub(self.at), self.min) } else { 0 };
        let most = part(self.memory, self.min);
        self.owed = self.owed.saturating_add(come).clamp(-most, most);
        self.at = self.at.max(now);
    }

    /// Subtracts used GPU time from the balance.
    pub fn pay(&mut self, used: Nanos) {
        let most = part(self.memory, self.min);
        self.owed = self.owed.saturating_sub_unsigned(used).max(-most);
    }

    /// Returns how far the VM is behind its guarantee, as wall time.
    pub fn behind(&self) -> Nanos {
        if self.min == 0 {
            return 0;
        }
        (self.owed.max(0) as u64).saturating_mul(u64::from(WHOLE)) / u64::from(self.min)
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::{MS, SEC};
    use super::*;

    #[test]
    fn a_quarter_of_a_second_comes_in_a_second_at_25_percent() {
        let mut bucket = Bucket::new(2500, SEC, 0);
        bucket.pay(SEC, 0);
        assert_eq!(bucket.tokens(SEC), (250 * MS) as i64);
        assert_eq!(bucket.ready_at(300 * MS, SEC), SEC + 200 * MS);
        assert_eq!(bucket.tokens(100 * SEC), SEC as i64, "no more than the burst");
    }

    #[test]
    fn an_overrun_is_paid_off_before_tokens_come() {
        let mut bucket = Bucket::new(1000, 20 * MS, 0);
        bucket.pay(120 * MS, 0);
        assert_eq!(bucket.tokens(0), -(100 * MS as i64));
        assert_eq!(bucket.lasts(0), 0);
        assert_eq!(bucket.ready_at(2 * MS, 0), 1020 * MS);
    }

    #[test]
    fn a_clock_that_goes_back_brings_nothing() {
        let mut bucket = Bucket::new(5000, 20 * MS, SEC);
        bucket.pay(20 * MS, SEC);
        assert_eq!(bucket.tokens(0), 0);
        bucket.pay(0, 0);
        assert_eq!(bucket.tokens(SEC), 0, "the time up to that point was already counted");
    }

    #[test]
    fn a_guarantee_counts_only_time_with_work_and_forgets() {
        let mut min = Guarantee::new(5000, 200 * MS, 0);
        min.pass(false, SEC);
        assert_eq!(min.behind(), 0);
        min.pass(true, SEC + 10 * MS);
        assert_eq!(min.behind(), 10 * MS);
        min.pay(5 * MS);
        assert_eq!(min.behind(), 0);
        min.pass(true, 100 * SEC);
        assert_eq!(min.behind(), 200 * MS);
    }
}
