//! Graphs and stream capture: the part that needs no GPU.
//!
//! A [`Graphs`] holds all graphs of a process, their nodes, and the captures under way. What a
//! node does is the library's own (`Op`); which node waits for which, what a stream's next node
//! depends on, and which calls a capture forbids is the same for every libcuda of ours.
//!
//! | module | what |
//! |---|---|
//! | [`dag`] | one graph: nodes, edges, an order in which to run them |
//! | [`table`] | all graphs and whose node a handle is |
//! | [`capture`] | streams that are being captured |
//!
//! Handles count up and are never used again, so a stale one is an error. They are numbers in a
//! range that no program's memory has, and are never followed.

pub mod capture;
pub mod dag;
pub mod table;

use crate::sys::CUresult;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a function here comes to.
pub type Answer<T = ()> = Result<T, CUresult>;

/// A graph's handle.
pub type GraphId = usize;
/// A node's handle. Later nodes have greater ones.
pub type NodeId = usize;

/// Handles lie above what any process of Linux on x86-64 can have mapped.
const FIRST_HANDLE: usize = 1 << 48;
/// Two handles are as far apart as two objects could be.
const STEP: usize = 16;

/// What a node does.
pub trait Operation: Clone {
    /// `CUgraphNodeType`.
    fn kind(&self) -> u32;
}

/// All graphs of a process, and the captures under way.
pub struct Graphs<Op> {
    state: Mutex<State<Op>>,
    /// Captures under way, and events that were last recorded in one: none, for most calls.
    capturing: AtomicUsize,
}

/// What stands under the lock.
pub(crate) struct State<Op> {
    pub(crate) table: table::Table<Op>,
    pub(crate) captures: capture::Captures,
}

impl<Op: Operation> Default for Graphs<Op> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Op: Operation> Graphs<Op> {
    /// No graph.
    pub fn new() -> Self {
        Self {
            state: Mutex::new(State {
                table: table::Table::default(),
                captures: capture::Captures::default(),
            }),
            capturing: AtomicUsize::new(0),
        }
    }

    /// Whether any capture is under way or any event belongs to one: if not, no call needs to ask
    /// more.
    #[inline]
    pub fn any_capture(&self) -> bool {
        self.capturing.load(Ordering::Relaxed) != 0
    }

    fn lock(&self) -> MutexGuard<'_, State<Op>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `then` with the table of graphs.
    pub fn with<R>(&self, then: impl FnOnce(&mut table::Table<Op>) -> R) -> R {
        then(&mut self.lock().table)
    }

    /// Calls `then` with the captures, and takes note of whether there are any left.
    fn captures<R>(&self, then: impl FnOnce(&mut State<Op>) -> R) -> R {
        let mut state = self.lock();
        let result = then(&mut state);
        self.capturing.store(state.captures.count(), Ordering::Relaxed);
        result
    }
}
