//! Forked children. As with CUDA, a child of a process that has initialized the library can't use it.

use crate::transport::{ClosedInChildren, Fork};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};

/// Whether this process is a forked child of the process that called `cuInit`.
static FORKED: AtomicBool = AtomicBool::new(false);
static DESCRIPTORS: ClosedInChildren = ClosedInChildren::new();

/// Returns whether this process is a forked child of a process that has opened the device.
#[inline]
pub fn is_child() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Makes forked children close these descriptors instead of those of an earlier call.
pub fn close_in_children(descriptors: &[i32]) {
    DESCRIPTORS.set(descriptors);
    static ONCE: Once = Once::new();
    // SAFETY: after a fork, the handler in the child only stores to atomics, moves mappings, and
    // closes descriptors. It doesn't allocate memory or take locks.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child));
    });
}

/// Returns whether forked children close no descriptors.
#[cfg(test)]
pub fn closes_nothing() -> bool {
    DESCRIPTORS.is_empty()
}

/// A function that prepares for a fork of the calling thread.
type Prepare = fn() -> Option<Box<dyn Fork>>;

static PREPARE: OnceLock<Prepare> = OnceLock::new();

thread_local! {
    /// The fork that this thread has prepared.
    static PREPARED: RefCell<Option<Box<dyn Fork>>> = const { RefCell::new(None) };
}

/// Calls a function before each fork. Only the first call has an effect.
pub fn prepare_with(prepare: Prepare) {
    let _ = PREPARE.set(prepare);
}

extern "C" fn before() {
    // A child has no registered memory, and a thread that is ending can't prepare a fork.
    if let (false, Some(prepare)) = (is_child(), PREPARE.get()) {
        let _ = PREPARED.try_with(|prepared| prepared.replace(prepare()));
    }
}

extern "C" fn in_parent() {
    if let Ok(Some(prepared)) = PREPARED.try_with(RefCell::take) {
        prepared.end_in_parent();
    }
}

extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
    if let Ok(Some(mut prepared)) = PREPARED.try_with(RefCell::take) {
        prepared.end_in_child();
        // Freeing memory may need a lock that another thread of the parent had.
        std::mem::forget(prepared);
    }
    DESCRIPTORS.close();
}
