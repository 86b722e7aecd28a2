//! Calls that get their reply later.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cuda_api::sys::CUstream;
use protocol::ids::{ContextId, EventId, StreamId};

use super::arena::Arena;
use super::cx::Cx;
use super::events::EventPool;
use super::lock::lock;
use super::memory::{AsyncFree, AsyncFrees, Freeing, Mapping, Retries, Retry, allocate, give_back};
use super::printing::Watch;
use super::registered::Registration;
use super::result::number;
use super::shared::Shared;
use super::waits::{Completion, Finished, Waits};
use crate::driver::{CuError, CuResult};
use crate::executor::Pending;
use crate::region::Region;
use crate::reply::ReplyTo;

/// How long the reader may sleep while only frees are outstanding.
const FREE_CHECK: Duration = Duration::from_millis(1);

/// The state of calls that get their reply later: calls that wait for the GPU, for memory, or for a
/// job on another thread. Only the ring reader's thread uses it.
pub(super) struct Deferred {
    shared: Arc<Shared>,
    events: EventPool,
    waits: Waits,
    arena: Option<Arena>,
    async_frees: AsyncFrees,
    retries: Retries,
    watch: Watch,
}

impl Deferred {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            events: EventPool::default(),
            waits: Waits::default(),
            arena: None,
            async_frees: AsyncFrees::default(),
            retries: Retries::default(),
            watch: Watch::default(),
        }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Returns the events that the worker records for its own use.
    pub(super) fn events(&mut self) -> &mut EventPool {
        &mut self.events
    }

    /// Runs a job on the thread that mirrors a guest thread, in the guest thread's context.
    fn job(&self, thread: u32, ctx: ContextId, job: impl FnOnce(&Cx<'_>) + Send + 'static) {
        let shared = self.shared.clone();
        let done = self.shared.session.mirrors.run(thread, move || {
            job(&Cx { shared: &shared, thread, ctx });
            // The driver may have written output of kernels, which the guest may never fetch.
            lock(&shared.output).waiting();
        });
        // Logged at debug level because a guest can cause it as often as it likes.
        if let Err(error) = done {
            tracing::debug!(session = self.shared.session.label, "{error}");
        }
    }

    /// Runs a job that must not be dropped: on the thread that mirrors a guest thread, or on
    /// another thread if there is no guest thread or the session can't have more threads.
    pub(super) fn own_job(
        &self,
        thread: Option<u32>,
        ctx: ContextId,
        job: impl FnOnce(&Cx<'_>) + Send + 'static,
    ) {
        let shared = self.shared.clone();
        self.shared.session.mirrors.run_always(thread, move || {
            job(&Cx { shared: &shared, thread: thread.unwrap_or(u32::MAX), ctx });
        });
    }

    /// Runs a job that replies to a command, on the thread that mirrors the guest thread.
    pub(super) fn on_mirror(
        &self,
        thread: u32,
        ctx: ContextId,
        reply: ReplyTo,
        job: impl FnOnce(&Cx<'_>, ReplyTo) + Send + 'static,
    ) {
        self.job(thread, ctx, move |cx| job(cx, reply));
    }

    /// Waits for the commands that are now in a stream. The stream's context must be entered.
    pub(super) fn wait_stream(
        &mut self,
        cx: &Cx<'_>,
        stream: CUstream,
        ctx: ContextId,
        completion: Completion,
    ) {
        // SAFETY: the stream is live: it was just looked up, and only this thread destroys streams.
        match unsafe { cx.driver().cuStreamQuery(stream) } {
            Err(CuError::NOT_READY) => self.wait_recorded(cx, stream, ctx, completion),
            done => self.complete(cx, done, completion),
        }
    }

    /// Waits for a stream that is known not to be empty.
    pub(super) fn wait_recorded(
        &mut self,
        cx: &Cx<'_>,
        stream: CUstream,
        ctx: ContextId,
        completion: Completion,
    ) {
        let done = self.waits.add_stream(cx, &mut self.events, stream, ctx, completion);
        self.complete_if(cx, done);
    }

    /// Waits for the commands that are now in any stream of a context.
    pub(super) fn wait_context(&mut self, cx: &Cx<'_>, completion: Completion) {
        let done = self.waits.add_context(cx, &mut self.events, completion);
        self.complete_if(cx, done);
    }

    /// Waits for one of the guest's events.
    pub(super) fn wait_event(&mut self, cx: &Cx<'_>, id: EventId, completion: Completion) {
        let done = self.waits.add_event(cx, &mut self.events, id, completion);
        self.complete_if(cx, done);
    }

    fn complete_if(&mut self, cx: &Cx<'_>, done: Option<(CuResult, Completion)>) {
        if let Some((result, completion)) = done {
            self.complete(cx, result, completion);
        }
    }

    /// Completes a call whose wait has ended.
    pub(super) fn complete(&mut self, cx: &Cx<'_>, result: CuResult, completion: Completion) {
        match completion {
            Completion::Answer(reply) => {
                self.watch.report_output(cx, reply).finish(number(result), &[]);
            }
            Completion::InPlace(reply, len) => match result {
                Ok(()) => self.watch.report_output(cx, reply).finish_in_place(0, len),
                Err(error) => reply.finish(error.0, &[]),
            },
            Completion::Free(freeing, thread, reply) => {
                let mapping = cx.shared.memory.freed(freeing);
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

    /// Completes the calls whose wait has ended.
    pub(super) fn poll_waits(&mut self) -> Pending {
        if self.waits.is_empty() {
            return Pending::Nothing;
        }
        let shared = self.shared.clone();
        let (mut last, mut index) = (None, 0);
        while let Some(Finished { ctx, result, completion }) =
            self.waits.next_finished(&shared, &mut self.events, &mut index)
        {
            last = Some(ctx);
            self.complete(&Cx { shared: &shared, thread: 0, ctx }, result, completion);
        }
        if self.waits.is_empty() {
            if let Some(ctx) = last {
                self.watch.look(&Cx { shared: &shared, thread: 0, ctx });
            }
            return Pending::Nothing;
        }
        self.waits.next_poll(last.is_some())
    }

    /// Fails all waits, because the session ends. Memory that would be freed after a wait is freed
    /// when the worker exits.
    pub(super) fn fail_waits(&mut self, error: CuError) {
        self.waits.fail_all(error);
    }

    /// Ends all waits in a context that is about to be destroyed. Returns the memory to free once
    /// the context has been destroyed, with the replies to the calls that wait for it.
    pub(super) fn end_of_context(&mut self, ctx: ContextId) -> Vec<(Freeing, Option<ReplyTo>)> {
        let mut freeing = self.waits.end_of(ctx);
        // The driver destroys the events with the context.
        self.events.forget(ctx);
        self.watch.forget(ctx);
        freeing.extend(self.async_frees.end_of(ctx).into_iter().map(|freeing| (freeing, None)));
        freeing
    }

    /// Frees memory once its stream has reached an event.
    pub(super) fn free_later(&mut self, free: AsyncFree) {
        self.async_frees.add(free);
    }

    /// Reuses memory of this size in the current context whose free is pending in a stream, for a
    /// new allocation in the same stream. Returns its address.
    pub(super) fn reuse(&mut self, cx: &Cx<'_>, stream: StreamId, len: u64) -> Option<u64> {
        let free = self.async_frees.take_reusable(stream, len, cx.ctx, cx.thread)?;
        self.events.give_back(free.ctx, free.event);
        Some(lock(&cx.shared.memory.plan).untake(free.freeing))
    }

    /// Frees all memory whose stream has reached the free.
    pub(super) fn poll_async_frees(&mut self) -> Pending {
        if self.async_frees.is_empty() {
            return Pending::Nothing;
        }
        let shared = self.shared.clone();
        while let Some(free) = self.async_frees.next_reached(&shared.driver) {
            let ctx = free.freeing.ctx();
            let cx = Cx { shared: &shared, thread: free.thread, ctx };
            self.events.give_back(free.ctx, free.event);
            if let Some(mapping) = cx.shared.memory.freed(free.freeing) {
                self.give_back_later(free.thread, ctx, mapping, || {});
            }
        }
        if self.async_frees.is_empty() { Pending::Nothing } else { Pending::Within(FREE_CHECK) }
    }

    /// Unmaps memory on the thread that mirrors a guest thread, then calls `done`.
    fn give_back_later(
        &self,
        thread: u32,
        ctx: ContextId,
        mapping: Mapping,
        done: impl FnOnce() + Send + 'static,
    ) {
        self.shared.giving_back.fetch_add(1, Ordering::AcqRel);
        self.own_job(Some(thread), ctx, move |cx| {
            give_back(cx, mapping);
            cx.shared.giving_back.fetch_sub(1, Ordering::AcqRel);
            cx.shared.session.waker.wake();
            done();
        });
    }

    /// Returns whether another allocation may wait for memory that is being freed.
    pub(super) fn may_retry(&self) -> bool {
        self.retries.has_room()
    }

    /// Repeats an allocation once the memory that is being freed now has been freed.
    pub(super) fn retry_later(&mut self, retry: Retry) {
        self.poll_async_frees();
        self.retries.add(retry);
        // If no memory is being freed, this repeats the allocation immediately.
        self.poll_retries();
    }

    /// Repeats the allocations that wait, if no memory is being freed any more.
    pub(super) fn poll_retries(&mut self) {
        if self.retries.is_empty() || self.shared.giving_back.load(Ordering::Acquire) > 0 {
            return;
        }
        let shared = self.shared.clone();
        for Retry { bytes, thread, ctx, reply } in self.retries.take_all() {
            let cx = Cx { shared: &shared, thread, ctx };
            match allocate(&cx, reply.reservation(), bytes as u64) {
                Ok((dptr, settled)) => reply.succeed(settled, &dptr.to_le_bytes()),
                Err(error) => reply.fail(error),
            }
        }
    }

    /// Uses a region's arena, which starts at `start`, for staging.
    pub(super) fn attach_arena(&mut self, region: &Arc<Region>, start: usize) {
        self.arena = Some(Arena::new(&self.shared, region.clone(), start));
    }

    /// Stops using the arena. Returns the registration that must be undone before the pages are
    /// unmapped.
    pub(super) fn detach_arena(&mut self) -> Option<Registration> {
        self.arena.take().and_then(|arena| arena.registration())
    }

    /// Returns the address of `len` bytes of the arena in this process.
    pub(super) fn staging(&mut self, offset: u64, len: usize) -> CuResult<*mut u8> {
        self.arena.as_mut().ok_or(CuError::INVALID_VALUE)?.at(offset, len)
    }

    /// Registers the arena with the GPU, if there is one.
    pub(super) fn register_arena(&mut self) {
        if let Some(arena) = &mut self.arena {
            arena.register();
        }
    }
}
