//! All graphs of a process, and the captures in progress.

use super::capture::{Info, Key, Mode, Stream};
use super::dag::Graph;
use super::edge::{self, Dependencies, Edge};
use super::host_call::HostCall;
use super::ids::{GraphId, NodeId, Operation};
use super::table::Table;
use crate::error::{CuError, CuResult};
use crate::sys::CUgraphNodeType;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const KERNEL: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL;

struct Capture {
    origin: Key,
    thread: u64,
    mode: Mode,
    graph: GraphId,
    /// Whether the capture created the graph. If so, the graph is destroyed when the capture fails.
    own: bool,
    invalid: bool,
    /// The last nodes of streams that were destroyed during the capture. Like the last node of any
    /// other stream, these must be joined before the capture ends.
    left: BTreeSet<NodeId>,
}

struct Member {
    capture: u64,
    ctx: u64,
    blocking: bool,
    after: Dependencies,
    /// The node that was captured last in the stream. It must be joined: the stream in which the
    /// capture began must depend on it when the capture ends. As with NVIDIA's driver, this
    /// requirement ends when the program replaces the stream's dependencies, or adds a node that
    /// depends on this one.
    captured: Option<NodeId>,
}

/// All captures in progress.
#[derive(Default)]
struct Captures {
    last: u64,
    captures: HashMap<u64, Capture>,
    streams: HashMap<Key, Member>,
    /// For each event that was last recorded in a captured stream: the number of the capture, and
    /// the nodes that a stream will depend on when it waits for the event.
    events: HashMap<u64, (u64, Dependencies)>,
}

impl Captures {
    fn count(&self) -> usize {
        self.captures.len() + self.events.len()
    }

    fn invalidate(&mut self, id: u64) {
        if let Some(capture) = self.captures.get_mut(&id) {
            capture.invalid = true;
        }
    }

    fn invalidate_where(&mut self, test: impl Fn(&Member) -> bool) -> bool {
        let ids: Vec<u64> = self.streams.values().filter(|m| test(m)).map(|m| m.capture).collect();
        ids.iter().for_each(|id| self.invalidate(*id));
        !ids.is_empty()
    }

    fn end<Op: Operation>(&mut self, id: u64, table: &mut Table<Op>, keep: bool) {
        self.streams.retain(|_, member| member.capture != id);
        if let Some(capture) = self.captures.remove(&id)
            && capture.own
            && !keep
        {
            table.forget(capture.graph);
        }
    }

    /// Returns a stream's membership in a capture, if the stream is being captured. For the legacy
    /// stream, invalidates the captures of all streams that wait for it, and fails if there are
    /// any.
    fn member(&mut self, stream: &Stream) -> CuResult<Option<&mut Member>> {
        if stream.legacy {
            let ctx = stream.ctx;
            return match self.invalidate_where(|m| m.ctx == ctx && m.blocking) {
                true => Err(CuError::STREAM_CAPTURE_IMPLICIT),
                false => Ok(None),
            };
        }
        let Some(member) = self.streams.get_mut(&stream.key) else { return Ok(None) };
        match self.captures.get(&member.capture) {
            Some(capture) if !capture.invalid => Ok(Some(member)),
            _ => Err(CuError::STREAM_CAPTURE_INVALIDATED),
        }
    }
}

/// All graphs of a process, and the captures in progress.
pub struct Graphs<Op> {
    state: Mutex<State<Op>>,
    /// The number of captures in progress, plus the number of events that were last recorded in a
    /// captured stream. Usually 0.
    capturing: AtomicUsize,
}

/// The graphs and the captures, which one lock protects.
struct State<Op> {
    table: Table<Op>,
    captures: Captures,
}

impl<Op: Operation> Default for Graphs<Op> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Op: Operation> Graphs<Op> {
    /// Creates an empty set of graphs.
    pub fn new() -> Self {
        Self {
            state: Mutex::new(State { table: Table::default(), captures: Captures::default() }),
            capturing: AtomicUsize::new(0),
        }
    }

