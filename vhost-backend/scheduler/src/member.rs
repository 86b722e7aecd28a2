//! A VM on one GPU: what it was promised, what it last said, what it was charged.

use super::account::{Account, Passed};
use super::bucket::{Bucket, Guarantee};
use super::fair::Virtual;
use super::load::Load;
use super::settings::Settings;
use super::stats::{Ring, VmStats};
use super::types::{Class, Nanos, Report, Share};

/// How the VM's gate stands.
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
    /// When it last had work.
    pub worked_at: Option<Nanos>,
    /// Since when nothing of it runs.
    pub idle_since: Option<Nanos>,
    /// Something ran since the gate was opened.
    pub started: bool,
    /// Seen drained since the gate was closed.
    pub drained: bool,
    /// Its last drain was given up.
    pub overran: bool,
    /// Turns in a row in which it stood at the host and began nothing, and until when it gets no
    /// other.
    fruitless: u32,
    pub rests_until: Option<Nanos>,
    pub account: Account,
    pub gate: Gate,
    /// What it may have in flight of copies while the gate is closed.
    pub copies: Nanos,
    pub load: Load,
    pub time: Virtual,
    /// Number of its last turn's end on this GPU; 0: none.
    pub ran: u64,
    pub bucket: Option<Bucket>,
    pub guarantee: Guarantee,
    /// The bucket was empty while it had work, since its last window.
    pub held_back: bool,
    /// A latency VM that used its share up.
    pub over: bool,
    /// The oldest call was reported as too long.
    pub timed_out: bool,
    /// The longest time without an end of a call while it ran unhindered, fading.
    pub longest: Nanos,
    /// How long nothing has ended now, as far as it was watched.
    pub still: Nanos,
    /// When a drain was last opened again, until something ended well after that.
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
            still: 0,
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

    /// Takes a report in. True if calls have finished since the one before. Reports further apart than
    /// two samples do not tell how long a call ran; nor does an end that came so soon after submission was
    /// opened again, since that may have brought it about.
    pub fn take(&mut self, report: Report, settings: &Settings, now: Nanos) -> bool {
        let watch = 2 * settings.sample;
        let passed = now.saturating_sub(self.seen_at);
        self.account.take(&self.last, &report, passed, settings.late);
        let finished = report.finished != self.last.finished;
        if finished {
            let freed = self.reopened_at.take().is_some_and(|at| now.saturating_sub(at) < watch);
            let still = if freed { 0 } else { self.still };
            self.longest = still.max(self.longest - self.longest / 16);
            self.still = 0;
        } else if self.last.active && passed <= watch {
            self.still = self.still.saturating_add(passed);
        } else {
            self.still = 0;
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

    /// Whether it had work within `span`.
    pub fn awake(&self, span: Nanos, now: Nanos) -> bool {
        self.last.held || self.worked_at.is_some_and(|at| now.saturating_sub(at) <= span)
    }

    /// Books GPU time that it used.
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

    /// Books the time that has passed in a window of its own. `wanted`: others wait.
    pub fn charge_window(&mut self, settings: &Settings, wanted: bool, now: Nanos) {
        let (grace, free) = (self.grace(settings), wanted.then_some(settings.start_free));
        let Passed { used, busy } = self.account.book_window(grace, self.idle_since, free, now);
        self.charge(used, now);
        // Another's report has it booked, too, and may close the gate before this one's is read.
        if self.gate == Gate::Open && self.seen_at == now {
            let told = self.account.told();
            let idle = self.idle(told, busy);
            self.load.add(told, idle, settings.load_horizon);
        }
    }

    /// How much of a time with an open gate the VM chose to leave unused: with work held back by the
    /// gate's depth, what did not run was not its choice.
    fn idle(&self, passed: Nanos, busy: Nanos) -> i64 {
        let idle = passed.cast_signed().saturating_sub_unsigned(busy);
        if self.last.held { idle.min(0) } else { idle }
    }

    /// Begins to share the GPU.
    pub fn begin_shared(&mut self, now: Nanos) {
        self.account.book_busy(self.idle_since, now);
        self.load.begin_shared();
    }

    /// Books what it says it was busy with: nobody else was there to be hurt, or it ran past its
    /// window.
    pub fn charge_busy(&mut self, now: Nanos) {
        let busy = self.account.book_busy(self.idle_since, now);
        self.charge(busy, now);
    }

    /// Books what it has copied beside the others.
    pub fn charge_copies(&mut self, now: Nanos) {
        let copied = self.account.book_copies();
        self.charge(copied, now);
        self.stats.copied_ns = self.stats.copied_ns.saturating_add(copied);
    }

    /// How long it may leave the GPU unused while others wait.
    pub fn grace(&self, settings: &Settings) -> Nanos {
        if self.last.stalled {
            // Its worker is awake: it begins at once, or has nothing that it can begin.
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

    /// Its turn has ended. All that is in flight waits for the host; what is held may be behind it, or
    /// of another stream: that is known only if it is tried, now and then.
    pub fn rest(&mut self, settings: &Settings, now: Nanos) {
        if self.last.held && self.last.stalled && !self.started {
            self.rests_until = Some(now.saturating_add(settings.rest << self.fruitless.min(3)));
            self.fruitless += 1;
        }
    }

    /// How long a drain may stand still before it is taken for stuck.
    pub fn patience(&self, settings: &Settings) -> Nanos {
        // Two looks may pass before the end of a short call is seen.
        if self.longest <= 2 * settings.sample {
            settings.no_progress
        } else {
            settings.no_progress.max(self.longest + self.longest / 2)
        }
    }

    /// Whether it has work for which it can be given the GPU.
    pub fn asks(&self) -> bool {
        self.last.held && self.rests_until.is_none()
    }

    /// Whether it competes for the GPU now.
    pub fn contends(&self) -> bool {
        let Report { held, active, stalled, copying, .. } = self.last;
        held || copying || (active && !stalled)
    }

    /// Whether held work waits for a closed gate is noted in the statistics.
    pub fn watch_throttling(&mut self, now: Nanos) {
        let waits = self.last.held && self.gate != Gate::Open;
        if let Some(since) = self.waiting_since {
            let waited = now.saturating_sub(since);
            self.stats.throttled_ns = self.stats.throttled_ns.saturating_add(waited);
        }
        self.waiting_since = waits.then_some(now);
    }

    /// Tokens that a window needs before it begins, and whether they are there.
    pub fn may_run(&self, need: Nanos, now: Nanos) -> bool {
        self.bucket.as_ref().is_none_or(|bucket| bucket.tokens(now) >= need as i64)
    }
}
