//! Streams that are being captured, as the entry points see them.

use crate::context::current;
use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use crate::graph::{GRAPHS, Guest, Op};
use crate::handles::Handle;
use crate::log;
use crate::objects::Stream;
use crate::thread;
use cuda_api::graph::capture::{self, Key};
use cuda_api::graph::capturing;
use protocol::ids::StreamId;
use std::sync::Arc;

/// CU_STREAM_NON_BLOCKING.
const NON_BLOCKING: u32 = 1;
const PER_THREAD: usize = StreamId::PER_THREAD.0 as usize;

/// A stream among captures; `null` is what a null stream means.
pub fn describe(driver: &Driver, stream: Handle, null: usize) -> CuResult<capture::Stream> {
    let named = if stream == 0 { null } else { stream };
    if named > PER_THREAD {
        let stream: Arc<Stream> = driver.handles.get(stream)?;
        let blocking = stream.flags & NON_BLOCKING == 0;
        let (key, ctx) = (key(&stream), stream.context.id().0);
        return Ok(capture::Stream { key, ctx, blocking, legacy: false });
    }
    let ctx = current()?.id().0;
    let legacy = named != PER_THREAD;
    // Ids of streams and contexts are of one row, so these can't be a created stream's.
    let of = if legacy { 1 } else { 2 + u64::from(thread::origin().0) };
    Ok(capture::Stream { key: Key { id: ctx, of }, ctx, blocking: true, legacy })
}

/// The name of a stream that the program created.
pub fn key(stream: &Stream) -> Key {
    Key { id: stream.id.0, of: 0 }
}

/// Whether what is queued in a stream goes to a graph, with [`push`].
#[inline]
pub fn captured(driver: &Driver, stream: Handle, null: usize) -> CuResult<bool> {
    if !GRAPHS.any_capture() {
        return Ok(false);
    }
    let stream = describe(driver, stream, null)?;
    GRAPHS.captures_stream(|| Ok(stream))
}

/// Adds a node to the graph that a stream is captured to.
pub fn push(driver: &Driver, stream: Handle, null: usize, op: Op) -> CuResult {
    GRAPHS.push(&describe(driver, stream, null)?, op).map(drop)
}

/// A call that a captured stream can't take.
#[inline]
pub fn forbid_on(driver: &Driver, stream: Handle, null: usize) -> CuResult {
    if !GRAPHS.any_capture() {
        return Ok(());
    }
    GRAPHS.forbid_on(&describe(driver, stream, null)?)
}

/// A call that CUDA calls potentially unsafe.
#[inline]
pub fn forbid_unsafe() -> CuResult {
    capturing::forbid_unsafe::<Guest>()
}

/// What could be captured natively, and not here: the capture would lack it, and is invalid.
pub fn unsupported_on(
    driver: &Driver,
    stream: Handle,
    null: usize,
    what: &'static str,
) -> CuResult {
    if captured(driver, stream, null)? {
        let _ = forbid_on(driver, stream, null);
        log::unsupported(what);
        return Err(CuError::NOT_SUPPORTED);
    }
    Ok(())
}
