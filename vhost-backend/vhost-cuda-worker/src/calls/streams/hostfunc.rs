//! Host functions: functions of the guest program that a stream calls and waits for.
//!
//! The worker passes its own callback to the driver in place of the guest's function. A stream that
//! reaches it calls this callback, which returns only after the guest has run its function. The
//! ring reader gives the guest one function at a time to run, identified by a token, in the order
//! in which streams have reached them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use cuda_api::sys::CUDA_HOST_NODE_PARAMS;

use crate::calls::gate::{Key, Standing};
use crate::calls::lock;
use crate::driver::{CuError, CuResult};
use crate::waker::Waker;

/// The maximum number of host functions that are queued or running at once.
const MAX_QUEUED: usize = 1 << 16;

/// All host functions of the session that are queued or running.
#[derive(Default)]
pub(in crate::calls) struct HostFuncs {
    state: Mutex<Progress>,
    done: Condvar,
}

#[derive(Default)]
struct Progress {
    /// The number of host functions that are queued or running, in total (`outstanding`) and by
    /// stream (`streams`).
    outstanding: usize,
    streams: HashMap<Key, Queue>,
    /// The number of the host function that was queued last.
    last: u64,
    /// The host functions that streams have reached and that the guest hasn't finished, in the
    /// order reached, with their tokens. The guest may be running the first one. The place is
    /// `None` for a function in a graph if other nodes of the graph may run at the same time.
    standing: VecDeque<(Option<Place>, u64)>,
    /// The total number of host functions that the guest has finished.
    ended: u64,
}

/// The host functions of one stream that are queued or running.
#[derive(Default)]
struct Queue {
    count: usize,
    /// The number of the last function that belongs to a destroyed stream with the same handle. The
    /// driver may have reused the handle for this stream.
    gone: u64,
}

/// Identifies a queued host function by its stream and its number.
#[derive(Clone, Copy, Default)]
struct Place {
    stream: Key,
    number: u64,
}

impl Progress {
    fn begin(&mut self, stream: Key) -> Place {
        self.outstanding += 1;
        self.last += 1;
        self.streams.entry(stream).or_default().count += 1;
        Place { stream, number: self.last }
    }

    fn end(&mut self, place: Place) {
        self.outstanding -= 1;
        if let Some(queue) = self.streams.get_mut(&place.stream) {
            queue.count -= 1;
            if queue.count == 0 {
                self.streams.remove(&place.stream);
            }
        }
    }

    /// Returns whether the stream in which a host function was queued still exists.
    fn is_there(&self, place: Place) -> bool {
        self.streams.get(&place.stream).is_some_and(|queue| place.number > queue.gone)
    }
}

/// The data of the callback that a stream calls in place of the guest's function.
struct Stop {
    funcs: Arc<HostFuncs>,
    waker: Waker,
    token: u64,
}

/// The callback that a stream calls in place of a host function. It runs on one of the driver's
/// threads.
///
/// # Safety
///
/// `stop` must be a `(Stop, Place)` from `Box::into_raw` that no other code frees.
unsafe extern "C" fn reached(stop: *mut c_void) {
    // SAFETY: `HostFuncs::queue` created this box, and the driver calls the callback once, so
    // nothing else frees the box.
    let (stop, place) = *unsafe { Box::from_raw(stop.cast::<(Stop, Place)>()) };
    stop.stand(place, true);
}

impl Stop {
    /// Waits until the guest has run the host function. `alone` says that the stream doesn't use
    /// the GPU while it waits.
    fn stand(&self, place: Place, alone: bool) {
        let mut state = lock(&self.funcs.state);
        let before = state.ended + state.standing.len() as u64;
        state.standing.push_back((alone.then_some(place), self.token));
        self.waker.wake();
        while state.ended <= before {
            state = self.funcs.done.wait(state).unwrap_or_else(|error| error.into_inner());
        }
        state.end(place);
    }
}

impl HostFuncs {
    /// Returns the streams that are waiting for a host function, and that don't use the GPU while
    /// they wait.
    pub(in crate::calls) fn standing(&self) -> Standing {
        let state = lock(&self.state);
        let places = state.standing.iter().filter_map(|(place, _)| *place);
        places.filter(|place| state.is_there(*place)).map(|place| place.stream).collect()
    }

    /// Records that a stream is being destroyed, so that its host functions aren't taken for those
    /// of a later stream with the same handle.
    pub(in crate::calls) fn forget(&self, stream: Key) {
        let mut state = lock(&self.state);
        let last = state.last;
        if let Some(queue) = state.streams.get_mut(&stream) {
            queue.gone = last;
        }
    }

    /// Queues a host function in a stream. `launch` must pass the given callback and its argument
    /// to the driver.
    ///
    /// # Safety
    ///
    /// If `launch` succeeds, the driver must call the callback with that argument exactly once. If
    /// it fails, the driver must never call it.
    pub(in crate::calls) unsafe fn queue(
        self: &Arc<Self>,
        stream: Key,
        token: u64,
        waker: Waker,
        launch: impl FnOnce(unsafe extern "C" fn(*mut c_void), *mut c_void) -> CuResult,
    ) -> CuResult {
        let place = {
            let mut state = lock(&self.state);
            if state.outstanding >= MAX_QUEUED {
                return Err(CuError::OUT_OF_MEMORY);
            }
            state.begin(stream)
        };
        let stop = Stop { funcs: self.clone(), waker, token };
        let stop = Box::into_raw(Box::new((stop, place)));
        let queued = launch(reached, stop.cast());
        if queued.is_err() {
            lock(&self.state).end(place);
            // SAFETY: the driver has refused the callback, so it doesn't use the box.
            drop(unsafe { Box::from_raw(stop) });
        }
        queued
    }

