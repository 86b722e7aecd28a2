//! What the scheduler is told and what it answers.

/// Nanoseconds: a point of the caller's clock, or a length of time.
pub type Nanos = u64;

/// A microsecond.
pub const US: Nanos = 1_000;
/// A millisecond.
pub const MS: Nanos = 1_000_000;
/// A second.
pub const SEC: Nanos = 1_000_000_000;

/// A VM. A key is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VmKey(pub u64);

/// A GPU, or a slice of one that is scheduled by itself. A VM's GPUs open in the order of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuKey(pub u32);

/// How urgent a VM's work is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// Throughput counts.
    #[default]
    Batch,
    /// Takes the GPU at the next boundary when it has work, within its share.
    Latency,
}

/// A whole, in basis points.
pub const WHOLE: u32 = 10_000;

/// What a VM was promised of one GPU.
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
    /// How long a call may run.
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

    /// The same with every value in its range, so that no arithmetic on it can fail.
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

/// What a VM's sessions on one GPU say, joined. Nothing in it is trusted: it can only hurt the VM's
/// own account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Work waits in a worker.
    pub held: bool,
    /// Work may be in flight.
    pub active: bool,
    /// All that is in flight waits for a host function or a value.
    pub stalled: bool,
    /// Calls finished since the VM began; may wrap.
    pub finished: u64,
    /// Time with work in flight that did not stall, summed.
    pub busy_ns: u64,
    /// Time from the beginning of work where none was in flight until its worker looked, summed. It is
    /// charged, but tells nothing of gaps: the launch itself is in it.
    pub begun_ns: u64,
    /// Copies are in flight beside a closed gate. They are no part of `active`.
    pub copying: bool,
    /// Time with copies in flight and no other work, while the gate was closed, summed.
    pub copied_ns: u64,
    /// How long the oldest call has been running; 0 if none is.
    pub oldest_for: Nanos,
}

/// How a gate stands open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// The VM has the GPU to itself; what is in flight is bounded by `depth`.
    Window,
    /// Several VMs are open, and the driver slices between them.
    Shared,
    /// Nobody else wants the GPU, and there is no cap: no bound.
    Unlimited,
}

/// What is to be done, in the order given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The VM is probably next: its workers wake up and watch, and start nothing.
    Prepare {
        /// The VM.
        vm: VmKey,
        /// The GPU.
        gpu: GpuKey,
    },
    /// The VM may submit work. Given again to an open gate it changes mode, end and depth.
    Open {
        /// The VM.
        vm: VmKey,
        /// The GPU.
        gpu: GpuKey,
        /// How.
        mode: OpenMode,
        /// When the GPU is to have drained; [`Nanos::MAX`]: no end is known.
        until: Nanos,
        /// How much work may be in flight at once for each stream, in time.
        depth: Nanos,
    },
    /// The VM submits no more. A report that was read after this was carried out says whether it has
    /// drained.
    Close {
        /// The VM.
        vm: VmKey,
        /// The GPU.
        gpu: GpuKey,
    },
    /// What the VM may have in flight of copies between host and device while its gate is closed.
    /// How it stands otherwise does not change.
    Copies {
        /// The VM.
        vm: VmKey,
        /// The GPU.
        gpu: GpuKey,
        /// In time, for each stream; 0: nothing.
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
