//! Allocation and freeing as the ring reader does it; stream-ordered allocation.
//!
//! What a stream frees is free when the stream gets there. Until then an allocation of the same
//! size on the same stream may have it at once, since it comes later in the same order.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use protocol::calls as api;
use protocol::ids::ContextId;

use super::plan::{Freeing, Mapping};
use super::waiting::{AsyncFree, Retry};
use crate::calls::charges::{ChargedReply, Reservation, Settled, kind};
use crate::calls::cx::Cx;
use crate::calls::waits::Completion;
use crate::calls::{Calls, ReplyTo, lock};
use crate::driver::{CuError, CuResult};
use crate::executor::Pending;

/// How long the reader may sleep while only frees are outstanding.
const UNHURRIED: std::time::Duration = std::time::Duration::from_millis(1);

/// Allocations that may wait for memory on its way back.
const MAX_RETRIES: usize = 4096;

impl Calls {
    pub(in super::super) fn cu_mem_free_v2(
        &mut self,
        cx: &Cx<'_>,
        call: api::CuMemFreeV2,
        reply: ReplyTo,
    ) {
        let taken = lock(&cx.shared.memory.plan).take(call.dptr);
        match taken {
            // As natively, the call waits for what the context has to do.
            Some(freeing) => {
                let then = Completion::Free(freeing, cx.thread, Some(reply));
                self.wait_context(&cx.within(freeing.ctx()), then);
            }
            None => reply.finish(CuError::INVALID_VALUE.0, &[]),
        }
    }

    pub(in super::super) fn cu_mem_free_async(
        &mut self,
        cx: &Cx<'_>,
        call: api::CuMemFreeAsync,
        reply: ReplyTo,
    ) {
        reply.finish(crate::calls::result::number(self.free_async(cx, call)), &[]);
    }

    fn free_async(&mut self, cx: &Cx<'_>, call: api::CuMemFreeAsync) -> CuResult {
        cx.enter()?;
        let (stream, ctx) = cx.stream_of(call.h_stream)?;
        let event = self.record(cx, stream, ctx)?;
        let taken = lock(&cx.shared.memory.plan).take(call.dptr);
        let Some(freeing) = taken else {
            self.give_event(ctx, event);
            return Err(CuError::INVALID_VALUE);
        };
        let (stream, thread) = (call.h_stream, cx.thread);
        self.async_frees.list.push_back(AsyncFree { freeing, stream, thread, event, ctx });
        Ok(())
    }

    pub(in super::super) fn cu_mem_alloc_v2(
        &mut self,
        cx: &Cx<'_>,
        call: api::CuMemAllocV2,
        reply: ChargedReply<kind::Memory>,
    ) {
        let allocated = cx.allocate(reply.reservation(), call.bytesize as u64);
        self.answer_allocation(cx, allocated, call.bytesize, reply);
    }

    pub(in super::super) fn cu_mem_alloc_async(
        &mut self,
        cx: &Cx<'_>,
        call: api::CuMemAllocAsync,
        reply: ChargedReply<kind::Memory>,
    ) {
        let allocated = self.allocate_async(cx, call, reply.reservation());
        self.answer_allocation(cx, allocated, call.bytesize, reply);
    }

    /// Answers, unless memory that is on its way back may make room.
    fn answer_allocation(
        &mut self,
        cx: &Cx<'_>,
        allocated: CuResult<(u64, Settled<kind::Memory>)>,
        bytes: usize,
        reply: ChargedReply<kind::Memory>,
    ) {
        match allocated {
            Ok((dptr, settled)) => reply.succeed(settled, &dptr.to_le_bytes()),
            // A guest thread waits for one allocation at a time.
            Err(CuError::OUT_OF_MEMORY) if self.retries.list.len() < MAX_RETRIES => {
                self.poll_async_frees();
                let (thread, ctx) = (cx.thread, cx.ctx);
                self.retries.list.push_back(Retry { bytes, thread, ctx, reply });
                // Now, if nothing is on its way any more.
                self.poll_retries();
            }
            Err(error) => reply.fail(error),
        }
    }

