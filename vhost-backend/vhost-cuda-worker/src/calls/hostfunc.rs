//! Functions of the guest's that a stream stops for.
//!
//! The stream runs a function here that does not return before the guest has run its own. The ring
//! reader hands the guest one token after another, in the order in which streams have come to them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use cuda_api::sys::CUDA_HOST_NODE_PARAMS;

use super::gate::stream::{Key, Standing};
use super::lock;
use crate::driver::{CuError, CuResult};
use crate::waker::Waker;

/// Host functions that may be queued at once.
const MAX_QUEUED: usize = 1 << 16;

/// Tokens on their way.
#[derive(Default)]
pub(super) struct HostFuncs {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Default)]
struct State {
    /// Queued or running, and in which streams.
    outstanding: usize,
    streams: HashMap<Key, Queue>,
    /// The number of the last that was queued.
    last: u64,
    /// What stands at functions, and the functions' tokens, in the order in which they came. The first
    /// may be with the guest. `None`: others of its graph's nodes may run meanwhile.
    standing: VecDeque<(Option<Place>, u64)>,
    /// Functions that have run, ever.
    ended: u64,
}

/// Functions in one stream.
#[derive(Default)]
struct Queue {
    count: usize,
    /// Those up to this number are of a stream that has ended: the driver may have given its handle to
    /// this one.
    gone: u64,
}

/// Where a function was queued, and its number.
#[derive(Clone, Copy, Default)]
struct Place {
    stream: Key,
    number: u64,
}

impl State {
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

    /// Whether the stream that something was queued in is still there.
    fn is_there(&self, place: Place) -> bool {
        self.streams.get(&place.stream).is_some_and(|queue| place.number > queue.gone)
    }
}

/// What the driver's thread gets.
struct Stop {
    funcs: Arc<HostFuncs>,
    waker: Waker,
    token: u64,
}

/// Runs on a thread of the driver's, when the stream gets there.
///
/// # Safety
/// `stop` is a `(Stop, Place)` from `Box::into_raw` that nobody else takes.
unsafe extern "C" fn reached(stop: *mut c_void) {
    // SAFETY: the caller's promise: `HostFuncs::queue` made it for this one call.
    let (stop, place) = *unsafe { Box::from_raw(stop.cast::<(Stop, Place)>()) };
    stop.stand(place, true);
}

impl Stop {
    /// Waits until the guest has done its function. `alone`: the stream does nothing else meanwhile.
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
    /// Streams that stand at a function which the guest has not run yet, and do nothing else.
    pub(super) fn standing(&self) -> Standing {
        let state = lock(&self.state);
        let places = state.standing.iter().filter_map(|(place, _)| *place);
        places.filter(|place| state.is_there(*place)).map(|place| place.stream).collect()
    }

    /// A stream ends. What it has come to, or comes to, says nothing of the next with its handle.
    pub(super) fn forget(&self, stream: Key) {
        let mut state = lock(&self.state);
        let last = state.last;
        if let Some(queue) = state.streams.get_mut(&stream) {
            queue.gone = last;
        }
    }

    /// Queues a function in a stream. `launch` gets what the driver must call, and its argument.
    ///
    /// # Safety
    /// If `launch` succeeds, the driver calls the function with that argument once, and otherwise
    /// never.
    pub(super) unsafe fn queue(
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
            // SAFETY: the driver did not take it.
            drop(unsafe { Box::from_raw(stop) });
        }
        queued
    }

    /// The function that is to run before all others.
    pub(super) fn next(&self) -> Option<u64> {
        lock(&self.state).standing.front().map(|(_, token)| *token)
    }

    /// It has run, and its stream goes on.
    pub(super) fn end(&self) {
        let mut state = lock(&self.state);
        if state.standing.pop_front().is_some() {
            state.ended += 1;
            self.done.notify_all();
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
    /// Nothing of the graph runs beside it: a stream that has come to it uses no GPU.
    alone: AtomicBool,
    life: Mutex<Life>,
}

#[derive(Default)]
struct Life {
    /// Launches that have not reached it yet, in order.
    expected: VecDeque<Place>,
    /// No further launch will reach it.
    retired: bool,
}

impl GraphStop {
    fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed)
    }

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
        let place = lock(&node.life).expected.front().copied();
        let place = place.unwrap_or_else(|| lock(&node.stop.funcs.state).begin(Key::default()));
        node.stop.stand(place, node.is_alone());
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

    /// Nothing runs beside this node.
    pub(super) fn set_alone(&self, place: u32) {
        if let Some(node) = lock(&self.0.0).get(&place) {
            node.alone.store(true, Ordering::Relaxed);
        }
    }

    /// The graph is about to be launched.
    pub(super) fn expect(&self, stream: Key) {
        for node in lock(&self.0.0).values() {
            let place = lock(&node.stop.funcs.state).begin(stream);
            node.change(|life| life.expected.push_back(place));
        }
    }

    /// It was not launched.
    pub(super) fn unexpect(&self) {
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
    fn what_a_stream_stood_at_says_nothing_of_the_next_with_its_handle() {
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
        assert!(funcs.standing().is_empty(), "the next has come to none");
        assert_eq!(funcs.next(), Some(42), "the guest is to run it all the same");
        stand(43);
        assert!(funcs.standing().contains(&stream));
        lock(&funcs.state).end(first);
        assert!(funcs.standing().contains(&stream));
    }
}
