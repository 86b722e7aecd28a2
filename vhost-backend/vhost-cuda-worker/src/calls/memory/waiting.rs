//! Pending frees, and allocations that wait for memory.

use std::collections::VecDeque;

use cuda_api::sys::CUevent;
use protocol::ids::{ContextId, StreamId};

use super::plan::Freeing;
use crate::calls::charges::{ChargedReply, kind};
use crate::calls::driver_handle::DriverHandle;

/// A free that its stream hasn't reached yet.
pub(super) struct AsyncFree {
    pub(super) freeing: Freeing,
    pub(super) stream: StreamId,
    pub(super) thread: u32,
    pub(super) event: DriverHandle<CUevent>,
    /// The context of the stream and of the event.
    pub(super) ctx: ContextId,
}

/// An allocation that failed for lack of memory while other memory was being freed.
pub(super) struct Retry {
    pub(super) bytes: usize,
    pub(super) thread: u32,
    pub(super) ctx: ContextId,
    pub(super) reply: ChargedReply<kind::Memory>,
}

/// Allocations waiting to be retried once.
#[derive(Default)]
pub(in super::super) struct Retries {
    pub(super) list: VecDeque<Retry>,
}

/// Frees that their streams haven't reached yet, oldest first.
#[derive(Default)]
pub(in super::super) struct AsyncFrees {
    pub(super) list: VecDeque<AsyncFree>,
}
