//! The commands that the gate is holding back.

use std::collections::{HashMap, HashSet};

use protocol::calls as api;
use protocol::codec::Call;
use protocol::ids::{ContextId, StreamId};

use super::estimate::Kind;
use super::order::{Accesses, Book, Number, Resource};
use crate::calls::contexts::limit_calls::LimitAccess;
use crate::executor::Command;
use crate::reply::ReplyTo;

/// The memory in bytes that a held command takes in addition to its arguments: its entry in the
/// queue, and one in the lane of each resource that it uses.
const HELD_BYTES: usize = size_of::<Held>() + 256;

/// A command that the gate is holding back.
pub(in crate::calls) struct Held {
    opcode: u32,
    thread: u32,
    ctx: ContextId,
    args: Vec<u8>,
    reply: ReplyTo,
    uses: Accesses,
    ends: Option<Resource>,
    needs: Needs,
}

/// The conditions for issuing a held command that no other held command comes before.
#[derive(Clone, Copy)]
pub(super) enum Needs {
    /// No conditions.
    Nothing,
    /// The driver must have room for another command.
    Room,
    /// No other call that must be kept apart from this one may be in progress in the context.
    Limits { ctx: ContextId, access: LimitAccess },
    /// The driver must have room for another command, and the GPU's gate must let a call of this
    /// kind begin in this stream. If the call uses limits, no limit of its context may be changing.
    Gate { device: usize, kind: Kind, ctx: ContextId, stream: StreamId, uses_limits: bool },
}

impl Held {
    /// Copies a command, so that the gate can keep it.
    pub(super) fn new(
        command: &Command<'_>,
        reply: ReplyTo,
        uses: Accesses,
        ends: Option<Resource>,
        needs: Needs,
    ) -> Self {
        let Command { opcode, thread, ctx, args } = *command;
        Self { opcode, thread, ctx, args: args.to_vec(), reply, uses, ends, needs }
    }

    pub(super) fn thread(&self) -> u32 {
        self.thread
    }

    pub(super) fn ctx(&self) -> ContextId {
        self.ctx
    }

    pub(super) fn needs(&self) -> Needs {
        self.needs
    }

    /// Returns the stream or event that the command destroys, if any.
    pub(super) fn ends(&self) -> Option<Resource> {
        self.ends
    }

    /// Calls `run` with the command and its reply channel.
    pub(in crate::calls) fn run_with(self, run: impl FnOnce(&Command<'_>, ReplyTo)) {
        let Self { opcode, thread, ctx, args, reply, .. } = self;
        run(&Command { opcode, thread, ctx, args: &args }, reply);
    }

    /// Replies with this CUresult, without running the command.
    pub(super) fn fail(self, result: u32) {
        self.reply.finish(result, &[]);
    }

    fn bytes(&self) -> usize {
        self.args.len() + HELD_BYTES
    }

    fn is_free(&self) -> bool {
        self.opcode == api::CuMemFreeAsync::OPCODE
    }
}

/// The commands that the gate is holding back, in their order.
#[derive(Default)]
pub(super) struct HeldQueue {
    book: Book,
    commands: HashMap<Number, Held>,
    /// The memory that the held commands take, in bytes.
    bytes: usize,
    /// The number of held commands that free memory. That memory can't be allocated again yet.
    frees: usize,
    /// The streams and events that a held command will destroy.
    ended: HashSet<Resource>,
}

impl HeldQueue {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Returns the memory that the held commands take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether any held command is a stream-ordered free.
    pub(super) fn holds_frees(&self) -> bool {
        self.frees > 0
    }

    /// Returns whether any of these resources is a stream or event that a held command will
    /// destroy.
    pub(super) fn uses_ended(&self, uses: &Accesses) -> bool {
        !self.ended.is_empty() && uses.iter().any(|(used, _)| self.ended.contains(&used))
    }

    /// Returns whether a query of these resources must report unfinished work, because held
    /// commands use them.
    pub(super) fn delays_query(&self, uses: &Accesses) -> bool {
        uses.iter().any(|(used, _)| match used {
            // Held commands that only wait for an event don't make the event itself unfinished.
            Resource::Event(_) => self.book.holds_alone(used),
            used => self.book.holds(used),
        })
    }

    /// Returns whether a command with these accesses need not wait for any held command.
    pub(super) fn lets_through(&self, uses: &Accesses) -> bool {
        self.book.lets_through(uses)
    }

    /// Adds a command at the end of the queue.
    pub(super) fn add(&mut self, held: Held) {
        self.bytes += held.bytes();
        self.frees += usize::from(held.is_free());
        self.ended.extend(held.ends);
        let number = self.book.add(&held.uses);
        self.commands.insert(number, held);
    }

    /// Returns the first command after number `after` that need not wait for another command.
    pub(super) fn next_ready(&self, after: Number) -> Option<Number> {
        self.book.next_ready(after)
    }

    pub(super) fn get(&self, number: Number) -> Option<&Held> {
        self.commands.get(&number)
    }

    /// Removes and returns a command that need not wait for another command. Its order no longer
    /// holds other commands back.
    pub(super) fn take(&mut self, number: Number) -> Option<Held> {
        let held = self.commands.remove(&number)?;
        self.book.remove(number, &held.uses);
        self.bytes -= held.bytes();
        self.frees -= usize::from(held.is_free());
        if let Some(ends) = held.ends {
            self.ended.remove(&ends);
        }
        Some(held)
    }

    /// Replies to all held commands without running them. A stream or event that a held command
    /// would have destroyed stays unusable.
    pub(super) fn fail_all(&mut self, result: u32) {
        self.commands.drain().for_each(|(_, held)| held.fail(result));
        self.book = Book::default();
        self.bytes = 0;
    }
}
