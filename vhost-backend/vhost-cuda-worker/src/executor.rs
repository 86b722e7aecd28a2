//! The interface between the worker's transport and CUDA.
//!
//! The transport (this directory) receives commands from the ring and from SUBMIT requests, copies
//! each command out of guest memory, checks it against the protocol, and passes it to an
//! [`Executor`] together with a [`ReplyTo`]. The executor (`calls/`, over `driver/`) decodes the
//! arguments and calls the driver API.
//!
//! Rules for an executor:
//! - [`Executor::execute`] runs on the ring reader's thread and must not block. Calls that may
//!   block go to a mirror ([`Mirrors::seat`]), with the [`ReplyTo`] moved into the job. Calls that
//!   wait for the GPU are kept in a list with their [`ReplyTo`], which [`Executor::poll`] checks.
//! - Every command's [`ReplyTo`] is finished exactly once, from any thread. Dropping it replies
//!   with CUDA_ERROR_UNKNOWN, so that no guest waits forever. For a posted command, finishing
//!   records the error, if any, and writes no reply.
//! - The reply to an invalid opcode, handle or argument is a CUresult. Nothing in the arguments of
//!   a guest's command may end the worker.
//! - Guest memory is accessed only through [`Regions`]. Code that uses a region's pages holds the
//!   region's `Arc`, because the pages are unmapped when the last `Arc` is dropped.

use std::sync::Arc;
use std::time::Duration;

use host_ipc::exit;
use host_ipc::gate::GateMap;
use protocol::ids::ContextId;

use super::exchange::Exchange;
use super::gate_end::GateEnd;
use super::ledger::LedgerClient;
use super::mirror::Mirrors;
use super::region::{Region, Regions};
use super::reply::ReplyTo;
use super::waker::Waker;

/// A command from the guest, copied out of guest memory.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// The opcode: the call's number in the API table.
    pub opcode: u32,
    /// The guest's number for the thread that made the call.
    pub thread: u32,
    /// The guest's id of the thread's current context, or 0 for none.
    pub ctx: ContextId,
    /// The encoded arguments. Their length is a multiple of 8.
    pub args: &'a [u8],
}

/// The time at which the reader must call [`Executor::poll`] again. Earlier times compare as less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pending {
    /// Immediately, without sleeping, because outstanding work will finish very soon.
    Soon,
    /// After a few microseconds, without sleeping. Outstanding work will finish very soon, but the
    /// guest will see its end without the worker.
    Shortly,
    /// After sleeping at most this long, because work is outstanding.
    Within(Duration),
    /// No time is set, because nothing is outstanding. Poll after the next command or
    /// [`Waker::wake`].
    Nothing,
}

/// Executes the commands of one session, according to the rules in the module documentation.
pub trait Executor {
    /// Executes a command, or starts to execute it, and replies through `reply`.
    fn execute(&mut self, command: &Command<'_>, reply: ReplyTo);

    /// Checks all outstanding work. The reader calls this between commands, after [`Waker::wake`],
    /// and when the previous call's [`Pending`] requests it.
    fn poll(&mut self) -> Pending {
        Pending::Nothing
    }

    /// If work has waited for the VM's turn on a GPU since the last call of this function, returns
    /// the total time for which work has waited in the session, in ns. The reader calls this before
    /// each [`Executor::poll`].
    fn turn_ns(&mut self) -> Option<u64> {
        None
    }

    /// Returns whether the reader must neither take commands nor call [`Executor::poll`], because
    /// the session's memory is leaving the GPUs or is away. The reader calls this before each
    /// [`Executor::poll`].
    fn is_stopped(&mut self) -> bool {
        false
    }

    /// Records whether the session has commands while the executor is stopped.
    fn set_needs_memory(&mut self, _needs: bool) {}

    /// Returns the token that identifies the next host function for the guest to run, if there is
    /// one. The reader doesn't call this while the guest is running a host function.
    fn next_host_func(&mut self) -> Option<u64> {
        None
    }

    /// Records that the guest has finished the host function last returned by `next_host_func`.
    fn host_func_ended(&mut self) {}

    /// Returns whether the executor holds so many commands that the reader must stop taking
    /// commands from the ring.
    fn is_full(&self) -> bool {
        false
    }

    /// Returns the CUresult of all further calls if the scheduler has ended the session, or 0 if it
    /// hasn't.
    fn verdict(&self) -> u32 {
        0
    }

    /// Returns a function that waits, for a short time at most, until the process can exit without
    /// delaying other VMs. It must be called before the process exits, and not on the ring reader's
    /// thread.
    fn before_exit(&self) -> Box<dyn FnOnce() + Send> {
        Box::new(|| {})
    }

    /// Called after a region of guest memory was attached and added to [`Session::regions`]. For a
    /// RING region, `arena` is the offset of the arena in the region.
    fn region_attached(&mut self, _region: &Arc<Region>, _arena: usize) {}

    /// Called when the guest driver wants a region's pages back. The region is no longer in
    /// [`Session::regions`]. The executor must unregister the pages from the GPU, wait for
    /// everything that still uses them, and then drop the `Arc`. When the last `Arc` is dropped,
    /// the pages are unmapped, and the guest's request completes.
    fn region_detaching(&mut self, _region: Arc<Region>) {}
}

/// A driver library in a worker that waits for a session. The library is loaded and initialized,
/// and has a primary context.
pub trait Engine: Send {
    /// Starts a session with the library. Must be called once, after the worker has switched to the
    /// VM's user.
    fn begin(self: Box<Self>, session: Session) -> Result<Box<dyn Executor>, EngineError>;

