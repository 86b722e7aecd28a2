//! Stream-ordered allocation and freeing.
//!
//! A stream-ordered free takes effect when the GPU reaches it in the stream. Until then, an
//! allocation of the same size, from the same pool, and in the same stream can reuse the memory
//! immediately, because the program uses the new allocation only after the free in stream order.

use std::time::Instant;

use protocol::calls as api;
use protocol::ids::{PoolId, StreamId};

use super::allocate::{Source, allocate};
use super::synchronous::answer_allocation;
use super::waiting::{AsyncFree, Request};
use crate::calls::ReplyTo;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::commands::result::number;
use crate::calls::contexts::charges::{ChargedReply, Reservation, Settled, kind};
use crate::calls::lock;
use crate::calls::streams::queue::{stream, stream_of};
use crate::driver::{CuError, CuResult};

pub(in crate::calls) fn cu_mem_free_async(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::CuMemFreeAsync,
    reply: ReplyTo,
) {
    reply.finish(number(free(deferred, cx, call)), &[]);
}

fn free(deferred: &mut Deferred, cx: &Cx<'_>, call: api::CuMemFreeAsync) -> CuResult {
    cx.enter()?;
    let (stream, ctx) = stream_of(cx, call.h_stream)?;
    let event = deferred.events().record_if_busy(cx, stream, ctx)?;
    let taken = lock(&cx.shared.memory.plan).take(call.dptr);
    let Some(freeing) = taken else {
        deferred.events().give_back_any(ctx, event);
        return Err(CuError::INVALID_VALUE);
    };
    let (stream, thread) = (call.h_stream, cx.thread);
    deferred.free_later(AsyncFree { freeing, stream, thread, event, ctx, since: Instant::now() });
    Ok(())
}

pub(in crate::calls) fn cu_mem_alloc_async(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::CuMemAllocAsync,
    reply: ChargedReply<kind::Memory>,
) {
    match cx.enter() {
        Ok(entered) => {
            let pool = PoolId::default_of(entered.device);
            allocate_in_stream(deferred, cx, (call.bytesize, call.h_stream), pool, reply);
        }
        Err(error) => reply.fail(error),
    }
}

pub(in crate::calls) fn cu_mem_alloc_from_pool_async(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::CuMemAllocFromPoolAsync,
    reply: ChargedReply<kind::Memory>,
) {
    allocate_in_stream(deferred, cx, (call.bytesize, call.h_stream), call.pool, reply);
}

fn allocate_in_stream(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    (bytes, stream): (usize, StreamId),
    pool: PoolId,
    reply: ChargedReply<kind::Memory>,
) {
    let allocated =
        reuse_or_allocate(deferred, cx, (bytes as u64, stream), pool, reply.reservation());
    answer_allocation(deferred, cx, allocated, Request::Allocate(bytes, Source::Pool(pool)), reply);
}

fn reuse_or_allocate(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    (len, h_stream): (u64, StreamId),
    pool: PoolId,
    reservation: Reservation<kind::Memory>,
) -> CuResult<(u64, Settled<kind::Memory>)> {
    cx.enter()?;
    stream(cx, h_stream)?;
    lock(&cx.shared.memory.plan).pools.open(pool, cx.shared.devices)?;
    if let Some(dptr) = deferred.reuse(cx, h_stream, len, pool) {
        return Ok((dptr, reservation.still_charged()));
    }
    deferred.poll_async_frees();
    allocate(cx, reservation, len, Source::Pool(pool))
}
