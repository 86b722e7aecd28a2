//! Calls that copy or set memory. They check that every address belongs to the session, so that
//! they can't access the worker's own memory.

use cuda_api::sys::{CUDA_MEMCPY2D, CUmemorytype, CUstream};
use protocol::calls as api;
use protocol::ids::{ContextId, StreamId};
use protocol::limits::INLINE_COPY_MAX;

use crate::calls::ReplyTo;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::commands::result::number;
use crate::calls::commands::waits::Completion;
use crate::calls::gate::pass::Pass;
use crate::calls::memory::allocations::WINDOW;
use crate::calls::memory::extent::span;
use crate::calls::streams::queue::queue;
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::uses::Object;
use crate::driver::{CuError, CuResult};

/// Counts the bytes of a copy in the session's counters, which operators can read. Variables of
/// modules count as host memory.
fn tally_copy(cx: &Cx<'_>, dst: u64, src: u64, bytes: u64) {
    match (WINDOW.contains(&dst), WINDOW.contains(&src)) {
        (true, true) => cx.tally(|words| &words.bytes_d2d, bytes),
        (true, false) => cx.tally(|words| &words.bytes_h2d, bytes),
        (false, _) => cx.tally(|words| &words.bytes_d2h, bytes),
    }
}

pub(in crate::calls) fn vcuda_copy_in(
    cx: &Cx<'_>,
    call: api::VcudaCopyIn<'_>,
    pass: &Pass,
) -> CuResult {
    cx.enter()?;
    cx.check(call.dst, call.data.len() as u64)?;
    let (stream, _) = queue(cx, call.h_stream, call.data.len())?;
    cx.tally(|words| &words.bytes_h2d, call.data.len() as u64);
    if call.data.is_empty() {
        return Ok(());
    }
    if call.data.len() > INLINE_COPY_MAX {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the source is pageable memory of this process, so the driver has copied it when this
    // call returns. The destination was checked to be the session's memory.
    unsafe {
        cx.driver().cuMemcpyHtoDAsync(
            pass,
            call.dst,
            call.data.as_ptr().cast(),
            call.data.len(),
            stream,
        )
    }
}

pub(in crate::calls) fn vcuda_copy(cx: &Cx<'_>, call: api::VcudaCopy, pass: &Pass) -> CuResult {
    cx.enter()?;
    cx.check(call.dst, call.len as u64)?;
    cx.check(call.src, call.len as u64)?;
    let (stream, _) = queue(cx, call.h_stream, 0)?;
    tally_copy(cx, call.dst, call.src, call.len as u64);
    if call.len == 0 {
        return Ok(());
    }
    // SAFETY: the source and the destination were checked to be the session's memory.
    unsafe { cx.driver().cuMemcpyAsync(pass, call.dst, call.src, call.len, stream) }
}

pub(in crate::calls) fn vcuda_copy_2d(
    cx: &Cx<'_>,
    call: api::VcudaCopy2D,
    pass: &Pass,
) -> CuResult {
    cx.enter()?;
    let size = [call.width as u64, call.height as u64, 1];
    cx.check(call.dst, span(call.dst_pitch as u64, 0, size)?)?;
    cx.check(call.src, span(call.src_pitch as u64, 0, size)?)?;
    let (stream, _) = queue(cx, call.h_stream, 0)?;
    if call.width == 0 || call.height == 0 {
        return Ok(());
    }
    let bytes = (call.width as u64).saturating_mul(call.height as u64);
    tally_copy(cx, call.dst, call.src, bytes);
    let copy = CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
        srcHost: std::ptr::null(),
        srcDevice: call.src,
        srcArray: std::ptr::null_mut(),
        srcPitch: call.src_pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
        dstHost: std::ptr::null_mut(),
        dstDevice: call.dst,
        dstArray: std::ptr::null_mut(),
        dstPitch: call.dst_pitch,
        WidthInBytes: call.width,
        Height: call.height,
    };
    // SAFETY: all rows of the source and of the destination were checked to be the session's
    // memory.
    unsafe { cx.driver().cuMemcpy2DAsync(pass, &copy, stream) }
}

pub(in crate::calls) fn vcuda_memset(cx: &Cx<'_>, call: api::VcudaMemset, pass: &Pass) -> CuResult {
    cx.enter()?;
    let size = call.element_size as usize;
    if !matches!(size, 1 | 2 | 4) {
        return Err(CuError::INVALID_VALUE);
    }
    let width = call.width.checked_mul(size).ok_or(CuError::INVALID_VALUE)?;
    cx.check(call.dst, span(call.pitch as u64, 0, [width as u64, call.height as u64, 1])?)?;
    let (stream, _) = queue(cx, call.h_stream, 0)?;
    if call.width == 0 || call.height == 0 {
        return Ok(());
    }
    let (driver, dst, pitch) = (cx.driver(), call.dst, call.pitch);
    let (value, width, height) = (call.value, call.width, call.height);
    // SAFETY: all rows were checked to be the session's memory.
    unsafe {
        match (size, height) {
            (1, 1) => driver.cuMemsetD8Async(pass, dst, value as u8, width, stream),
            (2, 1) => driver.cuMemsetD16Async(pass, dst, value as u16, width, stream),
            (_, 1) => driver.cuMemsetD32Async(pass, dst, value, width, stream),
            (1, _) => {
                driver.cuMemsetD2D8Async(pass, dst, pitch, value as u8, width, height, stream)
            }
            (2, _) => {
                driver.cuMemsetD2D16Async(pass, dst, pitch, value as u16, width, height, stream)
            }
            _ => driver.cuMemsetD2D32Async(pass, dst, pitch, value, width, height, stream),
        }
    }
}

