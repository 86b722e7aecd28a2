//! Waiting for the GPU without blocking the ring reader.
//!
//! A wait is an event that is queried between commands. A wait for a stream ends at an event that
//! is recorded when the wait begins, no matter what other threads queue behind it.

use std::time::{Duration, Instant};

use std::sync::Arc;

use cuda_api::sys::{CUevent, CUstream};

use protocol::ids::{ContextId, EventId};

use super::cx::Cx;
use super::driver_handle::DriverHandle;
use super::events::{EventPool, query};
use super::lock::lock;
use super::memory::Freeing;
use super::shared::Shared;
use crate::driver::{CuError, CuResult};
use crate::executor::Pending;
use crate::reply::ReplyTo;

/// The maximum number of waits. A guest thread has at most one.
const MAX_WAITS: usize = 4096;
/// If no wait has ended for this long, the reader may sleep between polls. Waking it takes tens of
/// microseconds on each side. (With NVIDIA's driver, a waiting thread spins the whole time.)
const PATIENCE: Duration = Duration::from_millis(2);
const SHORTEST_SLEEP: Duration = Duration::from_micros(20);
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// The rest of a call, which follows its wait.
pub(super) enum Completion {
    /// Reply with the result.
    Answer(ReplyTo),
    /// Reply with this many bytes, which were written in place.
    InPlace(ReplyTo, usize),
    /// Free device memory on behalf of a guest thread, then reply if the call waits for a reply.
    Free(Freeing, u32, Option<ReplyTo>),
}

impl Completion {
    /// Replies with an error. Memory that would have been freed stays allocated.
    fn fail(self, error: CuError) {
        match self {
            Self::Answer(reply) | Self::InPlace(reply, _) | Self::Free(_, _, Some(reply)) => {
                reply.finish(error.0, &[]);
            }
            Self::Free(_, _, None) => {}
        }
    }
}

/// The events that end a wait.
enum Awaited {
    /// An event from the pool, recorded for this wait.
    Event(DriverHandle<CUevent>),
    /// Several events from the pool.
    Events(Vec<DriverHandle<CUevent>>),
    /// One of the guest's events.
    Guest(EventId),
}

impl Awaited {
    /// Queries the events. If there are several, gives back those that have been reached.
    fn query(&mut self, cx: &Cx<'_>, events: &mut EventPool) -> CuResult {
        match self {
            Self::Event(event) => query(cx, *event),
            Self::Events(list) => {
                while let Some(event) = list.last() {
                    query(cx, *event)?;
                    list.pop().into_iter().for_each(|event| events.give_back(cx.ctx, event));
                }
                Ok(())
            }
            Self::Guest(id) => query_guest(cx, *id),
        }
    }

    /// Gives the pool's events back.
    fn give_back(self, ctx: ContextId, events: &mut EventPool) {
        match self {
            Self::Event(event) => events.give_back(ctx, event),
            Self::Events(list) => list.into_iter().for_each(|event| events.give_back(ctx, event)),
            Self::Guest(_) => {}
        }
    }
}

struct Waiting {
    ctx: ContextId,
    awaited: Awaited,
    completion: Completion,
}

/// A wait that has ended.
pub(super) struct Finished {
    pub ctx: ContextId,
    pub result: CuResult,
    pub completion: Completion,
}

/// All waits of a session.
#[derive(Default)]
pub(super) struct Waits {
    list: Vec<Waiting>,
    /// The time since which no wait has begun or ended.
    quiet_since: Option<Instant>,
}

impl Waits {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Waits for the commands in a stream. Returns the completion if the wait can't begin.
    pub(super) fn add_stream(
        &mut self,
        cx: &Cx<'_>,
        events: &mut EventPool,
        stream: CUstream,
        ctx: ContextId,
        completion: Completion,
    ) -> Option<(CuResult, Completion)> {
        match events.record(cx, stream, ctx) {
            Ok(event) => {
                let awaited = Awaited::Event(event);
                self.add(Waiting { ctx, awaited, completion }, events);
                None
            }
            Err(error) => Some((Err(error), completion)),
        }
    }

    /// Waits for the commands in all streams of the current context. Returns the completion if the
    /// wait has ended already or can't begin.
    pub(super) fn add_context(
        &mut self,
        cx: &Cx<'_>,
        events: &mut EventPool,
        completion: Completion,
    ) -> Option<(CuResult, Completion)> {
        match record_all(cx, events) {
            Ok(list) if list.is_empty() => Some((Ok(()), completion)),
            Ok(list) => {
                let awaited = Awaited::Events(list);
                self.add(Waiting { ctx: cx.ctx, awaited, completion }, events);
                None
            }
            Err(error) => Some((Err(error), completion)),
        }
    }

    /// Waits for one of the guest's events. Returns the completion if the wait has ended already.
    pub(super) fn add_event(
        &mut self,
        cx: &Cx<'_>,
        events: &mut EventPool,
        id: EventId,
        completion: Completion,
    ) -> Option<(CuResult, Completion)> {
        match query_guest(cx, id) {
            Err(CuError::NOT_READY) => {
                let awaited = Awaited::Guest(id);
                self.add(Waiting { ctx: cx.ctx, awaited, completion }, events);
                None
            }
            done => Some((done, completion)),
        }
    }

