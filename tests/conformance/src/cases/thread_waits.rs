//! Threads that wait, in their default streams, for work that follows another thread's host
//! function.

use super::cases;
use crate::cuda::{Called, Cuda, Outcome, cu, ensure, get, parameter, refused, same};
use cuda_api::sys::{CUcontext, CUevent, CUevent_flags, CUstream};
use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A number of threads that exceeds the number of host threads that the worker has for blocking
/// calls.
const MANY: usize = 160;
const LEGACY: usize = 1;
/// The handle of the calling thread's default stream.
const OWN: usize = 2;
const UNTIMED: u32 = CUevent_flags::CU_EVENT_DISABLE_TIMING.0;
const BLOCKING: u32 = UNTIMED | CUevent_flags::CU_EVENT_BLOCKING_SYNC.0;

fn stream(handle: usize) -> CUstream {
    without_provenance_mut(handle)
}

/// A way to wait for the work in the calling thread's default stream. It must not queue work in the
/// legacy default stream, because the streams of other threads would wait for that work.
type Wait = fn(&Cuda, CUevent, u64) -> Called;

const WAITS: [Wait; 6] = [
    |cuda, _, _| cu!(cuda, cuStreamSynchronize(stream(OWN))),
    |cuda, event, _| cu!(cuda, cuEventSynchronize(event)),
    |cuda, _, _| cu!(cuda, cuCtxSynchronize()),
    |cuda, _, memory| {
        let mut word = [0; 4];
        cu!(cuda, cuMemcpyDtoHAsync_v2(word.as_mut_ptr().cast(), memory, 4, stream(OWN)))?;
        cu!(cuda, cuStreamSynchronize(stream(OWN)))
    },
    |cuda, event, _| {
        while cu!(cuda, cuEventQuery(event)).is_err() {
            std::thread::yield_now();
        }
        Ok(())
    },
    |cuda, _, _| {
        let done = AtomicBool::new(false);
        cu!(cuda, cuLaunchHostFunc(stream(OWN), Some(set), parameter(&done)))?;
        while !done.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(1));
        }
        cu!(cuda, cuStreamSynchronize(stream(OWN)))
    },
];

unsafe extern "C" fn set(flag: *mut c_void) {
    // SAFETY: the caller waits until the flag is set before it drops it.
    unsafe { &*flag.cast::<AtomicBool>() }.store(true, Ordering::Release);
}

unsafe extern "C" fn wait_for_flag(flag: *mut c_void) {
    // SAFETY: the case drops the `AtomicBool` only when the stream is empty.
    let flag = unsafe { &*flag.cast::<AtomicBool>() };
    while !flag.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// State that all threads of the case share.
struct Shared {
    context: CUcontext,
    /// The event that is recorded after the host function.
    behind: CUevent,
    memory: u64,
    /// The flag for which the host function waits before it returns.
    go: AtomicBool,
    /// The number of threads that have started to wait.
    waiting: AtomicUsize,
}
// SAFETY: CUDA allows any thread to use these handles.
unsafe impl Sync for Shared {}

/// A guard that lets the host function return when it's dropped. Without it, the threads would
/// never end if the case fails.
struct Go<'a>(&'a AtomicBool);

impl Drop for Go<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Shared {
    fn new(cuda: &Cuda) -> Outcome<Self> {
        let (_, context) = cuda.primary()?;
        let (memory, mut behind) = (cuda.alloc(64)?, null_mut());
        cu!(cuda, cuEventCreate(&mut behind, UNTIMED))?;
        let (go, waiting) = (AtomicBool::new(false), AtomicUsize::new(0));
        Ok(Self { context, behind, memory, go, waiting })
    }

    /// Queues the host function in the stream with the handle `of`, and waits for it.
    fn host(&self, cuda: &Cuda, of: usize) -> Outcome {
        cu!(cuda, cuCtxSetCurrent(self.context))?;
        cu!(cuda, cuLaunchHostFunc(stream(of), Some(wait_for_flag), parameter(&self.go)))?;
        cu!(cuda, cuMemsetD32Async(self.memory, 5, 16, stream(of)))?;
        cu!(cuda, cuEventRecord(self.behind, stream(of)))?;
        self.waiting.fetch_add(1, Ordering::AcqRel);
        cu!(cuda, cuStreamSynchronize(stream(of)))?;
        ensure!(self.go.load(Ordering::Acquire), "the thread of the host function didn't wait");
        Ok(())
    }

