//! Looks up streams, and counts the commands that are queued in them.

use cuda_api::sys::CUstream;
use protocol::ids::{ContextId, StreamId};

use crate::calls::commands::cx::Cx;
use crate::calls::gate::Queued;
use crate::calls::lock;
use crate::calls::streams::thread_streams::thread_stream;
use crate::driver::CuResult;

/// Returns a stream's handle and its context, and records that work may be queued in the stream.
/// The current context must have been entered. May be called only on the ring reader's thread,
/// because that thread clears the record when it finds the stream empty.
pub(in crate::calls) fn stream_of(cx: &Cx<'_>, id: StreamId) -> CuResult<(CUstream, ContextId)> {
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

pub(in crate::calls) fn stream(cx: &Cx<'_>, id: StreamId) -> CuResult<CUstream> {
    stream_of(cx, id).map(|(stream, _)| stream)
}

/// Returns a stream's handle and its context, as [`stream_of`] does, and counts a gated call that
/// is about to be queued in the stream. `bytes` is the amount of pageable memory that the driver
/// copies for the call.
pub(in crate::calls) fn queue(
    cx: &Cx<'_>,
    id: StreamId,
    bytes: usize,
) -> CuResult<(CUstream, ContextId)> {
    count(cx, id, bytes, true).map(|(stream, ctx, _)| (stream, ctx))
}

/// Returns a stream's handle, its context, and the number of a gated call that is about to be
/// queued in it, which it counts as [`queue`] does.
pub(in crate::calls) fn queue_numbered(
    cx: &Cx<'_>,
    id: StreamId,
) -> CuResult<(CUstream, ContextId, u64)> {
    count(cx, id, 0, true)
}

/// Returns a stream's handle and its context, as [`stream_of`] does, and counts a command that is
/// about to be queued in the stream and that doesn't use the GPU.
pub(in crate::calls) fn queue_free(cx: &Cx<'_>, id: StreamId) -> CuResult<(CUstream, ContextId)> {
    count(cx, id, 0, false).map(|(stream, ctx, _)| (stream, ctx))
}

fn count(
    cx: &Cx<'_>,
    id: StreamId,
    bytes: usize,
    gated: bool,
) -> CuResult<(CUstream, ContextId, u64)> {
    let (stream, ctx) = stream_of(cx, id)?;
    let device = || lock(&cx.shared.tables).device_of(ctx).unwrap_or(0);
    let number = cx.shared.flight.add(Queued { stream, ctx, bytes, gated }, device);
    Ok((stream, ctx, number))
}
