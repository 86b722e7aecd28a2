//! How long a VM was busy on one GPU, as its worker counts it, and what of that is booked.
//!
//! A worker counts what it sees, and sees it late: the beginning of work when it looks next, all of
//! it once it is back from a call of the driver's. So what was told is kept here until it is booked,
//! and what was booked is held against what is told afterwards.

use super::types::{Nanos, Report};

/// So much of what is charged a VM may let pass at the beginning of a window.
const FREE_PART: Nanos = 8;

#[derive(Debug)]
pub struct Account {
    /// Wall time of late that the counters have not accounted for: a worker may say it late.
    unsaid: Nanos,
    /// `busy_ns`, `begun_ns` and `copied_ns` that came and were not booked so far.
    busy: Nanos,
    begun: Nanos,
    copied: Nanos,
    /// Up to when time was booked, and since when the VM was idle then.
    booked_at: Nanos,
    idle_then: Option<Nanos>,
    /// Not seen at work since its window began.
    fresh: bool,
    /// What may pass so without being charged: a part of what it was charged before, or a window that
    /// is left at once, again and again, would cost nothing.
    free: Nanos,
    /// Of the VM's window, what was not booked, since it was not known to run then.
    unbooked: Nanos,
    /// By how much its own clock is ahead of what was booked since then.
    ahead: i64,
    /// Booked time with an open gate of which its worker has said nothing so far.
    untold: Nanos,
}

/// The time of a window that has passed since it was last booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// What is charged of it.
    pub used: Nanos,
    /// What the worker says that it was busy.
    pub busy: Nanos,
}

impl Account {
    pub fn new(now: Nanos) -> Self {
        Account {
            unsaid: 0,
            busy: 0,
            begun: 0,
            copied: 0,
            booked_at: now,
            idle_then: Some(now),
            fresh: true,
            free: 0,
            unbooked: 0,
            ahead: 0,
            untold: 0,
        }
    }

    /// A window begins.
    pub fn open(&mut self, now: Nanos) {
        (self.booked_at, self.idle_then) = (now, Some(now));
        (self.fresh, self.unbooked, self.ahead, self.untold) = (true, 0, 0, 0);
    }

    /// Takes in what was counted since the report before, `passed` ago. A clock that stands still, or a
    /// worker that lies: no more than the wall time counts. It counts all together, since a worker that
    /// is in a call of the driver's says it afterwards, but not what is later than `late`.
    pub fn take(&mut self, before: &Report, report: &Report, passed: Nanos, late: Nanos) {
        self.unsaid = self.unsaid.saturating_add(passed).min(passed.max(late));
        let mut count = |sum: &mut Nanos, before: u64, counted: u64| {
            let told = counted.saturating_sub(before).min(self.unsaid);
            self.unsaid -= told;
            *sum = sum.saturating_add(told);
        };
        count(&mut self.busy, before.busy_ns, report.busy_ns);
        count(&mut self.copied, before.copied_ns, report.copied_ns);
        count(&mut self.begun, before.begun_ns, report.begun_ns);
    }

    /// Books the time that has passed in a window: all of it, but what the VM let pass idle only up to
    /// the grace. If it was idle at the last look and has worked since then, only its own clock can
    /// say for how long; but who keeps others waiting has had the GPU since then, up to `free` aside of
    /// the time before its first work. `None`: nobody waits.
    pub fn book_window(
        &mut self,
        grace: Nanos,
        idle_since: Option<Nanos>,
        free: Option<Nanos>,
        now: Nanos,
    ) -> Passed {
        let from = self.booked_at;
        let passed = now.saturating_sub(from);
        let busy = std::mem::take(&mut self.busy);
        let worked = busy.saturating_add(std::mem::take(&mut self.begun));
        let used = match self.idle_then {
            Some(since) => {
                let idle = since.saturating_add(grace).saturating_sub(from).min(passed);
                let used = if idle_since == Some(since) {
                    idle
                } else {
                    let told = idle.saturating_add(worked).min(passed);
                    let fresh = std::mem::take(&mut self.fresh);
                    if free.is_some() {
                        let used = passed - self.spare(passed - told, fresh);
                        // What is booked already is not late when its clock tells it.
                        self.be_ahead(worked, used);
                        used
                    } else {
                        told
                    }
                };
                self.unbooked = passed - used;
                used
            }
            // Its clock may tell only now that it ran sooner than it had said.
            None => {
                self.be_ahead(worked, passed);
                let late = self.ahead.max(0).unsigned_abs().min(self.unbooked);
                self.ahead = self.ahead.saturating_sub_unsigned(late);
                self.unbooked -= late;
                passed + late
            }
        };
        (self.booked_at, self.idle_then) = (now.max(from), idle_since);
        self.untold += passed;
        if let Some(most) = free {
            self.free = (self.free + used / FREE_PART).min(most);
        }
        Passed { used, busy }
    }

    /// So much was told, and so much booked.
    fn be_ahead(&mut self, worked: Nanos, booked: Nanos) {
        self.ahead = self.ahead.saturating_add_unsigned(worked).saturating_sub_unsigned(booked);
    }

    /// What is not charged of a time that others waited for.
    fn spare(&mut self, most: Nanos, fresh: bool) -> Nanos {
        let spared = if fresh { self.free.min(most) } else { 0 };
        self.free -= spared;
        spared
    }

    /// The time of its window since it was last asked for.
    pub fn told(&mut self) -> Nanos {
        std::mem::take(&mut self.untold)
    }

    /// Books what it says it was busy with.
    pub fn book_busy(&mut self, idle_since: Option<Nanos>, now: Nanos) -> Nanos {
        (self.booked_at, self.idle_then) = (now.max(self.booked_at), idle_since);
        self.begun = 0;
        std::mem::take(&mut self.busy)
    }

    /// Books what it has copied with a closed gate.
    pub fn book_copies(&mut self) -> Nanos {
        std::mem::take(&mut self.copied)
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::{MS, US};
    use super::*;

    /// A window of 2 ms that others wait for, in which the VM begins after `start`; its clock tells of
    /// the first millisecond's work in the second. What was charged.
    fn window(account: &mut Account, report: &mut Report, from: Nanos, start: Nanos) -> Nanos {
        let (grace, free) = (50 * US, Some(200 * US));
        account.open(from);
        let mut booked = |told: Nanos, now: Nanos| {
            let before = *report;
            report.busy_ns += told;
            account.take(&before, report, MS, 20 * MS);
            account.book_window(grace, None, free, now).used
        };
        booked(300 * US, from + MS) + booked(2 * MS - start - 300 * US, from + 2 * MS)
    }

    #[test]
    fn time_that_others_waited_for_is_charged_once_though_it_is_told_late() {
        let (mut account, mut report) = (Account::new(0), Report::default());
        let of = |account: &mut _, report: &mut _, at: Nanos, start| {
            window(account, report, at * 10 * MS, start)
        };
        // Nothing was paid for so far, so nothing is free.
        assert_eq!(of(&mut account, &mut report, 1, 200 * US), 2 * MS);
        assert_eq!(of(&mut account, &mut report, 2, 200 * US), 2 * MS - 200 * US);
        assert_eq!(of(&mut account, &mut report, 3, 500 * US), 2 * MS - 200 * US);
    }
}
