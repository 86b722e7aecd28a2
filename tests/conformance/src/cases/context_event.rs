//! Events that are recorded in all streams of a context, and waits of all streams of a context.

use super::cases;
use crate::cuda::{cu, ensure, get, refused, same};
use cuda_api::sys::CUstream_flags;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const NON_BLOCKING: u32 = CUstream_flags::CU_STREAM_NON_BLOCKING.0;

/// 1 after the host function `slow` has finished, 0 before that. Each case runs in its own process.
static STEP: AtomicU32 = AtomicU32::new(0);

/// Sets `STEP` to 1 after a delay, in which work that doesn't wait for this function would run.
unsafe extern "C" fn slow(_: *mut c_void) {
    std::thread::sleep(Duration::from_millis(200));
    STEP.store(1, Ordering::SeqCst);
}

/// Stores the value of `STEP` plus 10 in the atomic at this address.
unsafe extern "C" fn look(seen: *mut c_void) {
    // SAFETY: the case passes the address of a static atomic.
    let seen = unsafe { &*seen.cast::<AtomicU32>() };
    seen.store(STEP.load(Ordering::SeqCst) + 10, Ordering::SeqCst);
}

cases! {
    fn an_event_captures_the_work_in_all_streams(cuda, primary = (_, context)) {
        let stream = get!(cuda, cuStreamCreate(@, NON_BLOCKING))?;
        let event = get!(cuda, cuEventCreate(@, 0))?;
        cu!(cuda, cuLaunchHostFunc(stream, Some(slow), null_mut()))?;
        cu!(cuda, cuCtxRecordEvent(context, event))?;
        refused!(cu!(cuda, cuEventQuery(event)), NOT_READY);
        cu!(cuda, cuEventSynchronize(event))?;
        same!(STEP.load(Ordering::SeqCst), 1);
        cu!(cuda, cuEventQuery(event))?;
        refused!(cu!(cuda, cuCtxRecordEvent(context, null_mut())), INVALID_HANDLE);
        let other = get!(cuda, cuCtxCreate_v2(@, 0, 0))?;
        refused!(cu!(cuda, cuCtxRecordEvent(other, event)), INVALID_HANDLE);
        cu!(cuda, cuCtxDestroy_v2(other))?;
    }

    fn later_work_in_all_streams_waits(cuda) {
        static SEEN: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
        let (_, context) = cuda.primary()?;
        let (mut first, mut second, mut later, mut event) =
            (null_mut(), null_mut(), null_mut(), null_mut());
        cu!(cuda, cuStreamCreate(&mut first, NON_BLOCKING))?;
        cu!(cuda, cuStreamCreate(&mut second, NON_BLOCKING))?;
        cu!(cuda, cuEventCreate(&mut event, 0))?;
        cu!(cuda, cuLaunchHostFunc(first, Some(slow), null_mut()))?;
        cu!(cuda, cuEventRecord(event, first))?;
        cu!(cuda, cuCtxWaitEvent(context, event))?;
        // Work in a stream that is created after `cuCtxWaitEvent` must also wait for the event.
        cu!(cuda, cuStreamCreate(&mut later, NON_BLOCKING))?;
        for (stream, seen) in [second, later].into_iter().zip(&SEEN) {
            let seen = std::ptr::from_ref(seen).cast_mut().cast();
            cu!(cuda, cuLaunchHostFunc(stream, Some(look), seen))?;
        }
        ensure!(SEEN[0].load(Ordering::SeqCst) == 0, "the host waited");
        cu!(cuda, cuCtxSynchronize())?;
        same!([0, 1].map(|index: usize| SEEN[index].load(Ordering::SeqCst)), [11, 11]);
        refused!(cu!(cuda, cuCtxWaitEvent(context, null_mut())), INVALID_HANDLE);
    }

    fn a_context_with_a_capture_is_refused(cuda, primary = (_, context)) {
        let (mut stream, mut event, mut graph) = (null_mut(), null_mut(), null_mut());
        cu!(cuda, cuStreamCreate(&mut stream, NON_BLOCKING))?;
        cu!(cuda, cuEventCreate(&mut event, 0))?;
        let relaxed = cuda_api::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        cu!(cuda, cuStreamBeginCapture_v2(stream, relaxed))?;
        refused!(cu!(cuda, cuCtxRecordEvent(context, event)), STREAM_CAPTURE_UNSUPPORTED);
        refused!(cu!(cuda, cuStreamEndCapture(stream, &mut graph)), STREAM_CAPTURE_INVALIDATED);
    }
}
