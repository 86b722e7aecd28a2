//! Entry points for streams.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;

use cuda_api::args::{In, Out};
use cuda_api::attributes::Value;
use cuda_api::callback;
use cuda_api::error::{CuError, CuResult};
use cuda_api::graph::HostCall;
use cuda_api::sys::{
    CUcontext, CUevent, CUevent_wait_flags, CUhostFn, CUresult, CUstream, CUstream_flags,
    CUstreamAttrID,
};

use super::capture;
use super::entry::entries;
use crate::state::attributes::{self, PRIORITY};
use crate::state::context::{current, object};
use crate::state::errors::Errors;
use crate::state::graph::Op;
use crate::state::stream::{STREAMS, Stream, lookup};

const NON_BLOCKING: u32 = CUstream_flags::CU_STREAM_NON_BLOCKING.0;
const WAIT_FLAGS: u32 = CUevent_wait_flags::CU_EVENT_WAIT_EXTERNAL.0;

fn create(to: Out<CUstream>, flags: c_uint, priority: c_int) -> CuResult {
    let context = current()?;
    if flags & !NON_BLOCKING != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    to.set(Stream::create(&context, flags & NON_BLOCKING != 0, priority)? as CUstream)
}

fn destroy(handle: CUstream) -> CuResult {
    let stream = object(&STREAMS, handle as usize)?;
    if !stream.context.active.load(Ordering::Acquire) {
        return Err(CuError::CONTEXT_IS_DESTROYED);
    }
    STREAMS.remove(handle as usize).ok_or(CuError::INVALID_HANDLE)?;
    capture::GRAPHS.forget_stream(capture::key(&stream));
    // If the stream still has work, keep its queue in the context until the work is done, so that
    // the legacy default stream and calls that wait for the whole context still wait for the work.
    let (context, queue) = (stream.context.clone(), stream.queue.clone());
    if queue.idle() {
        context.forget_queue(&queue);
    } else {
        stream.submit(move |_| context.forget_queue(&queue));
    }
    Ok(())
}

/// Returns the handle of the green context to which a stream belongs, or null.
fn green_of(stream: &Stream) -> *mut c_void {
    stream.context.green.as_ref().map_or(0, |green| green.handle) as *mut c_void
}

/// Waits for a stream, prints buffered `printf` output, and fails if the context has a sticky
/// error.
pub(crate) fn synchronize(stream: &Stream) -> CuResult {
    stream.synchronize();
    stream.context.printf.flush();
    stream.context.healthy()
}

/// A callback with its argument, to be called on the stream's thread.
struct Callback<F>(F, *mut c_void);
// SAFETY: the program provides the pointer for use by the stream's thread.
unsafe impl<F> Send for Callback<F> {}

type StreamCallback = unsafe extern "C" fn(CUstream, CUresult, *mut c_void);

