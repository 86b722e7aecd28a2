//! Streams that are being captured.
//!
//! While a stream is captured, what is queued there becomes a node that depends on the stream's
//! last ones. Events carry dependencies to other streams, which so join the capture. Calls that a
//! capture can't hold are errors, and most of them invalidate it: from then on it can only be
//! ended.

use super::dag::Work;
use super::{Answer, GraphId, Graphs, NodeId, Operation, State};
use crate::sys::CUresult;
use std::collections::{BTreeSet, HashMap};

/// `CUstreamCaptureMode`: which calls elsewhere a capture forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// On every thread.
    Global,
    /// On the thread that began it.
    ThreadLocal,
    /// None.
    Relaxed,
}

impl Mode {
    /// From CUDA's number.
    pub fn new(number: u32) -> Answer<Self> {
        match number {
            0 => Ok(Self::Global),
            1 => Ok(Self::ThreadLocal),
            2 => Ok(Self::Relaxed),
            _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }
}

/// A stream. Of default streams there is one for each thread or context, so an id is not enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The library's number for it.
    pub id: u64,
    /// Which thread's or context's; 0 for a stream that the program made.
    pub of: u64,
}

/// A stream, and what matters here.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Its name.
    pub key: Key,
    /// Its context.
    pub ctx: u64,
    /// Whether it and the legacy stream wait for one another.
    pub blocking: bool,
    /// Whether it is the legacy stream, which can't be captured.
    pub legacy: bool,
}

/// What `cuStreamGetCaptureInfo` tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Unique in the process.
    pub id: u64,
    /// Whether it can only be ended.
    pub invalid: bool,
    /// What it goes to.
    pub graph: GraphId,
    /// What the stream's next node will depend on.
    pub after: Vec<NodeId>,
}

struct Capture {
    origin: Key,
    thread: u64,
    mode: Mode,
    graph: GraphId,
    /// The capture made the graph, and takes it away if it fails.
    own: bool,
    invalid: bool,
}

struct Member {
    capture: u64,
    ctx: u64,
    blocking: bool,
    after: BTreeSet<NodeId>,
}

/// All captures under way.
#[derive(Default)]
pub(crate) struct Captures {
    last: u64,
    captures: HashMap<u64, Capture>,
    streams: HashMap<Key, Member>,
    /// Events that were last recorded in a capture.
    events: HashMap<u64, (u64, BTreeSet<NodeId>)>,
}

impl Captures {
    pub(super) fn count(&self) -> usize {
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

    fn end<Op: Operation>(&mut self, id: u64, table: &mut super::table::Table<Op>, keep: bool) {
        self.streams.retain(|_, member| member.capture != id);
        if let Some(capture) = self.captures.remove(&id)
            && capture.own
            && !keep
        {
            table.forget(capture.graph);
        }
    }

    /// The capture that a stream is in, if it is in one; what the legacy stream would wait for
    /// can't be captured at the same time.
    fn member(&mut self, stream: &Stream) -> Answer<Option<&mut Member>> {
        if stream.legacy {
            let ctx = stream.ctx;
            return match self.invalidate_where(|m| m.ctx == ctx && m.blocking) {
                true => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT),
                false => Ok(None),
            };
        }
        let Some(member) = self.streams.get_mut(&stream.key) else { return Ok(None) };
        match self.captures.get(&member.capture) {
            Some(capture) if !capture.invalid => Ok(Some(member)),
            _ => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
        }
    }
}

