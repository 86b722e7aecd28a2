//! Holding commands by stream, and issuing them when they may go.

use protocol::calls as api;
use protocol::codec::Call;
use protocol::ids::{ContextId, StreamId};
use protocol::table::Order;

use super::estimate::Kind;
use super::flight::Expected;
use super::held::{HELD_BYTES, Held, Needs};
use super::names::{Rule, Used};
use super::order::{Number, Resource};
use super::pass::Pass;
use super::stream::Key;
use crate::calls::cx::Cx;
use crate::calls::handles::ThreadStream;
use crate::calls::{Calls, Command, ReplyTo, generated, lock};
use crate::driver::CuError;
use host_ipc::gate;

impl Calls {
    /// Executes a command if it may go, and holds it otherwise.
    #[cold]
    #[inline(never)]
    pub(super) fn admit_slowly(&mut self, command: &Command<'_>, rule: Rule, reply: ReplyTo) {
        let at_once = rule.order == Order::Pool && self.gate.frees == 0;
        let used = if at_once { None } else { self.shared.used_by(command, rule.order) };
        let Some(Used { uses, ctx, stream, ends }) = used else {
            return generated::dispatch(self, command, &Pass::refused_by_body(), reply);
        };
        let is_gone = |(thing, _): (Resource, _)| self.gate.ended.contains(&thing);
        if !self.gate.ended.is_empty() && uses.iter().any(is_gone) {
            return reply.finish(CuError::INVALID_HANDLE.0, &[]);
        }
        if rule.order == Order::Query {
            let held = |(thing, _)| match thing {
                // Who waits for a recording does not make it unfinished.
                Resource::Event(_) => self.gate.book.holds_alone(thing),
                thing => self.gate.book.holds(thing),
            };
            if uses.iter().any(held) {
                return reply.finish(CuError::NOT_READY.0, &[]);
            }
            return generated::dispatch(self, command, &Pass::admitted(), reply);
        }
        let way = match (rule.gated, rule.order) {
            (true, _) => match self.device_of(ctx) {
                Some(device) => {
                    let (kind, stream) = (Kind::of(command), stream.unwrap_or_default());
                    Needs::Gate { device, kind, ctx, stream }
                }
                // It will fail.
                None => {
                    let pass = Pass::refused_by_body();
                    return generated::dispatch(self, command, &pass, reply);
                }
            },
            (false, Order::Stream) => Needs::Room,
            (false, _) => Needs::Free,
        };
        if self.gate.book.lets_through(&uses) && self.may_go(command, way) {
            return self.issue(command, way, ends, reply);
        }
        let Command { opcode, thread, ctx, args } = *command;
        let args = args.to_vec();
        self.gate.bytes += args.len() + HELD_BYTES;
        if opcode == api::CuMemFreeAsync::OPCODE {
            self.gate.frees += 1;
        }
        self.gate.ended.extend(ends);
        let number = self.gate.book.add(&uses);
        self.gate.held.insert(number, Held { opcode, thread, ctx, args, reply, uses, ends, way });
        if let Needs::Gate { device, .. } = way {
            self.gate.devices[device].hold(&self.gate.end.page.gpus[device], true);
            self.gate.show_life();
        }
        let now = gate::now();
        self.gate.tell(now);
    }

    /// Issues what may go now, in order.
    pub(super) fn issue_ready(&mut self, now: u64) {
        let mut at: Number = 0;
        while let Some(number) = self.gate.book.next_ready(at) {
            at = number;
            let Some(Held { opcode, thread, ctx, way, .. }) = self.gate.held.get(&number) else {
                continue;
            };
            let (way, empty) = (*way, &[][..]);
            let command = Command { opcode: *opcode, thread: *thread, ctx: *ctx, args: empty };
            if !self.may_go(&command, way) {
                continue;
            }
            let Some(held) = self.gate.held.remove(&number) else { continue };
            self.gate.book.remove(number, &held.uses);
            self.gate.bytes -= held.args.len() + HELD_BYTES;
            if held.opcode == api::CuMemFreeAsync::OPCODE {
                self.gate.frees -= 1;
            }
            if let Some(ends) = held.ends {
                self.gate.ended.remove(&ends);
            }
            if let Needs::Gate { device, .. } = way {
                self.gate.devices[device].hold(&self.gate.end.page.gpus[device], false);
            }
            let command = Command { args: &held.args, ..command };
            self.issue(&command, way, held.ends, held.reply);
        }
        self.gate.tell(now);
    }

