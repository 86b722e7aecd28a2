//! What the host's NVML says of the GPUs: which there are, what each process holds, what fails.
//!
//! | module | what |
//! |---|---|
//! | `nvml` | NVIDIA's library, loaded at run time |
//! | `compare` | what it says against the ledger |
//! | `watch` | the threads that ask it |
//!
//! The library is asked through traits, so that tests can stand in for it. Without one the ledger
//! is kept all the same, and nothing is compared.

pub mod compare;
mod nvml;
pub mod watch;

pub use nvml::open;

/// What a process holds on one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// As the driver sees it: a broker in a pid namespace of its own may not find its workers.
    pub pid: u32,
    /// Bytes.
    pub bytes: u64,
}

/// One reading of one GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Bytes in use by all, without what the driver keeps for itself.
    pub used: u64,
    /// The processes with a context there, with what each holds.
    pub processes: Vec<Held>,
}

impl Reading {
    /// What a process holds; `None` if the driver does not list it.
    pub fn of(&self, pid: u32) -> Option<u64> {
        let mut held = self.processes.iter().filter(|held| held.pid == pid).map(|held| held.bytes);
        held.next().map(|first| held.fold(first, u64::saturating_add))
    }
}

/// What went wrong with a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A critical error, by NVIDIA's number.
    Xid(u64),
    /// Memory errors that the hardware could not correct.
    Ecc,
    /// It can't be reached any more.
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

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The GPU's UUID; `None` where NVML does not say which.
    pub uuid: Option<String>,
    /// What happened.
    pub kind: FaultKind,
}

/// Why the library gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WitnessError {
    /// There is none, or it does not start.
    #[error("NVML is unavailable: {0}")]
    Absent(String),
    /// It refused.
    #[error("NVML cannot read {what}: {reason}")]
    Refused {
        /// The question.
        what: &'static str,
        /// Its reason.
        reason: String,
    },
    /// The GPU is gone.
    #[error("GPU {0} is lost")]
    Lost(String),
}

/// Who knows what is taken on the GPUs.
pub trait Witness: Send + Sync {
    /// What GPUs there are, each followed by its slices, as CUDA_VISIBLE_DEVICES takes them: `GPU-…`,
    /// `MIG-…`.
    fn uuids(&self) -> Result<Vec<String>, WitnessError>;

    /// What is taken on one of them now. May take some milliseconds.
    fn read(&self, uuid: &str) -> Result<Reading, WitnessError>;

    /// Faults of the GPUs from now on.
    fn faults(&self) -> Result<Box<dyn Faults>, WitnessError>;
}

/// Where faults come from.
pub trait Faults: Send {
    /// The next one; `None` if none came for a while (a second at most).
    fn next(&mut self) -> Result<Option<Fault>, WitnessError>;
}
