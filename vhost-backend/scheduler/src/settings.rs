//! The scheduler's constants. `docs/design/scheduler.md` explains them.

use super::types::{MS, Nanos, SEC, US};

/// The scheduler's constants. The defaults were tuned on an H200.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Minimum length of a window.
    pub min_window: Nanos,
    /// Maximum length of a window, and the maximum GPU time that a capped VM can save up.
    pub max_window: Nanos,
    /// Approximate time within which every competing VM gets a turn.
    pub period: Nanos,
    /// How long the work in flight may take to finish after the end of a window. After that, it's
    /// evicted, if possible. If a latency VM is waiting, the work is evicted at once. In both
    /// cases, the eviction is delayed if the worker expects the work to finish before an eviction
    /// would be over.
    pub drain_wait: Nanos,
    /// How late the work may finish compared with the worker's expectation before it's evicted
    /// anyway, and how long to wait if the worker reports no expectation.
    pub drain_slack: Nanos,
    /// How much longer the work in flight may take for each other VM that drains at the same time,
    /// unless a latency VM is waiting.
    pub drain_wait_other: Nanos,
    /// How long an eviction takes. That time is charged to the evicted VM, and not to the next one.
    /// The time that it takes to put the kernels back is part of the evicted VM's next window.
    pub eviction: Nanos,
    /// How much longer an eviction takes for each further session that has work in flight.
    pub eviction_more: Nanos,
    /// If work can't be evicted, the scheduler stops waiting for it to drain after this time plus
    /// the VM's kernel_timeout, if it has one.
    pub drain_limit: Nanos,
    /// How long a batch VM may leave its window unused while other VMs are waiting.
    pub batch_grace: Nanos,
    /// How long a latency VM may leave its window unused while other VMs are waiting. Longer than
    /// the time between two launches in a request.
    pub latency_grace: Nanos,
    /// A batch VM that leaves at most this fraction of its windows unused gets `latency_grace`
    /// instead of `batch_grace`. Such a VM pauses only between requests, and with the shorter
    /// grace, each pause would cost it the rest of its window.
    pub seldom: f64,
    /// How long a VM may take to start its first work in a window while other VMs are waiting.
    pub start_grace: Nanos,
    /// The part of `start_grace` that isn't charged, because the context switch and the worker's
    /// first launch take time. In total, at most an eighth of the VM's charged time is free in this
    /// way.
    pub start_free: Nanos,
    /// Used in place of `start_grace` for a VM whose work in flight is waiting for host functions.
    pub stalled_grace: Nanos,
    /// A VM that could start nothing in its turn, because its work was waiting for host functions,
    /// gets no turn for this long. The time doubles with each such turn, up to 8 times this value.
    pub rest: Nanos,
    /// Limit on work in flight per stream, as GPU time.
    pub depth: Nanos,
    /// Limit on work in flight per stream for a batch VM while a latency VM is awake.
    pub latency_depth: Nanos,
    /// For how long after its last work a latency VM counts as awake.
    pub latency_awake: Nanos,
    /// For how long after a VM's sessions have had work in flight at once, or the VM has shared the
    /// GPU, its kernels have the driver's usual time slices.
    pub slices_apart: Nanos,
    /// GPU time by which a latency VM may exceed its share before it loses precedence over batch
    /// VMs.
    pub latency_burst: Nanos,
    /// Minimum time without work of any other VM after which a VM counts as alone. The actual time
    /// varies: see `alone_most`.
    pub alone_after: Nanos,
    /// Maximum of the time without work of any other VM after which a VM counts as alone. The time
    /// doubles whenever a VM was alone only briefly.
    pub alone_most: Nanos,
    /// If a VM with several GPUs has had no work on a GPU for this long, its turns don't include
    /// that GPU. After a shorter pause, a VM keeps the virtual time that it is behind.
    pub recent: Nanos,
    /// If a VM is behind its guarantee by this much, it takes precedence over latency VMs.
    pub min_urgent: Nanos,
    /// Wall time for which a guarantee can accrue credit or debt.
    pub min_memory: Nanos,
    /// Maximum time that a VM waits because it used more than its share.
    pub debt_limit: Nanos,
    /// Sampling interval for open gates.
    pub sample: Nanos,
    /// Sampling interval for a VM that is alone.
    pub unlimited_sample: Nanos,
    /// The longest time for which batch VMs stay off a GPU while a VM creates or destroys a context
    /// there.
    pub contexts_limit: Nanos,
    /// How late a worker may report busy time.
    pub late: Nanos,
    /// Averaging period for the fraction of its windows that a VM uses, in time with an open gate.
    pub load_horizon: Nanos,
    /// Minimum measured time after which a VM's demand counts as known.
    pub load_least: Nanos,
    /// A pause between two windows counts as idle time if it is at most this long.
    pub longest_gap: Nanos,
    /// VMs share a GPU only if each of them leaves at least this fraction of its windows unused,
    /// and the condition on `share_least` is met, too.
    pub share_gap: f64,
    /// VMs share a GPU only if even slices give each VM at least this fraction of the time that it
    /// would get in windows.
    pub share_least: f64,
    /// Averaging period in shared mode, per sharing VM: the whole period is this value times the
    /// number of VMs that share. The averages count once half of the whole period has been
    /// measured.
    pub share_round: Nanos,
    /// VMs stop sharing if one of them could fill the GPU alone, which shows if its gate holds back
    /// work nearly all the time. If two VMs share, that means all of the time except for this
    /// fraction. With more VMs, the fraction is smaller, because each VM waits longer for its
    /// slice.
    ///
    /// VMs also stop sharing if one of them was promised more than an even slice and has less than
    /// `share_least` of the idle time that it would have in windows.
    pub part_free: f64,
    /// How long VMs share before their demand is measured in windows again. The time doubles, up to
    /// `share_most`, after each measurement that takes less than `measure_limit`.
    pub share_for: Nanos,
    /// Maximum of the time that VMs share before their demand is measured again.
    pub share_most: Nanos,
    /// After a measurement in windows that takes longer than this, VMs share for only `share_for`
    /// again, however often that time had doubled.
    pub measure_limit: Nanos,
    /// Minimum time for which VMs stay in windows after sharing has failed.
    pub apart_least: Nanos,
    /// Maximum time for which VMs stay in windows after sharing has failed repeatedly.
    pub apart_most: Nanos,
    /// How long before the end of a window the next VM starts to prepare.
    pub lead: Nanos,
    /// A VM that exceeds its share by more than this GPU time may not copy during other VMs'
    /// windows.
    pub copies_ahead: Nanos,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            min_window: 4 * MS,
            max_window: 20 * MS,
            period: 60 * MS,
            drain_wait: 700 * US,
            drain_slack: 100 * US,
            drain_wait_other: 10 * MS,
            eviction: 450 * US,
            eviction_more: 140 * US,
            drain_limit: SEC / 2,
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
            slices_apart: SEC,
            latency_burst: 50 * MS,
            alone_after: 50 * MS,
            alone_most: SEC,
            recent: 100 * MS,
            min_urgent: 50 * MS,
            min_memory: 200 * MS,
            debt_limit: 10 * SEC,
            sample: MS,
            unlimited_sample: 50 * MS,
            contexts_limit: SEC / 2,
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
