//! The worker is a process that executes the calls of one session and then exits.
//!
//! | module | contents |
//! |---|---|
//! | `serve`, `error`, `end` | the worker's main function, its errors, and exiting |
//! | `executor` | the interface between the transport and the CUDA calls |
//! | `reply` | sending replies to the guest |
//! | `region` | guest memory, mapped into this process |
//! | `truncated` | accesses to files that were made smaller while they are mapped |
//! | `mirror` | threads for calls that block |
//! | `gate_end` | access to the memory shared with the scheduler |
//! | `ledger` | the VM's account of device memory |
//! | `exchange` | sharing memory and events with other sessions of the VM |
//! | `waker` | waking the thread that reads the ring |
//! | `reader` | the thread that reads commands from the ring |
//! | `control` | messages from the device process |
//! | `isolate` | moving the worker into the jail |
//! | `probe` | testing a driver library before any VM uses it |
//! | `eviction` | testing whether kernels can be taken off a GPU |
//! | `timeslices` | the time slices of this worker's kernels |
//! | `driver` | loading the driver library, and the functions that the worker calls |
//! | `calls` | the CUDA calls and their state |
//!
//! A worker parses data from a guest, and the guest could compromise it. Therefore, the worker
//! isn't trusted more than the guest, and has access only to what the VM itself may access.

pub mod calls;
mod control;
pub mod driver;
mod end;
mod error;
mod eviction;
pub mod exchange;
pub mod executor;
pub mod gate_end;
mod isolate;
pub mod ledger;
pub mod mirror;
mod probe;
mod reader;
pub mod region;
pub mod reply;
mod serve;
mod spin;
mod timeslices;
mod truncated;
pub mod waker;

pub use error::WorkerError;
pub use executor::Prepare;
pub use isolate::Jail;
pub use probe::probe;
pub use serve::run;
