//! The part of NVML that the broker uses, as traits and their types.

/// Device memory that a process uses on one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessMemory {
    /// The pid in the driver's pid namespace. If the broker is in another one, no worker matches.
    pub(crate) pid: u32,
    pub(crate) bytes: u64,
}

/// The memory in use on one GPU at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemorySample {
    /// Bytes that all processes use together, without the driver's own reserve.
    pub(crate) used: u64,
    /// The processes that have a context on the GPU. A process can be listed several times.
    pub(crate) processes: Vec<ProcessMemory>,
}

impl MemorySample {
    /// Bytes that a process uses; `None` if the driver does not list the process.
    pub(crate) fn process_bytes(&self, pid: u32) -> Option<u64> {
        let listed = self.processes.iter().filter(|process| process.pid == pid);
        listed.map(|process| process.bytes).reduce(u64::saturating_add)
    }
}

/// The kind of a GPU's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// A critical error, with NVIDIA's number.
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

/// A GPU's fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The GPU's UUID; `None` if NVML does not report which GPU it is.
    pub(crate) uuid: Option<String>,
    pub(crate) kind: FaultKind,
}

/// Why a query of NVML failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NvmlError {
    /// The library is missing, or its initialization failed.
    #[error("NVML is unavailable: {0}")]
    Unavailable(String),
    /// The library returned an error.
    #[error("NVML cannot read {what}: {reason}")]
    Query {
        /// The object of the query.
        what: &'static str,
        /// The library's message.
        reason: String,
    },
    /// The driver can't reach the GPU any more.
    #[error("GPU {0} is lost")]
    Lost(String),
}

/// NVML's queries.
pub(crate) trait Nvml: Send + Sync {
    /// The UUIDs of all GPUs, each followed by those of its MIG slices, in the form that
    /// CUDA_VISIBLE_DEVICES takes: `GPU-…`, `MIG-…`.
    fn uuids(&self) -> Result<Vec<String>, NvmlError>;

    /// The memory in use on one GPU or slice now. May take some milliseconds.
    fn sample(&self, uuid: &str) -> Result<MemorySample, NvmlError>;

    /// Subscribes to the faults of all GPUs from now on.
    fn faults(&self) -> Result<Box<dyn FaultSource>, NvmlError>;
}

/// A subscription to GPU faults.
pub(crate) trait FaultSource: Send {
    /// Waits for the next fault, for at most a second. `None` if there was no fault in that time.
    fn next(&mut self) -> Result<Option<Fault>, NvmlError>;
}
