//! Calls a function when a thread that has used the library exits.
//!
//! The libraries' thread-local variables have no destructors, because CUDA's libraries call the
//! driver from their own destructors, at a time when such a variable may already be destroyed. The
//! destructor of a pthread key runs after those destructors, and can run after the destructors of
//! other keys, too.

use std::ffi::c_void;
use std::ptr::without_provenance;
use std::sync::OnceLock;

/// The round of destructors in which the function is called, after the destructors of other keys,
/// which run in earlier rounds. Every implementation has at least four rounds
/// (_POSIX_THREAD_DESTRUCTOR_ITERATIONS).
const LAST: usize = 3;

static HOOK: OnceLock<(libc::pthread_key_t, fn())> = OnceLock::new();

/// Makes every thread that calls [`arm`] call `then` when it exits. Only the first call has an
/// effect. The library must never be unloaded.
pub fn call_at_thread_end(then: fn()) {
    let mut key = 0;
    // SAFETY: the pointer is to a local variable, and the destructor stays loaded.
    if HOOK.get().is_none() && unsafe { libc::pthread_key_create(&mut key, Some(end_round)) } == 0 {
        // If another thread has set the hook first, this key stays unused.
        let _ = HOOK.set((key, then));
    }
}

/// Registers the calling thread. If that fails, the function isn't called for this thread.
pub fn arm() {
    set_round(1);
}

fn set_round(round: usize) {
    if let Some((key, _)) = HOOK.get() {
        // SAFETY: the key was created successfully. Its value is a number that is never
        // dereferenced.
        unsafe { libc::pthread_setspecific(*key, without_provenance(round)) };
    }
}

extern "C" fn end_round(round: *mut c_void) {
    match HOOK.get() {
        Some((_, then)) if round.addr() >= LAST => then(),
        _ => set_round(round.addr() + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static ENDS: AtomicUsize = AtomicUsize::new(0);

    thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn the_function_is_called_once_in_each_thread_that_is_registered() {
        call_at_thread_end(|| {
            ENDS.fetch_add(NUMBER.get(), Ordering::Relaxed);
        });
        for number in [1, 10, 100] {
            let body = move || {
                NUMBER.set(number);
                if number != 10 {
                    arm();
                }
            };
            std::thread::spawn(body).join().unwrap();
        }
        assert_eq!(ENDS.load(Ordering::Relaxed), 101);
    }
}
