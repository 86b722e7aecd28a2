//! Tracks how long a VM was busy on one GPU, as counted by its worker, and how much of that time
//! was charged.
//!
//! Workers count time late: a worker notices the start of work only at its next check, and
//! everything else only after it returns from a driver call. So reported time is kept here until
//! it's charged, and charged time is compared with later reports.

use super::types::{Nanos, Report};

/// Unused time at the start of windows is free, up to 1/`FREE_PART` of the VM's charged time.
const FREE_PART: Nanos = 8;

#[derive(Debug)]
pub struct Account {
    /// Recent wall time that the worker's counters haven't covered yet, because a worker may report
    /// late.
    unreported: Nanos,
    /// Portions of `busy_ns`, `begun_ns` and `copied_ns` that have been reported but not charged
    /// yet.
    busy: Nanos,
    begun: Nanos,
    copied: Nanos,
    /// The point up to which time has been charged, and the start of the idle period at that point,
    /// if the VM was idle.
    booked_at: Nanos,
    idle_when_booked: Option<Nanos>,
    /// True if the VM hasn't been seen working since its window began.
    fresh: bool,
    /// Unused time at the start of a window that won't be charged. It's limited to a part of
    /// earlier charges, because otherwise a VM could take and leave windows repeatedly for free.
    free: Nanos,
    /// Time in the VM's window that wasn't charged, because the VM wasn't known to be running.
    unbooked: Nanos,
    /// How far the worker's count is ahead of the time charged since then.
    ahead: i64,
    /// Time with an open gate that `take_window_time` hasn't returned yet.
    window_time: Nanos,
}

/// Time in a window since it was last charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Time to charge.
    pub used: Nanos,
    /// Busy time reported by the worker.
    pub busy: Nanos,
}

impl Account {
    pub fn new(now: Nanos) -> Self {
        Account {
            unreported: 0,
            busy: 0,
            begun: 0,
            copied: 0,
            booked_at: now,
            idle_when_booked: Some(now),
            fresh: true,
            free: 0,
            unbooked: 0,
            ahead: 0,
            window_time: 0,
        }
    }

    /// Starts a window.
    pub fn open(&mut self, now: Nanos) {
        (self.booked_at, self.idle_when_booked) = (now, Some(now));
        (self.fresh, self.unbooked, self.ahead, self.window_time) = (true, 0, 0, 0);
    }

    /// Adds the time counted since the last report, which was `passed` ago. At most the wall time
    /// is accepted, in case the clock doesn't advance or the worker reports wrong values. A worker
    /// in a driver call reports only afterwards, so unreported wall time accumulates, up to `late`.
    pub fn take(&mut self, before: &Report, report: &Report, passed: Nanos, late: Nanos) {
        self.unreported = self.unreported.saturating_add(passed).min(passed.max(late));
        let mut count = |sum: &mut Nanos, before: u64, counted: u64| {
            let reported = counted.saturating_sub(before).min(self.unreported);
            self.unreported -= reported;
            *sum = sum.saturating_add(reported);
        };
        count(&mut self.busy, before.busy_ns, report.busy_ns);
        count(&mut self.copied, before.copied_ns, report.copied_ns);
        count(&mut self.begun, before.begun_ns, report.begun_ns);
    }

    /// Charges the time that has passed in a window. Idle time is charged only up to the grace. If
    /// the VM was idle at the last check and has worked since, only its own count shows for how
    /// long. But if other VMs are waiting, it's charged for the whole time since that check, except
    /// for up to `free` before its first work. `free` is `None` if no other VM is waiting.
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
        let used = match self.idle_when_booked {
            Some(since) => {
                let idle = since.saturating_add(grace).saturating_sub(from).min(passed);
                let used = if idle_since == Some(since) {
                    idle
                } else {
                    let reported = idle.saturating_add(worked).min(passed);
                    let fresh = std::mem::take(&mut self.fresh);
                    if free.is_some() {
                        let used = passed - self.spare(passed - reported, fresh);
                        // Time that was already charged must not be charged again when the worker
                        // counts it.
                        self.add_lead(worked, used);
                        used
                    } else {
                        reported
                    }
                };
                self.unbooked = passed - used;
                used
            }
            // The worker's count may show only now that work started earlier than reported.
            None => {
                self.add_lead(worked, passed);
                let late = self.ahead.max(0).unsigned_abs().min(self.unbooked);
                self.ahead = self.ahead.saturating_sub_unsigned(late);
                self.unbooked -= late;
                passed + late
            }
        };
        (self.booked_at, self.idle_when_booked) = (now.max(from), idle_since);
        self.window_time += passed;
        if let Some(most) = free {
            self.free = (self.free + used / FREE_PART).min(most);
        }
        Passed { used, busy }
    }

    /// Records how much work was reported and how much was charged.
    fn add_lead(&mut self, worked: Nanos, booked: Nanos) {
        self.ahead = self.ahead.saturating_add_unsigned(worked).saturating_sub_unsigned(booked);
    }

    /// Returns the part of `most` that isn't charged, even though other VMs were waiting.
    fn spare(&mut self, most: Nanos, fresh: bool) -> Nanos {
        let spared = if fresh { self.free.min(most) } else { 0 };
        self.free -= spared;
        spared
    }

    /// Returns the time in the window since the last call.
    pub fn take_window_time(&mut self) -> Nanos {
        std::mem::take(&mut self.window_time)
    }

    /// Takes the reported busy time, which the caller charges.
    pub fn book_busy(&mut self, idle_since: Option<Nanos>, now: Nanos) -> Nanos {
        (self.booked_at, self.idle_when_booked) = (now.max(self.booked_at), idle_since);
        self.begun = 0;
        std::mem::take(&mut self.busy)
    }

    /// Takes the reported time for copies made with a closed gate, which the caller charges.
    pub fn book_copies(&mut self) -> Nanos {
        std::mem::take(&mut self.copied)
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::{MS, US};
    use super::*;

    /// Plays a 2 ms window while other VMs are waiting. The VM starts work after `start`, and its
    /// worker reports part of the first millisecond's work in the second millisecond. Returns the
    /// charged time.
    fn window(account: &mut Account, report: &mut Report, from: Nanos, start: Nanos) -> Nanos {
        let (grace, free) = (50 * US, Some(200 * US));
        account.open(from);
        let mut booked = |reported: Nanos, now: Nanos| {
            let before = *report;
            report.busy_ns += reported;
            account.take(&before, report, MS, 20 * MS);
            account.book_window(grace, None, free, now).used
        };
        booked(300 * US, from + MS) + booked(2 * MS - start - 300 * US, from + 2 * MS)
    }

    #[test]
    fn time_is_charged_once_even_if_it_is_reported_late() {
        let (mut account, mut report) = (Account::new(0), Report::default());
        let of = |account: &mut _, report: &mut _, at: Nanos, start| {
            window(account, report, at * 10 * MS, start)
        };
        // Nothing has been charged before, so there's no free time yet.
        assert_eq!(of(&mut account, &mut report, 1, 200 * US), 2 * MS);
        assert_eq!(of(&mut account, &mut report, 2, 200 * US), 2 * MS - 200 * US);
        assert_eq!(of(&mut account, &mut report, 3, 500 * US), 2 * MS - 200 * US);
    }
}