    /// Queues work in this thread's default stream that waits for the host function, and waits for
    /// that work.
    fn wait(&self, cuda: &Cuda, wait: Wait, flags: u32) -> Outcome {
        cu!(cuda, cuCtxSetCurrent(self.context))?;
        let event = get!(cuda, cuEventCreate(@, flags))?;
        cu!(cuda, cuStreamWaitEvent(stream(OWN), self.behind, 0))?;
        cu!(cuda, cuMemsetD32Async(self.memory, 6, 1, stream(OWN)))?;
        cu!(cuda, cuEventRecord(event, stream(OWN)))?;
        self.waiting.fetch_add(1, Ordering::AcqRel);
        wait(cuda, event, self.memory)?;
        ensure!(self.go.load(Ordering::Acquire), "a thread didn't wait for the host function");
        cu!(cuda, cuEventDestroy_v2(event))?;
        Ok(())
    }

    /// Uses this thread's default stream for work that doesn't depend on the host function.
    fn pass(&self, cuda: &Cuda) -> Outcome {
        cu!(cuda, cuCtxSetCurrent(self.context))?;
        cu!(cuda, cuMemsetD32Async(self.memory + 32, 7, 1, stream(OWN)))?;
        cu!(cuda, cuStreamSynchronize(stream(OWN)))?;
        Ok(())
    }

    fn until_waiting(&self, count: usize) {
        while self.waiting.load(Ordering::Acquire) < count {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Runs the host function in the stream `of` of one thread, while a thread for each element of
    /// `waits` waits for it.
    fn run(&self, cuda: &Cuda, of: usize, waits: &[(Wait, u32)]) -> Outcome {
        self.go.store(false, Ordering::Release);
        self.waiting.store(0, Ordering::Release);
        std::thread::scope(|scope| {
            let go = Go(&self.go);
            let mut threads = vec![scope.spawn(|| self.host(cuda, of))];
            let mut check = || {
                // If the host function's thread has failed, it never counts as waiting, so stop.
                while self.waiting.load(Ordering::Acquire) == 0 && !threads[0].is_finished() {
                    std::thread::yield_now();
                }
                let wait = |&(wait, flags)| scope.spawn(move || self.wait(cuda, wait, flags));
                threads.extend(waits.iter().map(wait));
                if !threads.iter().any(|thread| thread.is_finished()) {
                    self.until_waiting(threads.len());
                }
                // Check that work in other default streams doesn't wait for the host function. This
                // doesn't apply if the host function is in the legacy stream, for which all
                // threads' streams wait. It also doesn't apply if there are more streams than the
                // GPU has connections, because then even NVIDIA's driver delays work in other
                // streams.
                if of == OWN && waits.len() < MANY {
                    refused!(cu!(cuda, cuEventQuery(self.behind)), NOT_READY);
                    scope.spawn(|| self.pass(cuda)).join().expect("the thread panicked")?;
                }
                Ok(())
            };
            let checked = check();
            drop(go);
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().unwrap();
            threads.into_iter().map(join).fold(checked, Outcome::and)
        })?;
        // The download uses the legacy default stream, so the next round starts after the work that
        // is in it.
        same!(cuda.download::<u32>(self.memory, 2)?, [6, 5]);
        Ok(())
    }
}

cases! {
    fn each_kind_of_wait_for_another_threads_host_function_ends(cuda) {
        let shared = Shared::new(cuda)?;
        for of in [OWN, LEGACY] {
            for wait in WAITS {
                for flags in [UNTIMED, BLOCKING] {
                    shared.run(cuda, of, &[(wait, flags)])?;
                }
            }
        }
    }

    fn many_threads_wait_for_one_host_function(cuda) {
        let shared = Shared::new(cuda)?;
        let waits: Vec<_> =
            (0..MANY).map(|i| (WAITS[i % WAITS.len()], [UNTIMED, BLOCKING][i % 2])).collect();
        for of in [OWN, LEGACY] {
            shared.run(cuda, of, &waits)?;
        }
    }
}
