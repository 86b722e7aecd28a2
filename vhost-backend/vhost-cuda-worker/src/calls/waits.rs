//! Waits for the GPU.

use std::time::Instant;

use cuda_api::sys::CUevent;
use protocol::ids::{ContextId, EventId};

use super::driver_handle::DriverHandle;
use super::id_map::IdMap;
use super::memory::Freeing;
use crate::reply::ReplyTo;

/// What is to happen when a wait has ended.
pub(super) enum Completion {
    /// Answer with the result.
    Answer(ReplyTo),
    /// Answer with so many bytes that were written in place.
    InPlace(ReplyTo, usize),
    /// Free device memory; then answer, if somebody waits.
    Free(Freeing, u32, Option<ReplyTo>),
}

pub(super) enum Awaited {
    /// An event of the pool, recorded for this wait.
    Event(DriverHandle<CUevent>),
    /// Several of them.
    Events(Vec<DriverHandle<CUevent>>),
    /// An event of the guest's.
    Guest(EventId),
}

pub(super) struct Waiting {
    pub(super) ctx: ContextId,
    pub(super) on: Awaited,
    pub(super) then: Completion,
}

/// All waits of a session.
#[derive(Default)]
pub(super) struct Waits {
    pub(super) list: Vec<Waiting>,
    /// Events that no wait uses, by context.
    pub(super) idle: IdMap<ContextId, Vec<DriverHandle<CUevent>>>,
    /// Since when nothing has begun or ended.
    pub(super) quiet_since: Option<Instant>,
}

impl Waits {
    pub(super) fn give(&mut self, ctx: ContextId, event: DriverHandle<CUevent>) {
        self.idle.entry(ctx).or_default().push(event);
    }

    pub(super) fn give_all(&mut self, ctx: ContextId, on: Awaited) {
        match on {
            Awaited::Event(event) => self.give(ctx, event),
            Awaited::Events(events) => events.into_iter().for_each(|event| self.give(ctx, event)),
            Awaited::Guest(_) => {}
        }
    }
}
