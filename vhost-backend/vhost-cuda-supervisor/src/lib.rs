//! The supervisor of workers.
//!
//! Workers' filters refuse system calls that aren't on a list. Such a call waits for this process,
//! which counts it, logs it, and refuses it.
//!
//! Some control operations of NVIDIA's kernel driver aren't restricted to the caller's own objects,
//! and some kinds of objects give access to other processes' objects or to more of the driver. A
//! system call filter can't recognize them, because the number of the operation or class is in
//! memory, which a filter can't read. So a worker that serves a session performs no control
//! operations, and allocates and frees no objects itself: its filter passes these system calls to
//! this process, which copies the arguments, checks them against a list, performs the operation on
//! a duplicate of the worker's descriptor, and copies the results back. The supervisor reports the
//! worker's channels, and the objects under which they are created, to the broker.
//!
//! | module | contents |
//! |---|---|
//! | `serve` | entering a jail, and a thread for each worker |
//! | `listener` | receiving and answering system calls |
//! | `caller` | a worker's memory and descriptors |
//! | `perform` | performing an operation |
//! | `controls` | the list of control operations |
//! | `allocations` | the list of classes of objects |
//! | `objects` | the objects of a worker |
//! | `totals` | limiting the objects of a VM, and of all VMs on a GPU |
//! | `refusals` | logging and counting refused calls |
//! | `limit` | limiting how much a worker can do in a second |
//! | `bytes` | reading numbers in structures |
//!
//! This process may read and write the memory of workers, so it has no other privileges: it runs in
//! a jail without devices, as its own user, with one capability.

mod allocations;
mod bytes;
mod caller;
mod controls;
mod limit;
mod listener;
mod objects;
mod perform;
mod refusals;
mod serve;
mod totals;

use std::io;

pub use serve::run;

/// The reason why the supervisor exits.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The jail can't be entered.
    #[error("cannot enter the jail: {0}")]
    Start(io::Error),
    /// The system call filter can't be installed.
    #[error("cannot install the system call filter: {0}")]
    Filter(io::Error),
    /// The socket to the broker failed.
    #[error("cannot receive messages from vcudad: {0}")]
    Broker(io::Error),
    /// The broker's message isn't valid.
    #[error("vcudad sent an unexpected message")]
    Message,
}
