//! A VM's state on one GPU: its share, its last report, and its accounts.

use std::mem::take;

use super::account::Account;
use super::bucket::{Bucket, Guarantee};
use super::fair::Virtual;
use super::load::Load;
use super::presence::Presence;
use super::settings::Settings;
use super::stats::{Ring, VmStats, Waits};
use super::types::{Class, Nanos, Obstacle, Report, Share};

#[derive(Debug, Default)]
pub struct Member {
    /// Whether the VM has the GPU.
    pub presence: Presence,
    pub share: Share,
    pub last: Report,
    pub seen_at: Nanos,
    /// True if the VM is paused. While it's paused, its gates are closed, and the scheduler treats
    /// it as a VM without work.
    pub paused: bool,
    /// Time at which the VM last had work.
    pub worked_at: Option<Nanos>,
    /// True if the scheduler has stopped waiting for the VM's last drain, and the VM's work is
    /// still running.
    pub overran: bool,
    /// When several of the VM's sessions last had work in flight at once, or the VM shared the GPU
    /// with others.
    pub crowded_at: Option<Nanos>,
    /// True if the VM's kernels have short time slices.
    pub short_slices: bool,
    /// True if the VM's latest work in flight could be evicted.
    pub evictable: bool,
    /// How much of the time since the oldest call started the VM was off the GPU, not counting the
    /// current eviction.
    off_for: Nanos,
    /// True if the busy time in the next report includes time when the VM's kernels were off the
    /// GPU.
    reports_off: bool,
    /// True if the VM's last window ended in an eviction.
    pub outlasts: bool,
    /// Number of consecutive turns in which all of the VM's work in flight was waiting for the host
    /// and the VM started nothing.
    fruitless: u32,
    /// Time until which the VM gets no turn, because it had too many turns in which all of its work
    /// was waiting for the host.
    pub rests_until: Option<Nanos>,
    /// When the VM last began to create or destroy a context during a turn, if it still does.
    pub contexts_since: Option<Nanos>,
    /// Time up to which the VM has been charged for keeping others off the GPU while it creates or
    /// destroys contexts.
    pub contexts_charged: Option<Nanos>,
    pub account: Account,
    /// Limit on copies in flight per stream while the gate is closed.
    pub copies: Nanos,
    pub load: Load,
    pub time: Virtual,
    /// The GPU's number of ended turns when this VM's last turn ended, or 0 if it had no turn.
    pub ran: u64,
    pub bucket: Option<Bucket>,
    pub guarantee: Guarantee,
    /// True if the VM has had held work since its last window and lacked tokens for it.
    pub held_back: bool,
    /// True if this is a latency VM that has used up its share.
    pub over: bool,
    /// True if the oldest call has exceeded its time limit, and this has been reported.
    pub timed_out: bool,
    pub waiting_since: Option<Nanos>,
    pub waits: Waits,
    pub ring: Ring,
    pub stats: VmStats,
}

impl Member {
    pub fn new(share: Share, settings: &Settings, now: Nanos) -> Self {
        let mut member = Member {
            seen_at: now,
            account: Account::new(now),
            copies: settings.depth,
            time: Virtual::asleep(now),
            guarantee: Guarantee::new(0, settings.min_memory, now),
            ..Member::default()
        };
        member.set_share(share, settings, now);
        member
    }

    pub fn set_share(&mut self, share: Share, settings: &Settings, now: Nanos) {
        let share = share.clamped();
        let full = Bucket::new(share.max, settings.max_window, now);
        let mut bucket = self.bucket.unwrap_or(full);
        bucket.set(share.max, now);
        self.bucket = share.capped().then_some(bucket);
        self.guarantee.pass(self.last.held || self.last.active, now);
        self.guarantee.min = share.min;
        self.share = share;
        self.timed_out = false;
    }

    /// Returns the part of a report that counts. For a paused VM, work that waits at the gate and
    /// kernels that are off the GPU don't count, because they can't run.
    pub fn considered(&self, report: Report) -> Report {
        if !self.paused {
            return report;
        }
        Report { held: false, active: report.active && !self.presence.is_off(), ..report }
    }

