//! Calls whose reply is sent later, after a wait or by another thread.

use std::sync::{Arc, Once};
use std::time::Duration;

use cuda_api::sys::CUstream;
use protocol::ids::{ContextId, EventId, PoolId, StreamId};

use crate::calls::code::printing::Watch;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::events::EventPool;
use crate::calls::commands::result::number;
use crate::calls::commands::shared::Shared;
use crate::calls::commands::waits::{
    Completion, Finished, Waits, Which, only_legacy_is_busy, query_guest,
};
use crate::calls::commands::words::{Word, Words, last_in};
use crate::calls::lock::lock;
use crate::calls::memory::allocations::{
    AsyncFree, AsyncFrees, Freeing, Mapping, Request, Retry, Waiter, Waiters, allocate, create,
    give_back, keep, report_free_memory,
};
use crate::calls::memory::arena::Arena;
use crate::calls::memory::registered::Registration;
use crate::driver::{CuError, CuResult};
use crate::executor::Pending;
use crate::ledger::{Asked, Decision, take_question};
use crate::region::Region;
use crate::reply::{ReplyTo, UNDECIDED};

/// The longest time that the reader may sleep while it waits only for stream-ordered frees.
const FREE_CHECK: Duration = Duration::from_millis(1);

/// The maximum number of allocations that wait for the broker's decision about their memory.
const MAX_UNDECIDED: usize = 4096;

/// The state for calls whose reply is sent later: they wait for the GPU, for memory to be freed, or
/// for a job on another thread. Only the ring reader's thread uses it.
pub(in crate::calls) struct Deferred {
    shared: Arc<Shared>,
    events: EventPool,
    waits: Waits,
    arena: Option<Arena>,
    async_frees: AsyncFrees,
    waiters: Waiters,
    /// Allocations that wait for the broker's decision about their memory, each with the call to
    /// retry.
    undecided: Vec<(Asked, Retry)>,
    watch: Watch,
    words: Words,
    /// Makes the worker log only once that it can't start a mirror for a guest thread.
    warned: Once,
}