    fn add(&mut self, waiting: Waiting, events: &mut EventPool) {
        let answers = matches!(waiting.completion, Completion::Answer(_) | Completion::InPlace(..));
        if self.list.len() >= MAX_WAITS && answers {
            waiting.awaited.give_back(waiting.ctx, events);
            waiting.completion.fail(CuError::OUT_OF_MEMORY);
            return;
        }
        self.list.push(waiting);
        self.quiet_since = None;
    }

    /// Removes the next wait from `index` on that has ended. The index advances past waits that
    /// haven't ended.
    pub(super) fn next_finished(
        &mut self,
        shared: &Arc<Shared>,
        events: &mut EventPool,
        index: &mut usize,
    ) -> Option<Finished> {
        while let Some(waiting) = self.list.get_mut(*index) {
            let ctx = waiting.ctx;
            let result = waiting.awaited.query(&Cx { shared, thread: 0, ctx }, events);
            if result == Err(CuError::NOT_READY) {
                *index += 1;
                continue;
            }
            let Waiting { awaited, completion, .. } = self.list.swap_remove(*index);
            awaited.give_back(ctx, events);
            return Some(Finished { ctx, result, completion });
        }
        None
    }

    /// Returns when to poll again. `any_ended` says whether the last poll found waits that had
    /// ended.
    pub(super) fn next_poll(&mut self, any_ended: bool) -> Pending {
        let now = Instant::now();
        if any_ended {
            self.quiet_since = Some(now);
            return Pending::Soon;
        }
        let quiet = now.duration_since(*self.quiet_since.get_or_insert(now));
        if quiet < PATIENCE {
            Pending::Soon
        } else {
            Pending::Within((quiet / 64).clamp(SHORTEST_SLEEP, LONGEST_SLEEP))
        }
    }

    /// Fails all waits.
    pub(super) fn fail_all(&mut self, error: CuError) {
        for waiting in std::mem::take(&mut self.list) {
            waiting.completion.fail(error);
        }
    }

    /// Ends all waits in a context that is about to be destroyed. Returns the memory to free once
    /// the context has been destroyed.
    pub(super) fn end_of(&mut self, ctx: ContextId) -> Vec<(Freeing, Option<ReplyTo>)> {
        let mut freeing = Vec::new();
        let mut index = 0;
        while index < self.list.len() {
            if self.list[index].ctx != ctx {
                index += 1;
                continue;
            }
            match self.list.swap_remove(index).completion {
                Completion::Free(memory, _, reply) => freeing.push((memory, reply)),
                completion => completion.fail(CuError::CONTEXT_IS_DESTROYED),
            }
        }
        freeing
    }
}

/// Records events behind all commands that the current context has queued.
fn record_all(cx: &Cx<'_>, events: &mut EventPool) -> CuResult<Vec<DriverHandle<CUevent>>> {
    cx.enter()?;
    let mut list = Vec::new();
    let recorded = busy_streams(cx).and_then(|streams| {
        streams.into_iter().try_for_each(|stream| {
            list.push(events.record(cx, stream.0, cx.ctx)?);
            Ok(())
        })
    });
    if let Err(error) = recorded {
        list.into_iter().for_each(|event| events.give_back(cx.ctx, event));
        return Err(error);
    }
    Ok(list)
}

/// Returns the streams to wait for when waiting for the whole current context. The legacy stream
/// covers the streams that synchronize with it.
fn busy_streams(cx: &Cx<'_>) -> CuResult<Vec<DriverHandle<CUstream>>> {
    // SAFETY: the streams are live: only this thread destroys streams.
    let busy = |stream| match unsafe { cx.driver().cuStreamQuery(stream) } {
        Ok(()) => Ok(false),
        Err(CuError::NOT_READY) => Ok(true),
        Err(error) => Err(error),
    };
    let tables = &mut *lock(&cx.shared.tables);
    let context = tables.contexts.get_mut(cx.ctx).map_err(|_| CuError::INVALID_CONTEXT)?;
    let mut streams = Vec::new();
    // Queried in any case, because the query reports that a kernel has failed in the context.
    let legacy = busy(std::ptr::null_mut())?;
    let all_blocking = legacy && context.legacy_used;
    if all_blocking {
        streams.push(DriverHandle(std::ptr::null_mut()));
    }
    context.legacy_used &= legacy;
    if legacy && !all_blocking {
        for (_, stream) in tables.thread_streams.iter().filter(|(key, _)| key.ctx == cx.ctx) {
            if busy(stream.0)? {
                streams.push(*stream);
            }
        }
    }
    for stream in tables.streams.values_mut() {
        // If the legacy stream is empty, so is every stream that synchronizes with it.
        let covered = stream.blocking && (all_blocking || !legacy);
        if stream.ctx == cx.ctx && stream.used && !covered {
            stream.used = busy(stream.real.0)?;
            if stream.used {
                streams.push(stream.real);
            }
        }
    }
    Ok(streams)
}

/// Queries one of the guest's events. If the guest has destroyed the event during a wait, the
/// result is CUDA_ERROR_INVALID_HANDLE.
fn query_guest(cx: &Cx<'_>, id: EventId) -> CuResult {
    let event = cx.event(id)?;
    // SAFETY: the event is live: only this thread destroys events.
    unsafe { cx.driver().cuEventQuery(event) }
}