    /// Processes a report. Returns true if calls have finished since the last report.
    pub fn take(&mut self, report: Report, settings: &Settings, now: Nanos) -> bool {
        let passed = now.saturating_sub(self.seen_at);
        self.account.take(&self.last, &report, passed, settings.late);
        if take(&mut self.reports_off) || self.presence.is_off() {
            // Ignore the busy time that the worker reports for its evicted kernels: to the worker,
            // they still seem to be running.
            (self.account.busy, self.account.begun) = (0, 0);
        }
        let finished = report.finished != self.last.finished;
        let runs = report.active && !report.stalled;
        if runs {
            self.account.idle_since = None;
        } else if finished || self.account.idle_since.is_none() {
            self.account.idle_since = Some(now);
        }
        self.presence.report(finished || runs, runs, report.active);
        if report.held || report.active || finished {
            self.worked_at = Some(now);
        }
        self.overran &= report.active;
        if report.active {
            self.evictable = report.evictable;
        }
        if report.sessions > 1 {
            self.crowded_at = Some(now);
        }
        // Only a context that is begun during the VM's turn counts, so that others don't make way
        // for a VM that has used more than its share.
        if !report.contexts {
            self.contexts_since = None;
        } else if report.contexts_begun != self.last.contexts_begun && self.presence.has_turn() {
            self.contexts_since = Some(now);
        }
        if finished || !report.stalled {
            (self.fruitless, self.rests_until) = (0, None);
        }
        if report.oldest_for < self.last.oldest_for {
            self.timed_out = false;
            // `off_for` was counted for an earlier call. The call that is now the oldest may have
            // been off the GPU for all of that time, for a part of it, or not at all. It's better
            // to count too little of its running time than too much.
            self.off_for = self.off_for.min(report.oldest_for);
        }
        self.last = report;
        self.seen_at = now.max(self.seen_at);
        self.note_strays(now);
        finished
    }

    /// Records since when the VM's work has been running without a turn, if it's running without
    /// one now.
    pub fn note_strays(&mut self, now: Nanos) {
        if self.strays() {
            self.presence.stray(now);
        }
    }

    /// Records that the VM's kernels are taken off the GPU. Charges the VM for the duration of the
    /// eviction, and returns that duration.
    pub fn evict(&mut self, settings: &Settings, now: Nanos) -> Nanos {
        // Limit the number of sessions, because the worker can report any number. More than 64
        // sessions are rare.
        let more = Nanos::from(self.last.sessions.clamp(1, 64) - 1);
        let takes = settings.eviction + more * settings.eviction_more;
        self.presence.evict(now);
        self.last = self.considered(self.last);
        (self.outlasts, self.overran) = (true, false);
        self.stats.evictions += 1;
        self.charge(takes, now);
        takes
    }

    /// Records that the VM's turn begins. Returns true if its kernels were evicted, and continue
    /// now.
    pub fn open(&mut self, now: Nanos) -> bool {
        let Some(since) = self.presence.open() else { return false };
        self.off_for = self.off_for.saturating_add(now.saturating_sub(since));
        self.reports_off = true;
        true
    }

    /// Returns how much of the time since the oldest call started the VM was off the GPU.
    pub fn off_for(&self, now: Nanos) -> Nanos {
        let current = self.presence.off_since().map_or(0, |since| now.saturating_sub(since));
        self.off_for.saturating_add(current)
    }