entries! {
    fn cuStreamCreate(to: Out<CUstream>, flags: c_uint) {
        create(to, flags, 0)
    }

    fn cuStreamCreateWithPriority(to: Out<CUstream>, flags: c_uint, priority: c_int) {
        create(to, flags, priority)
    }

    fn cuStreamDestroy(stream: CUstream) {
        destroy(stream)
    }

    fn cuStreamDestroy_v2(stream: CUstream) {
        destroy(stream)
    }

    fn cuStreamGetPriority, fn cuStreamGetPriority_ptsz(
        stream: CUstream, to: Out<c_int>,
    ) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        to.set(stream.queue.attributes().get(PRIORITY)[0] as c_int)
    }

    fn cuStreamGetFlags, fn cuStreamGetFlags_ptsz(stream: CUstream, to: Out<c_uint>) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        to.set(c_uint::from(stream.non_blocking))
    }

    fn cuStreamGetId, fn cuStreamGetId_ptsz(stream: CUstream, to: Out<u64>) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        to.set(stream.id)
    }

    fn cuStreamGetCtx, fn cuStreamGetCtx_ptsz(stream: CUstream, to: Out<CUcontext>) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        to.set(stream.context.handle as CUcontext)
    }

    fn cuStreamGetCtx_v2, fn cuStreamGetCtx_v2_ptsz(
        stream: CUstream, to: Out<CUcontext>, green: Out<*mut c_void>,
    ) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        green.set_if_wanted(green_of(&stream));
        to.set_if_wanted(stream.context.handle as CUcontext);
        Ok(())
    }

    fn cuStreamGetGreenCtx(stream: CUstream, green: Out<*mut c_void>) {
        green.set(green_of(&*lookup(stream, false)?))
    }

    fn cuStreamGetDevice, fn cuStreamGetDevice_ptsz(stream: CUstream, to: Out<c_int>) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        to.set(stream.context.ordinal)
    }

    fn cuStreamGetAttribute, fn cuStreamGetAttribute_ptsz(
        stream: CUstream, attribute: CUstreamAttrID, to: Out<Value>,
    ) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        to.set(stream.queue.attributes().of_stream(attribute.0)?)
    }

    fn cuStreamSetAttribute, fn cuStreamSetAttribute_ptsz(
        stream: CUstream, attribute: CUstreamAttrID, from: In<Value>,
    ) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        attributes::set(&mut stream.queue.attributes(), attribute.0, from.get()?)
    }

    fn cuStreamCopyAttributes, fn cuStreamCopyAttributes_ptsz(
        dst: CUstream, src: CUstream,
    ) |per_thread| {
        let (dst, src) = (lookup(dst, per_thread)?, lookup(src, per_thread)?);
        if dst.context.handle != src.context.handle {
            return Err(CuError::INVALID_VALUE);
        }
        let attributes = src.queue.attributes().clone();
        *dst.queue.attributes() = attributes;
        Ok(())
    }

    fn cuStreamQuery, fn cuStreamQuery_ptsz(stream: CUstream) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        capture::GRAPHS.forbid_on(&(&*stream).into())?;
        if !stream.idle() {
            return Err(CuError::NOT_READY);
        }
        stream.context.printf.flush();
        stream.context.healthy()
    }

    fn cuStreamSynchronize, fn cuStreamSynchronize_ptsz(stream: CUstream) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        capture::GRAPHS.forbid_on(&(&*stream).into())?;
        synchronize(&stream)
    }

    fn cuStreamWaitEvent, fn cuStreamWaitEvent_ptsz(
        stream: CUstream, event: CUevent, flags: c_uint,
    ) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        if flags & !WAIT_FLAGS != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        super::event::wait_on(&stream, event, flags)
    }

    fn cuLaunchHostFunc, fn cuLaunchHostFunc_ptsz(
        stream: CUstream, function: CUhostFn, data: *mut c_void,
    ) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        let function = function.ok_or(CuError::INVALID_VALUE)?;
        // SAFETY: the program passes this function to be called with this argument.
        let host = unsafe { HostCall::new(function, data) };
        if capture::captured(&stream)? {
            return capture::push(&stream, Op::Host(host));
        }
        stream.submit(move |errors| {
            if !errors.failed() {
                callback::run(|| host.run());
            }
        });
        Ok(())
    }

    fn cuStreamAddCallback, fn cuStreamAddCallback_ptsz(
        stream: CUstream, function: Option<StreamCallback>, data: *mut c_void, flags: c_uint,
    ) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        capture::GRAPHS.forbid_on(&(&*stream).into())?;
        let handle = stream.handle;
        let call = Callback(function.ok_or(CuError::INVALID_VALUE)?, data);
        stream.submit(move |errors: &Errors| {
            // The block makes the closure capture the whole `call`, which is Send. Without it, the
            // closure would capture only the fields, and the pointer isn't Send.
            let Callback(function, data) = { call };
            let status = errors.healthy().err().map_or(CUresult::CUDA_SUCCESS, CUresult::from);
            // SAFETY: the program passes this function to be called with these arguments.
            callback::run(|| unsafe { function(handle as CUstream, status, data) });
        });
        Ok(())
    }
}
