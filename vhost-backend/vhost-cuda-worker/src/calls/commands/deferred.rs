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

/// How long the reader may sleep while it is waiting only for stream-ordered frees.
const FREE_CHECK: Duration = Duration::from_millis(1);

/// The maximum number of allocations about which the broker hasn't decided.
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
    /// Allocations that the broker must decide about.
    undecided: Vec<(Asked, Retry)>,
    watch: Watch,
    words: Words,
    /// Whether the log says that a guest thread got no mirror.
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

    /// Runs a job in this context, on the mirror (the worker's thread that corresponds to the guest
    /// thread). The job is never dropped: it runs on another thread if `thread` is `None` or the session
    /// can't have more mirrors.
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

    /// Runs a job on the mirror of the guest thread. The job must send the reply. If there is no mirror,
    /// the reply is CUDA_ERROR_OPERATING_SYSTEM.
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
                // A guest can cause this as often as it wants.
                self.warned.call_once(|| tracing::warn!(session, "refusing calls: {why}"));
                drop(job);
                return reply.finish(CuError::OPERATING_SYSTEM.0, &[]);
            }
        };
        let shared = self.shared.clone();
        seat.run(move || {
            job(&Cx { shared: &shared, thread, ctx }, reply);
            // Drop kernel output beyond the limit: the job may have made the driver write some, and
            // the guest may never fetch it.
            lock(&shared.output).waiting();
        });
    }

    /// Like [`Deferred::wait_stream`], for a stream that is known to have unfinished commands.
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

    /// Completes a call once the commands now queued in these streams of the current context have
    /// finished. The GPU can write a word then.
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

    /// Completes a call once one of the guest's events has been reached.
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

    /// Completes a call once the commands now queued in a stream have finished. The stream's context
    /// must have been entered. The GPU can write a word then.
    pub(in crate::calls) fn wait_stream(
        &mut self,
        cx: &Cx<'_>,
        (stream, ctx): (CUstream, ContextId),
        word: Option<Word>,
        completion: Completion,
    ) {
        // SAFETY: the stream is live: it was just looked up, and only this thread removes streams
        // from the tables.
        match unsafe { cx.driver().cuStreamQuery(stream) } {
            Err(CuError::NOT_READY) => {
                let has_word = word.is_some_and(|word| self.arm(cx, (stream, ctx), word));
                self.add_stream(cx, (stream, ctx), has_word, completion);
            }
            done => self.complete(cx, done, completion),
        }
    }

    /// Like [`Deferred::wait_event`], with a word for the GPU to write.
    pub(in crate::calls) fn wait_event_with(
        &mut self,
        cx: &Cx<'_>,
        id: EventId,
        word: Word,
        completion: Completion,
    ) {
        // Behind later work, the write would come too late to be of use. In the legacy stream, it
        // would be behind all streams that synchronize with it.
        let has_word = last_in(cx, id).is_some_and(|stream| {
            (!stream.0.is_null() || only_legacy_is_busy(&cx.within(stream.1)))
                && query_guest(cx, id) == Err(CuError::NOT_READY)
                && self.arm(cx, stream, word)
        });
        self.add_event(cx, id, has_word, completion);
    }

    /// Has the GPU write a word behind the commands now queued in a stream. Returns false if it can't.
    fn arm(&mut self, cx: &Cx<'_>, stream: (CUstream, ContextId), word: Word) -> bool {
        self.words.arm(cx, (self.arena.as_mut(), self.waits.len()), stream, word)
    }

    fn complete_if(&mut self, cx: &Cx<'_>, done: Option<(CuResult, Completion)>) {
        if let Some((result, completion)) = done {
            self.complete(cx, result, completion);
        }
    }

    /// Completes a call whose wait has ended with this result.
    pub(in crate::calls) fn complete(
        &mut self,
        cx: &Cx<'_>,
        result: CuResult,
        completion: Completion,
    ) {
        // As natively, memory that was freed in a stream is free once the program has waited for it.
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

    /// Completes the calls whose wait has ended. Returns when to poll again.
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

    /// Fails all calls that are waiting, because the session has ended. If a call would have freed
    /// memory after its wait, that memory is freed when the worker exits.
    pub(in crate::calls) fn fail_waits(&mut self, error: CuError) {
        self.waits.fail_all(error);
    }

    /// Ends all waits in a context that is about to be destroyed. Returns the memory that the calls
    /// were about to free, each with its reply. The caller must free it once the context has been
    /// destroyed.
    pub(in crate::calls) fn end_of_context(
        &mut self,
        ctx: ContextId,
    ) -> Vec<(Freeing, Option<ReplyTo>)> {
        let mut freeing = self.waits.end_of(ctx);
        // The driver destroys the pool's events in the context together with the context.
        self.events.forget(ctx);
        self.shared.value_waits.forget_context(ctx);
        self.watch.forget(ctx);
        for free in self.async_frees.end_of(ctx) {
            // A stream of another context, which isn't being destroyed, may free memory of this
            // context.
            if free.ctx != ctx {
                self.events.give_back_any(free.ctx, free.event);
            }
            freeing.push((free.freeing, None));
        }
        freeing
    }

    /// Starts a stream-ordered free: the memory will be freed once the GPU has reached it in its
    /// stream.
    pub(in crate::calls) fn free_later(&mut self, free: AsyncFree) {
        self.async_frees.add(free);
    }

    /// Lets a new allocation reuse memory of this size and pool whose stream-ordered free hasn't
    /// taken effect in the same stream of the current context. Returns the address, or `None` if
    /// there is no such memory.
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

    /// Frees the memory of stream-ordered frees, unless an allocation may reuse it soon. Returns when
    /// to call this again.
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

    /// Unmaps all memory that the session's pools or the worker keep and no allocation uses.
    pub(in crate::calls) fn trim(&mut self, cx: &Cx<'_>) {
        self.poll_async_frees();
        let gone = lock(&cx.shared.memory.plan).trim_all();
        gone.into_iter().for_each(|mapping| self.give_back_later(cx.ctx, mapping, || {}));
    }

    /// Unmaps memory, and then calls `done`. This happens on a thread that doesn't run the guest's
    /// calls, because others may wait for it.
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

    /// Returns whether another allocation may wait for memory to be freed.
    pub(in crate::calls) fn may_retry(&self) -> bool {
        self.waiters.has_room() && self.undecided.len() < MAX_UNDECIDED
    }

    /// Retries an allocation after all memory that is now being freed has been freed.
    pub(in crate::calls) fn retry_later(&mut self, retry: Retry) {
        self.after_frees(Waiter::Retry(retry));
    }

    /// Continues a call after all memory that is now being freed has been freed, which may be
    /// immediately. If too many calls are waiting, doesn't wait.
    pub(in crate::calls) fn after_frees(&mut self, waiter: Waiter) {
        self.poll_async_frees();
        if self.waiters.has_room() {
            self.waiters.add(&lock(&self.shared.unmapping), waiter);
            self.poll_waiters();
        } else {
            self.resume(waiter);
        }
    }

    /// Continues the calls that needn't wait for memory to be freed any longer.
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

    /// Tries an allocation again, with the broker's answer to its question.
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

    /// Tries the allocations again about which the broker has decided.
    fn poll_undecided(&mut self) {
        let is_decided = |(asked, _): &mut (Asked, Retry)| asked.decision().is_some();
        let decided: Vec<_> = self.undecided.extract_if(.., is_decided).collect();
        for (asked, retry) in decided {
            self.retry(retry, asked.decision());
        }
    }

    /// Starts to use the arena of a region for copies. `start` is the arena's offset in the region.
    pub(in crate::calls) fn attach_arena(&mut self, region: &Arc<Region>, start: usize) {
        self.arena = Some(Arena::new(&self.shared, region.clone(), start));
    }

    /// Stops using the arena. Returns its registration with the GPU, if any, which the caller must
    /// undo before the pages are unmapped.
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

    /// Registers the arena with the GPU, if the session has one. The current context must have been
    /// entered.
    pub(in crate::calls) fn register_arena(&mut self, cx: &Cx<'_>) {
        if let Some(arena) = &mut self.arena {
            arena.register(cx.ctx);
        }
    }
}
