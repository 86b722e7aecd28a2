//! Waiting for the GPU without blocking the ring reader.
//!
//! A wait is an event that is queried between commands. Whoever waits for a stream waits for an
//! event recorded there, and not for what others queue behind it.

use std::time::{Duration, Instant};

use cuda_api::sys::{CUevent, CUstream};

use protocol::ids::{ContextId, EventId};

use super::cx::Cx;
use super::driver_handle::DriverHandle;
use super::events::query;
use super::memory::Freeing;
use super::result::number;
use super::waits::{Awaited, Completion, Waiting};
use super::{Calls, ReplyTo, lock};
use crate::driver::{CuError, CuResult};
use crate::executor::Pending;

/// Waits at once. A guest thread waits for one thing at a time.
const MAX_WAITS: usize = 4096;
/// After so long without anything ending, the reader may sleep between looks: to be woken takes
/// tens of microseconds on each side. (Natively a thread that waits spins all the time.)
const PATIENCE: Duration = Duration::from_millis(2);
const SHORTEST_SLEEP: Duration = Duration::from_micros(20);
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

impl Calls {
    /// Waits for what a stream holds now. The stream's context must be entered.
    pub(super) fn wait_stream(
        &mut self,
        cx: &Cx<'_>,
        stream: CUstream,
        ctx: ContextId,
        then: Completion,
    ) {
        // SAFETY: the stream is live: just looked up on this thread, which alone destroys streams.
        match unsafe { cx.driver().cuStreamQuery(stream) } {
            Err(CuError::NOT_READY) => self.wait_recorded(cx, stream, ctx, then),
            done => self.then(cx, done, then),
        }
    }

    /// As [`Calls::wait_stream`], when the stream surely is not empty.
    pub(super) fn wait_recorded(
        &mut self,
        cx: &Cx<'_>,
        stream: CUstream,
        ctx: ContextId,
        then: Completion,
    ) {
        match self.events.record(cx, stream, ctx) {
            Ok(event) => self.wait(Waiting { ctx, on: Awaited::Event(event), then }),
            Err(error) => self.then(cx, Err(error), then),
        }
    }

    /// Waits for what all streams of a context hold now.
    pub(super) fn wait_context(&mut self, cx: &Cx<'_>, then: Completion) {
        match self.record_all(cx) {
            Ok(events) if events.is_empty() => self.then(cx, Ok(()), then),
            Ok(events) => self.wait(Waiting { ctx: cx.ctx, on: Awaited::Events(events), then }),
            Err(error) => self.then(cx, Err(error), then),
        }
    }

    /// Waits for an event of the guest's.
    pub(super) fn wait_event(&mut self, cx: &Cx<'_>, id: EventId, then: Completion) {
        match query_guest(cx, id) {
            Err(CuError::NOT_READY) => {
                self.wait(Waiting { ctx: cx.ctx, on: Awaited::Guest(id), then });
            }
            done => self.then(cx, done, then),
        }
    }

    fn wait(&mut self, waiting: Waiting) {
        if self.waits.list.len() >= MAX_WAITS
            && let Completion::Answer(reply) | Completion::InPlace(reply, _) = waiting.then
        {
            waiting.on.give_back(waiting.ctx, &mut self.events);
            reply.finish(CuError::OUT_OF_MEMORY.0, &[]);
            return;
        }
        self.waits.list.push(waiting);
        self.waits.quiet_since = None;
    }

    /// Records events such that all that the current context has queued lies before them.
    fn record_all(&mut self, cx: &Cx<'_>) -> CuResult<Vec<DriverHandle<CUevent>>> {
        cx.enter()?;
        let mut events = Vec::new();
        let recorded = self.busy_streams(cx).and_then(|streams| {
            streams.into_iter().try_for_each(|stream| {
                events.push(self.events.record(cx, stream.0, cx.ctx)?);
                Ok(())
            })
        });
        if let Err(error) = recorded {
            events.into_iter().for_each(|event| self.events.give_back(cx.ctx, event));
            return Err(error);
        }
        Ok(events)
    }

