//! The scheduler's constants. `docs/design/scheduler.md` says what they are for.

use super::types::{MS, Nanos, SEC, US};

/// Times that the scheduler goes by. The default is what was measured to be good on an H200.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The shortest window.
    pub min_window: Nanos,
    /// The longest window; also the most that a capped VM saves up.
    pub max_window: Nanos,
    /// In about this time every competing VM has had its turn.
    pub period: Nanos,
    /// A drain in which nothing finishes for so long has the VM's submission opened again.
    pub no_progress: Nanos,
    /// A drain that takes longer is not waited for; of a VM with a kernel_timeout, longer than both.
    pub drain_limit: Nanos,
    /// For how long it is opened again.
    pub reopen: Nanos,
    /// How long a batch VM keeps a window that it does not use, while others wait.
    pub batch_grace: Nanos,
    /// The same for a latency VM: longer than the time between the launches of one request.
    pub latency_grace: Nanos,
    /// A batch VM that leaves no more than this part of its own time unused is granted as much: its
    /// pauses are between requests, and each would cost it the rest of its window.
    pub seldom: f64,
    /// How long a VM may take to start its first work in a window, while others wait.
    pub start_grace: Nanos,
    /// The most of that which is nobody's use: the switch between contexts, and a worker's way to its
    /// first launch. All together no more than an eighth of what the VM is charged.
    pub start_free: Nanos,
    /// The same for a VM that stands at host functions.
    pub stalled_grace: Nanos,
    /// For how long a VM that stood at host functions and could begin nothing is not tried again; it
    /// doubles, up to 8 times.
    pub rest: Nanos,
    /// Work in flight for each stream.
    pub depth: Nanos,
    /// Work in flight for each stream of a batch VM while a latency VM is awake.
    pub latency_depth: Nanos,
    /// A latency VM is awake so long after its last work.
    pub latency_awake: Nanos,
    /// GPU time by which a latency VM may be ahead of its share before it waits as a batch VM does.
    pub latency_burst: Nanos,
    /// A VM is alone when nobody else has had work for so long; at least, see `alone_most`.
    pub alone_after: Nanos,
    /// Each time that a VM was alone only briefly, `alone_after` doubles, up to this.
    pub alone_most: Nanos,
    /// A GPU on which a VM of several GPUs had no work for so long is not opened with the others,
    /// and a VM that paused for less keeps what it was owed.
    pub recent: Nanos,
    /// A guarantee that is behind by so much time goes before latency VMs.
    pub min_urgent: Nanos,
    /// The most time that a guarantee remembers.
    pub min_memory: Nanos,
    /// After a time that it used past its share, a VM waits no longer than this for what it owes.
    pub debt_limit: Nanos,
    /// How often the state of open VMs is looked at.
    pub sample: Nanos,
    /// The same of a VM that is alone.
    pub unlimited_sample: Nanos,
    /// Time that a worker was busy counts if it is told no later than this.
    pub late: Nanos,
    /// How far back it is looked at how much of its time a VM uses, in time with an open gate.
    pub load_horizon: Nanos,
    /// How much of that has to be known.
    pub load_least: Nanos,
    /// A pause between two windows that is no longer is a gap, too.
    pub longest_gap: Nanos,
    /// VMs share when each leaves at least this part of its own time unused,
    pub share_gap: f64,
    /// and even slices would give each this part of what it should get.
    pub share_least: f64,
    /// How far back it is looked at how they share, for each of them; half of it has to be known.
    pub share_round: Nanos,
    /// Two are set apart when one has no work held back for no more than this part of the time; of
    /// more, each has its slice less often. So they are when who was promised more than an even slice
    /// has less than `share_least` of the gaps that windows would leave it.
    pub part_free: f64,
    /// For how long they share before it is looked at again what they want; it doubles as long as they
    /// go on within `look_limit`, up to `share_most`.
    pub share_for: Nanos,
    /// The most of it.
    pub share_most: Nanos,
    /// A look that took longer has found something else than gaps.
    pub look_limit: Nanos,
    /// For how long at least, and at most, sharing is not tried again.
    pub apart_least: Nanos,
    /// The most of it.
    pub apart_most: Nanos,
    /// The next VM is told to prepare so long before the window's end.
    pub lead: Nanos,
    /// A VM that is ahead of its share by more does not copy beside others' windows.
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
            look_limit: SEC / 2,
            apart_least: 200 * MS,
            apart_most: 5 * SEC,
            lead: 500 * US,
            copies_ahead: 20 * MS,
        }
    }
}