    /// Returns whether any capture is in progress, or any event was last recorded in a captured
    /// stream. If not, calls don't have to check for captures.
    #[inline]
    pub fn any_capture(&self) -> bool {
        self.capturing.load(Ordering::Relaxed) != 0
    }

    fn lock(&self) -> MutexGuard<'_, State<Op>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `then` with the table of graphs.
    pub fn with<R>(&self, then: impl FnOnce(&mut Table<Op>) -> R) -> R {
        let mut state = self.lock();
        let result = then(&mut state.table);
        Self::unlock(state);
        result
    }

    /// Unlocks the graphs, then frees the memory of removed nodes, and calls the destructors of
    /// user objects that have lost their last reference.
    fn unlock(mut state: MutexGuard<'_, State<Op>>) {
        let (due, removed) = (state.table.users.take_due(), state.table.take_removed());
        drop(state);
        drop(removed);
        due.iter().for_each(HostCall::run);
    }

    /// Calls `then` with the graphs and captures, and then updates the count of captures.
    fn captures<R>(&self, then: impl FnOnce(&mut State<Op>) -> R) -> R {
        let mut state = self.lock();
        let result = then(&mut state);
        self.capturing.store(state.captures.count(), Ordering::Relaxed);
        Self::unlock(state);
        result
    }

    /// Implements `cuStreamBeginCapture`, or `cuStreamBeginCaptureToGraph` if `into` is set. `into`
    /// has the graph, and the nodes that the stream's first node will depend on.
    pub fn begin(
        &self,
        stream: &Stream,
        thread: u64,
        mode: Mode,
        into: Option<(GraphId, &[(NodeId, Edge)])>,
    ) -> CuResult {
        self.captures(|State { table, captures }| {
            if stream.legacy {
                return Err(CuError::STREAM_CAPTURE_UNSUPPORTED);
            }
            if captures.streams.contains_key(&stream.key) {
                return Err(CuError::ILLEGAL_STATE);
            }
            let (graph, after, own) = match into {
                Some((graph, after)) => {
                    table.graph(graph)?.check(after)?;
                    if captures.captures.values().any(|capture| capture.graph == graph) {
                        return Err(CuError::INVALID_VALUE);
                    }
                    (graph, after.iter().copied().collect(), false)
                }
                None => (table.create(), Dependencies::new(), true),
            };
            captures.last += 1;
            let (id, origin) = (captures.last, stream.key);
            let capture =
                Capture { origin, thread, mode, graph, own, invalid: false, left: BTreeSet::new() };
            captures.captures.insert(id, capture);
            let Stream { ctx, blocking, .. } = *stream;
            let member = Member { capture: id, ctx, blocking, after, captured: None };
            captures.streams.insert(origin, member);
            Ok(())
        })
    }

    /// Implements `cuStreamEndCapture`.
    pub fn end(&self, stream: &Stream, thread: u64) -> CuResult<GraphId> {
        self.captures(|State { table, captures }| {
            let member = captures.streams.get(&stream.key);
            let member = member.ok_or(CuError::ILLEGAL_STATE)?;
            let id = member.capture;
            let capture = &captures.captures[&id];
            if capture.origin != stream.key {
                captures.invalidate(id);
                return Err(CuError::STREAM_CAPTURE_UNMATCHED);
            }
            if capture.mode != Mode::Relaxed && capture.thread != thread {
                return Err(CuError::STREAM_CAPTURE_WRONG_THREAD);
            }
            let (graph, invalid) = (capture.graph, capture.invalid);
            let joined = table.graph(graph).is_ok_and(|graph| {
                let joined = graph.ancestors(&member.after.keys().copied().collect());
                let members = captures.streams.values().filter(|member| member.capture == id);
                let mut last = members.filter_map(|m| m.captured.as_ref()).chain(&capture.left);
                last.all(|node| joined.contains(node) || !graph.dependents(*node).is_empty())
            });
            captures.end(id, table, !invalid && joined);
            match (invalid, joined) {
                (true, _) => Err(CuError::STREAM_CAPTURE_INVALIDATED),
                (_, false) => Err(CuError::STREAM_CAPTURE_UNJOINED),
                (false, true) => Ok(graph),
            }
        })
    }

