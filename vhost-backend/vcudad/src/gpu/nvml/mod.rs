//! Access to the host's NVML, which lists the GPUs and reports each process's device memory and GPU
//! time, and GPU faults.
//!
//! | module | contents |
//! |---|---|
//! | `types` | the traits, samples, faults, and errors |
//! | `library` | the traits' implementation by NVIDIA's library, loaded at run time |
//! | `monitor` | the threads that query it |
//!
//! Tests implement the traits without NVML. If a host has no NVML, the ledger isn't audited.

mod library;
mod monitor;
mod types;

pub(crate) use library::open;
pub(crate) use monitor::{INTERVAL, NvmlEvent, NvmlMonitor};
pub(crate) use types::{Fault, FaultKind, MemorySample, TimeSample};
#[cfg(test)]
pub(crate) use types::{FaultSource, NvmlError, ProcessMemory};