    /// Returns true if the VM has held work, or had any work within `span`, and isn't paused.
    pub fn awake(&self, span: Nanos, now: Nanos) -> bool {
        let worked = self.worked_at.is_some_and(|at| now.saturating_sub(at) <= span);
        !self.paused && (self.last.held || worked)
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

    /// Charges the VM for the time since the last charge in its own window. `wanted` says whether
    /// other VMs are waiting.
    pub fn charge_window(&mut self, settings: &Settings, wanted: bool, now: Nanos) {
        let (grace, free) = (self.grace(settings), wanted.then_some(settings.start_free));
        let (used, busy) = self.account.book_window(grace, free, now);
        self.charge(used, now);
        // Measure only if the gate is open and this VM was reported at `now`. Another VM's report
        // can also cause this call. The busy time since this VM's last report would then count as
        // idle, and if the gate is closed before this VM's next report, nothing would correct that.
        if self.presence.is_running() && self.seen_at == now {
            let window_time = take(&mut self.account.window_time);
            let idle = window_time.cast_signed().saturating_sub_unsigned(busy);
            // While the depth limit holds back work, unused time isn't the VM's choice, so don't
            // count it as idle.
            let idle = if self.last.held { idle.min(0) } else { idle };
            self.load.add(window_time, idle, settings.load_horizon);
        }
    }

    /// Resets the accounts for shared mode.
    pub fn begin_shared(&mut self, now: Nanos) {
        self.crowded_at = Some(now);
        self.account.book_busy(now);
        self.load.begin_shared();
    }

    /// Charges the time that the worker has reported. Used if the VM had the GPU without
    /// limits, or had no window of its own at that time.
    pub fn charge_busy(&mut self, now: Nanos) {
        // With an unlimited gate, the worker checks so seldom that this time includes long pauses.
        let begun = if self.presence.is_running() { 0 } else { self.account.begun };
        let busy = self.account.book_busy(now);
        self.charge(busy.saturating_add(begun), now);
    }

    /// Charges copies that the VM made during other VMs' windows.
    pub fn charge_copies(&mut self, now: Nanos) {
        let copied = take(&mut self.account.copied);
        self.charge(copied, now);
        self.stats.copied_ns = self.stats.copied_ns.saturating_add(copied);
    }

    /// Charges the time since the last call if another VM waited then because of this VM's
    /// contexts, and still does. `waits` says whether one is waiting now.
    pub fn charge_contexts(&mut self, waits: bool, now: Nanos) {
        let from = self.contexts_charged.take().filter(|_| waits);
        self.contexts_charged = waits.then_some(now);
        self.charge(from.map_or(0, |from| now.saturating_sub(from)), now);
    }

    /// Returns how long the VM may leave the GPU unused while other VMs are waiting.
    pub fn grace(&self, settings: &Settings) -> Nanos {
        let starts = self.last.held && !self.presence.has_started();
        if self.last.stalled {
            // The worker's thread is already awake, so if it could start held work, it would do so
            // at once. If it doesn't, all of its held work depends on the stalled work.
            if starts { settings.stalled_grace } else { 0 }
        } else if starts {
            settings.start_grace
        } else if self.share.class == Class::Latency
            || !self.last.held && self.load.pauses_seldom(settings.seldom, settings.load_least)
        {
            settings.latency_grace
        } else {
            settings.batch_grace
        }
    }

    /// Returns true if the VM has had nothing running for longer than its grace.
    pub fn is_idle(&self, settings: &Settings, now: Nanos) -> bool {
        let idle_for = self.account.idle_since.map(|since| now.saturating_sub(since));
        idle_for >= Some(self.grace(settings))
    }

    /// Handles the end of a turn. If all work in flight was waiting for the host and the VM started
    /// nothing, the VM gets no turn for a while. Its held work may depend on the work in flight and
    /// be unable to start, or belong to another stream and be able to start. Only another turn can
    /// show which is true.
    pub fn rest(&mut self, settings: &Settings, now: Nanos) {
        if self.last.held && self.last.stalled && !self.presence.has_started() {
            self.rests_until = Some(now.saturating_add(settings.rest << self.fruitless.min(3)));
            self.fruitless += 1;
        }
    }

    /// Returns true if the VM has work in flight that isn't evicted.
    pub fn on_gpu(&self) -> bool {
        self.last.active && !self.presence.is_off()
    }

    /// Returns true if the VM's work is running without a turn, and can be evicted.
    pub fn strays(&self) -> bool {
        let runs = self.on_gpu() && !self.last.stalled;
        !self.presence.has_turn() && !self.paused && runs && self.last.evictable
    }

    /// Returns true if the VM's oldest call is running and has a time limit, which it hasn't
    /// exceeded yet.
    pub fn may_time_out(&self) -> bool {
        self.on_gpu() && self.share.kernel_timeout.is_some() && !self.timed_out
    }

    /// Returns true if the VM has work that it should have a turn for: held work, evicted work,
    /// work that runs without a turn, or copies.
    pub fn has_work(&self) -> bool {
        let works = self.last.held || self.last.copying || self.presence.is_off();
        !self.paused && works || self.strays()
    }

    /// Returns true if the VM has work that needs the GPU now: held work, copies, running work that
    /// isn't waiting for the host, or evicted work that has just returned. Work that a paused VM is
    /// still running doesn't count.
    pub fn contends(&self) -> bool {
        let runs = self.reports_off || self.last.active && !self.last.stalled;
        self.has_work() || !self.paused && runs
    }

    /// Adds the time since the last call to the statistics, if work was held at a closed gate
    /// during that time.
    pub fn watch_throttling(&mut self, settings: &Settings, now: Nanos) {
        let has_obstacle = !self.presence.is_running() && self.unasked().is_none();
        let by_cap = || self.barred(self.need(settings), now) == Some(Obstacle::Cap);
        self.waits.note(has_obstacle.then(by_cap), now);
        let waits = self.last.held && !self.presence.is_running();
        if let Some(since) = self.waiting_since {
            let waited = now.saturating_sub(since);
            self.stats.throttled_ns = self.stats.throttled_ns.saturating_add(waited);
        }
        self.waiting_since = waits.then_some(now);
    }

    /// Returns the minimum length of the VM's windows. A VM with a cap can't begin a window until
    /// it has this much time left under the cap.
    pub fn need(&self, settings: &Settings) -> Nanos {
        // A VM that pays for an eviction at the end of each window should have few windows.
        if self.outlasts { settings.max_window } else { settings.min_window }
    }
}