    /// Returns the state of a stream's capture, or `None` if the stream isn't being captured.
    pub fn info(&self, stream: &Stream) -> CuResult<Option<Info>> {
        if !self.any_capture() {
            return Ok(None);
        }
        self.captures(|State { captures, .. }| {
            if stream.legacy {
                let ctx = stream.ctx;
                let mut members = captures.streams.values();
                return match members.any(|m| m.ctx == ctx && m.blocking) {
                    true => Err(CuError::STREAM_CAPTURE_IMPLICIT),
                    false => Ok(None),
                };
            }
            Ok(captures.streams.get(&stream.key).map(|member| {
                let (id, capture) = (member.capture, &captures.captures[&member.capture]);
                let after = member.after.iter().map(|(id, edge)| (*id, *edge)).collect();
                Info { id, invalid: capture.invalid, graph: capture.graph, after }
            }))
        })
    }

    /// Returns whether a stream is being captured. If so, work for the stream must not be queued,
    /// but added to the graph with [`Graphs::push`]. Call this before queueing anything in a
    /// stream.
    #[inline]
    pub fn captures_stream(&self, stream: impl FnOnce() -> CuResult<Stream>) -> CuResult<bool> {
        if !self.any_capture() {
            return Ok(false);
        }
        let stream = stream()?;
        self.captures(|State { captures, .. }| Ok(captures.member(&stream)?.is_some()))
    }

    /// Adds a node for an operation that is queued in a captured stream.
    pub fn push(&self, stream: &Stream, op: Op) -> CuResult {
        self.push_with(stream, |_, _| Ok(Some(op))).map(drop)
    }

    /// Adds a node for a kernel launch in a captured stream, as [`Graphs::push`] does. If
    /// `programmatic` is true, the kernel can start before the kernels that it depends on have
    /// finished (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION). `events` are the events
    /// that the launch records, each with the edge to nodes that will wait for it.
    pub fn push_launch(
        &self,
        stream: &Stream,
        op: Op,
        programmatic: bool,
        events: impl IntoIterator<Item = (u64, Edge)>,
    ) -> CuResult {
        self.push_after(stream, |_, _| Ok(Some(op)), programmatic, events).map(drop)
    }

    /// Adds a node in a captured stream, as [`Graphs::push`] does, with the operation that `make`
    /// returns for the graph and the new node's dependencies. If `make` returns none, adds no node.
    pub(super) fn push_with(
        &self,
        stream: &Stream,
        make: impl FnOnce(&Graph<Op>, &[(NodeId, Edge)]) -> CuResult<Option<Op>>,
    ) -> CuResult<Option<NodeId>> {
        self.push_after(stream, make, false, [])
    }

    fn push_after(
        &self,
        stream: &Stream,
        make: impl FnOnce(&Graph<Op>, &[(NodeId, Edge)]) -> CuResult<Option<Op>>,
        programmatic: bool,
        events: impl IntoIterator<Item = (u64, Edge)>,
    ) -> CuResult<Option<NodeId>> {
        self.captures(|State { table, captures }| {
            let member = captures.member(stream)?;
            let member = member.ok_or(CuError::ILLEGAL_STATE)?;
            let capture = member.capture;
            let mut after: Vec<_> = member.after.iter().map(|(id, edge)| (*id, *edge)).collect();
            let graph = captures.captures[&capture].graph;
            for (id, edge) in &mut after {
                if programmatic && table.kind(*id)? == KERNEL {
                    *edge = Edge::Programmatic;
                }
            }
            let node = table.add_with(graph, &after, make)?;
            if let (Some(node), Some(member)) = (node, captures.streams.get_mut(&stream.key)) {
                (member.after, member.captured) = ([(node, Edge::Full)].into(), Some(node));
                for (event, edge) in events {
                    captures.events.insert(event, (capture, [(node, edge)].into()));
                }
            }
            Ok(node)
        })
    }

