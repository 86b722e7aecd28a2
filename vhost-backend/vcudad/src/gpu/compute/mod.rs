//! The scheduler thread. It reads the workers' gate pages, asks [`gpu_scheduler`] which VM may use
//! each GPU, and opens and closes the gates in the pages.
//!
//! | module | contents |
//! |---|---|
//! | `handle` | starts the thread and exchanges messages with it |
//! | `message`, `shared` | commands and events; the state that the service and the thread share |
//! | `registry` | the existing VMs and workers, kept outside the thread |
//! | `evictor` | takes kernels off GPUs, on threads of its own |
//! | `worker` | one worker's page, bell and heartbeat |
//! | `core` | one round: reports to the scheduler, actions from it |
//! | `promptness` | how promptly these threads run |
//! | `wait_reason` | the reasons for which VMs wait, for operators |
//! | `thread` | the loop: bells, deadlines, polling |
//!
//! One thread handles all GPUs. If it panics, all gates are closed, and the thread is restarted
//! with the existing VMs and workers. docs/design/gate.md describes how the pages are used.

mod core;
mod evictor;
mod handle;
mod message;
mod promptness;
mod registry;
mod shared;
#[cfg(test)]
mod tests;
mod thread;
mod wait_reason;
mod worker;

pub(crate) use evictor::Eviction;
pub(crate) use handle::ComputeHandle;
pub(crate) use message::ComputeEvent;
pub(crate) use wait_reason::{wait_reason, waits_for_vm};
pub(crate) use worker::{Evicts, WorkerObjects, WorkerTraits};
