//! The seam between the worker's machinery and CUDA.
//!
//! The machinery (this folder) reads the ring and the plain way, copies each command out, checks
//! what the protocol demands, and hands it to an [`Executor`] together with a [`ReplyTo`]. The
//! executor (`calls/`, over `driver/`) decodes the arguments and calls the driver API.
//!
//! Rules for an executor:
//! - [`Executor::execute`] runs on the ring reader's thread and must not block. What may block
//!   goes to [`Mirrors::run`], with the [`ReplyTo`] moved into the job; what waits for the GPU is
//!   kept in a list with its [`ReplyTo`], looked at in [`Executor::poll`].
//! - Every command's [`ReplyTo`] is finished exactly once, from any thread. One that is dropped
//!   answers CUDA_ERROR_UNKNOWN, so that no guest waits for ever. For a posted command finishing
//!   records the error, if it is one, and writes no reply.
//! - A bad opcode, handle or argument is answered with a CUresult; nothing that a guest puts into
//!   a command's arguments may end the worker.
//! - Guest memory is reached only through [`Regions`]; whoever uses a
//!   region's pages holds its `Arc`, and the pages stay mapped until the last one is dropped.

use std::sync::Arc;
use std::time::Duration;

use protocol::ids::ContextId;

use super::calls::GateEnd;
use super::ledger::Ledger;
use super::mirror::Mirrors;
use super::region::{Region, Regions};
use super::reply::ReplyTo;
use super::waker::Waker;

/// One command, copied out of guest memory.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// Number in the API table.
    pub opcode: u32,
    /// The guest thread.
    pub thread: u32,
    /// The thread's current context, as the guest names it; 0 for none.
    pub ctx: ContextId,
    /// The arguments, a multiple of 8 bytes.
    pub args: &'a [u8],
}

/// When [`Executor::poll`] wants to be called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// Nothing is waited for: call after the next command or [`Waker::wake`].
    Nothing,
    /// Something will end very soon: call again without sleeping.
    Soon,
    /// Something is waited for: sleep no longer than this.
    Within(Duration),
}

/// Executes the commands of one session.
pub trait Executor {
    /// Executes one command, or passes it on; see the rules above.
    fn execute(&mut self, command: &Command<'_>, reply: ReplyTo);

    /// Looks at what is waited for. Called between commands, after a [`Waker::wake`], and as the
    /// last answer asked for.
    fn poll(&mut self) -> Pending {
        Pending::Nothing
    }

    /// The token of the next host function that a stream has come to, for the guest to run. Not
    /// asked for while the guest runs one.
    fn next_host_func(&mut self) -> Option<u64> {
        None
    }

    /// The guest has run the host function that was asked for last.
    fn host_func_ended(&mut self) {}

    /// Whether so many commands are held that no more are to be taken for now.
    fn is_full(&self) -> bool {
        false
    }

    /// The CUresult that every call is answered with from now on, since the session ends; 0 for
    /// none.
    fn verdict(&self) -> u32 {
        0
    }

    /// The guest's driver attached a region; it is in [`Session::regions`] already. `arena`: where
    /// the arena of a RING region starts in it.
    fn region_attached(&mut self, _region: &Arc<Region>, _arena: usize) {}

    /// The guest's driver wants a region's pages back; it is no longer in [`Session::regions`].
    /// The pages are unmapped, and the guest is told, when the last `Arc` is dropped: undo what
    /// was registered with the GPU, wait for what still uses the pages, then drop.
    fn region_detaching(&mut self, _region: Arc<Region>) {}
}

/// A driver library that is loaded, initialised and has its primary context: a warm worker's.
pub trait Engine: Send {
    /// Gives it to a session. Called once, after the worker has taken the VM's identity.
    fn begin(self: Box<Self>, session: Session) -> Result<Box<dyn Executor>, EngineError>;
}

/// Why a driver library could not be made ready.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// dlopen refused.
    #[error("cannot load the driver library {path}: {reason}")]
    Load {
        /// The library.
        path: String,
        /// The loader's words.
        reason: String,
    },
    /// A call of the driver API that the worker can't do without failed.
    #[error("{call} of {path} failed with CUresult {result}")]
    Call {
        /// The library.
        path: String,
        /// The entry point.
        call: &'static str,
        /// The CUresult.
        result: u32,
    },
    /// An entry point that the worker can't do without is missing.
    #[error("the driver library {path} has no {symbol}")]
    Missing {
        /// The library.
        path: String,
        /// The symbol.
        symbol: &'static str,
    },
    /// Kernels could read and write all that this process has.
    #[error(
        "with the driver library {path} kernels reach all memory of their process (HMM): they could \
         read what is the host's; allow_pageable_memory_access in the configuration, or \
         --allow-pageable-memory-access, serves guests all the same"
    )]
    ReachesHostMemory {
        /// The library.
        path: String,
    },
    /// The window for device memory is taken.
    #[error("the driver library {path} reserves addresses at {at:#x} instead of the window's")]
    Window {
        /// The library.
        path: String,
        /// Where the driver would have it.
        at: u64,
    },
    /// The VM's memory.max has no room for the context.
    #[error("memory.max has no room for the session's context of {bytes} bytes")]
    NoRoom {
        /// What the context takes.
        bytes: u64,
    },
}

/// What an executor gets to work with. All of it is `Send` and can be cloned into jobs.
#[derive(Clone)]
pub struct Session {
    /// VM and session, for log lines.
    pub label: String,
    /// The guest process, for log lines.
    pub pid: u32,
    /// The environment that came with the session, as far as the host allows it.
    pub env: Vec<(String, String)>,
    /// The VM's account of device memory.
    pub ledger: Ledger,
    /// By device: what a context takes, in bytes; past the end it is not known.
    pub context_bytes: Arc<[u64]>,
    /// The context that the worker has had since it was warm is charged. Else it is to be ended,
    /// since there is no room for it.
    pub context_charged: bool,
    /// The guest memory that the session has attached.
    pub regions: Regions,
    /// Threads for calls that block.
    pub mirrors: Mirrors,
    /// Makes the ring reader call [`Executor::poll`].
    pub waker: Waker,
    /// The scheduler's word.
    pub gate: GateEnd,
}

impl Session {
    /// What a context takes on a device, in bytes; 0 where it is not known.
    pub fn context_bytes(&self, device: i32) -> u64 {
        self.context_bytes.get(device as usize).copied().unwrap_or(0)
    }
}
