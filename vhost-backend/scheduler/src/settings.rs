//! The scheduler's constants. `docs/design/scheduler.md` explains their purpose.

use super::types::{MS, Nanos, SEC, US};

/// The scheduler's time constants. The defaults were tuned on an H200.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Minimum length of a window.
    pub min_window: Nanos,
    /// Maximum length of a window, and the maximum GPU time that a capped VM can save up.
    pub max_window: Nanos,
    /// Time in which roughly every competing VM gets a turn.
    pub period: Nanos,
    /// If nothing finishes for this long during a drain, the VM's gate is reopened.
    pub no_progress: Nanos,
    /// A drain is given up after this time plus the VM's kernel_timeout, if any.
    pub drain_limit: Nanos,
    /// How long a gate is reopened during a drain.
    pub reopen: Nanos,
    /// How long a batch VM keeps an idle window while other VMs are waiting.
    pub batch_grace: Nanos,
    /// How long a latency VM keeps an idle window while other VMs are waiting. Longer than the time
    /// between launches in one request.
    pub latency_grace: Nanos,
    /// A batch VM that leaves at most this fraction of its own time unused gets the grace of a
    /// latency VM. Its pauses are between requests, and each pause would cost it the rest of its
    /// window.
    pub seldom: f64,
    /// How long a VM may take to start its first work in a window while other VMs are waiting.
    pub start_grace: Nanos,
    /// The part of `start_grace` that isn't charged, to cover the context switch and the worker's
    /// first launch. The total is at most an eighth of the VM's charged time.
    pub start_free: Nanos,
    /// The `start_grace` for a VM whose work in flight is waiting for host functions.
    pub stalled_grace: Nanos,
    /// A VM that waited for host functions and couldn't start anything in its turn gets no further
    /// turn for this long. The time doubles with each such turn, up to 8 times the initial value.
    pub rest: Nanos,
    /// Limit on work in flight per stream.
    pub depth: Nanos,
    /// Limit on work in flight per stream for a batch VM while a latency VM is awake.
    pub latency_depth: Nanos,
    /// How long a latency VM counts as awake after its last work.
    pub latency_awake: Nanos,
    /// GPU time by which a latency VM may be ahead of its share before it must wait as a batch VM
    /// does.
    pub latency_burst: Nanos,
    /// A VM counts as alone when no other VM has had work for this long. See `alone_most`.
    pub alone_after: Nanos,
    /// Maximum for `alone_after`, which doubles each time that a VM was alone only briefly.
    pub alone_most: Nanos,
    /// If a VM with several GPUs has had no work on one of them for this long, its turn doesn't
    /// include that GPU. A VM that paused for less time is still owed the same time as before.
    pub recent: Nanos,
    /// A guarantee that is behind by this much takes precedence over latency VMs.
    pub min_urgent: Nanos,
    /// Maximum credit or debt of a guarantee.
    pub min_memory: Nanos,
    /// Maximum time that a VM waits because it used more than its share.
    pub debt_limit: Nanos,
    /// Sampling interval for open gates.
    pub sample: Nanos,
    /// Sampling interval for a VM that is alone.
    pub unlimited_sample: Nanos,
    /// Maximum delay with which a worker may report busy time.
    pub late: Nanos,
    /// Averaging period for a VM's use of its own time, in time with an open gate.
    pub load_horizon: Nanos,
    /// Minimum measured time, out of `load_horizon`, for the demand to count as known.
    pub load_least: Nanos,
    /// Maximum length of a pause between two windows that counts as a gap.
    pub longest_gap: Nanos,
    /// VMs share a GPU if each leaves at least this fraction of its own time unused, and
    /// `share_least` is met, too.
    pub share_gap: f64,
    /// Even slices must give each VM at least this fraction of the time that it should get.
    pub share_least: f64,
    /// Averaging period for shared mode, per sharing VM. Half of it must have been measured.
    pub share_round: Nanos,
    /// Two VMs stop sharing when one of them is without held-back work for at most this fraction of
    /// the time. With more VMs, the fraction is smaller, since each VM gets a slice less often. VMs
    /// also stop sharing when one that was promised more than an even slice has less than
    /// `share_least` of the gaps that it would have in windows.
    pub part_free: f64,
    /// How long VMs share before their demand is measured again. The time doubles, up to
    /// `share_most`, each time that they resume sharing within `measure_limit`.
    pub share_for: Nanos,
    /// Maximum for `share_for`.
    pub share_most: Nanos,
    /// If a measurement takes longer than this, `share_for` is reset.
    pub measure_limit: Nanos,
    /// Minimum time between failed sharing and the next attempt.
    pub apart_least: Nanos,
    /// Maximum time between repeatedly failed sharing and the next attempt.
    pub apart_most: Nanos,
    /// How long before the end of a window the next VM starts to prepare.
    pub lead: Nanos,
    /// A VM that is ahead of its share by more than this may not copy during other VMs' windows.
    pub copies_ahead: Nanos,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            min_window: 2 * MS,
            max_window: 20 * MS,
            period: 60 * MS,
            no_progress: MS,
            drain_limit: SEC / 2,
            reopen: MS,
            batch_grace: 50 * US,
            latency_grace: 250 * US,
            seldom: 0.1,
            start_grace: MS,
            start_free: 200 * US,
            stalled_grace: 200 * US,
            rest: MS,
            depth: MS,
            latency_depth: 100 * US,
            latency_awake: SEC,
            latency_burst: 50 * MS,
            alone_after: 50 * MS,
            alone_most: SEC,
            recent: 100 * MS,
            min_urgent: 50 * MS,
            min_memory: 200 * MS,
            debt_limit: 10 * SEC,
            sample: MS,
            unlimited_sample: 50 * MS,
            late: 20 * MS,
            load_horizon: 40 * MS,
            load_least: 10 * MS,
            longest_gap: MS,
            share_gap: 0.03,
            share_least: 0.9,
            part_free: 0.03,
            share_round: 20 * MS,
            share_for: 100 * MS,
            share_most: 5 * SEC,
            measure_limit: SEC / 2,
            apart_least: 200 * MS,
            apart_most: 5 * SEC,
            lead: 500 * US,
            copies_ahead: 20 * MS,
        }
    }
}
