//! Host functions: the program's own, called when a stream gets there.
//!
//! The stream stops in the worker. A thread of this process asks for the next function that a
//! stream has come to, calls it, and lets the stream go on.

use super::stream::stream_id;
use crate::context;
use crate::driver::{Driver, driver};
use crate::error::{CuError, CuResult};
use crate::handles::Handle;
use crate::log::say;
use parking_lot::Mutex;
use protocol::calls::{VcudaHostFunc, VcudaHostFuncDone, VcudaHostFuncNext};
use std::collections::HashMap;
use std::sync::Once;

type HostFunction = extern "C" fn(usize);
type StreamCallback = extern "C" fn(Handle, u32, usize);

/// What to call.
#[derive(Clone, Copy)]
enum Callback {
    Function(HostFunction, usize),
    OfStream(StreamCallback, Handle, usize),
}

static WAITING: Mutex<Option<HashMap<u64, Callback>>> = Mutex::new(None);
static RUNNER: Once = Once::new();

fn enqueue(driver: &Driver, stream: u64, callback: Callback) -> CuResult {
    let token = driver.session.mint();
    WAITING.lock().get_or_insert_default().insert(token, callback);
    let posted = driver.session.post(&VcudaHostFunc { h_stream: stream, token });
    if posted.is_err() {
        WAITING.lock().get_or_insert_default().remove(&token);
        return posted;
    }
    RUNNER.call_once(|| {
        let spawned = std::thread::Builder::new()
            .name("cuda-host-func".into())
            .stack_size(1 << 20)
            .spawn(with_signals_blocked(run));
        if let Err(error) = spawned {
            say!(Error, "no thread for host functions: {error}");
        }
    });
    Ok(())
}

/// The program's signal handlers run on the program's threads.
fn with_signals_blocked(body: fn()) -> impl FnOnce() + Send + 'static {
    move || {
        // SAFETY: the set is filled before it is used; only this thread's mask changes.
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
    loop {
        let token = match driver.session.call_always(&VcudaHostFuncNext {}, 64) {
            Ok(answer) if answer.token != 0 => answer.token,
            Ok(_) | Err(_) => return,
        };
        let callback = WAITING.lock().as_mut().and_then(|waiting| waiting.remove(&token));
        match callback {
            Some(Callback::Function(function, data)) => function(data),
            Some(Callback::OfStream(callback, stream, data)) => callback(stream, 0, data),
            None => say!(Error, "the worker asks for a host function that nobody gave"),
        }
        if driver.session.post(&VcudaHostFuncDone { token }).is_err() {
            return;
        }
    }
}

entries! {
    fn cuLaunchHostFunc, fn cuLaunchHostFunc_ptsz(
        stream: Handle, function: Option<HostFunction>, data: usize,
    ) |null| {
        let function = function.ok_or(CuError::INVALID_VALUE)?;
        let driver = context::driver()?;
        let id = stream_id(driver, stream, null)?;
        enqueue(driver, id, Callback::Function(function, data))
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
        enqueue(driver, id, Callback::OfStream(callback, stream, data))
    }
}