    /// Whether a command whose turn it is may go. If so, it goes: the GPU counts as in use.
    fn may_go(&mut self, command: &Command<'_>, way: Needs) -> bool {
        let Needs::Gate { device, kind, ctx, stream } = way else {
            return matches!(way, Needs::Free) || !self.gate.full;
        };
        if self.gate.full {
            return false;
        }
        let now = gate::now();
        let page = &self.gate.end.page.gpus[device];
        self.gate.devices[device].read(page, now);
        let open = self.gate.devices[device].mode.is_open();
        if !open && !kind.only_copies() {
            return false;
        }
        if self.is_timed(device) {
            let key = self.key_of(command, ctx, stream);
            let tables = lock(&self.shared.tables);
            let (lasts, _) = tables.flight.estimates.of(kind);
            let ahead = key.and_then(|key| tables.flight.ahead(key));
            let page = &self.gate.end.page.gpus[device];
            let device = &self.gate.devices[device];
            if !open {
                return device.lets_copy(page, ahead, lasts);
            }
            if !device.lets_begin(page, ahead, lasts, now) {
                return false;
            }
        } else if self.gate.long
            && let Some(key) = self.key_of(command, ctx, stream)
            && lock(&self.shared.tables).flight.is_long(key)
        {
            return false;
        }
        self.gate.enter(device)
    }

    /// Hands a command to the driver.
    fn issue(&mut self, command: &Command<'_>, way: Needs, ends: Option<Resource>, reply: ReplyTo) {
        if let Needs::Gate { device, kind, ctx, stream } = way {
            let now = gate::now();
            if self.is_timed(device) {
                if kind.only_copies()
                    && let Some(key) = self.key_of(command, ctx, stream)
                {
                    self.mark_before_copy(key, kind);
                }
                let flight = &mut lock(&self.shared.tables).flight;
                let (ns, known) = flight.estimates.of(kind);
                flight.expected = Some(Expected { kind, ns, known, now });
            }
            if self.gate.devices[device].mode.is_open() {
                self.gate.devices[device].began(&self.gate.end.page.gpus[device], now);
            } else {
                let ring = self.gate.devices[device].copies(&self.gate.end.page.gpus[device], now);
                self.gate.ring(ring);
                self.gate.show_life();
            }
            self.gate.last = (ctx, device);
            generated::dispatch(self, command, &Pass::admitted(), reply);
            // A call that was refused has queued nothing.
            let measures = self.gate.devices[device].measures();
            lock(&self.shared.tables).flight.has_begun(measures);
        } else {
            if let Some(Resource::Stream(id)) = ends
                && let Some(key) = self.key_of(command, command.ctx, id)
            {
                self.mark_end(key);
            }
            generated::dispatch(self, command, &Pass::admitted(), reply);
        }
        if self.shared.flight_due.take() {
            self.mark_flight();
        }
    }

    /// The stream in the driver that a command goes to; `None` if it does not exist yet.
    fn key_of(&self, command: &Command<'_>, ctx: ContextId, stream: StreamId) -> Option<Key> {
        let cx = Cx { shared: &self.shared, thread: command.thread, ctx };
        let tables = lock(&cx.shared.tables);
        match stream {
            StreamId::DEFAULT | StreamId::LEGACY => Some((0, ctx)),
            StreamId::PER_THREAD => {
                let key = ThreadStream { thread: command.thread, ctx };
                Some((tables.thread_streams.get(&key)?.0 as u64, ctx))
            }
            id => {
                let stream = tables.streams.get(id).ok()?;
                Some((stream.real.0 as u64, stream.ctx))
            }
        }
    }
}
