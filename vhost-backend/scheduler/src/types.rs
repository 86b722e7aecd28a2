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

/// Identifies a GPU, or a MIG slice that is scheduled separately. A VM's GPUs open in key order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuKey(pub u32);

/// How urgent a VM's work is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// Optimized for throughput.
    #[default]
    Batch,
    /// Takes the GPU at the next boundary when it has work, within its share.
    Latency,
}

/// 100% in basis points.
pub const WHOLE: u32 = 10_000;

/// The share of one GPU that a VM was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// 1 to 10000; the time that VMs compete for is split in this proportion.
    pub weight: u32,
    /// The cap, in basis points: 100 to 10000, where 10000 is none.
    pub max: u32,
    /// The guarantee, in basis points; 0 is none.
    pub min: u32,
    /// How urgent the work is.
    pub class: Class,
    /// The time limit of a call.
    pub kernel_timeout: Option<Nanos>,
}

impl Default for Share {
    fn default() -> Self {
        Share { weight: 100, max: WHOLE, min: 0, class: Class::Batch, kernel_timeout: None }
    }
}

impl Share {
    /// Whether the VM's time is bounded even on an idle GPU.
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

/// The combined report of a VM's sessions on one GPU. It isn't trusted: wrong values can only hurt
/// the VM's own account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Work waits in a worker.
    pub held: bool,
    /// Work may be in flight.
    pub active: bool,
    /// All work in flight waits for a host function or a value.
    pub stalled: bool,
    /// Calls finished since the VM began; may wrap.
    pub finished: u64,
    /// Total time with work in flight that wasn't stalled.
    pub busy_ns: u64,
    /// Total time from the start of work on an idle GPU until the worker noticed it. It's charged, but
    /// isn't used to detect gaps, because it includes the launch itself.
    pub begun_ns: u64,
    /// Copies are in flight while the gate is closed. They don't count as `active`.
    pub copying: bool,
    /// Total time with copies in flight and no other work, while the gate was closed.
    pub copied_ns: u64,
    /// How long the oldest call has been running; 0 if none is running.
    pub oldest_for: Nanos,
}

/// The mode of an open gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// The VM has the GPU to itself; its work in flight is limited by `depth`.
    Window,
    /// Several VMs are open, and the driver slices between them.
    Shared,
    /// No other VM wants the GPU and this VM has no cap: its work in flight isn't limited.
    Unlimited,
}

/// An action for the caller. Actions must be carried out in the order given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The VM is probably next: its workers wake up and poll, but don't start work yet.
    Prepare {
        /// The VM.
        vm: VmKey,
        /// The GPU.
        gpu: GpuKey,
    },
    /// The VM may submit work. For a gate that is already open, this changes mode, end and depth.
    Open {
        /// The VM.
        vm: VmKey,
        /// The GPU.
        gpu: GpuKey,
        /// The mode.
        mode: OpenMode,
        /// The time by which the GPU must have drained, or [`Nanos::MAX`] if no end is known.
        until: Nanos,
        /// The limit on each stream's work in flight, as GPU time.
        depth: Nanos,
    },
    /// The VM must stop submitting. A report read after this was carried out shows whether the VM has
    /// drained.
    Close {
        /// The VM.
        vm: VmKey,
        /// The GPU.
        gpu: GpuKey,
    },
    /// Sets how many copies between host and device the VM may have in flight while its gate is
    /// closed. The gate's state doesn't change.
    Copies {
        /// The VM.
        vm: VmKey,
        /// The GPU.
        gpu: GpuKey,
        /// The limit for each stream, as copy time; 0 allows no copies.
        depth: Nanos,
    },
    /// A call ran longer than kernel_timeout: end the sessions whose oldest call is that old.
    Timeout {
        /// The VM.
        vm: VmKey,
        /// The GPU.
        gpu: GpuKey,
    },
}
