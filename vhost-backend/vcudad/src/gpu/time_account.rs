//! Compares the GPU time that the driver reports for a VM's workers with the time that the
//! scheduler has charged to the VM. No I/O.

use std::time::Duration;

/// The part of the elapsed time that a VM may use beyond its charge: 1/`TOLERANCE`. The driver only
/// samples which process uses the GPU, a few times a second, and operations that aren't gated take
/// some time, too.
const TOLERANCE: u32 = 10;
/// How much GPU time a VM must have used beyond its charge and the tolerance. With a few samples a
/// second, an honest VM's figures can be off by a second or two for a while.
const LIMIT: Duration = Duration::from_secs(5);
/// Maximum amount of charged time that a VM may use in later samples, because the driver reports
/// usage late.
const LATE: Duration = Duration::from_secs(2);

/// A VM's charge for time on one GPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeCharge {
    /// The charge since the VM was added, without copies.
    pub(crate) total: Duration,
    /// True if the VM has work that the scheduler knows to run past its window, and that is charged
    /// only when it ends.
    pub(crate) is_late: bool,
}

/// A VM's GPU time on one GPU.
#[derive(Debug, Default)]
pub(crate) struct TimeAccount {
    /// The charge at the previous sample.
    charged: Option<Duration>,
    /// GPU time that was used but not charged, minus the tolerance.
    excess: Duration,
    /// Charged time that the driver hasn't reported. If it's above zero, `excess` is zero.
    unused: Duration,
}

impl TimeAccount {
    /// Adds a sample: in `elapsed`, the VM has used the GPU for `used`. Returns the time that the
    /// VM has used beyond its charge, if that reaches the limit. The excess is then counted from
    /// zero again, so that it's reported rarely.
    pub(crate) fn add(
        &mut self,
        used: Duration,
        charge: TimeCharge,
        elapsed: Duration,
    ) -> Option<Duration> {
        if charge.is_late {
            *self = Self::default();
            return None;
        }
        // If the charge has decreased, the scheduler has lost its statistics. Treat all of the
        // elapsed time as charged.
        let before = self.charged.replace(charge.total)?;
        let charged = charge.total.checked_sub(before).unwrap_or(elapsed);
        let allowed = charged + elapsed / TOLERANCE + self.unused;
        let balance = self.excess + used;
        self.excess = balance.saturating_sub(allowed);
        self.unused = allowed.saturating_sub(balance).min(LATE);
        (self.excess >= LIMIT).then(|| std::mem::take(&mut self.excess))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charge(total: Duration) -> TimeCharge {
        TimeCharge { total, is_late: false }
    }

    const SECOND: Duration = Duration::from_secs(1);
    const NEVER: [usize; 0] = [];

    /// Adds one sample a second: the percentages of each second that were used and charged. Returns
    /// the numbers of the samples at which an excess was found.
    fn found(samples: impl IntoIterator<Item = (u32, u32)>) -> Vec<usize> {
        let mut account = TimeAccount::default();
        let mut total = Duration::ZERO;
        account.add(Duration::ZERO, charge(total), SECOND);
        let mut add = |(used, charged)| {
            total += SECOND * charged / 100;
            account.add(SECOND * used / 100, charge(total), SECOND).is_some()
        };
        let found = samples.into_iter().enumerate().filter_map(|(i, one)| add(one).then_some(i));
        found.collect()
    }

    #[test]
    fn a_vm_that_uses_what_it_is_charged_is_never_found() {
        for percent in [0, 1, 50, 100] {
            assert_eq!(found(std::iter::repeat_n((percent, percent), 1000)), NEVER);
            assert_eq!(found(std::iter::repeat_n((percent + 10, percent), 1000)), NEVER);
        }
        assert_eq!(found(std::iter::repeat_n((0, 100), 1000)), NEVER);
    }

    #[test]
    fn a_vm_that_ignores_its_gate_is_found() {
        // The VM takes half of the GPU, although its weight is 1 and another VM's is 99.
        let found = found(std::iter::repeat_n((50, 1), 60));
        assert!((10..20).contains(&found[0]), "{found:?}");
        // The excess is reported again, but not at each sample.
        assert!((3..6).contains(&found.len()), "{found:?}");
        // The VM takes half of the GPU's time in another VM's windows, which make up half of the
        // time.
        let found = self::found(std::iter::repeat_n((75, 50), 60));
        assert!((30..45).contains(&found[0]), "{found:?}");
    }

    #[test]
    fn samples_may_be_late_and_coarse() {
        // The driver reports GPU time two seconds after it was charged.
        let busy = |second: i32| if (second / 7) % 2 == 0 && second >= 0 { 100 } else { 0 };
        assert_eq!(found((0..1000).map(|second| (busy(second - 2), busy(second)))), NEVER);
        // Six samples a second, each of which attributes all of its time to one process.
        let mut state = 1u32;
        let mut sampled = |percent: u32| {
            let mut one = || {
                state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
                u32::from((state >> 16) % 100 < percent)
            };
            (0..6).map(|_| one()).sum::<u32>() * 100 / 6
        };
        for percent in [5, 30, 50, 80] {
            let samples: Vec<_> = (0..20_000).map(|_| (sampled(percent), percent)).collect();
            assert_eq!(found(samples), NEVER, "{percent}");
        }
    }

    #[test]
    fn statistics_that_begin_again_are_no_excess() {
        let mut account = TimeAccount::default();
        account.add(SECOND, charge(SECOND * 100), SECOND);
        for _ in 0..20 {
            assert_eq!(account.add(SECOND, charge(Duration::ZERO), SECOND), None);
            assert_eq!(account.add(SECOND, charge(SECOND), SECOND), None);
        }
    }

    #[test]
    fn work_that_is_charged_when_it_ends_is_no_excess() {
        let mut account = TimeAccount::default();
        account.add(SECOND, charge(Duration::ZERO), SECOND);
        for _ in 0..100 {
            let late = TimeCharge { total: Duration::ZERO, is_late: true };
            assert_eq!(account.add(SECOND, late, SECOND), None);
        }
        assert_eq!(account.add(SECOND, charge(SECOND * 100), SECOND), None);
    }
}