    /// Checks a call that captures can't contain. If the stream is being captured, invalidates the
    /// capture and fails.
    pub fn forbid_on(&self, stream: &Stream) -> CuResult {
        if !self.any_capture() {
            return Ok(());
        }
        self.captures(|State { captures, .. }| {
            let Some(member) = captures.member(stream)? else { return Ok(()) };
            let id = member.capture;
            captures.invalidate(id);
            Err(CuError::STREAM_CAPTURE_UNSUPPORTED)
        })
    }

    /// Checks a call that waits for a whole context. If any streams in the context are being
    /// captured, invalidates their captures and fails.
    pub fn forbid_in_context(&self, ctx: u64) -> CuResult {
        if !self.any_capture() {
            return Ok(());
        }
        self.captures(|State { captures, .. }| match captures.invalidate_where(|m| m.ctx == ctx) {
            true => Err(CuError::STREAM_CAPTURE_UNSUPPORTED),
            false => Ok(()),
        })
    }

    /// Checks a call that CUDA considers potentially unsafe. If any captures forbid such a call on
    /// this thread, with the thread's capture mode `mode`, invalidates these captures and fails.
    pub fn forbid_unsafe(&self, thread: u64, mode: Mode) -> CuResult {
        if !self.any_capture() || mode == Mode::Relaxed {
            return Ok(());
        }
        self.captures(|State { captures, .. }| {
            let mut forbidden = false;
            for capture in captures.captures.values_mut() {
                let own = capture.thread == thread && capture.mode != Mode::Relaxed;
                if own || (mode == Mode::Global && capture.mode == Mode::Global) {
                    (capture.invalid, forbidden) = (true, true);
                }
            }
            match forbidden {
                true => Err(CuError::STREAM_CAPTURE_UNSUPPORTED),
                false => Ok(()),
            }
        })
    }

    /// Handles an event record. Returns whether the stream is being captured. If so, the event
    /// isn't recorded on the GPU, but only marks nodes of the capture.
    pub fn record(&self, event: u64, stream: impl FnOnce() -> CuResult<Stream>) -> CuResult<bool> {
        if !self.any_capture() {
            return Ok(false);
        }
        let stream = stream()?;
        self.captures(|State { captures, .. }| {
            let place = captures.member(&stream)?.map(|m| (m.capture, m.after.clone()));
            match place {
                Some(place) => {
                    captures.events.insert(event, place);
                    Ok(true)
                }
                None => {
                    captures.events.remove(&event);
                    Ok(false)
                }
            }
        })
    }

    /// Handles a stream's wait for an event. Returns true if the wait only adds dependencies to a
    /// capture, and false if the stream must really wait.
    pub fn wait(&self, event: u64, stream: impl FnOnce() -> CuResult<Stream>) -> CuResult<bool> {
        if !self.any_capture() {
            return Ok(false);
        }
        let stream = stream()?;
        self.captures(|State { captures, .. }| {
            let own = captures.member(&stream)?.map(|member| member.capture);
            let place = captures.events.get(&event).cloned();
            let Some((id, after)) = place else {
                let Some(own) = own else { return Ok(false) };
                captures.invalidate(own);
                return Err(CuError::STREAM_CAPTURE_ISOLATION);
            };
            let Some(capture) = captures.captures.get(&id) else {
                // The capture in which the event was recorded has ended, so there is nothing to
                // wait for.
                own.into_iter().for_each(|own| captures.invalidate(own));
                return Err(CuError::CAPTURED_EVENT);
            };
            if capture.invalid {
                return Err(CuError::STREAM_CAPTURE_INVALIDATED);
            }
            if stream.legacy {
                captures.invalidate(id);
                return Err(CuError::STREAM_CAPTURE_IMPLICIT);
            }
            match own {
                Some(own) if own != id => {
                    captures.invalidate(own);
                    captures.invalidate(id);
                    Err(CuError::STREAM_CAPTURE_MERGE)
                }
                _ => {
                    let Stream { key, ctx, blocking, .. } = stream;
                    let new = || {
                        let after = Dependencies::new();
                        Member { capture: id, ctx, blocking, after, captured: None }
                    };
                    let member = captures.streams.entry(key).or_insert_with(new);
                    edge::extend(&mut member.after, after);
                    Ok(true)
                }
            }
        })
    }

