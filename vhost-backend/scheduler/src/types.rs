//! The scheduler's inputs and outputs.

/// Nanoseconds: a time on the caller's clock, or a duration.
pub type Nanos = u64;

/// A microsecond.
pub const US: Nanos = 1_000;
/// A millisecond.
pub const MS: Nanos = 1_000_000;
/// A second.
pub const SEC: Nanos = 1_000_000_000;

/// Identifies a VM. Keys are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VmKey(pub u64);

/// Identifies a GPU, or a MIG slice that is scheduled separately. A VM's gates are opened in key
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuKey(pub u32);

/// The scheduling class of a VM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// For throughput: the VM waits for its window.
    #[default]
    Batch,
    /// For short response times: while the VM is within its share, it gets the GPU as soon as the
    /// current VM's work in flight has finished.
    Latency,
}

/// 100% in basis points.
pub const WHOLE: u32 = 10_000;

/// A VM's promised share of one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Weight, 1 to 10000. GPU time that several VMs compete for is split in proportion to their
    /// weights.
    pub weight: u32,
    /// Cap in basis points, 100 to 10000. 10000 means no cap.
    pub max: u32,
    /// Guarantee in basis points. 0 means no guarantee.
    pub min: u32,
    /// Scheduling class.
    pub class: Class,
    /// Time limit for a single call, if there is one.
    pub kernel_timeout: Option<Nanos>,
}

impl Default for Share {
    fn default() -> Self {
        Share { weight: 100, max: WHOLE, min: 0, class: Class::Batch, kernel_timeout: None }
    }
}

impl Share {
    /// Returns true if the VM's GPU time is limited even on an otherwise idle GPU.
    pub fn capped(&self) -> bool {
        self.max < WHOLE
    }

    /// Returns a copy with every value clamped to its range, so that arithmetic on it can't fail.
    #[must_use]
    pub fn clamped(self) -> Self {
        Share {
            weight: self.weight.clamp(1, 10_000),
            max: self.max.clamp(100, WHOLE),
            min: self.min.min(WHOLE),
            ..self
        }
    }
}

/// The combined state of a VM's sessions on one GPU, as reported by its workers. It isn't trusted:
/// wrong values can harm only the VM that reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// True if some work is held back at the gate.
    pub held: bool,
    /// True if work may be in flight, other than the copies in `copying`.
    pub active: bool,
    /// True if all work in flight is waiting for host functions in the guest.
    pub stalled: bool,
    /// Calls finished since the VM was added. May wrap.
    pub finished: u64,
    /// Total time during which work was in flight and not stalled, in ns.
    pub busy_ns: u64,
    /// Total time from the submission of work to an idle GPU until the worker's next check, in ns.
    /// It's charged, but it isn't used to detect gaps, because it includes the launch itself.
    pub begun_ns: u64,
    /// True if copies are in flight while the gate is closed. They don't count as `active`.
    pub copying: bool,
    /// Total time during which copies but no other work were in flight while the gate was closed,
    /// in ns.
    pub copied_ns: u64,
    /// How long the oldest unfinished call has been running. 0 if no call is running.
    pub oldest_for: Nanos,
    /// The time by which the worker expects the work in flight to have finished, or 0 if it doesn't
    /// know.
    pub ends_at: Nanos,
    /// True if all work in flight can be evicted.
    pub evictable: bool,
    /// Number of sessions with work in flight.
    pub sessions: u32,
    /// True if a session is creating or destroying a context, which keeps the driver busy.
    pub contexts: bool,
    /// How often sessions have begun to create or destroy a context since the VM was added. May
    /// wrap.
    pub contexts_begun: u64,
}

/// The mode of an open gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// The VM has the GPU to itself. `depth` limits its work in flight.
    Window,
    /// The gates of several VMs are open, and the driver time-slices between them.
    Shared,
    /// No other VM wants the GPU, and this VM has no cap. Its work in flight is unlimited.
    Unlimited,
}

/// An action that the caller must carry out for a VM on a GPU. Actions must be carried out in
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    pub vm: VmKey,
    pub gpu: GpuKey,
    pub kind: ActionKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// The VM is probably next. Its workers must wake up and poll, but not start work yet.
    Prepare,
    /// The VM has no turn, but may begin work, because it would get a turn at once. When it begins
    /// work, it must be reported at once. `depth` is as in `Open`.
    StandBy { depth: Nanos },
    /// The VM may submit work. If its gate is already open, this changes the mode, the end, and the
    /// depth. `until` is the time by which the GPU must have drained, or [`Nanos::MAX`] if no end
    /// is known. `depth` is the limit on work in flight per stream, as GPU time.
    Open { mode: OpenMode, until: Nanos, depth: Nanos },
    /// The VM must stop submitting work. A report read after this action was carried out shows
    /// whether the VM has drained.
    Close,
    /// Takes the VM's kernels off the GPU, even in the middle of a kernel. The VM's gate is closed.
    /// Other VMs' gates may be opened without waiting for this.
    Evict,
    /// Lets the VM's kernels continue after [`ActionKind::Evict`]. It comes before the VM's gate is
    /// opened.
    Restore,
    /// Changes the limit on copies between host and device that may be in flight per stream while
    /// the VM's gate is closed, as copy time. 0 allows no copies. Doesn't open or close the gate.
    Copies { depth: Nanos },
    /// Gives the VM's kernels short time slices, or the driver's usual ones. Time slices matter
    /// when the driver lets kernels of several VMs run in turn. At first, a VM's kernels have the
    /// usual ones.
    Slices { short: bool },
    /// A call has run longer than kernel_timeout. The caller must end the sessions whose oldest
    /// call has run that long, not counting `off_for`, for which the VM was off the GPU.
    Timeout { off_for: Nanos },
}

/// The reasons for which a VM doesn't run, in the order in which they're checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The operator paused the VM.
    Paused,
    /// The VM needs no turn, or has one.
    Idle,
    /// All of the VM's work in flight waits for the host, and its last turn showed that its held
    /// work does, too.
    Rests,
    /// The VM has used up the time that its cap allows.
    Cap,
    /// The VM named here, which may be the waiting one, creates or destroys a context while a
    /// latency VM is awake.
    Contexts(VmKey),
    /// The VM's turn is ending, perhaps on other GPUs. It queues for all of its GPUs afterwards.
    Drains,
    /// The waiting VM needs a GPU that is reserved for the VM named here. That can be another GPU
    /// that the waiting VM needs at the same time. `None` if the GPU isn't reserved, so that the
    /// waiting VM must reserve it first.
    Reserved(Option<VmKey>),
    /// The VM named here has a turn.
    Turn(VmKey),
}
