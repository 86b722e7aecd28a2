//! All ways to wait for a stream's work. After each wait, the effects of all kinds of work must be
//! visible.

use super::cases;
use crate::cuda::{Called, Cuda, Outcome, cu, ensure, get, parameter, refused, same};
use cuda_api::sys::{CUcontext, CUevent, CUstream, CUstreamCaptureMode};
use std::ffi::{CStr, c_void};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// PTX in which `counter` is a managed variable and the kernel `increase` adds 1 to it. The kernel
/// `crash` writes to an invalid address.
const KERNELS: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 counter = 5;
.visible .entry increase() {
    .reg .b32 %r<2>;
    ld.global.u32 %r1, [counter];
    add.u32 %r1, %r1, 1;
    st.global.u32 [counter], %r1;
    ret;
}
.visible .entry crash() {
    .reg .b64 %rd<2>;
    mov.u64 %rd1, 8;
    st.global.u32 [%rd1], 1;
    ret;
}
";
/// Minimum duration of the work in a stream, so that a wait begins before the work has finished.
const LONG: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug)]
enum Way {
    Stream,
    Event,
    BlockingEvent,
    Context,
}
const WAYS: [Way; 4] = [Way::Stream, Way::Event, Way::BlockingEvent, Way::Context];

/// A stream, its context, and the events with which to wait for it.
#[derive(Clone, Copy)]
struct Waiter {
    stream: usize,
    events: [usize; 2],
    context: usize,
}

impl Waiter {
    /// Returns a waiter for the null stream, a blocking stream, and a non-blocking stream.
    fn all(cuda: &Cuda) -> Outcome<Vec<Self>> {
        let (_, context) = cuda.primary()?;
        let mut streams: Vec<CUstream> = vec![null_mut()];
        for flags in [0, 1] {
            let stream = get!(cuda, cuStreamCreate(@, flags))?;
            streams.push(stream);
        }
        let mut events: [CUevent; 2] = [null_mut(); 2];
        cu!(cuda, cuEventCreate(&mut events[0], 2))?;
        cu!(cuda, cuEventCreate(&mut events[1], 1))?;
        let events = events.map(<*mut _>::addr);
        let context = context.addr();
        Ok(streams.into_iter().map(|s| Self { stream: s.addr(), events, context }).collect())
    }

    fn stream(self) -> CUstream {
        without_provenance_mut(self.stream)
    }

    fn wait(self, cuda: &Cuda, way: Way) -> Called {
        let event =
            without_provenance_mut(self.events[usize::from(matches!(way, Way::BlockingEvent))]);
        match way {
            Way::Stream => cu!(cuda, cuStreamSynchronize(self.stream())),
            Way::Context => cu!(cuda, cuCtxSynchronize()),
            Way::Event | Way::BlockingEvent => {
                cu!(cuda, cuEventRecord(event, self.stream()))?;
                cu!(cuda, cuEventSynchronize(event))
            }
        }
    }

    /// Queues a host function that sleeps and then adds 1 to `number`.
    fn keep_busy(self, cuda: &Cuda, number: &AtomicU32) -> Called {
        cu!(cuda, cuLaunchHostFunc(self.stream(), Some(count), parameter(number)))
    }
}

