//! A VM's state on one GPU: its share, its last report and its charges.

use super::account::{Account, Passed};
use super::bucket::{Bucket, Guarantee};
use super::fair::Virtual;
use super::load::Load;
use super::settings::Settings;
use super::stats::{Ring, VmStats};
use super::types::{Class, Nanos, Report, Share};

/// The state of a VM's gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    Closed,
    Prepared,
    Open,
}

#[derive(Debug)]
pub struct Member {
    pub share: Share,
    pub last: Report,
    pub seen_at: Nanos,
    /// Time at which the VM last had work.
    pub worked_at: Option<Nanos>,
    /// Time since which none of the VM's work has been running.
    pub idle_since: Option<Nanos>,
    /// True if some work has run since the gate was opened.
    pub started: bool,
    /// True if the VM has been seen drained since the gate was closed.
    pub drained: bool,
    /// True if the VM's last drain was given up.
    pub overran: bool,
    /// Number of consecutive turns in which the VM waited for host functions and started nothing,
    /// and the time until which it gets no further turn.
    fruitless: u32,
    pub rests_until: Option<Nanos>,
    pub account: Account,
    pub gate: Gate,
    /// Limit on copies in flight while the gate is closed.
    pub copies: Nanos,
    pub load: Load,
    pub time: Virtual,
    /// Sequence number of the end of the VM's last turn on this GPU. 0 if it had no turn.
    pub ran: u64,
    pub bucket: Option<Bucket>,
    pub guarantee: Guarantee,
    /// True if the bucket was empty at some point since the last window while the VM had work.
    pub held_back: bool,
    /// True if this is a latency VM that has used up its share.
    pub over: bool,
    /// True if the oldest call has exceeded its time limit, and this has been reported.
    pub timed_out: bool,
    /// The longest time without a finished call while the VM ran undisturbed. Decays.
    pub longest: Nanos,
    /// How long no call has finished, counting only time in which the VM was sampled often enough.
    pub unfinished_for: Nanos,
    /// Time at which the gate was last reopened during a drain. Cleared when a call finishes.
    pub reopened_at: Option<Nanos>,
    pub waiting_since: Option<Nanos>,
    pub ring: Ring,
    pub stats: VmStats,
}

impl Member {
    pub fn new(share: Share, settings: &Settings, now: Nanos) -> Self {
        let share = share.clamped();
        Member {
            share,
            last: Report::default(),
            seen_at: now,
            worked_at: None,
            idle_since: Some(now),
            started: false,
            drained: true,
            overran: false,
            fruitless: 0,
            rests_until: None,
            account: Account::new(now),
            gate: Gate::Closed,
            copies: settings.depth,
            load: Load::default(),
            time: Virtual::asleep(now),
            ran: 0,
            bucket: share.capped().then(|| Bucket::new(share.max, settings.max_window, now)),
            guarantee: Guarantee::new(share.min, settings.min_memory, now),
            held_back: false,
            over: false,
            timed_out: false,
            longest: 0,
            unfinished_for: 0,
            reopened_at: None,
            waiting_since: None,
            ring: Ring::new(now),
            stats: VmStats::default(),
        }
    }

    pub fn set_share(&mut self, share: Share, settings: &Settings, now: Nanos) {
        let share = share.clamped();
        match (&mut self.bucket, share.capped()) {
            (Some(bucket), true) => bucket.set(share.max, now),
            (bucket, true) => *bucket = Some(Bucket::new(share.max, settings.max_window, now)),
            (bucket, false) => *bucket = None,
        }
        self.guarantee.pass(self.last.held || self.last.active, now);
        self.guarantee.set(share.min, now);
        self.share = share;
        self.timed_out = false;
    }

    /// Processes a report. Returns true if calls have finished since the last report. How long a
    /// call ran can't be derived from reports more than two samples apart. The same goes for a call
    /// that finished that soon after the gate was reopened, since the reopening may have let it
    /// finish.
    pub fn take(&mut self, report: Report, settings: &Settings, now: Nanos) -> bool {
        let watch = 2 * settings.sample;
        let passed = now.saturating_sub(self.seen_at);
        self.account.take(&self.last, &report, passed, settings.late);
        let finished = report.finished != self.last.finished;
        if finished {
            let freed = self.reopened_at.take().is_some_and(|at| now.saturating_sub(at) < watch);
            let unfinished_for = if freed { 0 } else { self.unfinished_for };
            self.longest = unfinished_for.max(self.longest - self.longest / 16);
            self.unfinished_for = 0;
        } else if self.last.active && passed <= watch {
            self.unfinished_for = self.unfinished_for.saturating_add(passed);
        } else {
            self.unfinished_for = 0;
        }
        let runs = report.active && !report.stalled;
        if runs {
            self.idle_since = None;
        } else if finished || self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        self.started |= finished || runs;
        if report.held || report.active || finished {
            self.worked_at = Some(now);
        }
        self.drained |= !report.active || report.stalled;
        self.overran &= report.active;
        if finished || !report.stalled {
            (self.fruitless, self.rests_until) = (0, None);
        }
        if report.oldest_for < self.last.oldest_for {
            self.timed_out = false;
        }
        self.last = report;
        self.seen_at = now.max(self.seen_at);
        finished
    }

