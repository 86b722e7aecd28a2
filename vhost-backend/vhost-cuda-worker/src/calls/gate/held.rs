//! The commands that the gate is holding back.

use std::collections::{HashMap, HashSet};

use protocol::calls as api;
use protocol::codec::Call;
use protocol::ids::{ContextId, StreamId};

use super::estimate::Kind;
use super::order::{Accesses, Book, Number, Resource};
use crate::calls::contexts::limit_calls::LimitAccess;
use crate::executor::Command;
use crate::ledger::{Asked, Decision};
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
    /// The question to the broker that must be answered before the command runs again.
    asked: Option<Asked>,
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
    /// kind begin in this stream. If the call uses limits, no call that changes a limit of its
    /// context may be in progress.
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
        let args = args.to_vec();
        Self { opcode, thread, ctx, args, reply, uses, ends, needs, asked: None }
    }

    /// Lets the command wait for the answer to a question.
    pub(super) fn waiting_for(self, asked: Asked) -> Self {
        Self { asked: Some(asked), ..self }
    }

    /// Returns whether the command waits for the answer to a question.
    pub(super) fn is_undecided(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.decision().is_none())
    }

    /// Returns whether a posted command that isn't ordered waits. The guest may use what it creates in
    /// later commands.
    fn stops_reader(&self) -> bool {
        self.asked.is_some() && self.reply.is_posted() && self.uses.iter().next().is_none()
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

    /// Calls `run` with the command, its reply channel, and the answer to its question. If `run`
    /// returns the reply channel with another question, returns the command, which must run again.
    pub(in crate::calls) fn run_with(
        self,
        run: impl FnOnce(&Command<'_>, ReplyTo, Option<Decision>) -> Option<(Asked, ReplyTo)>,
    ) -> Option<Self> {
        let Self { opcode, thread, ctx, args, reply, asked, .. } = self;
        let decision = asked.and_then(|asked| asked.decision());
        let (asked, reply) = run(&Command { opcode, thread, ctx, args: &args }, reply, decision)?;
        Some(Self { args, reply, asked: Some(asked), ..self })
    }

    /// Replies with this CUresult, without running the command.
    pub(super) fn fail(self, result: u32) {
        self.reply.finish(result, &[]);
    }

    pub(in crate::calls) fn uses(&self) -> Accesses {
        self.uses
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
    /// The number of commands for which the reader stops.
    stopping: usize,
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
        let number = self.book.add(&held.uses);
        self.put_back(number, held);
    }

    /// Returns a command that was taken out, and must run again.
    pub(super) fn put_back(&mut self, number: Number, held: Held) {
        self.bytes += held.bytes();
        self.frees += usize::from(held.is_free());
        self.stopping += usize::from(held.stops_reader());
        self.ended.extend(held.ends);
        self.commands.insert(number, held);
    }

    /// Returns the first command after number `after` that need not wait for another command.
    pub(super) fn next_ready(&self, after: Number) -> Option<Number> {
        self.book.next_ready(after)
    }

    pub(super) fn get(&self, number: Number) -> Option<&Held> {
        self.commands.get(&number)
    }

    /// Takes out a command that need not wait for another command. Until [`Self::ran`], its order
    /// holds other commands back.
    pub(super) fn take(&mut self, number: Number) -> Option<Held> {
        let held = self.commands.remove(&number)?;
        self.bytes -= held.bytes();
        self.frees -= usize::from(held.is_free());
        self.stopping -= usize::from(held.stops_reader());
        if let Some(ends) = held.ends {
            self.ended.remove(&ends);
        }
        Some(held)
    }

    /// Records that a command that was taken out has run.
    pub(super) fn ran(&mut self, number: Number, uses: &Accesses) {
        self.book.remove(number, uses);
    }

    /// Returns whether the reader must take no more commands, because later ones may depend on one
    /// that waits for the broker.
    pub(super) fn stops_reader(&self) -> bool {
        self.stopping > 0
    }

    /// Replies to all held commands without running them. A stream or event that a held command
    /// would have destroyed stays unusable.
    pub(super) fn fail_all(&mut self, result: u32) {
        self.commands.drain().for_each(|(_, held)| held.fail(result));
        self.book = Book::default();
        (self.bytes, self.stopping) = (0, 0);
    }
}
