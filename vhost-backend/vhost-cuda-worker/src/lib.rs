//! The worker: a process that executes one session and is never reused.
//!
//! | module | contents |
//! |---|---|
//! | `serve`, `error`, `end` | a worker's life, its error, and its end |
//! | `executor` | the interface that the CUDA side implements |
//! | `reply` | delivers replies |
//! | `region` | guest memory, mapped into this process |
//! | `mirror` | threads for calls that block |
//! | `ledger` | the VM's account of device memory |
//! | `waker` | waking the ring reader |
//! | `reader` | the ring reader's loop |
//! | `control` | messages from the device process |
//! | `isolate` | the worker's own namespaces |
//! | `filter` | system calls that the worker may not make |
//! | `probe` | testing a driver library |
//! | `driver` | the driver library: dlopen, one symbol at a time |
//! | `calls` | handle tables and the body of each call |
//!
//! A worker parses what a guest sends, so it is trusted no more than the guest: it has access to
//! nothing that the VM may not have.

pub mod calls;
mod control;
pub mod driver;
mod end;
mod error;
pub mod executor;
mod filter;
mod isolate;
pub mod ledger;
pub mod mirror;
mod probe;
mod reader;
pub mod region;
pub mod reply;
mod serve;
pub mod waker;

pub use error::WorkerError;
pub use probe::probe;
pub use serve::run;
