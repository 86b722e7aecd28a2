//! Waits for the GPU.

use std::time::Instant;

use cuda_api::sys::CUevent;
use protocol::ids::{ContextId, EventId};

use super::driver_handle::DriverHandle;
use super::events::EventPool;
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
    /// Since when nothing has begun or ended.
    pub(super) quiet_since: Option<Instant>,
}

impl Awaited {
    /// Gives the pool's events back.
    pub(super) fn give_back(self, ctx: ContextId, events: &mut EventPool) {
        match self {
            Self::Event(event) => events.give_back(ctx, event),
            Self::Events(list) => list.into_iter().for_each(|event| events.give_back(ctx, event)),
            Self::Guest(_) => {}
        }
    }
}
