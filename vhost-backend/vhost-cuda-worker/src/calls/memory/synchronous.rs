//! Allocation and freeing on the ring reader's thread.

use std::sync::atomic::Ordering;

use protocol::calls as api;
use protocol::ids::ContextId;

use super::plan::Mapping;
use super::waiting::Retry;
use crate::calls::charges::{ChargedReply, Settled, kind};
use crate::calls::cx::Cx;
use crate::calls::waits::Completion;
use crate::calls::{Calls, ReplyTo, lock};
use crate::driver::{CuError, CuResult};

/// The largest number of allocations that may wait for memory being freed.
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
            // This call waits for all work in the context, as NVIDIA's driver does.
            Some(freeing) => {
                let then = Completion::Free(freeing, cx.thread, Some(reply));
                self.wait_context(&cx.within(freeing.ctx()), then);
            }
            None => reply.finish(CuError::INVALID_VALUE.0, &[]),
        }
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

    /// Replies to an allocation call. If the allocation failed for lack of memory, it is retried
    /// first when memory that is being freed may make room for it.
    pub(super) fn answer_allocation(
        &mut self,
        cx: &Cx<'_>,
        allocated: CuResult<(u64, Settled<kind::Memory>)>,
        bytes: usize,
        reply: ChargedReply<kind::Memory>,
    ) {
        match allocated {
            Ok((dptr, settled)) => reply.succeed(settled, &dptr.to_le_bytes()),
            // Each guest thread waits for at most one allocation.
            Err(CuError::OUT_OF_MEMORY) if self.retries.list.len() < MAX_RETRIES => {
                self.poll_async_frees();
                let (thread, ctx) = (cx.thread, cx.ctx);
                self.retries.list.push_back(Retry { bytes, thread, ctx, reply });
                // If no memory is being freed, this retries immediately.
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

    /// Retries the waiting allocations if no memory is being freed any more.
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
}
