//! Host functions: functions of the program that a stream calls.
//!
//! The worker pauses the stream at a host function. A thread of this process waits for such
//! requests, calls the function, and lets the stream continue.

use crate::capture;
use crate::context;
use crate::driver::{Driver, driver};
use crate::entry::graphs::graph_copy::HostCopy;
use crate::entry::streams::stream::stream_id;
use crate::error::{CuError, CuResult};
use crate::graph::Op;
use crate::handles::Handle;
use crate::log::say;
use cuda_api::callback;
use cuda_api::graph::HostCall;
use parking_lot::Mutex;
use protocol::calls::VcudaHostFunc;
use protocol::ids::StreamId;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Once;

type HostFunction = unsafe extern "C" fn(*mut c_void);
pub type StreamCallback = unsafe extern "C" fn(Handle, u32, usize);

/// A function that the program wants to be called, with its arguments.
#[derive(Clone, Copy)]
pub enum Callback {
    Function(HostCall),
    OfStream(StreamCallback, Handle, usize),
    /// Copies between pageable and pinned memory, for a graph's copy of pageable memory.
    Copy(HostCopy),
}

/// A callback that may still be called.
struct Waiting {
    callback: Callback,
    /// The number of calls that the worker is expected to request.
    left: usize,
    /// Whether an instantiated graph contains the callback, so that it must be kept even if no call
    /// is expected.
    kept: bool,
}

static WAITING: Mutex<Option<HashMap<u64, Waiting>>> = Mutex::new(None);
static RUNNER: Once = Once::new();

fn enqueue(driver: &Driver, stream: StreamId, callback: Callback) -> CuResult {
    let token = driver.session.mint();
    let waiting = Waiting { callback, left: 1, kept: false };
    WAITING.lock().get_or_insert_default().insert(token, waiting);
    let posted = driver.session.post(&VcudaHostFunc { h_stream: stream, token });
    if posted.is_err() {
        WAITING.lock().get_or_insert_default().remove(&token);
        return posted;
    }
    start_runner();
    Ok(())
}

/// Registers a callback that an instantiated graph contains. Returns the callback's token, which
/// the worker sends to request a call.
pub fn keep(driver: &Driver, callback: Callback) -> u64 {
    let token = driver.session.mint();
    let waiting = Waiting { callback, left: 0, kept: true };
    WAITING.lock().get_or_insert_default().insert(token, waiting);
    start_runner();
    token
}

/// Adjusts the number of calls that the worker is expected to request for each callback of a graph.
/// `change` is 1 before a graph is launched, and -1 if the launch then fails.
pub fn expect(tokens: &[(usize, u64)], change: isize) {
    if tokens.is_empty() {
        return;
    }
    let mut waiting = WAITING.lock();
    for (_, token) in tokens {
        if let Some(found) = waiting.as_mut().and_then(|waiting| waiting.get_mut(token)) {
            found.left = found.left.saturating_add_signed(change);
        }
    }
}

/// Releases the callbacks of a graph that won't be launched again. They are kept until all calls
/// that earlier launches may still request have been made.
pub fn let_go(tokens: &[(usize, u64)]) {
    if tokens.is_empty() {
        return;
    }
    if let Some(waiting) = WAITING.lock().as_mut() {
        for (_, token) in tokens {
            if let Some(found) = waiting.get_mut(token) {
                found.kept = false;
                if found.left == 0 {
                    waiting.remove(token);
                }
            }
        }
    }
}

/// Returns the callback with this token, and counts one call of it.
fn take(token: u64) -> Option<Callback> {
    let mut waiting = WAITING.lock();
    let waiting = waiting.as_mut()?;
    let found = waiting.get_mut(&token)?;
    let callback = found.callback;
    found.left = found.left.saturating_sub(1);
    if found.left == 0 && !found.kept {
        waiting.remove(&token);
    }
    Some(callback)
}

fn start_runner() {
    RUNNER.call_once(|| {
        let spawned = std::thread::Builder::new()
            .name("cuda-host-func".into())
            .stack_size(1 << 20)
            .spawn(with_signals_blocked(run));
        if let Err(error) = spawned {
            say!(Error, "can't start the thread for host functions: {error}");
        }
    });
}

/// Wraps a thread's `body` so that it runs with all signals blocked. The kernel then delivers
/// signals to the program's own threads.
pub fn with_signals_blocked(
    body: impl FnOnce() + Send + 'static,
) -> impl FnOnce() + Send + 'static {
    move || {
        // SAFETY: the signal set is filled before it is used, and only this thread's signal mask
        // changes.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::sigfillset(&mut set);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        }
        body();
    }
}

fn run() {
    let Ok(driver) = driver() else { return };
    driver.session.serve_host_funcs(|token| match take(token) {
        Some(Callback::Function(call)) => callback::run(|| call.run()),
        Some(Callback::OfStream(function, stream, data)) => {
            // SAFETY: the program has passed this function and its argument to
            // `cuStreamAddCallback`, which promises to call it once with them and the stream.
            callback::run(|| unsafe { function(stream, 0, data) });
        }
        Some(Callback::Copy(copy)) => {
            // SAFETY: the program guarantees that its memory is valid whenever the node runs. The
            // graph keeps the pinned memory until its last launch has ended.
            unsafe { copy.run() }
        }
        None => say!(Error, "the worker requested an unknown host function"),
    });
}

entries! {
    fn cuLaunchHostFunc, fn cuLaunchHostFunc_ptsz(
        stream: Handle, function: Option<HostFunction>, data: *mut c_void,
    ) |null| {
        let function = function.ok_or(CuError::INVALID_VALUE)?;
        let driver = context::driver()?;
        let id = stream_id(driver, stream, null)?;
        // SAFETY: the program passed the function to be called with this argument on another
        // thread.
        let call = unsafe { HostCall::new(function, data) };
        if capture::captured(driver, stream, null)? {
            return capture::push(driver, stream, null, Op::Host(call));
        }
        enqueue(driver, id, Callback::Function(call))
    }

    fn cuStreamAddCallback, fn cuStreamAddCallback_ptsz(
        stream: Handle, callback: Option<StreamCallback>, data: usize, flags: u32,
    ) |null| {
        let callback = callback.ok_or(CuError::INVALID_VALUE)?;
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let driver = context::driver()?;
        let id = stream_id(driver, stream, null)?;
        capture::forbid_on(driver, stream, null)?;
        enqueue(driver, id, Callback::OfStream(callback, stream, data))
    }
}
