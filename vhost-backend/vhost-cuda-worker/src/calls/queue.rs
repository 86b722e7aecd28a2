//! Looks up streams, and counts the commands that are queued in them.

use cuda_api::sys::CUstream;
use protocol::ids::{ContextId, StreamId};

use super::charges::{Reservation, forget_stream, reserve_stream};
use super::cx::Cx;
use super::driver_handle::DriverHandle;
use super::gate::Queued;
use super::handles::ThreadStream;
use super::lock;
use crate::driver::{CuError, CuResult};

/// The maximum number of per-thread default streams in a session. When it is reached, empty ones
/// are destroyed.
const MAX_THREAD_STREAMS: usize = 1024;

/// Returns a stream's handle and its context, and records that work may be queued in the stream.
/// The current context must have been entered. May be called only on the ring reader's thread,
/// because that thread clears the record when it finds the stream empty.
pub(super) fn stream_of(cx: &Cx<'_>, id: StreamId) -> CuResult<(CUstream, ContextId)> {
    match id {
        StreamId::DEFAULT | StreamId::LEGACY => {
            if let Ok(context) = lock(&cx.shared.tables).contexts.get_mut(cx.ctx) {
                context.legacy_used = true;
            }
            Ok((std::ptr::null_mut(), cx.ctx))
        }
        StreamId::PER_THREAD => Ok((thread_stream(cx)?, cx.ctx)),
        _ => {
            let mut tables = lock(&cx.shared.tables);
            let stream = tables.streams.get_mut(id)?;
            stream.used = true;
            Ok((stream.real.0, stream.ctx))
        }
    }
}

pub(super) fn stream(cx: &Cx<'_>, id: StreamId) -> CuResult<CUstream> {
    stream_of(cx, id).map(|(stream, _)| stream)
}

/// Like [`stream_of`], and counts a gated call that is about to be queued in the stream. `bytes` is
/// the amount of pageable memory that the driver copies for the call.
pub(super) fn queue(cx: &Cx<'_>, id: StreamId, bytes: usize) -> CuResult<(CUstream, ContextId)> {
    count(cx, id, bytes, true)
}

/// Like [`stream_of`], and counts a command that is about to be queued in the stream and doesn't
/// use the GPU.
pub(super) fn queue_free(cx: &Cx<'_>, id: StreamId) -> CuResult<(CUstream, ContextId)> {
    count(cx, id, 0, false)
}

fn count(cx: &Cx<'_>, id: StreamId, bytes: usize, gated: bool) -> CuResult<(CUstream, ContextId)> {
    let (stream, ctx) = stream_of(cx, id)?;
    let device = || lock(&cx.shared.tables).device_of(ctx).unwrap_or(0);
    cx.shared.flight.add(Queued { stream, ctx, bytes, gated }, device);
    Ok((stream, ctx))
}

/// Returns the guest thread's per-thread default stream in the current context.
fn thread_stream(cx: &Cx<'_>) -> CuResult<CUstream> {
    let key = ThreadStream { thread: cx.thread, ctx: cx.ctx };
    if let Some(stream) = lock(&cx.shared.tables).thread_streams.get(&key) {
        return Ok(stream.0);
    }
    make_room_for_thread_stream(cx)?;
    let reserved = reserve_stream(cx, Reservation::of_worker())?;
    let mut stream = std::ptr::null_mut();
    // SAFETY: the pointer is to a local variable.
    unsafe { cx.driver().cuStreamCreateWithPriority(&mut stream, 0, 0)? };
    let _ = reserved.settle();
    lock(&cx.shared.tables).thread_streams.insert(key, DriverHandle(stream));
    Ok(stream)
}

/// If there are too many per-thread default streams, destroys the empty ones. Such a stream is
/// created again when its thread next uses it.
fn make_room_for_thread_stream(cx: &Cx<'_>) -> CuResult {
    let mut idle = Vec::new();
    let left = {
        let streams = &mut lock(&cx.shared.tables).thread_streams;
        if streams.len() < MAX_THREAD_STREAMS {
            return Ok(());
        }
        streams.retain(|key, stream| {
            // SAFETY: the stream is live: only this thread destroys streams, after removing them
            // from the tables.
            let busy = unsafe { cx.driver().cuStreamQuery(stream.0) }.is_err();
            if !busy {
                idle.push((*stream, key.ctx));
            }
            busy
        });
        streams.len()
    };
    for (stream, ctx) in idle {
        cx.shared.flight.forget(stream.0, ctx);
        cx.shared.value_waits.forget((stream.0 as u64, ctx));
        // SAFETY: the stream is live, and was removed from the tables.
        let _ = unsafe { cx.driver().cuStreamDestroy(stream.0) };
        forget_stream(cx, ctx);
    }
    if left < MAX_THREAD_STREAMS { Ok(()) } else { Err(CuError::OUT_OF_MEMORY) }
}
