//! The part of NVML that the broker uses, as traits and data types.

use host_ipc::gpu::PcieLinks;

/// The device memory that one process uses on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessMemory {
    /// The process ID in the driver's pid namespace. If the broker runs in a different one, this ID
    /// matches none of its workers.
    pub(crate) pid: u32,
    pub(crate) bytes: u64,
}

/// The memory in use on a GPU when the sample was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemorySample {
    /// Bytes used by all processes together, not counting the driver's own reserve.
    pub(crate) used: u64,
    /// The processes with a context on the GPU. The same process can be listed several times.
    pub(crate) processes: Vec<ProcessMemory>,
}

impl MemorySample {
    /// Returns the bytes that a process uses, or `None` if the driver doesn't list the process.
    pub(crate) fn process_bytes(&self, pid: u32) -> Option<u64> {
        let listed = self.processes.iter().filter(|process| process.pid == pid);
        listed.map(|process| process.bytes).reduce(u64::saturating_add)
    }
}

/// The kind of a GPU fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// A critical error, with the number that NVIDIA assigned to that error (Xid).
    Xid(u64),
    /// A memory error that the hardware could not correct.
    Ecc,
    /// The driver can't reach the GPU any more.
    Lost,
}

impl std::fmt::Display for FaultKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Xid(number) => write!(f, "Xid {number}"),
            Self::Ecc => write!(f, "an uncorrectable memory error"),
            Self::Lost => write!(f, "the GPU is lost"),
        }
    }
}

/// A GPU fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// UUID of the GPU. `None` if NVML doesn't report which GPU has the fault.
    pub(crate) uuid: Option<String>,
    pub(crate) kind: FaultKind,
}

/// The reason why an NVML query failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NvmlError {
    /// The library is missing, or its initialization failed.
    #[error("NVML is unavailable: {0}")]
    Unavailable(String),
    /// The library returned an error.
    #[error("NVML cannot read {what}: {reason}")]
    Query {
        /// The property that was queried.
        what: &'static str,
        /// The library's error message.
        reason: String,
    },
    /// The driver can't reach the GPU with this UUID any more.
    #[error("GPU {0} is lost")]
    Lost(String),
}

/// Queries to NVML.
pub(crate) trait Nvml: Send + Sync {
    /// Returns the UUIDs of all GPUs. Each GPU is followed by its MIG slices. The format is that of
    /// CUDA_VISIBLE_DEVICES: `GPU-…` or `MIG-…`.
    fn uuids(&self) -> Result<Vec<String>, NvmlError>;

    /// Returns the memory in use on a GPU or MIG slice. This may take a few milliseconds.
    fn sample(&self, uuid: &str) -> Result<MemorySample, NvmlError>;

    /// Returns a GPU's PCIe links. Values that NVML doesn't report are 0.
    fn links(&self, uuid: &str) -> PcieLinks;

    /// Subscribes to future faults of all GPUs.
    fn faults(&self) -> Result<Box<dyn FaultSource>, NvmlError>;
}

/// A subscription to GPU faults.
pub(crate) trait FaultSource: Send {
    /// Waits up to a second for the next fault. Returns `None` if there was no fault in that time.
    fn next(&mut self) -> Result<Option<Fault>, NvmlError>;
}
