//! The commands that the gate holds.

use std::collections::{HashMap, HashSet};

use protocol::calls as api;
use protocol::codec::Call;
use protocol::ids::{ContextId, StreamId};

use super::estimate::Kind;
use super::order::{Accesses, Book, Number, Resource};
use crate::executor::Command;
use crate::reply::ReplyTo;

/// The memory that a held command takes in addition to its arguments, in bytes: its entry in the
/// list, and its entries in the lanes.
const HELD_BYTES: usize = size_of::<Held>() + 256;

/// A held command.
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

/// The conditions for issuing a command whose turn has come.
#[derive(Clone, Copy)]
pub(super) enum Needs {
    /// None.
    Nothing,
    /// Room in the driver.
    Room,
    /// Room in the driver, and permission from the gate of a GPU, for a call of this kind in this
    /// stream.
    Gate { device: usize, kind: Kind, ctx: ContextId, stream: StreamId },
}

impl Held {
    /// Copies a command.
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

    /// Returns the stream or event that the command destroys.
    pub(super) fn ends(&self) -> Option<Resource> {
        self.ends
    }

    /// Calls `run` with the command and its reply.
    pub(in crate::calls) fn run_with(self, run: impl FnOnce(&Command<'_>, ReplyTo)) {
        let Self { opcode, thread, ctx, args, reply, .. } = self;
        run(&Command { opcode, thread, ctx, args: &args }, reply);
    }

    /// Replies to the command without running it.
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

/// The held commands, in their order.
#[derive(Default)]
pub(super) struct HeldQueue {
    book: Book,
    commands: HashMap<Number, Held>,
    /// The memory that the held commands take.
    bytes: usize,
    /// The number of held frees, whose memory can't be allocated again yet.
    frees: usize,
    /// The streams and events for which a command that destroys them is held.
    ended: HashSet<Resource>,
}

impl HeldQueue {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Returns the memory that the held commands take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether any held command frees memory.
    pub(super) fn holds_frees(&self) -> bool {
        self.frees > 0
    }

    /// Returns whether a command uses a stream or an event that a held command destroys.
    pub(super) fn uses_ended(&self, uses: &Accesses) -> bool {
        !self.ended.is_empty() && uses.iter().any(|(used, _)| self.ended.contains(&used))
    }

    /// Returns whether a query of these resources would have to wait for held commands.
    pub(super) fn delays_query(&self, uses: &Accesses) -> bool {
        uses.iter().any(|(used, _)| match used {
            // A command that waits for an event's recording doesn't make the recording unfinished.
            Resource::Event(_) => self.book.holds_alone(used),
            used => self.book.holds(used),
        })
    }

    /// Returns whether a command that arrives now need not wait for any held command.
    pub(super) fn lets_through(&self, uses: &Accesses) -> bool {
        self.book.lets_through(uses)
    }

    /// Holds a command.
    pub(super) fn add(&mut self, held: Held) {
        self.bytes += held.bytes();
        self.frees += usize::from(held.is_free());
        self.ended.extend(held.ends);
        let number = self.book.add(&held.uses);
        self.commands.insert(number, held);
    }

    /// Returns the first command after this number that need not wait for another command.
    pub(super) fn next_ready(&self, after: Number) -> Option<Number> {
        self.book.next_ready(after)
    }

    pub(super) fn get(&self, number: Number) -> Option<&Held> {
        self.commands.get(&number)
    }

    /// Removes and returns a command that need not wait for another command.
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

    /// Replies to all held commands without running them. Streams and events that a held command
    /// would have destroyed stay unusable.
    pub(super) fn fail_all(&mut self, result: u32) {
        self.commands.drain().for_each(|(_, held)| held.fail(result));
        self.book = Book::default();
        self.bytes = 0;
    }
}
