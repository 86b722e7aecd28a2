//! A held command.

use protocol::ids::{ContextId, StreamId};

use super::estimate::Kind;
use super::order::{Accesses, Resource};
use crate::reply::ReplyTo;

/// What a held command costs beside its arguments, in bytes: itself, and its places in the lanes.
pub(super) const HELD_BYTES: usize = size_of::<Held>() + 256;

/// A command that is held.
pub(super) struct Held {
    pub(super) opcode: u32,
    pub(super) thread: u32,
    pub(super) ctx: ContextId,
    pub(super) args: Vec<u8>,
    pub(super) reply: ReplyTo,
    pub(super) uses: Accesses,
    pub(super) ends: Option<Resource>,
    pub(super) way: Needs,
}

/// What a command needs to be issued, beside its turn.
#[derive(Clone, Copy)]
pub(super) enum Needs {
    /// Nothing.
    Free,
    /// Room in the driver.
    Room,
    /// Room, and the gate of a GPU, for a call of this kind in this stream.
    Gate { device: usize, kind: Kind, ctx: ContextId, stream: StreamId },
}
