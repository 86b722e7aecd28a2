//! Functions of the program that a stream calls: host functions and stream callbacks. While one
//! runs, its thread can't call CUDA, because a call that waits for the stream would never return.

use crate::error::{CuError, CuResult};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether any callback has run in this process. Reading this is cheaper than reading the
/// thread-local `RUNNING`.
static USED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether the thread is running a callback.
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a callback.
pub fn run(callback: impl FnOnce()) {
    USED.store(true, Ordering::Relaxed);
    RUNNING.set(true);
    callback();
    RUNNING.set(false);
}

/// Fails if the calling thread is running a callback.
#[inline]
pub fn not_running() -> CuResult {
    if USED.load(Ordering::Relaxed) && RUNNING.get() {
        return Err(CuError::NOT_PERMITTED);
    }
    Ok(())
}
