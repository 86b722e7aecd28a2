//! Properties of streams, callbacks, and the first versions of calls for streams and events.

use super::cases;
use crate::cuda::{cu, ensure, get, parameter, refused, same};
use crate::kernels::FILL;
use cuda_api::sys::{
    CUresult, CUstream, CUstreamBatchMemOpParams, CUstreamBatchMemOpType as Operation,
};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

/// The word of device memory that the callback was called with, plus the status that it got.
static SEEN: AtomicU32 = AtomicU32::new(0);

/// A stream callback that stores the word at `data`, plus its status, in `SEEN`.
unsafe extern "C" fn callback(_stream: CUstream, status: CUresult, data: *mut c_void) {
    // SAFETY: the case passes the address of a word that lives until the callback has run.
    let word = unsafe { data.cast::<u32>().read_volatile() };
    SEEN.store(word + status.0, Ordering::SeqCst);
}

cases! {
    fn a_stream_knows_its_context_device_and_id(cuda, primary = (device, context)) {
        let (mut first, mut second) = (null_mut(), null_mut());
        let (mut owner, mut green, mut found, mut ids) = (null_mut(), null_mut(), 9, [0; 3]);
        cu!(cuda, cuStreamCreate(&mut first, 1))?;
        cu!(cuda, cuStreamCreate(&mut second, 0))?;
        cu!(cuda, cuStreamGetCtx(first, &mut owner))?;
        same!(owner, context);
        owner = null_mut();
        cu!(cuda, cuStreamGetCtx_v2(first, &mut owner, &mut green))?;
        same!((owner, green.is_null()), (context, true));
        cu!(cuda, cuStreamGetDevice(first, &mut found))?;
        same!(found, device);
        for (stream, id) in [first, second, null_mut()].into_iter().zip(&mut ids) {
            cu!(cuda, cuStreamGetId(stream, id))?;
        }
        let [one, two, default] = ids;
        ensure!(one != two && one != default && two != default, "the ids are {ids:?}");
        refused!(cu!(cuda, cuStreamGetCtx(first, null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuStreamGetDevice(first, null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuStreamGetId(first, null_mut())), INVALID_VALUE);
        cu!(cuda, cuCtxSetCurrent(null_mut()))?;
        refused!(cu!(cuda, cuStreamGetCtx(null_mut(), &mut owner)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuStreamGetCtx_v2(null_mut(), &mut owner, &mut green)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuStreamGetDevice(null_mut(), &mut found)), INVALID_CONTEXT);
    }

    fn a_callback_runs_after_the_work_before_it(cuda, primary) {
        let host = get!(cuda, cuMemHostAlloc(@, 4096, 2))?;
        let device = get!(cuda, cuMemHostGetDevicePointer_v2(@, host, 0))?;
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        cu!(cuda, cuMemsetD32Async(device, 42, 1, stream))?;
        cu!(cuda, cuStreamAddCallback(stream, Some(callback), host, 0))?;
        cu!(cuda, cuMemsetD32Async(device, 43, 1, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(SEEN.load(Ordering::SeqCst), 42);
        refused!(cu!(cuda, cuStreamAddCallback(stream, None, host, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuStreamAddCallback(stream, Some(callback), host, 99)), INVALID_VALUE);
        cu!(cuda, cuStreamSynchronize(stream))?;
        cu!(cuda, cuMemFreeHost(host))?;
    }

    /// With a driver for CUDA 12 or later, the first versions of these calls work only if a setting
    /// of NVIDIA's kernel module enables them.
    fn the_first_forms_of_memory_operations_are_not_supported(cuda, primary) {
        let (flag, mut stream) = (cuda.alloc(64)?, null_mut());
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        let kind = Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32.0.into();
        let mut batch = [CUstreamBatchMemOpParams { pad: [kind, flag + 16, 7, 0, 0, 0] }];
        refused!(cu!(cuda, cuStreamWaitValue32(stream, flag, 1, 1)), NOT_SUPPORTED);
        refused!(cu!(cuda, cuStreamWaitValue64(stream, flag, 1, 1)), NOT_SUPPORTED);
        refused!(cu!(cuda, cuStreamWriteValue32(stream, flag, 1, 0)), NOT_SUPPORTED);
        refused!(cu!(cuda, cuStreamWriteValue64(stream, flag, 1, 0)), NOT_SUPPORTED);
        refused!(cu!(cuda, cuStreamBatchMemOp(stream, 1, batch.as_mut_ptr(), 0)), NOT_SUPPORTED);
        cu!(cuda, cuStreamSynchronize(stream))?;
    }

    fn the_first_forms_for_events_work(cuda, primary) {
        let (_, add) = cuda.kernel(FILL, c"add")?;
        let (pointer, mut stream) = (cuda.alloc(4096)?, null_mut());
        let (mut events, mut time) = ([null_mut(); 2], -1.0);
        cu!(cuda, cuStreamCreate(&mut stream, 0))?;
        for event in &mut events {
            cu!(cuda, cuEventCreate(event, 0))?;
        }
        let (value, count) = (1u32, 1024u32);
        cu!(cuda, cuMemsetD32Async(pointer, 1, 1024, stream))?;
        cu!(cuda, cuEventRecordWithFlags(events[0], stream, 0))?;
        let mut parameters = [parameter(&pointer), parameter(&value), parameter(&count)];
        cuda.launch(add, [8, 128], stream, &mut parameters)?;
        cu!(cuda, cuEventRecordWithFlags(events[1], stream, 0))?;
        cu!(cuda, cuEventSynchronize(events[1]))?;
        same!(cuda.download::<u32>(pointer, 2)?, [2, 2]);
        cu!(cuda, cuEventElapsedTime(&mut time, events[0], events[1]))?;
        ensure!((0.0..10_000.0).contains(&time), "{time} ms passed");
        let [first, second] = events;
        refused!(cu!(cuda, cuEventElapsedTime(null_mut(), first, second)), INVALID_HANDLE);
        refused!(cu!(cuda, cuEventRecordWithFlags(first, stream, 99)), INVALID_VALUE);
        cu!(cuda, cuEventDestroy(first))?;
        cu!(cuda, cuEventDestroy(second))?;
        cu!(cuda, cuStreamDestroy(stream))?;
    }

    fn null_is_not_an_event(cuda, primary) {
        let (mut stream, mut event, null) = (null_mut(), null_mut(), null_mut());
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        cu!(cuda, cuEventCreate(&mut event, 0))?;
        refused!(cu!(cuda, cuEventRecord(null, stream)), INVALID_HANDLE | INVALID_VALUE);
        refused!(cu!(cuda, cuEventRecordWithFlags(null, stream, 0)), INVALID_HANDLE | INVALID_VALUE);
        refused!(cu!(cuda, cuEventQuery(null)), INVALID_HANDLE | INVALID_VALUE);
        refused!(cu!(cuda, cuEventSynchronize(null)), INVALID_HANDLE | INVALID_VALUE);
        refused!(cu!(cuda, cuEventDestroy_v2(null)), INVALID_HANDLE | INVALID_VALUE);
        refused!(cu!(cuda, cuEventDestroy(null)), INVALID_HANDLE | INVALID_VALUE);
        refused!(cu!(cuda, cuStreamWaitEvent(stream, null, 0)), INVALID_HANDLE | INVALID_VALUE);
        refused!(cu!(cuda, cuStreamWaitEvent(stream, event, 99)), INVALID_VALUE);
        let mut time = 0.0;
        refused!(cu!(cuda, cuEventElapsedTime_v2(&mut time, null, null)), INVALID_HANDLE | INVALID_VALUE);
    }

    fn default_streams_cannot_be_destroyed(cuda, primary) {
        let (mut stream, null) = (null_mut(), null_mut());
        refused!(cu!(cuda, cuStreamDestroy_v2(null)), INVALID_HANDLE | INVALID_VALUE);
        refused!(cu!(cuda, cuStreamDestroy(null)), INVALID_HANDLE | INVALID_VALUE);
        refused!(cu!(cuda, cuStreamCreateWithPriority(null_mut(), 1, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuStreamCreateWithPriority(&mut stream, 99, 0)), INVALID_VALUE);
    }
}
