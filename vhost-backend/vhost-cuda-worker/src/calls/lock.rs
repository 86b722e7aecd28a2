//! A function that locks a mutex.

use std::sync::{Mutex, MutexGuard};

/// Locks a mutex, even if a thread has panicked while holding it.
pub(in crate::calls) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|error| error.into_inner())
}
