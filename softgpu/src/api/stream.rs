//! Streams.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cuda_api::args::{Arg, In};
use cuda_api::graph::HostCall;
use cuda_api::sys::{
    CUcontext, CUdeviceptr, CUevent, CUhostFn, CUstream, CUstreamAttrID, CUstreamAttrValue,
};

use super::{Answer, CUresult, capture, cuda, cuda_on_stream, invalid, put};
use crate::state::context::current;
use crate::state::errors::Errors;
use crate::state::graph::Op;
use crate::state::memory;
pub(crate) use crate::state::stream::lookup;
use crate::state::stream::{STREAMS, Stream};

fn create(to: *mut CUstream, flags: c_uint, priority: c_int) -> Answer {
    let context = current()?;
    if flags & !1 != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    put(to, Stream::create(&context, flags & 1 != 0, priority.clamp(-5, 0)) as CUstream)
}

fn destroy(handle: CUstream) -> Answer {
    crate::state::device::driver()?;
    let stream = STREAMS.remove(handle as usize).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    capture::GRAPHS.forget_stream(capture::key(&stream));
    // Queued work is still executed, and other streams' waits for it stay valid.
    let (context, queue) = (stream.context.clone(), stream.queue.clone());
    if queue.idle() {
        context.forget_queue(&queue);
    } else {
        stream.submit(move |_| context.forget_queue(&queue));
    }
    Ok(())
}

/// Waits for a stream and returns the result of its work.
pub(crate) fn synchronize(stream: &Stream) -> Answer {
    stream.synchronize();
    stream.context.printf.flush();
    stream.context.healthy()
}

/// A callback with its argument, for the stream's thread.
struct Callback<F>(F, *mut c_void);
// SAFETY: the program passed the pointer for use on another thread.
unsafe impl<F> Send for Callback<F> {}

type StreamCallback = unsafe extern "C" fn(CUstream, CUresult, *mut c_void);

fn write_value(stream: &Stream, address: u64, value: u64, wide: bool, flags: c_uint) -> Answer {
    let size = if wide { 8 } else { 4 };
    if flags & !1 != 0 || !address.is_multiple_of(size) || !memory::accessible(address, size) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    capture::unsupported_on(stream, "cuStreamWriteValue")?;
    stream.now_or_submit(move |errors| {
        if errors.failed() || !memory::accessible(address, size) {
            return;
        }
        // SAFETY: the interval is accessible, and aligned.
        unsafe {
            if wide {
                AtomicU64::from_ptr(address as *mut u64).store(value, Ordering::SeqCst);
            } else {
                AtomicU32::from_ptr(address as *mut u32).store(value as u32, Ordering::SeqCst);
            }
        }
    });
    Ok(())
}