    /// The streams that must be waited for, if all of the current context is. The legacy stream
    /// stands for those that wait for it.
    fn busy_streams(&self, cx: &Cx<'_>) -> CuResult<Vec<DriverHandle<CUstream>>> {
        // SAFETY: live streams: only this thread destroys any.
        let busy = |stream| match unsafe { cx.driver().cuStreamQuery(stream) } {
            Ok(()) => Ok(false),
            Err(CuError::NOT_READY) => Ok(true),
            Err(error) => Err(error),
        };
        let tables = &mut *lock(&cx.shared.tables);
        let context = tables.contexts.get_mut(cx.ctx).map_err(|_| CuError::INVALID_CONTEXT)?;
        let mut streams = Vec::new();
        // Asked in any case: it tells of a context in which a kernel has failed.
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
            // When the legacy stream is empty, so is each that it waits for.
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

    /// Looks at everything that is waited for.
    pub(super) fn poll_waits(&mut self) -> Pending {
        if self.waits.list.is_empty() {
            return Pending::Nothing;
        }
        let shared = self.shared.clone();
        let mut last = None;
        let mut index = 0;
        while index < self.waits.list.len() {
            let waiting = &mut self.waits.list[index];
            let cx = Cx { shared: &shared, thread: 0, ctx: waiting.ctx };
            let state = match &mut waiting.on {
                Awaited::Event(event) => query(&cx, *event),
                Awaited::Events(events) => loop {
                    let Some(event) = events.last() else { break Ok(()) };
                    match query(&cx, *event) {
                        Ok(()) => {
                            let event = events.pop().expect("there was a last one");
                            self.events.give_back(waiting.ctx, event);
                        }
                        other => break other,
                    }
                },
                Awaited::Guest(id) => query_guest(&cx, *id),
            };
            if state == Err(CuError::NOT_READY) {
                index += 1;
                continue;
            }
            last = Some(waiting.ctx);
            let waiting = self.waits.list.swap_remove(index);
            waiting.on.give_back(waiting.ctx, &mut self.events);
            self.then(&cx, state, waiting.then);
        }
        if self.waits.list.is_empty() {
            if let Some(ctx) = last {
                self.look_for_output(&Cx { shared: &shared, thread: 0, ctx });
            }
            return Pending::Nothing;
        }
        let now = Instant::now();
        if last.is_some() {
            self.waits.quiet_since = Some(now);
            return Pending::Soon;
        }
        let quiet = now.duration_since(*self.waits.quiet_since.get_or_insert(now));
        if quiet < PATIENCE {
            Pending::Soon
        } else {
            Pending::Within((quiet / 64).clamp(SHORTEST_SLEEP, LONGEST_SLEEP))
        }
    }

    /// A wait has ended.
    pub(super) fn then(&mut self, cx: &Cx<'_>, result: CuResult, then: Completion) {
        match then {
            Completion::Answer(reply) => self.with_output(cx, reply).finish(number(result), &[]),
            Completion::InPlace(reply, len) => match result {
                Ok(()) => self.with_output(cx, reply).finish_in_place(0, len),
                Err(error) => reply.finish(error.0, &[]),
            },
            Completion::Free(freeing, thread, reply) => {
                let mapping = cx.freed(freeing);
                match (mapping, reply) {
                    (None, None) => {}
                    (None, Some(reply)) => reply.finish(number(result), &[]),
                    (Some(mapping), reply) => {
                        self.give_back_later(thread, cx.ctx, mapping, move || {
                            if let Some(reply) = reply {
                                reply.finish(number(result), &[]);
                            }
                        });
                    }
                }
            }
        }
    }

    /// The session ends: whoever waits is told why. What was to be freed is freed with the worker.
    pub(super) fn fail_waits(&mut self, error: CuError) {
        for waiting in std::mem::take(&mut self.waits.list) {
            match waiting.then {
                Completion::Answer(reply)
                | Completion::InPlace(reply, _)
                | Completion::Free(_, _, Some(reply)) => {
                    reply.finish(error.0, &[]);
                }
                Completion::Free(_, _, None) => {}
            }
        }
    }

    /// A context is about to end: nothing that waits there will be answered by the GPU. What is to
    /// be freed once it has ended.
    pub(super) fn end_waits_of(&mut self, ctx: ContextId) -> Vec<(Freeing, Option<ReplyTo>)> {
        let mut freeing = Vec::new();
        let mut index = 0;
        while index < self.waits.list.len() {
            if self.waits.list[index].ctx != ctx {
                index += 1;
                continue;
            }
            match self.waits.list.swap_remove(index).then {
                Completion::Answer(reply) | Completion::InPlace(reply, _) => {
                    reply.finish(CuError::CONTEXT_IS_DESTROYED.0, &[]);
                }
                Completion::Free(what, _, reply) => freeing.push((what, reply)),
            }
        }
        // The events end with the context.
        self.events.forget(ctx);
        self.forget_watch(ctx);
        freeing
    }
}

/// The guest may destroy its event while it is waited for; then it is an invalid handle.
fn query_guest(cx: &Cx<'_>, id: EventId) -> CuResult {
    let event = cx.event(id)?;
    // SAFETY: the event is live: only this thread destroys events.
    unsafe { cx.driver().cuEventQuery(event) }
}
