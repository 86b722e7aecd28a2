//! Threads that exit while their default streams have work.

use super::cases;
use crate::cuda::{Called, Cuda, Outcome, cu, ensure, get, parameter, refused, same};
use cuda_api::sys::{CUcontext, CUevent, CUfunction, CUstream, CUstreamCaptureMode};
use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// `count(pointer)` adds 1 to the 32-bit word at `pointer`, atomically.
const COUNT: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .entry count(.param .u64 pointer) {
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [pointer];
    cvta.to.global.u64 %rd2, %rd1;
    atom.global.add.u32 %r1, [%rd2], 1;
    ret;
}
";
const THREADS: usize = 5000;
const AT_ONCE: usize = 16;
/// Maximum number of bytes that may stay allocated after the threads have exited. NVIDIA's driver
/// keeps 4 MiB.
const LEFT: usize = 64 << 20;

/// Returns the handle of the calling thread's default stream.
fn own_stream() -> CUstream {
    without_provenance_mut(2)
}

/// A kernel and its argument, which all threads can use.
struct Work {
    context: CUcontext,
    function: CUfunction,
    counter: u64,
}
// SAFETY: CUDA allows any thread to use these handles.
unsafe impl Sync for Work {}

impl Work {
    fn new(cuda: &Cuda) -> Outcome<Self> {
        let (_, context) = cuda.primary()?;
        let (_, function) = cuda.kernel(COUNT, c"count")?;
        let counter = cuda.alloc(64)?;
        cu!(cuda, cuMemsetD32Async(counter, 0, 16, own_stream()))?;
        cu!(cuda, cuStreamSynchronize(own_stream()))?;
        Ok(Self { context, function, counter })
    }

    /// Launches `count` in the calling thread's default stream.
    fn queue(&self, cuda: &Cuda) -> Called {
        cu!(cuda, cuCtxSetCurrent(self.context))?;
        cuda.launch(self.function, [1, 1], own_stream(), &mut [parameter(&self.counter)])
    }

    fn counted(&self, cuda: &Cuda) -> Outcome<u32> {
        Ok(cuda.download(self.counter, 1)?[0])
    }
}

fn free_memory(cuda: &Cuda) -> Outcome<usize> {
    let (mut free, mut total) = (0, 0);
    cu!(cuda, cuMemGetInfo_v2(&mut free, &mut total))?;
    Ok(free)
}

/// Calls `body` on a new thread, and waits until the thread has exited.
fn on_thread<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| match scope.spawn(body).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

unsafe extern "C" fn wait_for_flag(flag: *mut c_void) {
    // SAFETY: the case passes an `AtomicBool` that lives until the stream is empty.
    let flag = unsafe { &*flag.cast::<AtomicBool>() };
    while !flag.load(Ordering::Acquire) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

thread_local! {
    /// Dropped when the thread exits, which calls the closure in it.
    static AT_EXIT: RefCell<Option<AtExit>> = const { RefCell::new(None) };
}

struct AtExit(Box<dyn FnOnce()>);

impl Drop for AtExit {
    fn drop(&mut self) {
        std::mem::replace(&mut self.0, Box::new(|| {}))();
    }
}

cases! {
    fn thousands_of_threads_leave_little_memory(cuda) {
        let work = Work::new(cuda)?;
        let mut before = 0;
        for round in 0..THREADS / AT_ONCE {
            let body = |number: usize| {
                work.queue(cuda)?;
                match number % 2 {
                    0 => cu!(cuda, cuStreamSynchronize(own_stream())),
                    _ => Ok(()),
                }
            };
            std::thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..AT_ONCE).map(|number| scope.spawn(move || body(number))).collect();
                threads.into_iter().try_for_each(|thread| match thread.join() {
                    Ok(called) => called,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
            })?;
            if round == 0 {
                before = free_memory(cuda)?;
            }
        }
        cu!(cuda, cuCtxSynchronize())?;
        same!(work.counted(cuda)? as usize, THREADS / AT_ONCE * AT_ONCE);
        let left = before.saturating_sub(free_memory(cuda)?);
        ensure!(left <= LEFT, "the threads have left {left} bytes allocated");
    }

    fn work_of_a_thread_that_has_exited_is_done(cuda) {
        let work = Work::new(cuda)?;
        let (go, mut event): (_, CUevent) = (AtomicBool::new(false), null_mut());
        cu!(cuda, cuEventCreate(&mut event, 0))?;
        let event_of_thread = event.addr();
        let queue = || -> Called {
            cu!(cuda, cuCtxSetCurrent(work.context))?;
            cu!(cuda, cuLaunchHostFunc(own_stream(), Some(wait_for_flag), parameter(&go)))?;
            work.queue(cuda)?;
            cu!(cuda, cuEventRecord(without_provenance_mut(event_of_thread), own_stream()))
        };
        on_thread(queue)?;
        // Work in another thread's default stream doesn't wait for the work of the exited thread.
        on_thread(|| {
            work.queue(cuda)?;
            cu!(cuda, cuStreamSynchronize(own_stream()))
        })?;
        let waits = cu!(cuda, cuEventQuery(event));
        go.store(true, Ordering::Release);
        refused!(waits, NOT_READY);
        cu!(cuda, cuEventSynchronize(event))?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(work.counted(cuda)?, 2);
    }

    fn a_capture_of_the_default_stream_of_a_thread_ends_with_the_thread(cuda) {
        let work = Work::new(cuda)?;
        on_thread(|| -> Called {
            cu!(cuda, cuCtxSetCurrent(work.context))?;
            let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
            cu!(cuda, cuStreamBeginCapture_v2(own_stream(), mode))?;
            work.queue(cuda)
        })?;
        cuda.alloc(64)?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(work.counted(cuda)?, 0);
    }

    fn destructors_of_a_thread_can_call_the_library(cuda) {
        let work = Work::new(cuda)?;
        static CALLED: AtomicU32 = AtomicU32::new(0);
        // The closure must be 'static, so pass it addresses instead of references. It runs before
        // the case ends.
        let (at, counter) = (std::ptr::from_ref(cuda).expose_provenance(), work.counter);
        let function = work.function.addr();
        on_thread(|| -> Called {
            work.queue(cuda)?;
            let at_exit = AtExit(Box::new(move || {
                // SAFETY: the case waits until the thread has exited, so `cuda` still exists.
                let cuda = unsafe { &*std::ptr::with_exposed_provenance::<Cuda>(at) };
                let calls = || -> Called {
                    let event = get!(cuda, cuEventCreate(@, 0))?;
                    let function = without_provenance_mut(function);
                    cuda.launch(function, [1, 1], own_stream(), &mut [parameter(&counter)])?;
                    cu!(cuda, cuEventRecord(event, own_stream()))?;
                    cu!(cuda, cuEventSynchronize(event))?;
                    cu!(cuda, cuEventDestroy_v2(event))
                };
                CALLED.store(1 + u32::from(calls().is_err()), Ordering::Relaxed);
            }));
            AT_EXIT.with(|slot| slot.replace(Some(at_exit)));
            Ok(())
        })?;
        same!(CALLED.load(Ordering::Relaxed), 1);
        cu!(cuda, cuCtxSynchronize())?;
        same!(work.counted(cuda)?, 2);
    }
}