unsafe extern "C" fn count(number: *mut c_void) {
    std::thread::sleep(LONG);
    // SAFETY: the cases pass a number that lives until the stream is empty.
    unsafe { &*number.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
}

cases! {
    fn host_functions_and_writes_to_pinned_memory_are_done(cuda) {
        let (number, mut expected) = (AtomicU32::new(0), 0);
        let (mut host, mut device) = (null_mut(), 0);
        let waiters = Waiter::all(cuda)?;
        cu!(cuda, cuMemHostAlloc(&mut host, 4096, 2))?;
        cu!(cuda, cuMemHostGetDevicePointer_v2(&mut device, host, 0))?;
        for waiter in waiters {
            for way in WAYS {
                expected += 1;
                waiter.keep_busy(cuda, &number)?;
                cu!(cuda, cuMemsetD32Async(device, expected, 1, waiter.stream()))?;
                waiter.wait(cuda, way)?;
                // SAFETY: the pinned allocation is at least a page long.
                let seen = unsafe { host.cast::<u32>().read_volatile() };
                same!((number.load(Ordering::Relaxed), seen), (expected, expected));
            }
        }
        cu!(cuda, cuMemFreeHost(host))?;
    }

    fn pageable_memory_is_complete(cuda) {
        let number = AtomicU32::new(0);
        let waiters = Waiter::all(cuda)?;
        let (device, len) = (cuda.alloc(1 << 20)?, 1 << 18);
        for waiter in waiters {
            for (way, value) in WAYS.into_iter().zip(1..) {
                for words in [1, len] {
                    let mut host = vec![0u32; words];
                    waiter.keep_busy(cuda, &number)?;
                    cu!(cuda, cuMemsetD32Async(device, value, words, waiter.stream()))?;
                    let (to, bytes) = (host.as_mut_ptr().cast(), 4 * words);
                    cu!(cuda, cuMemcpyDtoHAsync_v2(to, device, bytes, waiter.stream()))?;
                    waiter.wait(cuda, way)?;
                    ensure!(host.iter().all(|word| *word == value), "{way:?}: {words} words");
                }
            }
        }
    }

    fn managed_variables_are_current(cuda) {
        let number = AtomicU32::new(0);
        let waiters = Waiter::all(cuda)?;
        let (mut library, mut module, mut function) = (null_mut(), null_mut(), null_mut());
        let (image, none) = (KERNELS.as_ptr().cast(), null_mut());
        cu!(
            cuda,
            cuLibraryLoadData(&mut library, image, null_mut(), none, 0, null_mut(), null_mut(), 0)
        )?;
        cu!(cuda, cuLibraryGetModule(&mut module, library))?;
        cu!(cuda, cuModuleGetFunction(&mut function, module, c"increase".as_ptr()))?;
        let (mut address, mut bytes) = (0, 0);
        let name = c"counter".as_ptr();
        cu!(cuda, cuLibraryGetManaged(&mut address, &mut bytes, library, name))?;
        let mut expected = 5;
        for waiter in waiters {
            for way in WAYS {
                expected += 1;
                waiter.keep_busy(cuda, &number)?;
                cuda.launch(function, [1, 1], waiter.stream(), &mut [])?;
                waiter.wait(cuda, way)?;
                // SAFETY: the variable has four bytes, and the GPU doesn't write it now.
                same!(unsafe { (address as *const u32).read_volatile() }, expected);
            }
        }
    }

    fn threads_that_wait_for_one_stream_all_see_its_work(cuda) {
        let number = AtomicU32::new(0);
        // Skip the null stream, because it can be a different stream on each thread.
        for waiter in Waiter::all(cuda)?.into_iter().skip(1) {
            for round in 1..5 {
                number.store(0, Ordering::Relaxed);
                (0..round).try_for_each(|_| waiter.keep_busy(cuda, &number))?;
                let wait = |way: Way| -> Outcome {
                    let context: CUcontext = without_provenance_mut(waiter.context);
                    cu!(cuda, cuCtxSetCurrent(context))?;
                    match way {
                        Way::Context => cu!(cuda, cuCtxSynchronize())?,
                        _ => cu!(cuda, cuStreamSynchronize(waiter.stream()))?,
                    }
                    same!(number.load(Ordering::Relaxed), round);
                    Ok(())
                };
                std::thread::scope(|scope| {
                    let ways = [Way::Stream, Way::Stream, Way::Context, Way::Context];
                    let threads = ways.map(|way| scope.spawn(move || wait(way)));
                    threads.into_iter().try_for_each(|thread| match thread.join() {
                        Ok(outcome) => outcome,
                        Err(panic) => std::panic::resume_unwind(panic),
                    })
                })?;
            }
        }
    }

    fn waiting_for_a_captured_stream_is_refused(cuda) {
        for waiter in Waiter::all(cuda)?.into_iter().skip(1) {
            let (mode, mut graph) =
                (CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED, null_mut());
            cu!(cuda, cuStreamBeginCapture_v2(waiter.stream(), mode))?;
            let waited = cu!(cuda, cuStreamSynchronize(waiter.stream()));
            refused!(waited, STREAM_CAPTURE_UNSUPPORTED);
            let ended = cu!(cuda, cuStreamEndCapture(waiter.stream(), &mut graph));
            refused!(ended, STREAM_CAPTURE_INVALIDATED);
            cu!(cuda, cuStreamSynchronize(waiter.stream()))?;
        }
    }

    fn a_wait_for_a_stream_returns_the_error_of_its_kernel(cuda) {
        fails(cuda, Way::Stream)
    }

    fn a_wait_for_an_event_returns_the_error_of_a_kernel(cuda) {
        fails(cuda, Way::Event)
    }

    fn a_wait_for_a_context_returns_the_error_of_a_kernel(cuda) {
        fails(cuda, Way::Context)
    }
}

/// Waits for a kernel that fails, and checks that this wait and the next one return the error.
fn fails(cuda: &Cuda, way: Way) -> Outcome {
    let (number, waiter) = (AtomicU32::new(0), Waiter::all(cuda)?[2]);
    let (_, function) = cuda.kernel(KERNELS, c"crash")?;
    waiter.wait(cuda, way)?;
    waiter.keep_busy(cuda, &number)?;
    cuda.launch(function, [1, 1], waiter.stream(), &mut [])?;
    refused!(waiter.wait(cuda, way), ILLEGAL_ADDRESS);
    same!(number.load(Ordering::Relaxed), 1);
    refused!(cu!(cuda, cuStreamSynchronize(waiter.stream())), ILLEGAL_ADDRESS);
    Ok(())
}