    /// Returns the token of the host function that the guest must run next, if there is one.
    pub(in crate::calls) fn next(&self) -> Option<u64> {
        lock(&self.state).standing.front().map(|(_, token)| *token)
    }

    /// Records that the guest has finished the function that `next` returned, so that the
    /// function's stream continues.
    pub(in crate::calls) fn end(&self) {
        let mut state = lock(&self.state);
        if state.standing.pop_front().is_some() {
            state.ended += 1;
            self.done.notify_all();
        }
    }
}

/// All host function nodes in graphs, by number. The driver's callback gets a node's number instead
/// of a pointer, because a launch in progress may reach a node after its graph has been destroyed.
static GRAPH_STOPS: Mutex<Option<HashMap<usize, Arc<GraphStop>>>> = Mutex::new(None);
static LAST_STOP: AtomicUsize = AtomicUsize::new(0);

/// A host function node in a graph.
struct GraphStop {
    number: usize,
    stop: Stop,
    /// Whether no other node in the graph runs at the same time as this one. If so, a stream that
    /// has reached this node doesn't use the GPU.
    alone: AtomicBool,
    life: Mutex<Life>,
}

#[derive(Default)]
struct Life {
    /// The launches of the graph that haven't passed this node yet, oldest first.
    expected: VecDeque<Place>,
    /// Whether the node can't be launched any more, because its graph was destroyed or its host
    /// function was replaced.
    retired: bool,
}

impl GraphStop {
    fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed)
    }

    /// Changes the node's state. If no launch will reach the node any more, removes it from the
    /// list of all nodes.
    fn change(&self, change: impl FnOnce(&mut Life)) {
        let mut life = lock(&self.life);
        change(&mut life);
        if life.retired && life.expected.is_empty() {
            drop(life);
            lock(&GRAPH_STOPS).as_mut().and_then(|stops| stops.remove(&self.number));
        }
    }
}

/// The callback that a graph launch calls for a host function node. It runs on one of the driver's
/// threads.
unsafe extern "C" fn reached_in_graph(number: *mut c_void) {
    let found = lock(&GRAPH_STOPS).as_ref().and_then(|s| s.get(&number.addr()).cloned());
    if let Some(node) = found {
        // The launch that has reached the node is the first expected one, because launches of the
        // same graph run one after another.
        let place = lock(&node.life).expected.front().copied();
        let place = place.unwrap_or_else(|| lock(&node.stop.funcs.state).begin(Key::default()));
        node.stop.stand(place, node.is_alone());
        node.change(|life| {
            life.expected.pop_front();
        });
    }
}

/// The host function nodes of a graph, by their index in the graph. When the last clone of this
/// value is dropped, the nodes are retired.
#[derive(Clone, Default)]
pub(in crate::calls) struct GraphStops(Arc<Stops>);

#[derive(Default)]
struct Stops(Mutex<BTreeMap<u32, Arc<GraphStop>>>);

impl Drop for Stops {
    /// Retires the nodes, because their graph can't be launched any more.
    fn drop(&mut self) {
        for node in lock(&self.0).values() {
            node.change(|life| life.retired = true);
        }
    }
}

impl GraphStops {
    /// Sets the host function of the node at index `place`. Returns the node's parameters for the
    /// driver.
    pub(in crate::calls) fn put(
        &self,
        funcs: &Arc<HostFuncs>,
        waker: &Waker,
        place: u32,
        token: u64,
    ) -> CuResult<CUDA_HOST_NODE_PARAMS> {
        if token == 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let (funcs, waker) = (funcs.clone(), waker.clone());
        let number = LAST_STOP.fetch_add(1, Ordering::Relaxed) + 1;
        let stop = Stop { funcs, waker, token };
        let alone = lock(&self.0.0).get(&place).is_some_and(|before| before.is_alone());
        let alone = AtomicBool::new(alone);
        let node = Arc::new(GraphStop { number, stop, alone, life: Mutex::default() });
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

    /// Records that no other node in the graph runs at the same time as the node at index `place`.
    pub(in crate::calls) fn set_alone(&self, place: u32) {
        if let Some(node) = lock(&self.0.0).get(&place) {
            node.alone.store(true, Ordering::Relaxed);
        }
    }

    /// Records, for all nodes, that the graph is about to be launched in `stream`.
    pub(in crate::calls) fn expect(&self, stream: Key) {
        for node in lock(&self.0.0).values() {
            let place = lock(&node.stop.funcs.state).begin(stream);
            node.change(|life| life.expected.push_back(place));
        }
    }

    /// Undoes the last call of `expect`, because the launch has failed.
    pub(in crate::calls) fn unexpect(&self) {
        for node in lock(&self.0.0).values() {
            let mut place = None;
            node.change(|life| place = life.expected.pop_back());
            if let Some(place) = place {
                lock(&node.stop.funcs.state).end(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::ids::ContextId;

    #[test]
    fn functions_of_a_destroyed_stream_do_not_count_for_a_new_stream_with_its_handle() {
        let funcs = HostFuncs::default();
        let stream = (7, ContextId(1));
        let stand = |token| {
            let mut state = lock(&funcs.state);
            let place = state.begin(stream);
            state.standing.push_back((Some(place), token));
            place
        };
        let first = stand(42);
        assert!(funcs.standing().contains(&stream));
        funcs.forget(stream);
        assert!(funcs.standing().is_empty(), "the new stream has reached no function");
        assert_eq!(funcs.next(), Some(42), "the guest must run it anyway");
        stand(43);
        assert!(funcs.standing().contains(&stream));
        lock(&funcs.state).end(first);
        assert!(funcs.standing().contains(&stream));
    }
}