impl<Op: Operation> Graphs<Op> {
    /// `cuStreamBeginCapture`, and `cuStreamBeginCaptureToGraph` with a graph and the nodes that
    /// the stream's first one is to depend on.
    pub fn begin(
        &self,
        stream: &Stream,
        thread: u64,
        mode: Mode,
        into: Option<(GraphId, &[NodeId])>,
    ) -> Answer {
        self.captures(|State { table, captures }| {
            if stream.legacy {
                return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
            }
            if captures.streams.contains_key(&stream.key) {
                return Err(CUresult::CUDA_ERROR_ILLEGAL_STATE);
            }
            let (graph, after, own) = match into {
                Some((graph, after)) => {
                    table.graph(graph)?.check(after)?;
                    if captures.captures.values().any(|capture| capture.graph == graph) {
                        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
                    }
                    (graph, after.iter().copied().collect(), false)
                }
                None => (table.create(), BTreeSet::new(), true),
            };
            captures.last += 1;
            let (id, origin) = (captures.last, stream.key);
            let capture = Capture { origin, thread, mode, graph, own, invalid: false };
            captures.captures.insert(id, capture);
            let Stream { ctx, blocking, .. } = *stream;
            captures.streams.insert(origin, Member { capture: id, ctx, blocking, after });
            Ok(())
        })
    }

