//! The log of failed calls, which programs read with `cuLogsDumpToMemory` and similar functions or
//! receive through callbacks.
//!
//! Calls that succeed don't touch the log.

use crate::error::CuError;
use crate::log_buffer::{Buffer, Entry};
use crate::sys::{CUlogLevel, CUlogsCallback, CUlogsCallbackHandle, CUresult};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A registered callback, with the program's data.
#[derive(Clone, Copy)]
struct Callback {
    function: CUlogsCallback,
    data: *mut c_void,
}

// SAFETY: the program provides the pointer for use by any thread that makes a call.
unsafe impl Send for Callback {}

/// The registered callbacks, by handle.
struct Callbacks {
    registered: BTreeMap<usize, Callback>,
    last: usize,
}

static BUFFER: Mutex<Buffer> = Mutex::new(Buffer::new());
static CALLBACKS: Mutex<Callbacks> = Mutex::new(Callbacks { registered: BTreeMap::new(), last: 0 });
/// Held while callbacks run, so that a callback has returned when it has been unregistered.
static RUNNING: Mutex<()> = Mutex::new(());

thread_local! {
    /// Whether this thread is running a callback. A failing call in a callback is logged, but
    /// doesn't run callbacks.
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
    /// An explanation for the error that the current call is about to return.
    static REASON: Cell<Option<&'static str>> = const { Cell::new(None) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the log.
pub fn buffer() -> MutexGuard<'static, Buffer> {
    lock(&BUFFER)
}

/// Explains the error that the current call is about to return.
#[cold]
pub fn explain(reason: &'static str) {
    REASON.set(Some(reason));
}

/// Logs that the entry point `name` returns an error.
#[cold]
pub fn failed(name: &str, result: CUresult) {
    // Programs poll with calls that return this result, which isn't an error.
    if result == CUresult::CUDA_ERROR_NOT_READY {
        return;
    }
    let reason = REASON.take().filter(|_| result == CUresult::CUDA_ERROR_INVALID_VALUE);
    if let Some(reason) = reason {
        log(reason.to_owned());
    }
    let error = CuError::from(result);
    let text = error.name().unwrap_or("unknown error");
    log(format!("Returning {} ({text}) from {name}", result.0));
}

fn log(text: String) {
    buffer().push(Entry::now(&text));
    let callbacks: Vec<_> = lock(&CALLBACKS).registered.keys().copied().collect();
    if callbacks.is_empty() || IN_CALLBACK.get() {
        return;
    }
    let Ok(text) = CString::new(text) else { return };
    let _running = lock(&RUNNING);
    IN_CALLBACK.set(true);
    for handle in callbacks {
        // A callback that was called earlier may have unregistered this one.
        let callback = lock(&CALLBACKS).registered.get(&handle).copied();
        let Some(Callback { function: Some(function), data }) = callback else { continue };
        let (message, length) = (text.as_ptr().cast_mut(), text.count_bytes());
        // SAFETY: the program registered the function to be called with these arguments.
        unsafe { function(data, CUlogLevel::CU_LOG_LEVEL_ERROR, message, length) };
    }
    IN_CALLBACK.set(false);
}

/// Registers a callback. Returns `None` if there is no function.
pub fn register(function: CUlogsCallback, data: *mut c_void) -> Option<CUlogsCallbackHandle> {
    function?;
    let mut callbacks = lock(&CALLBACKS);
    callbacks.last += 1;
    let handle = callbacks.last;
    callbacks.registered.insert(handle, Callback { function, data });
    Some(std::ptr::without_provenance_mut(handle))
}

/// Unregisters a callback, and waits until it has returned, unless the calling thread runs it.
/// Returns false if there is no such callback.
pub fn unregister(handle: CUlogsCallbackHandle) -> bool {
    let known = lock(&CALLBACKS).registered.remove(&handle.addr()).is_some();
    if known && !IN_CALLBACK.get() {
        drop(lock(&RUNNING));
    }
    known
}
