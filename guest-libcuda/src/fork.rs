//! Forked children. As with CUDA, a child of a process that has initialized the library can't use it.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Whether this process is a forked child of the process that called `cuInit`.
static FORKED: AtomicBool = AtomicBool::new(false);
/// File descriptors that a forked child must close. -1 in unused slots.
static DESCRIPTORS: [AtomicI32; 4] = [const { AtomicI32::new(-1) }; 4];

/// Returns whether this process is a forked child of a process that has opened the device.
#[inline]
pub fn is_child() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Makes forked children close these descriptors instead of those of an earlier call. If they kept
/// them open, the session wouldn't end when the parent exits.
pub fn close_in_children(descriptors: &[i32]) {
    for (place, slot) in DESCRIPTORS.iter().enumerate() {
        slot.store(descriptors.get(place).copied().unwrap_or(-1), Ordering::Relaxed);
    }
    static ONCE: Once = Once::new();
    // SAFETY: the handler only stores to atomics and closes descriptors, which is safe after fork.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
    });
}

extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
    for slot in &DESCRIPTORS {
        let fd = slot.swap(-1, Ordering::Relaxed);
        if fd >= 0 {
            // SAFETY: this is the child's copy of the descriptor, and no code in the child uses it.
            unsafe { libc::close(fd) };
        }
    }
}