    /// `cuStreamEndCapture`.
    pub fn end(&self, stream: &Stream, thread: u64) -> Answer<GraphId> {
        self.captures(|State { table, captures }| {
            let member = captures.streams.get(&stream.key);
            let member = member.ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?;
            let id = member.capture;
            let capture = &captures.captures[&id];
            if capture.origin != stream.key {
                captures.invalidate(id);
                return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
            }
            if capture.mode != Mode::Relaxed && capture.thread != thread {
                return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
            }
            let (graph, invalid) = (capture.graph, capture.invalid);
            let joined = table.graph(graph).is_ok_and(|graph| {
                let joined = graph.ancestors(&member.after);
                let mut members = captures.streams.values().filter(|m| m.capture == id);
                members.all(|member| member.after.is_subset(&joined))
            });
            captures.end(id, table, !invalid && joined);
            match (invalid, joined) {
                (true, _) => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
                (_, false) => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED),
                (false, true) => Ok(graph),
            }
        })
    }

    /// What a stream's capture is, if it is in one.
    pub fn info(&self, stream: &Stream) -> Answer<Option<Info>> {
        if !self.any_capture() {
            return Ok(None);
        }
        self.captures(|State { captures, .. }| {
            if stream.legacy {
                let ctx = stream.ctx;
                let mut members = captures.streams.values();
                return match members.any(|m| m.ctx == ctx && m.blocking) {
                    true => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT),
                    false => Ok(None),
                };
            }
            Ok(captures.streams.get(&stream.key).map(|member| {
                let (id, capture) = (member.capture, &captures.captures[&member.capture]);
                let after = member.after.iter().copied().collect();
                Info { id, invalid: capture.invalid, graph: capture.graph, after }
            }))
        })
    }

    /// To be asked before something is queued in a stream: whether it goes to a graph instead,
    /// with [`Graphs::push`].
    #[inline]
    pub fn captures_stream(&self, stream: impl FnOnce() -> Answer<Stream>) -> Answer<bool> {
        if !self.any_capture() {
            return Ok(false);
        }
        let stream = stream()?;
        self.captures(|State { captures, .. }| Ok(captures.member(&stream)?.is_some()))
    }

    /// What is queued in a captured stream becomes a node.
    pub fn push(&self, stream: &Stream, op: Op) -> Answer<NodeId> {
        self.captures(|State { table, captures }| {
            let member = captures.member(stream)?;
            let member = member.ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?;
            let capture = member.capture;
            let after: Vec<NodeId> = member.after.iter().copied().collect();
            let graph = captures.captures[&capture].graph;
            let node = table.add(graph, Work::Op(op), &after)?;
            if let Some(member) = captures.streams.get_mut(&stream.key) {
                member.after = [node].into();
            }
            Ok(node)
        })
    }

    /// A call that a captured stream can't take: an error, and the capture's end.
    pub fn forbid_on(&self, stream: &Stream) -> Answer {
        if !self.any_capture() {
            return Ok(());
        }
        self.captures(|State { captures, .. }| {
            let Some(member) = captures.member(stream)? else { return Ok(()) };
            let id = member.capture;
            captures.invalidate(id);
            Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        })
    }

    /// A call that waits for a whole context.
    pub fn forbid_in_context(&self, ctx: u64) -> Answer {
        if !self.any_capture() {
            return Ok(());
        }
        self.captures(|State { captures, .. }| match captures.invalidate_where(|m| m.ctx == ctx) {
            true => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
            false => Ok(()),
        })
    }

    /// A call that CUDA calls potentially unsafe, from a thread in a mode.
    pub fn forbid_unsafe(&self, thread: u64, mode: Mode) -> Answer {
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
                true => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
                false => Ok(()),
            }
        })
    }

    /// An event is recorded; whether in a capture, and so no more than a place there.
    pub fn record(&self, event: u64, stream: impl FnOnce() -> Answer<Stream>) -> Answer<bool> {
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

    /// A stream is to wait for an event; whether that is a dependency of a capture, and no more.
    pub fn wait(&self, event: u64, stream: impl FnOnce() -> Answer<Stream>) -> Answer<bool> {
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
                return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
            };
            let Some(capture) = captures.captures.get(&id) else {
                // Its capture has ended: there is nothing to wait for.
                own.into_iter().for_each(|own| captures.invalidate(own));
                return Err(CUresult::CUDA_ERROR_CAPTURED_EVENT);
            };
            if capture.invalid {
                return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
            }
            if stream.legacy {
                captures.invalidate(id);
                return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
            }
            match own {
                Some(own) if own != id => {
                    captures.invalidate(own);
                    captures.invalidate(id);
                    Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE)
                }
                _ => {
                    let Stream { key, ctx, blocking, .. } = stream;
                    let new = || Member { capture: id, ctx, blocking, after: BTreeSet::new() };
                    captures.streams.entry(key).or_insert_with(new).after.extend(after);
                    Ok(true)
                }
            }
        })
    }

    /// A call that asks for an event, which has no time of its own if it is a place in a capture.
    pub fn forbid_captured_event(&self, event: u64) -> Answer {
        if !self.any_capture() {
            return Ok(());
        }
        self.captures(|State { captures, .. }| match captures.events.get(&event) {
            Some((id, _)) => {
                let id = *id;
                captures.invalidate(id);
                Err(CUresult::CUDA_ERROR_CAPTURED_EVENT)
            }
            None => Ok(()),
        })
    }

    /// `cuStreamUpdateCaptureDependencies`.
    pub fn update(&self, stream: &Stream, nodes: &[NodeId], replace: bool) -> Answer {
        self.captures(|State { table, captures }| {
            let member = captures.member(stream)?;
            let capture = member.ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?.capture;
            table.graph(captures.captures[&capture].graph)?.check(nodes)?;
            if let Some(member) = captures.streams.get_mut(&stream.key) {
                if replace {
                    member.after.clear();
                }
                member.after.extend(nodes);
            }
            Ok(())
        })
    }

    /// A stream ends; a capture that it was in can only be ended.
    pub fn forget_stream(&self, key: Key) {
        if self.any_capture() {
            self.captures(|State { table, captures }| {
                let Some(member) = captures.streams.remove(&key) else { return };
                captures.invalidate(member.capture);
                if captures.captures[&member.capture].origin == key {
                    // Nobody could end it any more.
                    captures.end(member.capture, table, false);
                }
            });
        }
    }

    /// An event ends.
    pub fn forget_event(&self, event: u64) {
        if self.any_capture() {
            self.captures(|State { captures, .. }| captures.events.remove(&event));
        }
    }

    /// `cuGraphDestroy`. A graph that a capture goes to stays.
    pub fn destroy(&self, graph: GraphId) -> Answer {
        self.captures(|State { table, captures }| {
            if captures.captures.values().any(|capture| capture.graph == graph) {
                return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
            }
            table.destroy(graph)
        })
    }
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
