//! The per-thread default streams of guest threads.
//!
//! Each of them is an ordinary stream of the driver, because a single thread of the worker makes
//! the calls of all guest threads. The driver keeps the memory of a destroyed stream, so the worker
//! reuses the streams of threads that have exited. If there are many streams, it also reuses empty
//! streams of threads that still run. A thread can't tell two empty streams apart, and this limits
//! the memory of a guest that doesn't report when its threads exit.

use cuda_api::sys::CUstream;
use protocol::calls as api;
use protocol::ids::StreamId;

use crate::calls::commands::cx::Cx;
use crate::calls::contexts::charges::{Reservation, forget_stream, reserve_stream};
use crate::calls::lock;
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::handles::{DefaultStream, ThreadStream, ThreadStreams};
use crate::calls::tables::uses::Object;
use crate::driver::{CuError, CuResult};
use crate::reply::UNDECIDED;

/// The maximum number of per-thread default streams in a session. When it's reached, the worker
/// destroys empty ones.
const MAX: usize = 1024;
/// The number of streams from which a thread gets an empty stream of another running thread, if
/// there is one, instead of a new stream.
const SHARE_FROM: usize = 64;
/// The maximum number of empty streams of exited threads that the worker keeps.
const SPARES: usize = 16;

/// Returns whether a stream is empty and no call on a mirror uses it. May be called only on the
/// ring reader's thread, because only that thread removes streams from the tables.
fn is_empty(cx: &Cx<'_>, stream: &DefaultStream) -> bool {
    let used = cx.shared.uses.any_of(Object::stream(stream.real.0));
    // SAFETY: the stream is live, because it's in the tables, and only this thread removes streams
    // from them.
    !used && unsafe { cx.driver().cuStreamQuery(stream.real.0) }.is_ok()
}

/// Returns the guest thread's per-thread default stream in the current context.
pub(in crate::calls) fn thread_stream(cx: &Cx<'_>) -> CuResult<CUstream> {
    let key = ThreadStream { thread: cx.thread, ctx: cx.ctx };
    let (found, count) = {
        let streams = &lock(&cx.shared.tables).thread_streams;
        (streams.of.get(&key).copied(), streams.of.len())
    };
    if let Some(stream) = found {
        return Ok(stream.real.0);
    }
    let stream = match take_empty(cx, count >= SHARE_FROM) {
        Some(stream) => stream,
        None => create(cx)?,
    };
    lock(&cx.shared.tables).thread_streams.of.insert(key, stream);
    Ok(stream.real.0)
}

/// Creates a stream in the current context, or reuses an empty one if the VM's quota has no room
/// for another.
fn create(cx: &Cx<'_>) -> CuResult<DefaultStream> {
    make_room(cx)?;
    let reserved = match reserve_stream(cx, Reservation::of_worker()) {
        Ok(reserved) => reserved,
        Err(error) if error.0 == UNDECIDED => return Err(error),
        Err(error) => return take_empty(cx, true).ok_or(error),
    };
    let mut stream = std::ptr::null_mut();
    // SAFETY: the pointer is to a local variable.
    unsafe { cx.driver().cuStreamCreateWithPriority(&mut stream, 0, 0)? };
    let _ = reserved.settle();
    Ok(DefaultStream { real: DriverHandle(stream), ctx: cx.ctx, changed: false })
}

/// Takes an empty stream of the current context from a thread that has exited or, if `any` is set,
/// from a thread that still runs. The guest hasn't changed the stream's attributes.
fn take_empty(cx: &Cx<'_>, any: bool) -> Option<DefaultStream> {
    let ThreadStreams { of, ended } = &mut lock(&cx.shared.tables).thread_streams;
    let fits =
        |stream: &DefaultStream| stream.ctx == cx.ctx && !stream.changed && is_empty(cx, stream);
    if let Some(at) = ended.iter().position(fits) {
        return Some(ended.swap_remove(at));
    }
    let key = of.iter().filter(|_| any).find_map(|(key, stream)| fits(stream).then_some(*key))?;
    of.remove(&key)
}

/// Destroys the empty per-thread default streams if there are too many streams. If a thread later
/// uses such a stream, the worker creates it again.
fn make_room(cx: &Cx<'_>) -> CuResult {
    let mut empty = Vec::new();
    let left = {
        let ThreadStreams { of, ended } = &mut lock(&cx.shared.tables).thread_streams;
        if of.len() + ended.len() < MAX {
            return Ok(());
        }
        empty.extend(ended.extract_if(.., |stream| is_empty(cx, stream)));
        empty.extend(of.extract_if(|_, stream| is_empty(cx, stream)).map(|(_, stream)| stream));
        of.len() + ended.len()
    };
    destroy(cx, empty);
    if left < MAX { Ok(()) } else { Err(CuError::OUT_OF_MEMORY) }
}

/// Destroys empty streams that were removed from the tables.
fn destroy(cx: &Cx<'_>, streams: Vec<DefaultStream>) {
    for DefaultStream { real, ctx, .. } in streams {
        cx.shared.forget_stream(real, ctx);
        // SAFETY: the stream is live, and it's destroyed only once, because it was removed from the
        // tables. No call uses it.
        let _ = unsafe { cx.driver().cuStreamDestroy(real.0) };
        forget_stream(cx, ctx);
    }
}

/// Records that the guest changes the attributes of a stream. If it's a per-thread default stream,
/// no other thread will get it.
pub(in crate::calls) fn change_attributes(cx: &Cx<'_>, stream: StreamId) {
    let key = ThreadStream { thread: cx.thread, ctx: cx.ctx };
    let streams = &mut lock(&cx.shared.tables).thread_streams.of;
    if stream == StreamId::PER_THREAD
        && let Some(stream) = streams.get_mut(&key)
    {
        stream.changed = true;
    }
}

/// Handles the exit of a guest thread. Work in the thread's stream still runs, so the stream
/// remains until it's empty.
pub(in crate::calls) fn vcuda_thread_end(cx: &Cx<'_>, call: api::VcudaThreadEnd) -> CuResult {
    cx.shared.session.mirrors.end(cx.thread);
    if call.h_stream != StreamId::PER_THREAD {
        return Err(CuError::INVALID_VALUE);
    }
    let key = ThreadStream { thread: cx.thread, ctx: cx.ctx };
    let gone: Vec<_> = {
        let ThreadStreams { of, ended } = &mut lock(&cx.shared.tables).thread_streams;
        ended.extend(of.remove(&key));
        let mut spares = 0;
        let is_surplus = |stream: &mut DefaultStream| {
            let is_empty = is_empty(cx, stream);
            spares += usize::from(is_empty);
            is_empty && (spares > SPARES || stream.changed)
        };
        ended.extract_if(.., is_surplus).collect()
    };
    destroy(cx, gone);
    Ok(())
}
