//! The host's NVML: which GPUs there are, how much memory each process uses, and GPU faults.
//!
//! | module | contents |
//! |---|---|
//! | `types` | the traits, samples, faults, and errors |
//! | `library` | the traits' implementation by NVIDIA's library, loaded at run time |
//! | `monitor` | the threads that query it |
//!
//! Tests implement the traits themselves. Without NVML, the ledger is kept but not audited.

mod library;
mod monitor;
mod types;

pub(crate) use library::open;
pub(crate) use monitor::{INTERVAL, NvmlEvent, NvmlMonitor};
pub(crate) use types::{Fault, FaultKind, MemorySample};
#[cfg(test)]
pub(crate) use types::{FaultSource, NvmlError, ProcessMemory};
