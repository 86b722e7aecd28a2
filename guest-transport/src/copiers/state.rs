//! The state that calls and helpers share.

use super::fifo::Fifo;
use super::job::{Job, Run};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The maximum value of `VIRTIO_CUDA_COPY_THREADS`.
pub const MOST_HELPERS: usize = 16;
/// The number of calls that helpers can serve at the same time. Further calls copy without helpers.
pub const LINES: usize = 8;

/// The jobs of one call, which helpers look for here.
#[derive(Clone, Copy)]
pub struct Line {
    /// The function that executes the jobs. `None` if no call uses this line.
    pub run: Option<&'static Run<'static>>,
    pub queued: Fifo<Job>,
    pub done: Fifo<usize>,
    /// The number of jobs that helpers are executing.
    pub running: usize,
}

/// A helper, or a free slot for one.
#[derive(Default)]
pub struct Helper {
    pub exists: bool,
    pub handle: Option<JoinHandle<()>>,
    /// Whether the thread is exiting, and must be joined.
    pub exits: bool,
}

pub struct State {
    pub lines: [Line; LINES],
    /// The line at which a helper looks for work first.
    pub next: usize,
    pub threads: [Helper; MOST_HELPERS],
    /// The number of helpers that haven't exited, including those that are starting.
    pub helpers: usize,
    /// How many of the helpers have started.
    pub started: usize,
    /// How many of the helpers wait for work.
    pub idle: usize,
    /// The number of [`Kept`] values.
    pub kept: usize,
}

pub static STATE: Mutex<State> = Mutex::new(State {
    lines: [Line { run: None, queued: Fifo::new(), done: Fifo::new(), running: 0 }; LINES],
    next: 0,
    threads: [const { Helper { exists: false, handle: None, exits: false } }; MOST_HELPERS],
    helpers: 0,
    started: 0,
    idle: 0,
    kept: 0,
});
/// Wakes helpers when there are queued jobs.
pub static WORK: Condvar = Condvar::new();
/// Notified when a helper has started or exited, or couldn't be started.
pub static CHANGED: Condvar = Condvar::new();
/// Notified when a helper has executed a job of the line with this index.
pub static DONE: [Condvar; LINES] = [const { Condvar::new() }; LINES];

pub fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}
