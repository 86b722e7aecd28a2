//! Helpers with which entry points check for stream capture and add work to captured graphs.

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
use cuda_api::sys::CUstream_flags;
use protocol::ids::StreamId;
use std::sync::Arc;

const NON_BLOCKING: u32 = CUstream_flags::CU_STREAM_NON_BLOCKING.0;
const PER_THREAD: usize = StreamId::PER_THREAD.0 as usize;

/// Returns the properties of a stream that matter for captures. `null` says which default stream a
/// null handle means.
pub fn describe(driver: &Driver, stream: Handle, null: usize) -> CuResult<capture::Stream> {
    let named = if stream == 0 { null } else { stream };
    if named > PER_THREAD {
        let stream: Arc<Stream> = driver.handles.get(stream)?;
        stream.check()?;
        let blocking = stream.flags & NON_BLOCKING == 0;
        let (key, ctx) = (key(&stream), stream.context.id().0);
        return Ok(capture::Stream { key, ctx, blocking, legacy: false });
    }
    let context = current()?;
    let ctx = context.id().0;
    let legacy = named != PER_THREAD;
    // Distinguishes default streams from each other and from created streams, whose keys have an
    // `of` of 0.
    let of = if legacy { 1 } else { of_thread() };
    Ok(capture::Stream {
        key: Key { id: if context.green.is_some() { context.unique } else { ctx }, of },
        ctx,
        blocking: true,
        legacy,
    })
}

/// Returns the number that distinguishes the calling thread's default streams from other streams in
/// their keys ([`Key::of`]).
fn of_thread() -> u64 {
    2 + u64::from(thread::origin().0)
}

/// Ends captures of the calling thread's default streams, because the thread exits.
pub fn thread_ended() {
    let of = of_thread();
    GRAPHS.forget_streams_where(|key, _| key.of == of);
}

/// Returns the key of a stream that the program created.
pub fn key(stream: &Stream) -> Key {
    Key { id: stream.id.0, of: 0 }
}

/// Returns whether a stream is being captured. If so, [`push`] adds its work to a graph.
#[inline]
pub fn captured(driver: &Driver, stream: Handle, null: usize) -> CuResult<bool> {
    if !GRAPHS.any_capture() {
        return Ok(false);
    }
    let stream = describe(driver, stream, null)?;
    GRAPHS.captures_stream(|| Ok(stream))
}

/// Adds a node to the graph that a stream is being captured to.
pub fn push(driver: &Driver, stream: Handle, null: usize, op: Op) -> CuResult {
    GRAPHS.push(&describe(driver, stream, null)?, op).map(drop)
}

/// Fails if a stream is being captured, for a call that isn't allowed during capture.
#[inline]
pub fn forbid_on(driver: &Driver, stream: Handle, null: usize) -> CuResult {
    if !GRAPHS.any_capture() {
        return Ok(());
    }
    GRAPHS.forbid_on(&describe(driver, stream, null)?)
}

/// Fails if a capture forbids calls that CUDA considers potentially unsafe on the calling thread.
#[inline]
pub fn forbid_unsafe() -> CuResult {
    capturing::forbid_unsafe::<Guest>()
}

/// Fails if a stream is being captured, for a call that NVIDIA's driver can capture but this
/// library can't. The capture becomes invalid, because its graph would lack the call.
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
