//! A gate that holds back a stream's work until the case opens it or a time limit has passed.

use crate::cuda::{Called, Cuda, Outcome, cu, get};
use cuda_api::sys::CUstream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A gate that the case holds closed is opened after this time, so that a call that wrongly waits
/// for it makes the case fail instead of hang.
const LONGEST: Duration = Duration::from_secs(20);

#[derive(Default)]
struct State {
    /// The value that opens the gate.
    value: u32,
    /// When the thread opens the gate, unless the case opens it earlier.
    opens: Option<Instant>,
    /// Whether the thread has opened the gate since it was closed.
    late: bool,
    ended: bool,
}

struct Shared {
    /// The address of the word that streams wait for.
    word: usize,
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, state: &mut State) {
        state.opens = None;
        // SAFETY: the word is pinned memory, which the case never frees.
        let word = unsafe { AtomicU32::from_ptr(self.word as *mut u32) };
        word.store(state.value, Ordering::SeqCst);
    }

    /// Opens the gate when its time has come, until the case ends.
    fn run(&self) {
        let mut state = self.lock();
        while !state.ended {
            let left = state.opens.map(|at| at.saturating_duration_since(Instant::now()));
            state = match left {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => {
                    state.late = true;
                    self.open(&mut state);
                    state
                }
                Some(left) => {
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

/// A gate. Only the CPU opens it, so that opening it doesn't depend on any call.
pub struct Gate {
    shared: Arc<Shared>,
    device: u64,
    thread: Option<JoinHandle<()>>,
}

impl Gate {
    pub fn new(cuda: &Cuda) -> Outcome<Self> {
        let word = get!(cuda, cuMemHostAlloc(@, 4096, 2))?;
        let device = get!(cuda, cuMemHostGetDevicePointer_v2(@, word, 0))?;
        // SAFETY: the memory was just allocated, and nothing else uses it.
        unsafe { word.cast::<u32>().write(0) };
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { word: word as usize, state, changed });
        let own = shared.clone();
        let thread = Some(std::thread::spawn(move || own.run()));
        Ok(Self { shared, device, thread })
    }

    /// Makes all later work in a stream wait until the gate opens, at the latest after `limit`.
    pub fn close(&self, cuda: &Cuda, stream: CUstream, limit: Duration) -> Called {
        let mut state = self.shared.lock();
        state.value += 1;
        state.late = false;
        // The flag 0 means greater or equal.
        cu!(cuda, cuStreamWaitValue32_v2(stream, self.device, state.value, 0))?;
        state.opens = Some(Instant::now() + limit);
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Keeps the gate closed until [`open`](Self::open). Returns false if it is already open.
    pub fn hold(&self) -> bool {
        let mut state = self.shared.lock();
        if !state.late {
            state.opens = Some(Instant::now() + LONGEST);
        }
        !state.late
    }

    /// Opens the gate. Returns whether the case held it until now.
    pub fn open(&self) -> bool {
        let mut state = self.shared.lock();
        if !state.late {
            self.shared.open(&mut state);
        }
        !state.late
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        self.shared.open(&mut state);
        state.ended = true;
        drop(state);
        self.shared.changed.notify_one();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