    fn jobs_giving_back(&self) -> bool {
        self.shared.giving_back.load(Ordering::Acquire) > 0
    }

    /// Unmaps memory on the thread that mirrors a guest thread, then calls `done`.
    pub(in super::super) fn give_back_later(
        &self,
        thread: u32,
        ctx: ContextId,
        mapping: Mapping,
        done: impl FnOnce() + Send + 'static,
    ) {
        self.shared.giving_back.fetch_add(1, Ordering::AcqRel);
        self.own_job(Some(thread), ctx, move |cx| {
            cx.give_back(mapping);
            cx.shared.giving_back.fetch_sub(1, Ordering::AcqRel);
            cx.shared.session.waker.wake();
            done();
        });
    }

    /// Tries again what memory on its way back may have made room for.
    pub(in super::super) fn poll_retries(&mut self) {
        if self.retries.list.is_empty() || self.jobs_giving_back() {
            return;
        }
        let shared = self.shared.clone();
        for Retry { bytes, thread, ctx, reply } in std::mem::take(&mut self.retries.list) {
            let cx = Cx { shared: &shared, thread, ctx };
            match cx.allocate(reply.reservation(), bytes as u64) {
                Ok((dptr, settled)) => reply.succeed(settled, &dptr.to_le_bytes()),
                Err(error) => reply.fail(error),
            }
        }
    }

    fn allocate_async(
        &mut self,
        cx: &Cx<'_>,
        call: api::CuMemAllocAsync,
        reservation: Reservation<kind::Memory>,
    ) -> CuResult<(u64, Settled<kind::Memory>)> {
        cx.enter()?;
        cx.stream(call.h_stream)?;
        let (len, thread) = (call.bytesize as u64, cx.thread);
        let again = self.async_frees.list.iter().position(|free| {
            free.stream == call.h_stream
                && free.freeing.len == len
                && free.freeing.ctx() == cx.ctx
                && (!free.stream.is_cudas() || free.thread == thread)
        });
        if let Some(free) = again.and_then(|index| self.async_frees.list.remove(index)) {
            self.give_event(free.ctx, free.event);
            let dptr = lock(&cx.shared.memory.plan).untake(free.freeing);
            return Ok((dptr, reservation.still_charged()));
        }
        self.poll_async_frees();
        cx.allocate(reservation, len)
    }

    /// Frees what streams have come to by now.
    pub(in super::super) fn poll_async_frees(&mut self) -> Pending {
        if self.async_frees.list.is_empty() {
            return Pending::Nothing;
        }
        let shared = self.shared.clone();
        while let Some(free) = self.async_frees.list.front() {
            let ctx = free.freeing.ctx();
            let cx = Cx { shared: &shared, thread: free.thread, ctx };
            // SAFETY: the event is of the pool, and leaves the list when its context ends.
            if unsafe { cx.driver().cuEventQuery(free.event.0) } == Err(CuError::NOT_READY) {
                return Pending::Within(UNHURRIED);
            }
            let Some(free) = self.async_frees.list.pop_front() else { break };
            self.give_event(free.ctx, free.event);
            if let Some(mapping) = cx.freed(free.freeing) {
                self.give_back_later(free.thread, ctx, mapping, || {});
            }
        }
        Pending::Nothing
    }

    /// A context is about to end: what is to be freed once it has.
    pub(in super::super) fn end_async_frees_of(&mut self, ctx: ContextId) -> Vec<Freeing> {
        let (gone, kept) = std::mem::take(&mut self.async_frees.list)
            .into_iter()
            .partition(|free| free.ctx == ctx || free.freeing.ctx() == ctx);
        self.async_frees.list = kept;
        let gone: VecDeque<AsyncFree> = gone;
        gone.into_iter().map(|free| free.freeing).collect()
    }
}
