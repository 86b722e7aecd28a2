//! The interface between the worker's transport and CUDA.
//!
//! The transport (this directory) receives commands from the ring and from SUBMIT requests, copies
//! each command out of guest memory, checks it against the protocol, and passes it to an
//! [`Executor`] together with a [`ReplyTo`]. The executor (`calls/`, over `driver/`) decodes the
//! arguments and calls the driver API.
//!
//! Rules for an executor:
//! - [`Executor::execute`] runs on the ring reader's thread and must not block. Calls that may block
//!   go to [`Mirrors::run`], with the [`ReplyTo`] moved into the job. Calls that wait for the GPU
//!   are kept in a list with their [`ReplyTo`], which [`Executor::poll`] checks.
//! - Every command's [`ReplyTo`] is finished exactly once, from any thread. Dropping it replies with
//!   CUDA_ERROR_UNKNOWN, so that no guest waits forever. For a posted command, finishing records the
//!   error, if any, and writes no reply.
//! - The reply to an invalid opcode, handle or argument is a CUresult. Nothing in the arguments of a
//!   guest's command may end the worker.
//! - Guest memory is accessed only through [`Regions`]. Code that uses a region's pages holds the
//!   region's `Arc`: the pages stay mapped until the last one is dropped.

use std::sync::Arc;
use std::time::Duration;

use protocol::ids::ContextId;

use super::calls::GateEnd;
use super::ledger::Ledger;
use super::mirror::Mirrors;
use super::region::{Region, Regions};
use super::reply::ReplyTo;
use super::waker::Waker;

/// A command that was copied out of guest memory.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// The call's number in the API table.
    pub opcode: u32,
    /// The number of the guest thread.
    pub thread: u32,
    /// The guest's id of the thread's current context, or 0 for none.
    pub ctx: ContextId,
    /// The encoded arguments. Their length is a multiple of 8.
    pub args: &'a [u8],
}

/// When [`Executor::poll`] must be called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// Nothing is outstanding: call it after the next command or [`Waker::wake`].
    Nothing,
    /// Something will complete very soon: call it again without sleeping.
    Soon,
    /// Something is outstanding: sleep at most this long.
    Within(Duration),
}

/// Executes the commands of one session.
pub trait Executor {
    /// Executes a command, or starts executing it, by the rules above.
    fn execute(&mut self, command: &Command<'_>, reply: ReplyTo);

    /// Checks all outstanding work. The reader calls this between commands, after [`Waker::wake`],
    /// and at the time given by the last returned [`Pending`].
    fn poll(&mut self) -> Pending {
        Pending::Nothing
    }

    /// Returns the token of the next host function for the guest to run. The reader doesn't call
    /// this while the guest is running one.
    fn next_host_func(&mut self) -> Option<u64> {
        None
    }

    /// Called when the guest has finished the host function that `next_host_func` returned last.
    fn host_func_ended(&mut self) {}

    /// Returns whether so many commands are held that the reader must stop taking more.
    fn is_full(&self) -> bool {
        false
    }

    /// Returns the error for all further calls if the scheduler has ended the session, or else 0.
    fn verdict(&self) -> u32 {
        0
    }

    /// Called when the guest's driver has attached a region, which is already in
    /// [`Session::regions`]. For a RING region, `arena` is the offset of the arena in the region.
    fn region_attached(&mut self, _region: &Arc<Region>, _arena: usize) {}

    /// Called when the guest's driver wants a region's pages back; the region is no longer in
    /// [`Session::regions`]. When the last `Arc` is dropped, the pages are unmapped, and the
    /// guest's request completes. The executor must first unregister the pages from the GPU and
    /// wait for everything that still uses them.
    fn region_detaching(&mut self, _region: Arc<Region>) {}
}

/// The driver library in a warm worker: loaded, initialized, and with a primary context.
pub trait Engine: Send {
    /// Starts a session with the library. Called once, after the worker has switched to the VM's
    /// user.
    fn begin(self: Box<Self>, session: Session) -> Result<Box<dyn Executor>, EngineError>;
}

/// An error in preparing a driver library.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// dlopen failed.
    #[error("cannot load the driver library {path}: {reason}")]
    Load {
        /// The library's path.
        path: String,
        /// The error message of the dynamic loader.
        reason: String,
    },
    /// A driver call that the worker depends on failed.
    #[error("{call} of {path} failed with CUresult {result}")]
    Call {
        /// The library's path.
        path: String,
        /// The name of the entry point.
        call: &'static str,
        /// The CUresult that it returned.
        result: u32,
    },
    /// An entry point that the worker depends on is missing.
    #[error("the driver library {path} lacks {symbol}")]
    Missing {
        /// The library's path.
        path: String,
        /// The name of the entry point.
        symbol: &'static str,
    },
    /// Kernels could read and write all memory of this process.
    #[error(
        "kernels of the driver library {path} can access all memory of their process (HMM), including \
         the host's data in it. To serve guests anyway, set allow_pageable_memory_access in the \
         configuration or pass --allow-pageable-memory-access"
    )]
    ReachesHostMemory {
        /// The library's path.
        path: String,
    },
    /// The addresses of the device memory window are in use.
    #[error(
        "the addresses of the device memory window are in use: the driver library {path} reserved {at:#x}"
    )]
    Window {
        /// The library's path.
        path: String,
        /// The address of the range that the driver reserved instead.
        at: u64,
    },
    /// The context doesn't fit into the VM's memory.max.
    #[error("the session's context ({bytes} bytes) does not fit into memory.max")]
    NoRoom {
        /// The size of the context in bytes.
        bytes: u64,
    },
}

/// The resources of a session, for its executor. Clones can be moved into jobs on other threads.
#[derive(Clone)]
pub struct Session {
    /// The names of the VM and the session, for log messages.
    pub label: String,
    /// The id of the guest process, for log messages.
    pub pid: u32,
    /// The guest process's environment variables that the host allows.
    pub env: Vec<(String, String)>,
    /// The VM's account of device memory.
    pub ledger: Ledger,
    /// The size of a context in bytes, indexed by device. It is unknown for devices past the end of
    /// the list.
    pub context_bytes: Arc<[u64]>,
    /// Whether the context that the worker created before it was assigned is charged to the VM. If
    /// not, the VM's quota has no room for it, and it must be destroyed.
    pub context_charged: bool,
    /// The guest memory attached to the session.
    pub regions: Regions,
    /// Threads for calls that block.
    pub mirrors: Mirrors,
    /// Makes the ring reader call [`Executor::poll`].
    pub waker: Waker,
    /// The worker's end of the scheduler's gate.
    pub gate: GateEnd,
}

impl Session {
    /// Returns the size of a context on a device in bytes, or 0 if unknown.
    pub fn context_bytes(&self, device: i32) -> u64 {
        self.context_bytes.get(device as usize).copied().unwrap_or(0)
    }
}