    /// Makes the driver library's kernels obey evictions that are ordered through the gate page, if
    /// the library is softgpu.
    fn obey_evictions(&self, page: &Arc<GateMap>);
}

impl EngineError {
    /// Returns the exit status of a probe that fails with this error. The broker must be able to
    /// tell a host on which the jail isn't possible, because only there it starts workers without a
    /// jail.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Jail(_) => exit::FAILED,
            Self::NoJail(_) => exit::NO_JAIL,
            _ => exit::NO_DRIVER,
        }
    }
}

/// An error in preparing the driver library.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The probe can't enter the jail.
    #[error("cannot enter the jail: {0}")]
    Jail(std::io::Error),
    /// The host doesn't have a feature that the jail needs, or forbids its use.
    #[error("this host can't have the jail: {0}")]
    NoJail(std::io::Error),
    /// dlopen failed for the driver library.
    #[error("cannot load the driver library {path}: {reason}")]
    Load {
        /// The library's path.
        path: String,
        /// The error message of the dynamic loader.
        reason: String,
    },
    /// A driver call has failed that the worker needs to succeed.
    #[error("{call} of {path} failed with CUresult {result}")]
    Call {
        /// The library's path.
        path: String,
        /// The name of the driver function.
        call: &'static str,
        /// The CUresult of the call.
        result: u32,
    },
    /// The driver isn't a client of an MPS daemon, although it must be one.
    #[error("the driver does not use the MPS daemon; see the daemon's log")]
    WithoutMps,
    /// The driver library doesn't have a function that the worker needs.
    #[error("the driver library {path} lacks {symbol}")]
    Missing {
        /// The library's path.
        path: String,
        /// The name of the missing function.
        symbol: &'static str,
    },
    /// Kernels can access all memory of this process, and the host's configuration doesn't allow
    /// that.
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
        /// The start of the address range that the driver reserved in place of the window.
        at: u64,
    },
    /// The context doesn't fit into the VM's memory.max.
    #[error("the session's context ({bytes} bytes) does not fit into memory.max")]
    NoRoom {
        /// The size of the context in bytes.
        bytes: u64,
    },
}

/// How a worker prepares for a session.
#[derive(Clone, Copy)]
pub struct Prepare {
    /// Whether the driver must be a client of an MPS daemon.
    pub mps: bool,
    /// Whether to create a context on the first device. Without it, a session begins without memory
    /// on the GPU.
    pub context: bool,
}

/// Everything that an executor needs for a session. Clones can be moved to other threads.
#[derive(Clone)]
pub struct Session {
    /// The names of the VM and of the session, for log messages.
    pub label: String,
    /// The process id of the guest process in the guest, for log messages.
    pub pid: u32,
    /// Those environment variables of the guest process that the host passes on.
    pub env: Vec<(String, String)>,
    /// The VM's accounts of device memory, one per GPU.
    pub ledger: LedgerClient,
    /// The exchange of memory and events with other sessions of the VM.
    pub exchange: Exchange,
    /// The number of bytes of device memory that a context takes, indexed by device. For devices
    /// past the end of the list, the number is unknown.
    pub context_bytes: Arc<[u64]>,
    /// Whether the VM has been charged for the context that the worker created before it was
    /// assigned to the VM. If not, the worker must destroy the context, if it has created one.
    pub context_charged: bool,
    /// The regions of guest memory that are attached to the session.
    pub regions: Regions,
    /// The threads that run blocking calls.
    pub mirrors: Mirrors,
    /// Makes the ring reader call [`Executor::poll`].
    pub waker: Waker,
    /// The worker's access to the memory that it shares with the scheduler.
    pub gate: GateEnd,
}

impl Session {
    /// Returns the number of bytes of device memory that a context takes on this device, or 0 if
    /// it's unknown.
    pub fn context_bytes(&self, device: i32) -> u64 {
        self.context_bytes.get(device as usize).copied().unwrap_or(0)
    }
}
