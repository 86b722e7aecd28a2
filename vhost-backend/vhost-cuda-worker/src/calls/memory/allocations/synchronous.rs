//! Calls that allocate memory, free it, or query the amount of free memory, and run on the ring
//! reader's thread.

use protocol::calls as api;

use super::allocate::{Source, allocate};
use super::virtual_memory::create;
use super::waiting::{Request, Retry, Waiter};
use crate::calls::ReplyTo;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::commands::waits::Completion;
use crate::calls::contexts::charges::{ChargedReply, Settled, kind};
use crate::calls::lock;
use crate::driver::{CuError, CuResult};

pub(in crate::calls) fn cu_mem_free_v2(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::CuMemFreeV2,
    reply: ReplyTo,
) {
    let taken = lock(&cx.shared.memory.plan).take(call.dptr);
    match taken {
        // Reply once all work in the context has finished, because NVIDIA's driver also waits for
        // it.
        Some(freeing) => {
            let completion = Completion::Free(freeing, Some(reply));
            deferred.wait_context(&cx.within(freeing.ctx()), completion);
        }
        None => reply.finish(CuError::INVALID_VALUE.0, &[]),
    }
}

pub(in crate::calls) fn cu_mem_alloc_v2(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::CuMemAllocV2,
    reply: ChargedReply<kind::Memory>,
) {
    let allocated = allocate(cx, reply.reservation(), call.bytesize as u64, Source::Device);
    answer_allocation(
        deferred,
        cx,
        allocated,
        Request::Allocate(call.bytesize, Source::Device),
        reply,
    );
}

pub(in crate::calls) fn vcuda_mem_create(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaMemCreate,
    reply: ChargedReply<kind::Memory>,
) {
    let created = create(cx, reply.reservation(), call);
    answer_allocation(deferred, cx, created, Request::Create(call), reply);
}

/// Replies to an allocation call whose first attempt had the result `allocated`. On success, that
/// is an address or a handle. If the attempt failed for lack of memory, the worker releases the
/// memory that it keeps and the unused memory of the session's pools. Then it retries the
/// allocation once, after pending frees have ended, before it replies.
pub(super) fn answer_allocation(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    allocated: CuResult<(u64, Settled<kind::Memory>)>,
    request: Request,
    reply: ChargedReply<kind::Memory>,
) {
    match allocated {
        Ok((address, settled)) => reply.succeed(settled, &address.to_le_bytes()),
        Err(CuError::OUT_OF_MEMORY) if deferred.may_retry() => {
            let (thread, ctx) = (cx.thread, cx.ctx);
            deferred.trim(cx);
            deferred.retry_later(Retry { request, thread, ctx, reply });
        }
        Err(error) => reply.fail(error),
    }
}

/// Returns the free memory, which includes all memory whose stream-ordered free the GPU has
/// reached.
pub(in crate::calls) fn cu_mem_get_info_v2(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    _: api::CuMemGetInfoV2,
    reply: ReplyTo,
) {
    deferred.after_frees(Waiter::Info(cx.thread, cx.ctx, reply));
}