pub(in crate::calls) fn vcuda_copy_in_staged(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaCopyInStaged,
    pass: &Pass,
    reply: ReplyTo,
) {
    let queued = staged(deferred, cx, call.dst, call.arena, call.len, call.h_stream).and_then(
        |(at, stream, ctx)| {
            // SAFETY: the source was checked to be in the arena, and the destination to be the
            // session's memory. The arena stays mapped while the copy is in flight, because its
            // region is unregistered from the GPU before it's unmapped.
            unsafe {
                cx.driver().cuMemcpyHtoDAsync(pass, call.dst, at.cast(), call.len, stream)?;
            }
            cx.tally(|words| &words.bytes_h2d, call.len as u64);
            Ok((stream, ctx))
        },
    );
    wait_queued(deferred, cx, queued, Completion::Answer(reply));
}

pub(in crate::calls) fn vcuda_copy_out_staged(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaCopyOutStaged,
    pass: &Pass,
    reply: ReplyTo,
) {
    let queued = staged(deferred, cx, call.src, call.arena, call.len, call.h_stream).and_then(
        |(at, stream, ctx)| {
            // SAFETY: the source was checked to be the session's memory, and the destination to be
            // in the arena. The arena stays mapped while the copy is in flight, because its region
            // is unregistered from the GPU before it's unmapped.
            unsafe {
                cx.driver().cuMemcpyDtoHAsync(pass, at.cast(), call.src, call.len, stream)?;
            }
            cx.tally(|words| &words.bytes_d2h, call.len as u64);
            Ok((stream, ctx))
        },
    );
    wait_queued(deferred, cx, queued, Completion::Answer(reply));
}

/// Checks a copy between the arena and the session's memory. Returns the address in the arena, and
/// the stream with its context.
fn staged(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    device: u64,
    arena: u64,
    len: usize,
    stream: StreamId,
) -> CuResult<(*mut u8, CUstream, ContextId)> {
    cx.enter()?;
    cx.check(device, len as u64)?;
    if len == 0 {
        return Err(CuError::INVALID_VALUE);
    }
    let at = deferred.staging(cx, arena, len)?;
    let (stream, ctx) = queue(cx, stream, 0)?;
    Ok((at, stream, ctx))
}

fn wait_queued(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    queued: CuResult<(CUstream, ContextId)>,
    completion: Completion,
) {
    match queued {
        Ok((stream, ctx)) => deferred.wait_recorded(cx, stream, ctx, completion),
        Err(error) => deferred.complete(cx, Err(error), completion),
    }
}

pub(in crate::calls) fn vcuda_copy_out(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaCopyOut,
    pass: &Pass,
    reply: ReplyTo,
) {
    let ready = cx.enter().and_then(|_| {
        cx.check(call.src, call.len as u64)?;
        if call.len > INLINE_COPY_MAX {
            return Err(CuError::INVALID_VALUE);
        }
        queue(cx, call.h_stream, 0)
    });
    let (stream, ctx) = match ready {
        Ok(ready) => ready,
        Err(error) => return reply.finish(error.0, &[]),
    };
    cx.tally(|words| &words.bytes_d2h, call.len as u64);
    let Some((place, room)) = reply.place() else {
        return copy_out_plain(deferred, cx, call, (stream, ctx), pass.for_job(), reply);
    };
    let answer = 8 + call.len.next_multiple_of(8);
    if room < answer {
        return reply.finish(CuError::INVALID_VALUE.0, &[]);
    }
    deferred.register_arena(cx);
    // This function writes the first part of the outputs, the length of the data. The GPU writes
    // the second part, the data.
    let head = (call.len as u64).to_le_bytes();
    // SAFETY: the reply slot has room for the length and the data. It stays mapped while `reply`
    // exists, and `reply` exists until the copy has finished. The source was checked to be the
    // session's memory.
    let queued = unsafe {
        std::ptr::copy_nonoverlapping(head.as_ptr(), place, 8);
        cx.driver().cuMemcpyDtoHAsync(pass, place.add(8).cast(), call.src, call.len, stream)
    };
    let queued = queued.map(|()| (stream, ctx));
    wait_queued(deferred, cx, queued, Completion::InPlace(reply, answer));
}

/// Handles a copy to the host that arrived in a SUBMIT request. The GPU can't write its reply
/// directly to guest memory. Therefore, copies to the worker's memory, and waits for the copy on
/// another thread.
fn copy_out_plain(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaCopyOut,
    (stream, ctx): (CUstream, ContextId),
    pass: Pass,
    reply: ReplyTo,
) {
    let uses = [Object::stream(stream), Object::Context(ctx)].map(|it| cx.shared.uses.begin(it));
    let stream = DriverHandle(stream);
    deferred.on_mirror(cx.thread, cx.ctx, reply, move |cx, reply| {
        let _call = cx.shared.uses.begin_on_mirror(cx.ctx);
        let mut answer = vec![0; 8 + call.len.next_multiple_of(8)];
        answer[..8].copy_from_slice(&(call.len as u64).to_le_bytes());
        let stream = { stream }.0;
        let copied = cx.enter().and_then(|_| {
            // SAFETY: the stream is live while `uses` exists. The source was checked to be the
            // session's memory, and the destination has room for `len` bytes. It outlives the copy,
            // because the second call waits for the copy's end.
            unsafe {
                let to = answer[8..].as_mut_ptr().cast();
                cx.driver().cuMemcpyDtoHAsync(&pass, to, call.src, call.len, stream)?;
                cx.driver().cuStreamSynchronize(stream)
            }
        });
        drop(uses);
        match copied {
            Ok(()) => reply.finish(0, &answer),
            Err(error) => reply.finish(number(Err(error)), &[]),
        }
    });
}
