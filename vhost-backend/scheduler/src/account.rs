//! How long a VM was busy on one GPU, as its worker counts it, and how much of that was charged.
//!
//! A worker counts late: it notices the start of work only at its next check, and everything else
//! only after it returns from a driver call. So reported time is kept here until it's charged, and
//! charged time is compared with later reports.

use super::types::{Nanos, Report};

/// A VM may leave 1/`FREE_PART` of its charged time unused at the start of windows without charge.
const FREE_PART: Nanos = 8;

#[derive(Debug)]
pub struct Account {
    /// Recent wall time that the counters haven't accounted for yet: a worker may report it late.
    unreported: Nanos,
    /// `busy_ns`, `begun_ns` and `copied_ns` that were reported but not charged yet.
    busy: Nanos,
    begun: Nanos,
    copied: Nanos,
    /// The time up to which time was charged, and since when the VM was idle then.
    booked_at: Nanos,
    idle_when_booked: Option<Nanos>,
    /// The VM hasn't been seen working since its window began.
    fresh: bool,
    /// How much unused time at a window's start isn't charged. It's limited to a part of earlier
    /// charges; otherwise taking and leaving windows repeatedly would be free.
    free: Nanos,
    /// The time of the VM's window that wasn't charged, because it wasn't known to run then.
    unbooked: Nanos,
    /// How far the worker's count is ahead of what was charged since then.
    ahead: i64,
    /// Charged time with an open gate that hasn't been returned by `take_window_time` yet.
    window_time: Nanos,
}

/// The time of a window since it was last charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The time to charge.
    pub used: Nanos,
    /// The busy time that the worker reports.
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

    /// Takes in the time counted since the last report, `passed` ago. No more than the wall time
    /// counts, in case the clock doesn't advance or the worker lies. A worker in a driver call reports
    /// afterwards, so wall time accumulates, but only up to `late`.
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

    /// Charges the time that has passed in a window: all of it, except that idle time counts only up
    /// to the grace. If the VM was idle at the last check and has worked since, only its own count can
    /// say for how long. But if others wait, it's charged for all the time since then, except for up
    /// to `free` before its first work. `free` is `None` if nobody waits.
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
                        // Time charged already must not be charged again when the worker counts it.
                        self.add_lead(worked, used);
                        used
                    } else {
                        reported
                    }
                };
                self.unbooked = passed - used;
                used
            }
            // The worker's count may show only now that it started earlier than reported.
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

    /// Notes how much work was reported and how much was charged.
    fn add_lead(&mut self, worked: Nanos, booked: Nanos) {
        self.ahead = self.ahead.saturating_add_unsigned(worked).saturating_sub_unsigned(booked);
    }

    /// The part of `most` that isn't charged although others waited.
    fn spare(&mut self, most: Nanos, fresh: bool) -> Nanos {
        let spared = if fresh { self.free.min(most) } else { 0 };
        self.free -= spared;
        spared
    }

    /// The time of the window since the last call.
    pub fn take_window_time(&mut self) -> Nanos {
        std::mem::take(&mut self.window_time)
    }

    /// Takes the reported busy time, to charge it.
    pub fn book_busy(&mut self, idle_since: Option<Nanos>, now: Nanos) -> Nanos {
        (self.booked_at, self.idle_when_booked) = (now.max(self.booked_at), idle_since);
        self.begun = 0;
        std::mem::take(&mut self.busy)
    }

    /// Takes the reported time of copies made with a closed gate, to charge it.
    pub fn book_copies(&mut self) -> Nanos {
        std::mem::take(&mut self.copied)
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::{MS, US};
    use super::*;

    /// Plays a window of 2 ms while others wait, in which the VM starts work after `start`. Its worker
    /// reports part of the first millisecond's work in the second. Returns the time charged.
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
        // Nothing was charged before, so nothing is free.
        assert_eq!(of(&mut account, &mut report, 1, 200 * US), 2 * MS);
        assert_eq!(of(&mut account, &mut report, 2, 200 * US), 2 * MS - 200 * US);
        assert_eq!(of(&mut account, &mut report, 3, 500 * US), 2 * MS - 200 * US);
    }
}
