//! Statistics on a VM's GPU usage, for the operator.

use std::collections::VecDeque;

use super::types::{MS, Nanos, Obstacle, SEC, WHOLE};

const SLOT: Nanos = 100 * MS;
const SLOTS: usize = 101;

/// A VM's statistics on one GPU. Totals are counted from the time at which the VM was added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VmStats {
    /// Charged GPU time, in ns.
    pub charged_ns: u64,
    /// The part of `charged_ns` for copies during other VMs' windows, in ns.
    pub copied_ns: u64,
    /// Total time for which work was held back at a closed gate, in ns.
    pub throttled_ns: u64,
    /// Number of windows that the VM has had.
    pub windows: u64,
    /// Total time from closing a gate until the GPU had drained, in ns.
    pub handover_ns: u64,
    /// Number of ended turns, whose drains are counted in `handover_ns`.
    pub handovers: u64,
    /// Duration of the longest drain, in ns.
    pub handover_max_ns: u64,
    /// How often the VM's kernels were taken off the GPU because they didn't end with its window.
    pub evictions: u64,
    /// True if a drain took so long that the scheduler stopped waiting for it, and the work is
    /// still running. Its time is charged when it ends.
    pub overran: bool,
    /// Why the VM's work waits, if some does.
    pub waits_for: Option<Obstacle>,
    /// True if the VM's kernels are off the GPU.
    pub evicted: bool,
    /// GPU time by which the VM is ahead of its share or cap, in ns.
    pub debt_ns: u64,
    /// Fraction of the last second that was charged, in basis points.
    pub share_1s: u32,
    /// Fraction of the last ten seconds that was charged, in basis points.
    pub share_10s: u32,
    /// The reasons for which work has waited in the last second.
    pub slowed: Slowed,
}

/// The reasons for which a VM's work has waited in the last second. Waits of less than 1% of that
/// second don't count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slowed {
    /// Work has waited because the VM had used up the time that its cap allows.
    pub by_cap: bool,
    /// Work has waited for a turn, because other VMs were using the GPU.
    pub by_turns: bool,
}

/// The time for which a VM's work has waited to run.
#[derive(Debug, Default)]
pub struct Waits {
    cap: Ring,
    turns: Ring,
    /// Since when work has been waiting, and whether it waits because of the cap. `None` if no work
    /// waits.
    current: Option<(Nanos, bool)>,
}

impl Waits {
    /// Adds the time since the last call, and records whether work waits now. `Some(true)` means
    /// that it waits because of the cap, and `Some(false)` that it waits for a turn.
    pub fn note(&mut self, waits: Option<bool>, now: Nanos) {
        if let Some((since, by_cap)) = self.current {
            let ring = if by_cap { &mut self.cap } else { &mut self.turns };
            ring.add(now.saturating_sub(since), now);
        }
        self.current = waits.map(|by_cap| (now, by_cap));
    }

    /// Returns the reasons for which work has waited in the last second.
    pub fn slowed(&self, now: Nanos) -> Slowed {
        let least = WHOLE / 100;
        let waited = |ring: &Ring, for_cap| {
            let current = self.current.filter(|(_, by_cap)| *by_cap == for_cap);
            let current = current.map_or(0, |(since, _)| now.saturating_sub(since));
            ring.share(SEC, now) >= least || current >= SEC / 100
        };
        Slowed { by_cap: waited(&self.cap, true), by_turns: waited(&self.turns, false) }
    }
}

/// Charged GPU time in the last ten seconds, in slots of 100 ms.
#[derive(Debug, Default)]
pub struct Ring {
    /// The slots, from the newest.
    slots: VecDeque<Nanos>,
    /// Number of the newest slot. Slot 0 begins at time 0.
    newest: u64,
}

impl Ring {
    /// Adds GPU time that was used up to `now`. Time that doesn't fit in the current slot goes to
    /// earlier slots.
    pub fn add(&mut self, used: Nanos, now: Nanos) {
        let slot = (now / SLOT).max(self.newest);
        for _ in 0..(slot - self.newest).min(SLOTS as u64) {
            self.slots.push_front(0);
        }
        self.newest = slot;
        self.slots.resize(SLOTS, 0);
        let (mut rest, mut room) = (used, now.saturating_sub(slot * SLOT).clamp(1, SLOT));
        for (slot, _) in self.slots.iter_mut().zip(0..=slot) {
            let put = rest.min(room);
            *slot += put;
            rest -= put;
            room = SLOT;
        }
    }

    /// Returns which fraction of the last `span` was charged, in basis points. The current slot
    /// isn't counted, because it hasn't ended.
    pub fn share(&self, span: Nanos, now: Nanos) -> u32 {
        let count = (span / SLOT).clamp(1, SLOTS as u64 - 1);
        let age = |index: u64| (now / SLOT + index).saturating_sub(self.newest);
        let slots = self.slots.iter().zip(0..).filter(|(_, at)| (1..=count).contains(&age(*at)));
        let sum: Nanos = slots.map(|(used, _)| used).sum();
        (u128::from(sum) * u128::from(WHOLE) / u128::from(count * SLOT)).min(u128::from(WHOLE))
            as u32
    }

    /// Returns which fractions of the last second and of the last ten seconds were charged.
    pub fn shares(&self, now: Nanos) -> (u32, u32) {
        (self.share(SEC, now), self.share(10 * SEC, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_each_millisecond_is_half_of_a_second() {
        let mut ring = Ring::default();
        for ms in 1..=20_000 {
            ring.add(MS / 2, ms * MS);
        }
        assert_eq!(ring.shares(20_000 * MS), (5000, 5000));
        assert_eq!(ring.shares(21_000 * MS), (0, 4500));
        assert_eq!(ring.shares(60_000 * MS), (0, 0));
    }

    #[test]
    fn a_long_call_counts_in_the_time_that_it_ran() {
        let mut ring = Ring::default();
        ring.add(3 * SEC, 5 * SEC);
        assert_eq!(ring.share(SEC, 5 * SEC), 10_000);
        assert_eq!(ring.share(10 * SEC, 10 * SEC), 3000);
    }

    #[test]
    fn a_vm_is_slowed_by_what_its_work_waited_for_in_the_last_second() {
        let (cap, turns, none) = (
            Slowed { by_cap: true, by_turns: false },
            Slowed { by_cap: false, by_turns: true },
            Slowed::default(),
        );
        let mut waits = Waits::default();
        waits.note(Some(true), 0);
        assert_eq!(waits.slowed(9 * MS), none);
        // A wait that hasn't ended counts, too.
        assert_eq!(waits.slowed(10 * MS), cap);
        waits.note(None, 20 * MS);
        assert_eq!(waits.slowed(500 * MS), cap);
        assert_eq!(waits.slowed(2 * SEC), none);
        // Short waits add up.
        for at in 0..20 {
            waits.note(Some(false), 2 * SEC + at * 10 * MS);
            waits.note(None, 2 * SEC + at * 10 * MS + MS);
        }
        assert_eq!(waits.slowed(2 * SEC + 300 * MS), turns);
    }

    #[test]
    fn a_long_pause_leaves_nothing_behind() {
        let mut ring = Ring::default();
        ring.add(SEC, SEC);
        ring.add(1, 1000 * SEC);
        assert_eq!(ring.share(10 * SEC, 1000 * SEC + SLOT), 0);
    }
}
