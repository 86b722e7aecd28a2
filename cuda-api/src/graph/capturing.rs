//! Entry points that capture streams.

use super::capture::{Info, Mode};
use super::edge::Edge;
use super::ids::{GraphId, NodeId};
use super::library::Library;
use super::lists::After;
use crate::args::{In, Out};
use crate::error::{CuError, CuResult};
use crate::sys::{
    CUgraph, CUgraphEdgeData, CUgraphNode, CUstream, CUstreamCaptureMode, CUstreamCaptureStatus,
};
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr::null_mut;

/// A stream, and whether a null handle means the thread's default stream instead of the legacy
/// stream.
pub type StreamArg = (CUstream, bool);

/// The nodes that a stream's next node will depend on, and the data of the edges.
type Shown = (Vec<CUgraphNode>, Vec<CUgraphEdgeData>);

thread_local! {
    /// The calling thread's capture mode. It determines which captures forbid unsafe calls on the
    /// thread.
    static MODE: Cell<CUstreamCaptureMode> = const { Cell::new(CUstreamCaptureMode(0)) };

    /// The nodes and edges that the last query on this thread returned. Programs may read them
    /// until the thread's next query. [`thread_ended`] frees the lists.
    static SHOWN: Cell<ManuallyDrop<Shown>> =
        const { Cell::new(ManuallyDrop::new((Vec::new(), Vec::new()))) };
}

/// Frees the calling thread's lists, because the thread exits.
pub fn thread_ended() {
    drop(ManuallyDrop::into_inner(SHOWN.take()));
}

/// Fails if a capture forbids calls that CUDA considers potentially unsafe on the calling thread.
#[inline]
pub fn forbid_unsafe<L: Library>() -> CuResult {
    if !L::graphs().any_capture() {
        return Ok(());
    }
    L::graphs().forbid_unsafe(L::thread(), Mode::new(MODE.get().0)?)
}

/// Implements `cuThreadExchangeStreamCaptureMode`.
pub fn exchange_mode<L: Library>(mode: Out<CUstreamCaptureMode>) -> CuResult {
    L::initialized()?;
    let wanted = mode.read()?;
    Mode::new(wanted.0)?;
    mode.set(MODE.replace(wanted))
}

fn begin<L: Library>(
    (stream, per_thread): StreamArg,
    mode: CUstreamCaptureMode,
    into: Option<(GraphId, &[(NodeId, Edge)])>,
) -> CuResult {
    L::ready()?;
    let stream = L::stream(stream, per_thread)?;
    L::graphs().begin(&stream, L::thread(), Mode::new(mode.0)?, into)
}

/// Implements `cuStreamBeginCapture`.
pub fn begin_new<L: Library>(stream: StreamArg, mode: CUstreamCaptureMode) -> CuResult {
    begin::<L>(stream, mode, None)
}

/// Implements `cuStreamBeginCaptureToGraph`.
///
/// # Safety
///
/// If not null, the arrays must have `count` elements.
pub unsafe fn begin_into<L: Library>(
    stream: StreamArg,
    graph: CUgraph,
    (nodes, edges, count): (In<CUgraphNode>, In<CUgraphEdgeData>, usize),
    mode: CUstreamCaptureMode,
) -> CuResult {
    // SAFETY: the caller promises that the arrays have `count` elements.
    let nodes = unsafe { After::from((nodes, edges, count)).read() }?;
    begin::<L>(stream, mode, Some((graph as GraphId, &nodes)))
}

/// Implements `cuStreamEndCapture`. `graph` may be null, because a program may know the graph
/// already.
pub fn end<L: Library>((stream, per_thread): StreamArg, graph: Out<CUgraph>) -> CuResult {
    graph.set_if_wanted(null_mut());
    L::ready()?;
    let stream = L::stream(stream, per_thread)?;
    graph.set_if_wanted(L::graphs().end(&stream, L::thread())? as CUgraph);
    Ok(())
}

