//! Functions of the guest's that a stream stops for.
//!
//! The stream runs a function here that hands the guest its token, and does not return before the
//! guest has said Done.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex};

use protocol::calls as api;

use super::cx::Cx;
use super::gate::flight::{Key, Standing};
use super::{Calls, ReplyTo, lock};
use crate::worker::driver::{CuError, CuResult};
use crate::worker::waker::Waker;

/// Host functions that may be queued at once.
const MAX_QUEUED: usize = 1 << 16;
/// Guest threads that may ask at once.
const MAX_ASKING: usize = 64;

/// Tokens on their way.
#[derive(Default)]
pub(super) struct HostFuncs {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Default)]
struct State {
    /// Queued or running.
    outstanding: usize,
    /// Streams stopped for these, and the guest does not know yet.
    reached: VecDeque<u64>,
    /// The guest runs these, and these streams wait.
    running: HashMap<u64, Key>,
    asking: VecDeque<ReplyTo>,
}

/// What the driver's thread gets.
struct Stop {
    funcs: Arc<HostFuncs>,
    waker: Waker,
    token: u64,
    stream: Key,
}

/// Runs on a thread of the driver's, when the stream gets there.
///
/// # Safety
/// `stop` is a `Stop` from `Box::into_raw` that nobody else takes.
unsafe extern "C" fn reached(stop: *mut c_void) {
    // SAFETY: the caller's promise: `vcuda_host_func` made it for this one call.
    let stop = unsafe { Box::from_raw(stop.cast::<Stop>()) };
    let mut state = lock(&stop.funcs.state);
    state.reached.push_back(stop.token);
    state.running.insert(stop.token, stop.stream);
    stop.waker.wake();
    while state.running.contains_key(&stop.token) {
        state = stop.funcs.done.wait(state).unwrap_or_else(|error| error.into_inner());
    }
    state.outstanding -= 1;
}

impl HostFuncs {
    /// Streams that stand at a function which the guest has not done yet.
    pub(super) fn standing(&self) -> Standing {
        lock(&self.state).running.values().copied().collect()
    }
}

impl Cx<'_> {
    pub(super) fn vcuda_host_func(&self, call: api::VcudaHostFunc) -> CuResult {
        self.enter()?;
        let (stream, ctx) = self.queue_free(call.h_stream)?;
        if call.token == 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let funcs = self.shared.host_funcs.clone();
        {
            let mut state = lock(&funcs.state);
            if state.outstanding >= MAX_QUEUED {
                return Err(CuError::OUT_OF_MEMORY);
            }
            state.outstanding += 1;
        }
        let waker = self.shared.session.waker.clone();
        let (token, key) = (call.token, (stream as u64, ctx));
        let stop = Stop { funcs: funcs.clone(), waker, token, stream: key };
        let stop = Box::into_raw(Box::new(stop));
        // SAFETY: a live stream; `reached` takes `stop`, once.
        let queued = unsafe { self.driver().cuLaunchHostFunc(stream, reached, stop.cast()) };
        if queued.is_err() {
            lock(&funcs.state).outstanding -= 1;
            // SAFETY: the driver did not take it.
            drop(unsafe { Box::from_raw(stop) });
        }
        queued
    }

    pub(super) fn vcuda_host_func_done(&self, call: api::VcudaHostFuncDone) -> CuResult {
        let funcs = &self.shared.host_funcs;
        let mut state = lock(&funcs.state);
        if state.reached.contains(&call.token) || state.running.remove(&call.token).is_none() {
            return Err(CuError::INVALID_VALUE);
        }
        funcs.done.notify_all();
        Ok(())
    }
}

impl Calls {
    pub(super) fn vcuda_host_func_next(
        &mut self,
        _: &Cx<'_>,
        _: api::VcudaHostFuncNext,
        reply: ReplyTo,
    ) {
        let mut state = lock(&self.shared.host_funcs.state);
        if state.asking.len() >= MAX_ASKING {
            drop(state);
            return reply.finish(CuError::OUT_OF_MEMORY.0, &[]);
        }
        state.asking.push_back(reply);
        drop(state);
        self.answer_host_funcs();
    }

    /// Hands out what streams have reached. Called after each wake of the ring reader.
    pub(super) fn answer_host_funcs(&mut self) {
        let mut state = lock(&self.shared.host_funcs.state);
        while !state.reached.is_empty() && !state.asking.is_empty() {
            if let (Some(token), Some(reply)) =
                (state.reached.pop_front(), state.asking.pop_front())
            {
                reply.finish(0, &token.to_le_bytes());
            }
        }
    }
}
