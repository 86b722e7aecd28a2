//! Determines the resources that a command uses, from the handles in its arguments.

use protocol::calls as api;
use protocol::codec::Call;
use protocol::ids::{ContextId, StreamId};
use protocol::table::{ENTRIES, Order};

use super::named::Names;
use super::order::{Access, Accesses, Resource};
use crate::calls::Shared;
use crate::calls::contexts::limit_calls::LimitAccess;
use crate::calls::tables::handles::Tables;
use crate::calls::{generated, lock};
use crate::executor::Command;

/// The properties of a call in the API table that matter to the gate: its order relative to other
/// calls, whether it's gated, and how it depends on the limits of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub order: Order,
    pub gated: bool,
    pub limits: Option<LimitAccess>,
}

/// The number of opcodes for which there can be a rule. Larger opcodes are unknown.
const NUMBERS: usize = 1024;

/// The rules, indexed by opcode.
static RULES: [Rule; NUMBERS] = {
    let mut rules = [Rule { order: Order::None, gated: false, limits: None }; NUMBERS];
    let mut i = 0;
    while i < ENTRIES.len() {
        let entry = &ENTRIES[i];
        let limits = LimitAccess::of(entry.charges);
        rules[entry.number as usize] = Rule { order: entry.order, gated: entry.gated, limits };
        i += 1;
    }
    rules
};

impl Rule {
    pub(super) fn of(opcode: u32) -> Self {
        RULES.get(opcode as usize).copied().unwrap_or(RULES[0])
    }
}

/// Returns how a call depends on the limits of its context, or `None` if it doesn't.
pub(in crate::calls) fn limit_access(opcode: u32) -> Option<LimitAccess> {
    Rule::of(opcode).limits
}

/// The resources that a command uses, and the context and stream in which it would run.
pub(super) struct Used {
    pub uses: Accesses,
    /// The context in which the command runs, which determines its GPU.
    pub ctx: ContextId,
    /// The guest's id for the command's stream, if it has one.
    pub stream: Option<StreamId>,
    /// The stream or event that the command destroys, if any.
    pub ends: Option<Resource>,
}

impl Used {
    /// Returns the resources that a command uses. Returns `None` if the command's order doesn't
    /// matter, because it will fail or uses no resources.
    pub(super) fn of(shared: &Shared, command: &Command<'_>, rule: Rule) -> Option<Self> {
        let names = generated::names(command.opcode, command.args).ok()?;
        let mut used = Self {
            uses: Accesses::new(),
            ctx: command.ctx,
            stream: names.streams.first(),
            ends: None,
        };
        let tables = lock(&shared.tables);
        match rule.order {
            Order::None if rule.limits.is_none() => return None,
            Order::None => {}
            Order::Stream | Order::Pool => used.in_order(&tables, command, &names)?,
            // A query uses the same resources as the call that would wait for the same stream or
            // event.
            Order::Query | Order::Wait => {
                for id in names.streams.iter() {
                    let stream = stream_resource(&tables, command, id)?.0;
                    used.uses.add(stream, Access::Behind);
                }
                for id in names.events.iter() {
                    used.uses.add(Resource::Event(id), Access::Behind);
                }
            }
            Order::Function => names
                .functions
                .iter()
                .for_each(|id| used.uses.add(Resource::Function(id), Access::Behind)),
            Order::Allocation => {
                let dptr = api::CuMemFreeV2::decode(command.args).ok()?.dptr;
                let ctx = lock(&shared.memory.plan).context_of(dptr)?;
                used.uses.add(Resource::Context(ctx), Access::Behind);
            }
            Order::Context => {
                let ctx = names.contexts.first().unwrap_or(command.ctx);
                used.uses.add(Resource::Context(ctx), Access::Behind);
            }
            Order::Session => used.uses.add(Resource::Session, Access::Behind),
        }
        let access = rule.limits.map(|access| match access {
            LimitAccess::Use => Access::Shared,
            LimitAccess::Change => Access::Exclusive,
        });
        if let Some(access) = access {
            used.uses.add(Resource::Limits(used.ctx), access);
        }
        Some(used)
    }

    /// Adds the resources of a command that must keep its order relative to other commands with the
    /// same stream or event.
    fn in_order(&mut self, tables: &Tables, command: &Command<'_>, names: &Names) -> Option<()> {
        for id in names.streams.iter() {
            let (stream, legacy) = stream_resource(tables, command, id)?;
            self.uses.add(stream, Access::Exclusive);
            if let Some(ctx) = legacy {
                self.uses.add(Resource::Legacy(ctx), Access::Shared);
            }
            if let Resource::Stream(id) = stream {
                self.ctx = tables.streams.get(id).ok()?.ctx;
            }
            if names.streams.ends {
                self.ends = Some(stream);
            }
        }
        for id in names.events.iter() {
            let event = tables.events.get(id).ok()?;
            if self.stream.is_none() {
                self.ctx = event.ctx;
            }
            // Commands that wait for the same event may run in any order. But they must keep their
            // order relative to commands that record or destroy the event.
            let access = match command.opcode {
                api::CuStreamWaitEvent::OPCODE => Access::Shared,
                _ => Access::Exclusive,
            };
            self.uses.add(Resource::Event(id), access);
            if names.events.ends {
                self.ends = Some(Resource::Event(id));
            }
        }
        for id in names.functions.iter() {
            self.uses.add(Resource::Function(id), Access::Shared);
        }
        if tables.contexts.get(self.ctx).ok()?.ending {
            return None;
        }
        self.uses.add(Resource::Context(self.ctx), Access::Shared);
        self.uses.add(Resource::Session, Access::Shared);
        Some(())
    }
}

/// Returns the resource for a stream. If the stream synchronizes with the legacy stream, also
/// returns the context of that legacy stream.
fn stream_resource(
    tables: &Tables,
    command: &Command<'_>,
    id: StreamId,
) -> Option<(Resource, Option<ContextId>)> {
    match id {
        StreamId::DEFAULT | StreamId::LEGACY => Some((Resource::Legacy(command.ctx), None)),
        StreamId::PER_THREAD => {
            Some((Resource::ThreadStream(command.thread, command.ctx), Some(command.ctx)))
        }
        _ => {
            let stream = tables.streams.get(id).ok()?;
            Some((Resource::Stream(id), stream.blocking.then_some(stream.ctx)))
        }
    }
}
