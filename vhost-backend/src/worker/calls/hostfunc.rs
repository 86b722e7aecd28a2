//! Functions of the guest's that a stream stops for.
//!
//! The stream runs a function here that hands the guest its token, and does not return before the
//! guest has said Done.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use cudarc::driver::sys::CUDA_HOST_NODE_PARAMS;
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
    stop.stand(stop.stream);
}

impl Stop {
    /// Waits until the guest has done its function.
    fn stand(&self, stream: Key) {
        let mut state = lock(&self.funcs.state);
        state.reached.push_back(self.token);
        state.running.insert(self.token, stream);
        self.waker.wake();
        while state.running.contains_key(&self.token) {
            state = self.funcs.done.wait(state).unwrap_or_else(|error| error.into_inner());
        }
        state.outstanding -= 1;
    }
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

/// What a host node gives the driver: a number that is looked up, since a launch under way may
/// reach the node after its graph has been destroyed.
static GRAPH_STOPS: Mutex<Option<HashMap<usize, Arc<GraphStop>>>> = Mutex::new(None);
static LAST_STOP: AtomicUsize = AtomicUsize::new(0);

/// A host node of a graph.
struct GraphStop {
    number: usize,
    stop: Stop,
    life: Mutex<Life>,
}

#[derive(Default)]
struct Life {
    /// Launches that have not reached it yet: their streams, in order.
    expected: VecDeque<Key>,
    /// No further launch will reach it.
    retired: bool,
}

impl GraphStop {
    /// Changes the count; forgets the node when nothing will reach it any more.
    fn change(&self, change: impl FnOnce(&mut Life)) {
        let mut life = lock(&self.life);
        change(&mut life);
        if life.retired && life.expected.is_empty() {
            drop(life);
            lock(&GRAPH_STOPS).as_mut().and_then(|stops| stops.remove(&self.number));
        }
    }
}

/// Runs on a thread of the driver's, when a launch of a graph gets there.
unsafe extern "C" fn reached_in_graph(number: *mut c_void) {
    let found = lock(&GRAPH_STOPS).as_ref().and_then(|s| s.get(&number.addr()).cloned());
    if let Some(node) = found {
        // Launches of one graph run one after another.
        let stream = lock(&node.life).expected.front().copied();
        node.stop.stand(stream.unwrap_or_default());
        node.change(|life| {
            life.expected.pop_front();
        });
    }
}

/// The host nodes of a graph, by their numbers; until the last copy goes.
#[derive(Clone, Default)]
pub(super) struct GraphStops(Arc<Stops>);

#[derive(Default)]
struct Stops(Mutex<BTreeMap<u32, Arc<GraphStop>>>);

impl Drop for Stops {
    /// No further launch will reach them.
    fn drop(&mut self) {
        for node in lock(&self.0).values() {
            node.change(|life| life.retired = true);
        }
    }
}

impl GraphStops {
    /// What the driver is to call for a node, which may have called something else before.
    pub(super) fn put(
        &self,
        cx: &Cx<'_>,
        place: u32,
        token: u64,
    ) -> CuResult<CUDA_HOST_NODE_PARAMS> {
        if token == 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let (funcs, waker) = (cx.shared.host_funcs.clone(), cx.shared.session.waker.clone());
        let number = LAST_STOP.fetch_add(1, Ordering::Relaxed) + 1;
        let stop = Stop { funcs, waker, token, stream: Key::default() };
        let node = Arc::new(GraphStop { number, stop, life: Mutex::default() });
        let mut guard = lock(&GRAPH_STOPS);
        let stops = guard.get_or_insert_default();
        if stops.len() >= MAX_QUEUED {
            return Err(CuError::OUT_OF_MEMORY);
        }
        stops.insert(number, node.clone());
        drop(guard);
        if let Some(before) = lock(&self.0.0).insert(place, node) {
            before.change(|life| life.retired = true);
        }
        let user_data = std::ptr::without_provenance_mut(number);
        Ok(CUDA_HOST_NODE_PARAMS { fn_: Some(reached_in_graph), userData: user_data })
    }

    /// The graph is about to be launched.
    pub(super) fn expect(&self, stream: Key) {
        for node in lock(&self.0.0).values() {
            lock(&node.stop.funcs.state).outstanding += 1;
            node.change(|life| life.expected.push_back(stream));
        }
    }

    /// It was not launched.
    pub(super) fn unexpect(&self) {
        for node in lock(&self.0.0).values() {
            lock(&node.stop.funcs.state).outstanding -= 1;
            node.change(|life| {
                life.expected.pop_back();
            });
        }
    }
}