fn wait_value(stream: &Stream, address: u64, value: u64, wide: bool, flags: c_uint) -> Answer {
    let size = if wide { 8 } else { 4 };
    if flags & !0x4000_0003 != 0
        || !address.is_multiple_of(size)
        || !memory::accessible(address, size)
    {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let holds = move || {
        // SAFETY: the interval is accessible, and aligned.
        let now = unsafe {
            if wide {
                AtomicU64::from_ptr(address as *mut u64).load(Ordering::SeqCst)
            } else {
                AtomicU32::from_ptr(address as *mut u32).load(Ordering::SeqCst).into()
            }
        };
        match flags & 3 {
            0 if wide => now.wrapping_sub(value) as i64 >= 0,
            0 => (now as u32).wrapping_sub(value as u32) as i32 >= 0,
            1 => now == value,
            2 => now & value != 0,
            _ if wide => !(now | value) != 0,
            _ => !(now as u32 | value as u32) != 0,
        }
    };
    capture::unsupported_on(stream, "cuStreamWaitValue")?;
    stream.submit(move |errors| {
        let mut rounds = 0u32;
        while !errors.failed() && memory::accessible(address, size) && !holds() {
            rounds += 1;
            if rounds < 1000 {
                std::thread::yield_now();
            } else {
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
        }
    });
    Ok(())
}

cuda! {
    fn cuStreamCreate(to: *mut CUstream, flags: c_uint) {
        create(to, flags, 0)
    }

    fn cuStreamCreateWithPriority(to: *mut CUstream, flags: c_uint, priority: c_int) {
        create(to, flags, priority)
    }

    fn cuStreamDestroy(stream: CUstream) {
        destroy(stream)
    }

    fn cuStreamDestroy_v2(stream: CUstream) {
        destroy(stream)
    }
}

/// Exports functions that take the stream first: the second name takes the thread's default stream
/// for the null stream.
macro_rules! queries {
    ($(fn $name:ident, fn $per_thread:ident($($arg:ident: $ty:ty),*; $stream:ident) $body:block)*) => {$(
        cuda_api::check_signature! { $name(cuda_api::sys::CUstream $(, $ty)*) }
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name(stream: cuda_api::sys::CUstream, $($arg: $ty),*) -> $crate::api::CUresult {
            $crate::api::answer(move || {
                let $stream = $crate::api::stream::lookup(stream, false)?;
                $body
            })
        }
        cuda_api::check_signature! { $per_thread(cuda_api::sys::CUstream $(, $ty)*) }
        #[allow(non_snake_case)]
        unsafe extern "C" fn $per_thread(stream: cuda_api::sys::CUstream, $($arg: $ty),*) -> $crate::api::CUresult {
            $crate::api::answer(move || {
                let $stream = $crate::api::stream::lookup(stream, true)?;
                $body
            })
        }
    )*
        /// The functions above, for the library's table of exports.
        pub(crate) const QUERIES: &[cuda_api::exports::Entry] = &[$(cuda_api::entry!($name), cuda_api::entry!($per_thread)),*];
    };
}

queries! {
    fn cuStreamGetPriority, fn cuStreamGetPriority_ptsz(to: *mut c_int; stream) {
        put(to, stream.priority)
    }

    fn cuStreamGetFlags, fn cuStreamGetFlags_ptsz(to: *mut c_uint; stream) {
        put(to, c_uint::from(stream.non_blocking))
    }

    fn cuStreamGetId, fn cuStreamGetId_ptsz(to: *mut u64; stream) {
        put(to, stream.id)
    }

    fn cuStreamGetCtx, fn cuStreamGetCtx_ptsz(to: *mut CUcontext; stream) {
        put(to, stream.context.handle as CUcontext)
    }

    fn cuStreamGetCtx_v2, fn cuStreamGetCtx_v2_ptsz(to: *mut CUcontext, green: *mut *mut c_void; stream) {
        super::put_if(green, std::ptr::null_mut());
        put(to, stream.context.handle as CUcontext)
    }

    fn cuStreamGetDevice, fn cuStreamGetDevice_ptsz(to: *mut c_int; stream) {
        put(to, stream.context.ordinal)
    }

    fn cuStreamGetAttribute, fn cuStreamGetAttribute_ptsz(
        attribute: CUstreamAttrID, to: *mut CUstreamAttrValue; stream
    ) {
        put(to, stream.queue.attributes().get(attribute)?)
    }

    fn cuStreamSetAttribute, fn cuStreamSetAttribute_ptsz(
        attribute: CUstreamAttrID, from: *const CUstreamAttrValue; stream
    ) {
        // SAFETY: the program passes pointers by the API's rules.
        let value = unsafe { In::from_c(from) }.get().map_err(invalid)?;
        stream.queue.attributes().set(attribute, value)
    }

    fn cuStreamQuery, fn cuStreamQuery_ptsz(; stream) {
        capture::GRAPHS.forbid_on(&(&*stream).into())?;
        if !stream.idle() {
            return Err(CUresult::CUDA_ERROR_NOT_READY);
        }
        stream.context.printf.flush();
        stream.context.healthy()
    }

    fn cuStreamSynchronize, fn cuStreamSynchronize_ptsz(; stream) {
        capture::GRAPHS.forbid_on(&(&*stream).into())?;
        synchronize(&stream)
    }

    fn cuStreamWaitEvent, fn cuStreamWaitEvent_ptsz(event: CUevent, flags: c_uint; stream) {
        if flags & !1 != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        super::event::wait_on(&stream, event, flags)
    }

    fn cuStreamAttachMemAsync, fn cuStreamAttachMemAsync_ptsz(
        _address: CUdeviceptr,
        _length: usize,
        _flags: c_uint;
        _stream
    ) {
        // Managed memory is not supported.
        Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }

    fn cuLaunchHostFunc, fn cuLaunchHostFunc_ptsz(
        function: CUhostFn,
        data: *mut c_void;
        stream
    ) {
        let function = function.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        // SAFETY: the program passed the function to be called with this argument.
        let host = unsafe { HostCall::new(function, data) };
        if capture::captured(&stream)? {
            return capture::push(&stream, Op::Host(host));
        }
        stream.submit(move |errors| {
            if !errors.failed() {
                host.run();
            }
        });
        Ok(())
    }

    fn cuStreamAddCallback, fn cuStreamAddCallback_ptsz(
        function: Option<StreamCallback>,
        data: *mut c_void,
        flags: c_uint;
        stream
    ) {
        if flags != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        capture::GRAPHS.forbid_on(&(&*stream).into())?;
        let handle = stream.handle;
        let callback = Callback(function.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?, data);
        stream.submit(move |errors: &Errors| {
            let callback = callback;
            let status = errors.healthy().err().unwrap_or(CUresult::CUDA_SUCCESS);
            // SAFETY: the program passed the function to be called with these arguments.
            unsafe { (callback.0)(handle as CUstream, status, callback.1) };
        });
        Ok(())
    }

    fn cuStreamWriteValue32, fn cuStreamWriteValue32_ptsz(
        address: CUdeviceptr, value: u32, flags: c_uint; stream
    ) {
        write_value(&stream, address, value.into(), false, flags)
    }

    fn cuStreamWriteValue32_v2, fn cuStreamWriteValue32_v2_ptsz(
        address: CUdeviceptr, value: u32, flags: c_uint; stream
    ) {
        write_value(&stream, address, value.into(), false, flags)
    }

    fn cuStreamWriteValue64, fn cuStreamWriteValue64_ptsz(
        address: CUdeviceptr, value: u64, flags: c_uint; stream
    ) {
        write_value(&stream, address, value, true, flags)
    }

    fn cuStreamWriteValue64_v2, fn cuStreamWriteValue64_v2_ptsz(
        address: CUdeviceptr, value: u64, flags: c_uint; stream
    ) {
        write_value(&stream, address, value, true, flags)
    }

    fn cuStreamWaitValue32, fn cuStreamWaitValue32_ptsz(
        address: CUdeviceptr, value: u32, flags: c_uint; stream
    ) {
        wait_value(&stream, address, value.into(), false, flags)
    }

    fn cuStreamWaitValue32_v2, fn cuStreamWaitValue32_v2_ptsz(
        address: CUdeviceptr, value: u32, flags: c_uint; stream
    ) {
        wait_value(&stream, address, value.into(), false, flags)
    }

    fn cuStreamWaitValue64, fn cuStreamWaitValue64_ptsz(
        address: CUdeviceptr, value: u64, flags: c_uint; stream
    ) {
        wait_value(&stream, address, value, true, flags)
    }

    fn cuStreamWaitValue64_v2, fn cuStreamWaitValue64_v2_ptsz(
        address: CUdeviceptr, value: u64, flags: c_uint; stream
    ) {
        wait_value(&stream, address, value, true, flags)
    }
}

cuda_on_stream! {
    fn cuMemPrefetchAsync, fn cuMemPrefetchAsync_ptsz(
        _address: CUdeviceptr, _count: usize, _device: c_int; _stream
    ) {
        // Managed memory is not supported.
        Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }
}