fn info_of<L: Library>((stream, per_thread): StreamArg) -> CuResult<Option<Info>> {
    L::ready()?;
    L::graphs().info(&L::stream(stream, per_thread)?)
}

fn status_of(info: Option<&Info>) -> CUstreamCaptureStatus {
    match info {
        None => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE,
        Some(info) if info.invalid => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED,
        Some(_) => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE,
    }
}

/// Implements `cuStreamIsCapturing`.
pub fn is_capturing<L: Library>(stream: StreamArg, status: Out<CUstreamCaptureStatus>) -> CuResult {
    status.set(status_of(info_of::<L>(stream)?.as_ref()))
}

/// The output pointers of `cuStreamGetCaptureInfo`. All but `status` may be null.
#[derive(Clone, Copy)]
pub struct InfoTo {
    /// Whether the stream is being captured.
    pub status: Out<CUstreamCaptureStatus>,
    /// The capture's number.
    pub id: Out<u64>,
    /// The graph to which the capture adds nodes.
    pub graph: Out<CUgraph>,
    /// The nodes that the stream's next node will depend on.
    pub nodes: Out<*const CUgraphNode>,
    /// The data of the edges from `nodes` to the stream's next node.
    pub edges: Out<*const CUgraphEdgeData>,
    /// The number of elements in `nodes`, and in `edges`.
    pub count: Out<usize>,
}

impl InfoTo {
    /// Creates the pointers for a query that returns only the status and the capture's number.
    pub fn new(status: Out<CUstreamCaptureStatus>, id: Out<u64>) -> Self {
        let (graph, nodes, edges) = (Out::null(), Out::null(), Out::null());
        Self { status, id, graph, nodes, edges, count: Out::null() }
    }
}

/// Implements `cuStreamGetCaptureInfo`.
pub fn info<L: Library>(stream: StreamArg, to: InfoTo) -> CuResult {
    let found = info_of::<L>(stream)?;
    to.status.set(status_of(found.as_ref()))?;
    match found {
        None => to.id.set_if_wanted(0),
        Some(info) if info.invalid => {}
        Some(_) if to.edges.is_wanted() && !to.nodes.is_wanted() => {
            return Err(CuError::INVALID_VALUE);
        }
        Some(info) => {
            let nodes: Vec<_> = info.after.iter().map(|(node, _)| *node as CUgraphNode).collect();
            let edges: Vec<_> = info.after.iter().map(|(_, edge)| edge.data()).collect();
            let has_data = info.after.iter().any(|(_, edge)| *edge != Edge::Full);
            if has_data && to.nodes.is_wanted() && !to.edges.is_wanted() {
                return Err(CuError::LOSSY_QUERY);
            }
            to.id.set_if_wanted(info.id);
            to.graph.set_if_wanted(info.graph as CUgraph);
            to.count.set_if_wanted(nodes.len());
            to.edges.set_if_wanted(edges.as_ptr());
            to.nodes.set_if_wanted(nodes.as_ptr());
            // The program got pointers to the elements of these lists. They stay valid, because
            // moving a `Vec` doesn't move its elements.
            drop(ManuallyDrop::into_inner(SHOWN.replace(ManuallyDrop::new((nodes, edges)))));
        }
    }
    Ok(())
}

/// Implements `cuStreamUpdateCaptureDependencies`.
///
/// # Safety
///
/// If not null, the arrays must have `count` elements.
pub unsafe fn update<L: Library>(
    (stream, per_thread): StreamArg,
    (nodes, edges, count): (In<CUgraphNode>, In<CUgraphEdgeData>, usize),
    flags: u32,
) -> CuResult {
    if flags > 1 {
        return Err(CuError::INVALID_VALUE);
    }
    L::ready()?;
    let stream = L::stream(stream, per_thread)?;
    // SAFETY: the caller promises that the arrays have `count` elements.
    let nodes = unsafe { After::from((nodes, edges, count)).read() }?;
    L::graphs().update(&stream, &nodes, flags == 1)
}
