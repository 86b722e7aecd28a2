//! Forked children. As with CUDA, a child of a process that has initialized the library can't use
//! it.

use crate::transport::{ClosedInChildren, Fork};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};

/// Whether this process is a forked child of a process that had opened the device.
static FORKED: AtomicBool = AtomicBool::new(false);
static DESCRIPTORS: ClosedInChildren = ClosedInChildren::new();

/// Returns whether this process is a forked child of a process that had opened the device.
#[inline]
pub fn is_child() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Makes forked children close these descriptors instead of those of an earlier call.
pub fn close_in_children(descriptors: &[i32]) {
    DESCRIPTORS.set(descriptors);
    static ONCE: Once = Once::new();
    // SAFETY: the handlers stay loaded, because this library is never unloaded. After a fork, the
    // handler in the child only stores to atomics, moves mappings, and closes descriptors, for
    // which it needs neither the allocator nor a lock.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child));
    });
}

/// Returns whether forked children close no descriptors.
#[cfg(test)]
pub fn closes_nothing() -> bool {
    DESCRIPTORS.is_empty()
}

/// A function that prepares for a fork of the calling thread, or returns `None` if there is nothing
/// to prepare.
type Prepare = fn() -> Option<Box<dyn Fork>>;

static PREPARE: OnceLock<Prepare> = OnceLock::new();

thread_local! {
    /// The fork that this thread has prepared.
    static PREPARED: RefCell<Option<Box<dyn Fork>>> = const { RefCell::new(None) };
}

/// Makes every fork call `prepare` first. Only the first call of this function has an effect.
pub fn prepare_with(prepare: Prepare) {
    let _ = PREPARE.set(prepare);
}

extern "C" fn before() {
    // Prepare nothing in a child, which has no registered memory. A thread that is exiting may have
    // no `PREPARED` any more, so it can't prepare a fork.
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
        // Don't drop this: freeing memory may need a lock that another thread of the parent held
        // during the fork.
        std::mem::forget(prepared);
    }
    DESCRIPTORS.close();
}
