//! The worker: one process that executes one session, and is never used again.
//!
//! | module | what |
//! |---|---|
//! | `serve`, `error`, `end` | a worker's life, its error, and its end |
//! | `executor` | the seam: what CUDA's side implements |
//! | `reply` | where answers go |
//! | `region` | guest memory, mapped here |
//! | `mirror` | threads for calls that block |
//! | `ledger` | the VM's account of device memory |
//! | `waker` | waking the ring reader |
//! | `reader` | the ring reader's loop |
//! | `control` | messages of the device process |
//! | `isolate` | namespaces of its own |
//! | `filter` | system calls that it is refused |
//! | `probe` | trying a driver library |
//! | `driver` | the driver library: dlopen, one symbol at a time |
//! | `calls` | handle tables and the body of each call |
//!
//! A worker parses what a guest sends, so it counts as the guest's: it holds nothing that the VM
//! may not have.

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
