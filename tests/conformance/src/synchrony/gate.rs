//! A gate that holds back a stream's work until the case opens the gate, or until a time limit has
//! passed.

use crate::cuda::{Called, Cuda, Outcome, cu, get};
use cuda_api::sys::CUstream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum time for which the case can hold the gate closed. A call that wrongly waits for the gate
/// then makes the case fail instead of hang.
const LONGEST: Duration = Duration::from_secs(20);

#[derive(Default)]
struct State {
    /// The value of the word that opens the gate.
    value: u32,
    /// When the gate's thread opens the gate, unless the case opens it earlier. `None` if the gate
    /// is open.
    opens: Option<Instant>,
    /// Whether the gate's thread, and not the case, has opened the gate since it was last closed.
    late: bool,
    ended: bool,
}

struct Shared {
    /// The address of the word for which streams wait.
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
        // SAFETY: the word is in pinned memory, which the case never frees, and all accesses are
        // atomic.
        let word = unsafe { AtomicU32::from_ptr(self.word as *mut u32) };
        word.store(state.value, Ordering::SeqCst);
    }

    /// Opens the gate whenever its time limit has passed. Returns when the case has ended.
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

/// A gate in a stream. The CPU opens it by writing a word, so opening it doesn't depend on calls of
/// the library.
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

    /// Closes the gate: makes all later work in a stream wait until the gate opens, which happens
    /// after `limit` at the latest.
    pub fn close(&self, cuda: &Cuda, stream: CUstream, limit: Duration) -> Called {
        let mut state = self.shared.lock();
        state.value += 1;
        state.late = false;
        // The stream waits until the word is at least this value, which flag 0 (GEQ) selects.
        cu!(cuda, cuStreamWaitValue32_v2(stream, self.device, state.value, 0))?;
        state.opens = Some(Instant::now() + limit);
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Keeps the gate closed until [`open`](Self::open) is called, or [`LONGEST`] has passed.
    /// Returns false if the gate is already open.
    pub fn hold(&self) -> bool {
        let mut state = self.shared.lock();
        if !state.late {
            state.opens = Some(Instant::now() + LONGEST);
        }
        !state.late
    }

    /// Opens the gate. Returns whether it was closed until now.
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
