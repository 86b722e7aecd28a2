//! A function for locking mutexes.

use std::sync::{Mutex, MutexGuard};

/// Locks a mutex, even if a thread panicked while it held it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|error| error.into_inner())
}
