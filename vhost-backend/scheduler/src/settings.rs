//! The scheduler's constants. `docs/design/scheduler.md` explains their purpose.

use super::types::{MS, Nanos, SEC, US};

/// The scheduler's time constants. The defaults were tuned with measurements on an H200.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The shortest window.
    pub min_window: Nanos,
    /// The longest window; also the most GPU time that a capped VM can save up.
    pub max_window: Nanos,
    /// The time in which roughly every competing VM gets a turn.
    pub period: Nanos,
    /// If nothing finishes for this long during a drain, the VM's submission is opened again.
    pub no_progress: Nanos,
    /// A drain is given up after this time, plus the kernel_timeout if the VM has one.
    pub drain_limit: Nanos,
    /// How long submission is opened again during a drain.
    pub reopen: Nanos,
    /// How long a batch VM keeps an idle window while others wait.
    pub batch_grace: Nanos,
    /// The same for a latency VM. Longer than the time between the launches of one request.
    pub latency_grace: Nanos,
    /// A batch VM that leaves at most this fraction of its own time unused gets the grace of a
    /// latency VM: its pauses are between requests, and each would cost it the rest of its window.
    pub seldom: f64,
    /// How long a VM may take to start its first work in a window while others wait.
    pub start_grace: Nanos,
    /// The part of `start_grace` that isn't charged, for the switch between contexts and the worker's
    /// first launch. In total at most an eighth of what the VM is charged.
    pub start_free: Nanos,
    /// The `start_grace` of a VM whose work in flight waits for host functions.
    pub stalled_grace: Nanos,
    /// A VM that waited for host functions and couldn't start anything in its turn gets no other turn
    /// for this long. The time doubles with each such turn, to at most 8 times.
    pub rest: Nanos,
    /// The limit on each stream's work in flight.
    pub depth: Nanos,
    /// The same for the streams of a batch VM while a latency VM is awake.
    pub latency_depth: Nanos,
    /// How long a latency VM counts as awake after its last work.
    pub latency_awake: Nanos,
    /// GPU time by which a latency VM may be ahead of its share before it waits like a batch VM.
    pub latency_burst: Nanos,
    /// A VM is alone when no other VM has had work for this long. See `alone_most`.
    pub alone_after: Nanos,
    /// `alone_after` doubles each time that a VM was alone only briefly, up to this.
    pub alone_most: Nanos,
    /// If a VM of several GPUs had no work on one of them for this long, that GPU isn't opened with
    /// the others. A VM that paused for less keeps what it was owed.
    pub recent: Nanos,
    /// A guarantee that is behind by this much takes precedence over latency VMs.
    pub min_urgent: Nanos,
    /// The most credit or debt that a guarantee remembers.
    pub min_memory: Nanos,
    /// The longest time that a VM waits because it used more than its share.
    pub debt_limit: Nanos,
    /// The sampling interval of open gates.
    pub sample: Nanos,
    /// The sampling interval of a VM that is alone.
    pub unlimited_sample: Nanos,
    /// The longest delay with which a worker may report busy time and have it counted.
    pub late: Nanos,
    /// The averaging period for a VM's use of its time, in time with an open gate.
    pub load_horizon: Nanos,
    /// The part of `load_horizon` that must have been measured.
    pub load_least: Nanos,
    /// A pause between two windows counts as a gap if it's no longer than this.
    pub longest_gap: Nanos,
    /// VMs share a GPU if each leaves at least this fraction of its own time unused and `share_least`
    /// is met, too.
    pub share_gap: f64,
    /// Even slices must give each VM at least this fraction of what it should get.
    pub share_least: f64,
    /// The averaging period for shared mode, per sharing VM. Half of it must have been measured.
    pub share_round: Nanos,
    /// Two VMs stop sharing when one of them is without held-back work for at most this fraction of
    /// the time; with more VMs the fraction shrinks, since each gets a slice less often. They also
    /// stop when a VM that was promised more than an even slice has less than `share_least` of the
    /// gaps that windows would leave it.
    pub part_free: f64,
    /// How long VMs share until their demand is measured again. It doubles, up to `share_most`, each
    /// time that they continue to share within `measure_limit`.
    pub share_for: Nanos,
    /// The upper limit of `share_for`.
    pub share_most: Nanos,
    /// If a measurement took longer than this, `share_for` starts over.
    pub measure_limit: Nanos,
    /// The shortest time after failed sharing until it's tried again.
    pub apart_least: Nanos,
    /// The longest time after repeatedly failed sharing until it's tried again.
    pub apart_most: Nanos,
    /// How long before a window's end the next VM is asked to prepare.
    pub lead: Nanos,
    /// A VM that is ahead of its share by more than this may not copy during others' windows.
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
