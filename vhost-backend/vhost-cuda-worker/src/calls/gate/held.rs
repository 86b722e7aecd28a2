//! The commands that the gate holds.

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

/// The memory, in bytes, that a held command takes in addition to its arguments: its entry in the
/// queue, and its entries in the lanes of the resources that it uses.
const HELD_BYTES: usize = size_of::<Held>() + 256;

/// A command that the gate holds.
pub(in crate::calls) struct Held {
    opcode: u32,
    thread: u32,
    ctx: ContextId,
    args: Vec<u8>,
    reply: ReplyTo,
    uses: Accesses,
    ends: Option<Resource>,
    needs: Needs,
    /// The question to the broker that must be answered before the command can run again.
    asked: Option<Asked>,
}

/// The conditions, other than the order of held commands, under which a held command may go to the
/// driver.
#[derive(Clone, Copy)]
pub(super) enum Needs {
    /// The command may go at once.
    Nothing,
    /// The driver must have room for another command.
    Room,
    /// The calls in progress in the context must let a call with this access to limits begin.
    Limits { ctx: ContextId, access: LimitAccess },
    /// The driver must have room for another command, and the GPU's gate must let a call of this
    /// kind begin in this stream. If the call uses limits, no call that changes a limit of the
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

    /// Makes the command wait for the broker's answer to a question.
    pub(super) fn waiting_for(self, asked: Asked) -> Self {
        Self { asked: Some(asked), ..self }
    }

    /// Returns whether the command waits for the broker's answer to a question.
    pub(super) fn is_undecided(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.decision().is_none())
    }

    /// Returns whether the reader must stop while the command waits for the broker's answer. It
    /// must if the command is posted and has no place in the order of commands, because the guest
    /// may use the object that the command creates in later commands.
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

    /// Calls `run` with the command, its reply channel, and the broker's answer to its question. If
    /// `run` returns another question with the reply channel, the command must run again after its
    /// answer, so this returns the command.
    pub(in crate::calls) fn run_with(
        self,
        run: impl FnOnce(&Command<'_>, ReplyTo, Option<Decision>) -> Option<(Asked, ReplyTo)>,
    ) -> Option<Self> {
        let Self { opcode, thread, ctx, args, reply, asked, .. } = self;
        let decision = asked.and_then(|asked| asked.decision());
        let (asked, reply) = run(&Command { opcode, thread, ctx, args: &args }, reply, decision)?;
        Some(Self { args, reply, asked: Some(asked), ..self })
    }

    /// Replies with `result` without running the command.
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

/// The commands that the gate holds, in their order.
#[derive(Default)]
pub(super) struct HeldQueue {
    book: Book,
    commands: HashMap<Number, Held>,
    /// The total memory that the held commands take, in bytes.
    bytes: usize,
    /// The number of held commands that free memory. An allocation can't use that memory yet.
    frees: usize,
    /// The number of held commands because of which the reader must stop.
    stopping: usize,
    /// The streams and events that a held command will destroy.
    ended: HashSet<Resource>,
}

impl HeldQueue {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Returns the total memory that the held commands take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether any held command is a stream-ordered free.
    pub(super) fn holds_frees(&self) -> bool {
        self.frees > 0
    }

    /// Returns whether a command with these accesses uses a stream or event that a held command
    /// will destroy.
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

    /// Puts a command that was taken out, and that must run again, back at its place in the queue.
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

    /// Takes out a command that need not wait for another command. The command still holds back the
    /// commands that must come after it, until [`Self::ran`] is called.
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

    /// Records that a command that was taken out has run, so that commands that must come after it
    /// can run.
    pub(super) fn ran(&mut self, number: Number, uses: &Accesses) {
        self.book.remove(number, uses);
    }

    /// Returns whether the reader must stop taking commands, because later commands may depend on a
    /// held command that waits for the broker.
    pub(super) fn stops_reader(&self) -> bool {
        self.stopping > 0
    }

    /// Returns whether any held command waits for the broker.
    pub(super) fn has_undecided(&self) -> bool {
        self.commands.values().any(|held| held.asked.is_some())
    }

    /// Replies to all held commands with `result` without running them. A stream or event that a
    /// held command would have destroyed can't be used any more.
    pub(super) fn fail_all(&mut self, result: u32) {
        self.commands.drain().for_each(|(_, held)| held.fail(result));
        self.book = Book::default();
        (self.bytes, self.stopping) = (0, 0);
    }
}