    /// Returns true if the VM had work within `span`.
    pub fn awake(&self, span: Nanos, now: Nanos) -> bool {
        self.last.held || self.worked_at.is_some_and(|at| now.saturating_sub(at) <= span)
    }

    /// Charges GPU time to the VM.
    pub fn charge(&mut self, used: Nanos, now: Nanos) {
        if used == 0 {
            return;
        }
        self.time.charge(used, self.share.weight);
        if let Some(bucket) = &mut self.bucket {
            bucket.pay(used, now);
        }
        self.guarantee.pay(used);
        self.ring.add(used, now);
        self.stats.charged_ns = self.stats.charged_ns.saturating_add(used);
    }

    /// Charges the time that has passed in the VM's own window. `wanted` says whether other VMs are
    /// waiting.
    pub fn charge_window(&mut self, settings: &Settings, wanted: bool, now: Nanos) {
        let (grace, free) = (self.grace(settings), wanted.then_some(settings.start_free));
        let Passed { used, busy } = self.account.book_window(grace, self.idle_since, free, now);
        self.charge(used, now);
        // This function also runs for other VMs' reports, which may close the gate before this VM's
        // own report is read.
        if self.gate == Gate::Open && self.seen_at == now {
            let window_time = self.account.take_window_time();
            let idle = self.idle(window_time, busy);
            self.load.add(window_time, idle, settings.load_horizon);
        }
    }

    /// Returns how much of the time with an open gate the VM left unused by choice. If the gate's
    /// depth holds back work, unused time isn't the VM's choice.
    fn idle(&self, passed: Nanos, busy: Nanos) -> i64 {
        let idle = passed.cast_signed().saturating_sub_unsigned(busy);
        if self.last.held { idle.min(0) } else { idle }
    }

    /// Starts shared mode.
    pub fn begin_shared(&mut self, now: Nanos) {
        self.account.book_busy(self.idle_since, now);
        self.load.begin_shared();
    }

    /// Charges the busy time reported by the worker. Used when no other VM was affected, or when
    /// the VM ran past its window.
    pub fn charge_busy(&mut self, now: Nanos) {
        let busy = self.account.book_busy(self.idle_since, now);
        self.charge(busy, now);
    }

    /// Charges copies made during other VMs' windows.
    pub fn charge_copies(&mut self, now: Nanos) {
        let copied = self.account.book_copies();
        self.charge(copied, now);
        self.stats.copied_ns = self.stats.copied_ns.saturating_add(copied);
    }

    /// Returns how long the VM may leave the GPU unused while other VMs are waiting.
    pub fn grace(&self, settings: &Settings) -> Nanos {
        if self.last.stalled {
            // The worker is awake, so it either starts work immediately or has none that can start.
            if self.last.held && !self.started { settings.stalled_grace } else { 0 }
        } else if self.last.held && !self.started {
            settings.start_grace
        } else if self.share.class == Class::Latency
            || !self.last.held && self.load.pauses_seldom(settings.seldom, settings.load_least)
        {
            settings.latency_grace
        } else {
            settings.batch_grace
        }
    }

    /// Handles the end of a turn. If all work in flight is waiting for the host and nothing was
    /// started, the held work may depend on that work or belong to another stream. Only a later
    /// turn can show which, so the VM gets another turn now and then.
    pub fn rest(&mut self, settings: &Settings, now: Nanos) {
        if self.last.held && self.last.stalled && !self.started {
            self.rests_until = Some(now.saturating_add(settings.rest << self.fruitless.min(3)));
            self.fruitless += 1;
        }
    }

    /// Returns how long a drain may make no progress before it counts as stuck.
    pub fn patience(&self, settings: &Settings) -> Nanos {
        // The end of a short call may be noticed up to two samples late.
        if self.longest <= 2 * settings.sample {
            settings.no_progress
        } else {
            settings.no_progress.max(self.longest + self.longest / 2)
        }
    }

    /// Returns true if the VM has held work and may get a turn for it.
    pub fn asks(&self) -> bool {
        self.last.held && self.rests_until.is_none()
    }

    /// Returns true if the VM is currently competing for the GPU.
    pub fn contends(&self) -> bool {
        let Report { held, active, stalled, copying, .. } = self.last;
        held || copying || (active && !stalled)
    }

    /// Adds the time that held work has waited at a closed gate to the statistics.
    pub fn watch_throttling(&mut self, now: Nanos) {
        let waits = self.last.held && self.gate != Gate::Open;
        if let Some(since) = self.waiting_since {
            let waited = now.saturating_sub(since);
            self.stats.throttled_ns = self.stats.throttled_ns.saturating_add(waited);
        }
        self.waiting_since = waits.then_some(now);
    }

    /// Returns true if the VM has at least `need` tokens, or no cap.
    pub fn may_run(&self, need: Nanos, now: Nanos) -> bool {
        self.bucket.as_ref().is_none_or(|bucket| bucket.tokens(now) >= need as i64)
    }
}