    /// Fails if an event was last recorded in a captured stream. Such an event can't be queried. An
    /// event that marks a point within a kernel is reported as invalid, as by NVIDIA's driver.
    pub fn forbid_captured_event(&self, event: u64) -> CuResult {
        if !self.any_capture() {
            return Ok(());
        }
        self.captures(|State { captures, .. }| match captures.events.get(&event) {
            Some((id, after)) => {
                let (id, is_in_kernel) = (*id, after.values().any(|edge| *edge != Edge::Full));
                captures.invalidate(id);
                Err(if is_in_kernel { CuError::INVALID_VALUE } else { CuError::CAPTURED_EVENT })
            }
            None => Ok(()),
        })
    }

    /// Implements `cuStreamUpdateCaptureDependencies`.
    pub fn update(&self, stream: &Stream, nodes: &[(NodeId, Edge)], replace: bool) -> CuResult {
        self.captures(|State { table, captures }| {
            let member = captures.member(stream)?;
            let capture = member.ok_or(CuError::ILLEGAL_STATE)?.capture;
            table.graph(captures.captures[&capture].graph)?.check(nodes)?;
            if let Some(member) = captures.streams.get_mut(&stream.key) {
                if replace {
                    member.after.clear();
                    member.captured = None;
                }
                edge::extend(&mut member.after, nodes.iter().copied());
            }
            Ok(())
        })
    }

    /// Handles the destruction of a stream. A capture that began in the stream ends, because no
    /// other stream can end it. Another capture that the stream has joined can continue.
    pub fn forget_stream(&self, key: Key) {
        self.forget_streams_where(|of, _| of == key);
    }

    /// Handles the destruction of a context, which destroys all streams in it
    /// ([`forget_stream`](Self::forget_stream)).
    pub fn forget_context(&self, ctx: u64) {
        self.forget_streams_where(|_, of| of == ctx);
    }

    /// Handles the destruction of all streams for whose key and context `is_gone` returns true
    /// ([`forget_stream`](Self::forget_stream)).
    pub fn forget_streams_where(&self, is_gone: impl Fn(Key, u64) -> bool) {
        if !self.any_capture() {
            return;
        }
        self.captures(|State { table, captures }| {
            let gone = |(key, member): (&Key, &Member)| is_gone(*key, member.ctx).then_some(*key);
            for key in captures.streams.iter().filter_map(gone).collect::<Vec<_>>() {
                // The stream may have been removed already, when the capture of an earlier stream
                // in this list ended.
                let Some(member) = captures.streams.remove(&key) else { continue };
                match captures.captures.get_mut(&member.capture) {
                    Some(capture) if capture.origin != key => capture.left.extend(member.captured),
                    _ => captures.end(member.capture, table, false),
                }
            }
        });
    }

    /// Handles the destruction of an event.
    pub fn forget_event(&self, event: u64) {
        if self.any_capture() {
            self.captures(|State { captures, .. }| captures.events.remove(&event));
        }
    }

    /// Implements `cuGraphDestroy`. Fails if a capture is adding nodes to the graph.
    pub fn destroy(&self, graph: GraphId) -> CuResult {
        self.captures(|State { table, captures }| {
            if captures.captures.values().any(|capture| capture.graph == graph) {
                return Err(CuError::INVALID_VALUE);
            }
            table.destroy(graph)
        })
    }
}

#[cfg(test)]
#[path = "graphs_tests.rs"]
mod tests;
