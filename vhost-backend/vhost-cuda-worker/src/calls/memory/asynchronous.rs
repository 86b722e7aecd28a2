//! Stream-ordered allocation and freeing.
//!
//! A stream-ordered free takes effect when the stream reaches it. Before that, an allocation of the
//! same size on the same stream can reuse the memory immediately, because the stream executes it
//! after the free.

use std::collections::VecDeque;

use protocol::calls as api;
use protocol::ids::ContextId;

use super::plan::Freeing;
use super::waiting::AsyncFree;
use crate::calls::charges::{ChargedReply, Reservation, Settled, kind};
use crate::calls::cx::Cx;
use crate::calls::{Calls, ReplyTo, lock};
use crate::driver::{CuError, CuResult};
use crate::executor::Pending;

/// How long the reader may sleep while frees are the only outstanding work.
const UNHURRIED: std::time::Duration = std::time::Duration::from_millis(1);

impl Calls {
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
        let event = self.events.record(cx, stream, ctx)?;
        let taken = lock(&cx.shared.memory.plan).take(call.dptr);
        let Some(freeing) = taken else {
            self.events.give_back(ctx, event);
            return Err(CuError::INVALID_VALUE);
        };
        let (stream, thread) = (call.h_stream, cx.thread);
        self.async_frees.list.push_back(AsyncFree { freeing, stream, thread, event, ctx });
        Ok(())
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
            self.events.give_back(free.ctx, free.event);
            let dptr = lock(&cx.shared.memory.plan).untake(free.freeing);
            return Ok((dptr, reservation.still_charged()));
        }
        self.poll_async_frees();
        cx.allocate(reservation, len)
    }

    /// Completes the frees that their streams have reached.
    pub(in super::super) fn poll_async_frees(&mut self) -> Pending {
        if self.async_frees.list.is_empty() {
            return Pending::Nothing;
        }
        let shared = self.shared.clone();
        while let Some(free) = self.async_frees.list.front() {
            let ctx = free.freeing.ctx();
            let cx = Cx { shared: &shared, thread: free.thread, ctx };
            // SAFETY: the event is from the pool, and is removed from the list when its context
            // ends.
            if unsafe { cx.driver().cuEventQuery(free.event.0) } == Err(CuError::NOT_READY) {
                return Pending::Within(UNHURRIED);
            }
            let Some(free) = self.async_frees.list.pop_front() else { break };
            self.events.give_back(free.ctx, free.event);
            if let Some(mapping) = cx.freed(free.freeing) {
                self.give_back_later(free.thread, ctx, mapping, || {});
            }
        }
        Pending::Nothing
    }

    /// Removes the pending frees of a context that is about to be destroyed. The caller completes
    /// them after the context was destroyed.
    pub(in super::super) fn end_async_frees_of(&mut self, ctx: ContextId) -> Vec<Freeing> {
        let (gone, kept) = std::mem::take(&mut self.async_frees.list)
            .into_iter()
            .partition(|free| free.ctx == ctx || free.freeing.ctx() == ctx);
        self.async_frees.list = kept;
        let gone: VecDeque<AsyncFree> = gone;
        gone.into_iter().map(|free| free.freeing).collect()
    }
}
