//! Tracks how long a VM was busy on one GPU, as counted by its worker, and how much of that time
//! was charged.
//!
//! Workers count time late: a worker notices the start of work only at its next check, and any
//! other change only after its current driver call has returned. Therefore, reported time is kept
//! here until it's charged, and charged time is compared with later reports.

use std::mem::take;

use super::types::{Nanos, Report};

/// If a VM starts work late in its window, the time before that isn't charged, as long as the total
/// of such time is at most 1/`FREE_PART` of the VM's charged time.
const FREE_PART: Nanos = 8;

#[derive(Debug, Default)]
pub struct Account {
    /// Time since which no work of the VM has been running, or `None` if some is running.
    pub idle_since: Option<Nanos>,
    /// Recent wall time that may still appear in the worker's counters, because a worker can report
    /// late.
    unreported: Nanos,
    /// The part of the worker's `busy_ns` counter that has not been charged yet, in ns.
    pub busy: Nanos,
    /// The part of the `begun_ns` counter that has not been charged yet, in ns.
    pub begun: Nanos,
    /// The part of the `copied_ns` counter that has not been charged yet, in ns.
    pub copied: Nanos,
    /// The point in time up to which the VM has been charged.
    booked_at: Nanos,
    /// The value of `idle_since` at the time `booked_at`.
    idle_when_booked: Option<Nanos>,
    /// True if no work of the VM has been seen since its window began.
    fresh: bool,
    /// The VM's balance of free time: how much idle time at the start of its next windows won't be
    /// charged. Only charged time adds to the balance, because otherwise a VM could take and leave
    /// windows repeatedly without ever being charged.
    free: Nanos,
    /// Time in the current window that was not charged because the VM was not known to be working.
    /// If a late report shows that it was working, this time is charged then.
    unbooked: Nanos,
    /// Work time reported by the worker minus time charged, since the window began.
    ahead: i64,
    /// Time in the current window that hasn't been added to the VM's [`Load`](super::load::Load).
    pub window_time: Nanos,
}

impl Account {
    pub fn new(now: Nanos) -> Self {
        let mut account = Account::default();
        account.open(now);
        account
    }

    /// Resets the account at the start of a window.
    pub fn open(&mut self, now: Nanos) {
        self.idle_since = Some(now);
        (self.booked_at, self.idle_when_booked) = (now, Some(now));
        (self.fresh, self.unbooked, self.ahead, self.window_time) = (true, 0, 0, 0);
    }

    /// Adds the time that the worker has counted since the last report, which was `passed` ago.
    /// Limits the added time to the wall time, in case the worker reports wrong values. A worker in
    /// a driver call reports only after that call, so wall time that isn't covered by reports
    /// accumulates, up to `late`.
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

    /// Returns two durations in a window since the last call: the time to charge, and the busy time
    /// that the worker has reported.
    ///
    /// Idle time is charged only up to `grace`. If the VM was idle at the last call and has worked
    /// since, the charge depends on whether other VMs are waiting. If none is, the charge is the
    /// working time that the worker counted, plus the idle time up to `grace`. If others are
    /// waiting, the charge is the whole time except for free time before the first work.
    ///
    /// `free` is the most free time that a VM can save up, or `None` if no other VM is waiting.
    pub fn book_window(&mut self, grace: Nanos, free: Option<Nanos>, now: Nanos) -> (Nanos, Nanos) {
        let from = self.booked_at;
        let passed = now.saturating_sub(from);
        let busy = take(&mut self.busy);
        let worked = busy.saturating_add(take(&mut self.begun));
        let used = match self.idle_when_booked {
            Some(since) => {
                let idle = since.saturating_add(grace).saturating_sub(from).min(passed);
                let used = if self.idle_since == Some(since) {
                    idle
                } else {
                    let reported = idle.saturating_add(worked).min(passed);
                    let fresh = take(&mut self.fresh);
                    if free.is_some() {
                        let spare = if fresh { self.free.min(passed - reported) } else { 0 };
                        self.free -= spare;
                        // This charge may include work that the worker will report later. Record
                        // it, so that the work isn't charged again.
                        self.add_lead(worked, passed - spare);
                        passed - spare
                    } else {
                        reported
                    }
                };
                self.unbooked = passed - used;
                used
            }
            // If the worker has reported more work than was charged, some work started before the
            // scheduler knew of it, in time that wasn't charged. Charge that part of `unbooked`
            // now.
            None => {
                self.add_lead(worked, passed);
                let late = self.ahead.max(0).unsigned_abs().min(self.unbooked);
                self.ahead = self.ahead.saturating_sub_unsigned(late);
                self.unbooked -= late;
                passed + late
            }
        };
        (self.booked_at, self.idle_when_booked) = (now.max(from), self.idle_since);
        self.window_time += passed;
        if let Some(most) = free {
            self.free = (self.free + used / FREE_PART).min(most);
        }
        (used, busy)
    }

    /// Adds reported work to `ahead`, and subtracts a charge from it.
    fn add_lead(&mut self, worked: Nanos, booked: Nanos) {
        self.ahead = self.ahead.saturating_add_unsigned(worked).saturating_sub_unsigned(booked);
    }

    /// Returns the reported busy time that hasn't been charged. The caller must charge it.
    pub fn book_busy(&mut self, now: Nanos) -> Nanos {
        (self.booked_at, self.idle_when_booked) = (now.max(self.booked_at), self.idle_since);
        self.begun = 0;
        take(&mut self.busy)
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::{MS, US};
    use super::*;

    /// Simulates a 2 ms window while other VMs are waiting. The VM starts work at `start`, and its
    /// worker reports part of the first millisecond's work only in the second millisecond. Returns
    /// the time that was charged.
    fn window(account: &mut Account, report: &mut Report, from: Nanos, start: Nanos) -> Nanos {
        let (grace, free) = (50 * US, Some(200 * US));
        account.open(from);
        let mut booked = |reported: Nanos, now: Nanos| {
            let before = *report;
            report.busy_ns += reported;
            account.take(&before, report, MS, 20 * MS);
            account.idle_since = None;
            account.book_window(grace, free, now).0
        };
        booked(300 * US, from + MS) + booked(2 * MS - start - 300 * US, from + 2 * MS)
    }

    #[test]
    fn time_is_charged_once_even_if_it_is_reported_late() {
        let (mut account, mut report) = (Account::new(0), Report::default());
        let of = |account: &mut _, report: &mut _, at: Nanos, start| {
            window(account, report, at * 10 * MS, start)
        };
        // Nothing was charged before, so the VM hasn't earned any free time.
        assert_eq!(of(&mut account, &mut report, 1, 200 * US), 2 * MS);
        assert_eq!(of(&mut account, &mut report, 2, 200 * US), 2 * MS - 200 * US);
        assert_eq!(of(&mut account, &mut report, 3, 500 * US), 2 * MS - 200 * US);
    }
}