impl Deferred {
    pub(in crate::calls) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            events: EventPool::default(),
            waits: Waits::default(),
            arena: None,
            async_frees: AsyncFrees::default(),
            waiters: Waiters::default(),
            undecided: Vec::new(),
            watch: Watch::default(),
            words: Words::default(),
            warned: Once::new(),
        }
    }

    pub(in crate::calls) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Returns the pool of events that the worker records for its own use.
    pub(in crate::calls) fn events(&mut self) -> &mut EventPool {
        &mut self.events
    }

    /// Runs a job with `ctx` as the current context, on the guest thread's mirror (the worker's
    /// thread that corresponds to the guest thread). The job is never dropped: if `thread` is
    /// `None`, or if the session can't have more mirrors, it runs on another thread.
    pub(in crate::calls) fn own_job(
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

    /// Runs a job on the mirror of the guest thread. The job must send the reply. If the session
    /// can't have another mirror, replies with CUDA_ERROR_OPERATING_SYSTEM instead.
    pub(in crate::calls) fn on_mirror(
        &self,
        thread: u32,
        ctx: ContextId,
        reply: ReplyTo,
        job: impl FnOnce(&Cx<'_>, ReplyTo) + Send + 'static,
    ) {
        let seat = match self.shared.session.mirrors.seat(thread) {
            Ok(seat) => seat,
            Err(why) => {
                let session = &self.shared.session.label;
                // Log this only once, because a guest can cause it as often as it wants.
                self.warned.call_once(|| tracing::warn!(session, "refusing calls: {why}"));
                drop(job);
                return reply.finish(CuError::OPERATING_SYSTEM.0, &[]);
            }
        };
        let shared = self.shared.clone();
        seat.run(move || {
            job(&Cx { shared: &shared, thread, ctx }, reply);
            // Drop kernel output beyond the limit, because the job may have made the driver write
            // some, and the guest may never fetch it.
            lock(&shared.output).waiting();
        });
    }

    /// Completes a call once the commands now queued in a stream have finished, as
    /// [`Deferred::wait_stream`] does. The caller knows that some of them haven't finished yet.
    pub(in crate::calls) fn wait_recorded(
        &mut self,
        cx: &Cx<'_>,
        stream: CUstream,
        ctx: ContextId,
        completion: Completion,
    ) {
        self.add_stream(cx, (stream, ctx), false, completion);
    }

    fn add_stream(
        &mut self,
        cx: &Cx<'_>,
        stream: (CUstream, ContextId),
        has_word: bool,
        completion: Completion,
    ) {
        let done = self.waits.add_stream(cx, &mut self.events, stream, has_word, completion);
        self.complete_if(cx, done);
    }

    /// Completes a call once the commands now queued in the streams of the current context have
    /// finished.
    pub(in crate::calls) fn wait_context(&mut self, cx: &Cx<'_>, completion: Completion) {
        self.wait_streams(cx, Which::All, None, completion);
    }

    /// Completes a call once the commands now queued in the streams that `which` selects have
    /// finished. The streams are those of the current context. The GPU can write the completion
    /// word `word` at that time.
    pub(in crate::calls) fn wait_streams(
        &mut self,
        cx: &Cx<'_>,
        which: Which,
        word: Option<Word>,
        completion: Completion,
    ) {
        let Self { waits, words, arena, events, .. } = self;
        let waiting = waits.len();
        let arm = |stream| {
            word.is_some_and(|word| {
                words.arm(cx, (arena.as_mut(), waiting), (stream, cx.ctx), word)
            })
        };
        let done = waits.add_streams(cx, events, which, completion, arm);
        self.complete_if(cx, done);
    }

    /// Completes a call once the GPU has reached one of the guest's events.
    pub(in crate::calls) fn wait_event(
        &mut self,
        cx: &Cx<'_>,
        id: EventId,
        completion: Completion,
    ) {
        self.add_event(cx, id, false, completion);
    }

    fn add_event(&mut self, cx: &Cx<'_>, id: EventId, has_word: bool, completion: Completion) {
        let done = self.waits.add_event(cx, &mut self.events, id, has_word, completion);
        self.complete_if(cx, done);
    }

    /// Completes a call once the commands now queued in a stream have finished. The stream's
    /// context must have been entered. The GPU can write the completion word `word` at that time.
    pub(in crate::calls) fn wait_stream(
        &mut self,
        cx: &Cx<'_>,
        (stream, ctx): (CUstream, ContextId),
        word: Option<Word>,
        completion: Completion,
    ) {
        // SAFETY: the stream is live, because the caller has just looked it up, and only this
        // thread removes streams from the tables.
        match unsafe { cx.driver().cuStreamQuery(stream) } {
            Err(CuError::NOT_READY) => {
                let has_word = word.is_some_and(|word| self.arm(cx, (stream, ctx), word));
                self.add_stream(cx, (stream, ctx), has_word, completion);
            }
            done => self.complete(cx, done, completion),
        }
    }

    /// Completes a call once the GPU has reached one of the guest's events. The GPU can write the
    /// completion word `word` at that time.
    pub(in crate::calls) fn wait_event_with(
        &mut self,
        cx: &Cx<'_>,
        id: EventId,
        word: Word,
        completion: Completion,
    ) {
        // Use a completion word only if nothing was queued in the stream after the event, because
        // the write would otherwise happen after that later work, too late to be of use. A write in
        // the legacy stream would also wait for all streams that synchronize with it, so those must
        // be idle.
        let has_word = last_in(cx, id).is_some_and(|stream| {
            (!stream.0.is_null() || only_legacy_is_busy(&cx.within(stream.1)))
                && query_guest(cx, id) == Err(CuError::NOT_READY)
                && self.arm(cx, stream, word)
        });
        self.add_event(cx, id, has_word, completion);
    }

    /// Has the GPU write a completion word after the commands now queued in a stream. Returns false
    /// if the GPU can't.
    fn arm(&mut self, cx: &Cx<'_>, stream: (CUstream, ContextId), word: Word) -> bool {
        self.words.arm(cx, (self.arena.as_mut(), self.waits.len()), stream, word)
    }

    fn complete_if(&mut self, cx: &Cx<'_>, done: Option<(CuResult, Completion)>) {
        if let Some((result, completion)) = done {
            self.complete(cx, result, completion);
        }
    }

    /// Completes a call whose wait has ended with `result`.
    pub(in crate::calls) fn complete(
        &mut self,
        cx: &Cx<'_>,
        result: CuResult,
        completion: Completion,
    ) {
        // On bare metal, memory that was freed in a stream is free once the program has waited for
        // the stream. So finish these frees before replying.
        self.poll_async_frees();
        match completion {
            Completion::Answer(reply) => {
                self.watch.report_output(cx, reply).finish(number(result), &[]);
            }
            Completion::InPlace(reply, len) => match result {
                Ok(()) => self.watch.report_output(cx, reply).finish_in_place(0, len),
                Err(error) => reply.finish(error.0, &[]),
            },
            Completion::Free(freeing, reply) => {
                let mapping = cx.shared.memory.freed(freeing);
                let may_keep = result.is_ok() && freeing.pool().is_none();
                let done = move || {
                    reply.into_iter().for_each(|reply| reply.finish(number(result), &[]));
                };
                match mapping.map(|mapping| (mapping, may_keep.then(|| keep(cx, mapping)))) {
                    None | Some((_, Some(Ok(())))) => done(),
                    Some((mapping, older)) => {
                        let older = older.and_then(Result::err).unwrap_or_default();
                        older.into_iter().for_each(|of| self.give_back_later(cx.ctx, of, || {}));
                        self.give_back_later(cx.ctx, mapping, done);
                    }
                }
            }
        }
    }

    /// Completes the calls whose waits have ended. Returns when to poll again.
    pub(in crate::calls) fn poll_waits(&mut self) -> Pending {
        if self.waits.is_empty() {
            return self.watch.poll(&self.shared, false);
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
                self.watch.waited(&shared, ctx);
            }
            return self.watch.poll(&shared, false);
        }
        self.watch.poll(&shared, true);
        self.waits.next_poll(last.is_some())
    }

    /// Fails all waiting calls, because the session has ended. Memory that a call would have freed
    /// after its wait is freed when the worker exits.
    pub(in crate::calls) fn fail_waits(&mut self, error: CuError) {
        self.waits.fail_all(error);
    }

    /// Ends all waits in a context that is about to be destroyed. Returns the memory that the calls
    /// were about to free, each with its reply. The caller must free the memory once the context
    /// has been destroyed.
    pub(in crate::calls) fn end_of_context(
        &mut self,
        ctx: ContextId,
    ) -> Vec<(Freeing, Option<ReplyTo>)> {
        let mut freeing = self.waits.end_of(ctx);
        // Forget the pool's events in this context, because the driver destroys them with the
        // context.
        self.events.forget(ctx);
        self.shared.value_waits.forget_context(ctx);
        self.watch.forget(ctx);
        for free in self.async_frees.end_of(ctx) {
            // Memory of this context may be freed in a stream of another context. That context
            // isn't being destroyed, so its pool can use the event again.
            if free.ctx != ctx {
                self.events.give_back_any(free.ctx, free.event);
            }
            freeing.push((free.freeing, None));
        }
        freeing
    }

    /// Starts a stream-ordered free. The memory is freed once the GPU has reached the point of the
    /// free in its stream.
    pub(in crate::calls) fn free_later(&mut self, free: AsyncFree) {
        self.async_frees.add(free);
    }

    /// Lets a new allocation reuse memory that was freed in the same stream of the current context,
    /// if the GPU hasn't reached the free yet. The memory must have the same size and pool. Returns
    /// its address, or `None` if there is no such memory.
    pub(in crate::calls) fn reuse(
        &mut self,
        cx: &Cx<'_>,
        stream: StreamId,
        len: u64,
        pool: PoolId,
    ) -> Option<u64> {
        let free = self.async_frees.take_reusable(stream, len, pool, (cx.ctx, cx.thread))?;
        self.events.give_back_any(free.ctx, free.event);
        Some(lock(&cx.shared.memory.plan).untake(free.freeing))
    }

    /// Frees the memory of stream-ordered frees that the GPU has reached, except memory that an
    /// allocation may soon reuse. Returns when to poll again.
    pub(in crate::calls) fn poll_old_async_frees(&mut self) -> Pending {
        if self.async_frees.is_empty() {
            return Pending::Nothing;
        }
        let shared = self.shared.clone();
        let old = self.async_frees.take_old(&shared.driver);
        self.finish_async_frees(&shared, old);
        if self.async_frees.is_empty() { Pending::Nothing } else { Pending::Within(FREE_CHECK) }
    }

    /// Frees the memory of all stream-ordered frees that the GPU has reached.
    pub(in crate::calls) fn poll_async_frees(&mut self) {
        if self.async_frees.is_empty() {
            return;
        }
        let shared = self.shared.clone();
        let reached = self.async_frees.take_reached(&shared.driver);
        self.finish_async_frees(&shared, reached);
    }

    /// Finishes the stream-ordered frees that the GPU has reached. Returns whether no other such frees
    /// are outstanding and no call is waiting.
    pub(in crate::calls) fn awaits_nothing(&mut self) -> bool {
        self.poll_async_frees();
        self.async_frees.is_empty()
            && self.waits.is_empty()
            && self.waiters.is_empty()
            && self.undecided.is_empty()
    }

    fn finish_async_frees(&mut self, shared: &Arc<Shared>, frees: Vec<AsyncFree>) {
        for free in frees {
            let ctx = free.freeing.ctx();
            let cx = Cx { shared, thread: free.thread, ctx };
            self.events.give_back_any(free.ctx, free.event);
            if let Some(mapping) = cx.shared.memory.freed(free.freeing) {
                self.give_back_later(ctx, mapping, || {});
            }
        }
    }

    /// Unmaps all memory that isn't allocated but is still mapped, because the session's pools hold
    /// it or the worker keeps it.
    pub(in crate::calls) fn trim(&mut self, cx: &Cx<'_>) {
        self.poll_async_frees();
        let gone = lock(&cx.shared.memory.plan).trim_all();
        gone.into_iter().for_each(|mapping| self.give_back_later(cx.ctx, mapping, || {}));
    }

    /// Unmaps memory, and then calls `done`. Uses a thread that doesn't run the guest's calls,
    /// because a call on such a thread may be waiting for this memory.
    pub(in crate::calls) fn give_back_later(
        &self,
        ctx: ContextId,
        mapping: Mapping,
        done: impl FnOnce() + Send + 'static,
    ) {
        let number = lock(&self.shared.unmapping).begin();
        let shared = self.shared.clone();
        self.shared.session.mirrors.run_freeing(move || {
            give_back(&Cx { shared: &shared, thread: u32::MAX, ctx }, mapping);
            lock(&shared.unmapping).end(number);
            shared.session.waker.wake();
            done();
        });
    }

    /// Returns whether one more allocation may wait until memory has been freed or the broker has
    /// decided.
    pub(in crate::calls) fn may_retry(&self) -> bool {
        self.waiters.has_room() && self.undecided.len() < MAX_UNDECIDED
    }

    /// Retries an allocation once all memory that is being freed at the moment has been freed.
    pub(in crate::calls) fn retry_later(&mut self, retry: Retry) {
        self.after_frees(Waiter::Retry(retry));
    }

    /// Continues a call once all memory that is being freed at the moment has been freed. If no
    /// memory is being freed, or if too many calls are already waiting, continues the call
    /// immediately.
    pub(in crate::calls) fn after_frees(&mut self, waiter: Waiter) {
        self.poll_async_frees();
        if self.waiters.has_room() {
            self.waiters.add(&lock(&self.shared.unmapping), waiter);
            self.poll_waiters();
        } else {
            self.resume(waiter);
        }
    }

    /// Continues the calls for which all the memory that they waited for has been freed, and the
    /// allocations about which the broker has decided.
    pub(in crate::calls) fn poll_waiters(&mut self) {
        if !self.undecided.is_empty() {
            self.poll_undecided();
        }
        while !self.waiters.is_empty() {
            let ready = self.waiters.next_ready(&lock(&self.shared.unmapping));
            let Some(waiter) = ready else { return };
            self.resume(waiter);
        }
    }

    fn resume(&mut self, waiter: Waiter) {
        let shared = &self.shared;
        let Retry { request, thread, ctx, reply } = match waiter {
            Waiter::Retry(retry) => retry,
            Waiter::Info(thread, ctx, reply) => {
                return report_free_memory(&Cx { shared, thread, ctx }, reply);
            }
            Waiter::Done(reply) => return reply.finish(0, &[]),
        };
        self.retry(Retry { request, thread, ctx, reply }, None);
    }

    /// Tries an allocation again. If the broker was asked about its memory, `decision` is the
    /// broker's answer.
    fn retry(&mut self, retry: Retry, decision: Option<Decision>) {
        let Retry { request, thread, ctx, reply } = retry;
        let session = &self.shared.session;
        let cx = Cx { shared: &self.shared, thread, ctx };
        let allocated = session.ledger.with_decision(decision, || match request {
            Request::Allocate(bytes, source) => {
                allocate(&cx, reply.reservation(), bytes as u64, source)
            }
            Request::Create(call) => create(&cx, reply.reservation(), call),
        });
        match (allocated, take_question()) {
            (Ok((address, settled)), _) => reply.succeed(settled, &address.to_le_bytes()),
            (Err(error), Some(question)) if error.0 == UNDECIDED => {
                let asked = session.ledger.ask_later(question, &session.waker);
                self.undecided.push((asked, Retry { request, thread, ctx, reply }));
            }
            (Err(error), _) => reply.fail(error),
        }
    }

    /// Tries again the allocations about which the broker has decided.
    fn poll_undecided(&mut self) {
        let is_decided = |(asked, _): &mut (Asked, Retry)| asked.decision().is_some();
        let decided: Vec<_> = self.undecided.extract_if(.., is_decided).collect();
        for (asked, retry) in decided {
            self.retry(retry, asked.decision());
        }
    }

    /// Starts to use the arena in `region` for copies. `start` is the arena's offset in the region,
    /// in bytes.
    pub(in crate::calls) fn attach_arena(&mut self, region: &Arc<Region>, start: usize) {
        self.arena = Some(Arena::new(&self.shared, region.clone(), start));
    }

    /// Stops using the arena. Returns the arena's registration with the GPU, if it has one. The
    /// caller must undo the registration before the pages are unmapped.
    pub(in crate::calls) fn detach_arena(&mut self) -> Option<Registration> {
        self.arena.take().and_then(|arena| arena.registration())
    }

    /// Returns the address in this process of `len` bytes at `offset` in the arena.
    /// The current context must have been entered.
    pub(in crate::calls) fn staging(
        &mut self,
        cx: &Cx<'_>,
        offset: u64,
        len: usize,
    ) -> CuResult<*mut u8> {
        self.arena.as_mut().ok_or(CuError::INVALID_VALUE)?.at(cx.ctx, offset, len)
    }

    /// Registers the arena with the GPU, if the session has an arena. The current context must have
    /// been entered.
    pub(in crate::calls) fn register_arena(&mut self, cx: &Cx<'_>) {
        if let Some(arena) = &mut self.arena {
            arena.register(cx.ctx);
        }
    }
}
