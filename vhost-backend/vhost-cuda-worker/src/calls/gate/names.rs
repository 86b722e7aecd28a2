//! What a command that may be held uses, from the handles that it names.

use protocol::calls as api;
use protocol::codec::Call;
use protocol::ids::{ContextId, StreamId};
use protocol::table::{ENTRIES, Order};

use super::named::Names;
use super::order::{Access, Accesses, Resource};
use crate::calls::handles::Tables;
use crate::calls::{Shared, generated, lock};
use crate::executor::Command;

/// How a call of the table is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub order: Order,
    pub gated: bool,
}

/// Numbers of calls that have rules; greater ones are unknown.
const NUMBERS: usize = 256;

/// By number.
static RULES: [Rule; NUMBERS] = {
    let mut rules = [Rule { order: Order::None, gated: false }; NUMBERS];
    let mut i = 0;
    while i < ENTRIES.len() {
        let entry = &ENTRIES[i];
        rules[entry.number as usize] = Rule { order: entry.order, gated: entry.gated };
        i += 1;
    }
    rules
};

impl Rule {
    pub(super) fn of(opcode: u32) -> Self {
        RULES.get(opcode as usize).copied().unwrap_or(RULES[0])
    }
}

/// What a command uses, and where it would run.
pub(super) struct Used {
    pub uses: Accesses,
    /// The context whose GPU it is for.
    pub ctx: ContextId,
    /// The stream, as the guest names it.
    pub stream: Option<StreamId>,
    /// What it ends.
    pub ends: Option<Resource>,
}

impl Shared {
    /// What a command uses; `None` if it need not be held, since it will fail or uses nothing.
    pub(super) fn used_by(&self, command: &Command<'_>, order: Order) -> Option<Used> {
        let names = generated::names(command.opcode, command.args).ok()?;
        let mut used = Used {
            uses: Accesses::new(),
            ctx: command.ctx,
            stream: names.streams.first(),
            ends: None,
        };
        let tables = lock(&self.tables);
        match order {
            Order::None => return None,
            Order::Stream | Order::Pool => used.in_order(&tables, command, &names)?,
            // What a query is about is what the same command would have to wait for.
            Order::Query | Order::Wait => {
                for id in names.streams.iter() {
                    let thing = stream_resource(&tables, command, id)?.0;
                    used.uses.add(thing, Access::Behind);
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
                let ctx = lock(&self.memory.plan).context_of(dptr)?;
                used.uses.add(Resource::Context(ctx), Access::Behind);
            }
            Order::Context => {
                let ctx = names.contexts.first().unwrap_or(command.ctx);
                used.uses.add(Resource::Context(ctx), Access::Behind);
            }
            Order::Session => used.uses.add(Resource::Session, Access::Behind),
        }
        Some(used)
    }
}

impl Used {
    /// A command that stays in the order of its stream and event.
    fn in_order(&mut self, tables: &Tables, command: &Command<'_>, names: &Names) -> Option<()> {
        for id in names.streams.iter() {
            let (thing, legacy) = stream_resource(tables, command, id)?;
            self.uses.add(thing, Access::Exclusive);
            if let Some(ctx) = legacy {
                self.uses.add(Resource::Legacy(ctx), Access::Shared);
            }
            if let Resource::Stream(id) = thing {
                self.ctx = tables.streams.get(id).ok()?.ctx;
            }
            if names.streams.ends {
                self.ends = Some(thing);
            }
        }
        for id in names.events.iter() {
            let event = tables.events.get(id).ok()?;
            if self.stream.is_none() {
                self.ctx = event.ctx;
            }
            // Waits for one recording may overtake one another, and not the next recording.
            let way = match command.opcode {
                api::CuStreamWaitEvent::OPCODE => Access::Shared,
                _ => Access::Exclusive,
            };
            self.uses.add(Resource::Event(id), way);
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

/// What a stream is, and the context whose legacy stream it and that one wait for.
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
