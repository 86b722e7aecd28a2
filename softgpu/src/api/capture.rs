//! Stream capture.

use std::cell::Cell;
use std::ffi::{c_uint, c_void};
use std::sync::LazyLock;

use cuda_api::graph::capture::{Key, Mode};
use cuda_api::graph::{Graphs, capture};

use super::stream::queries;
use super::{Answer, CUresult, get, put, put_if};
use crate::state::graph::Op;
use crate::state::stream::Stream;

/// All graphs and captures of the process.
pub(crate) static GRAPHS: LazyLock<Graphs<Op>> = LazyLock::new(Graphs::new);

thread_local! {
    static MODE: Cell<u32> = const { Cell::new(0) };
}

/// `cuThreadExchangeStreamCaptureMode`.
pub(crate) fn exchange_mode(mode: *mut c_uint) -> Answer {
    let new = get(mode)?;
    Mode::new(new)?;
    put(mode, MODE.replace(new))
}

fn thread() -> u64 {
    // SAFETY: no preconditions.
    unsafe { libc::gettid() as u64 }
}

/// A stream's name among captures.
pub(crate) fn key(stream: &Stream) -> Key {
    Key { id: stream.id, of: 0 }
}

impl From<&Stream> for capture::Stream {
    fn from(stream: &Stream) -> Self {
        Self {
            key: key(stream),
            ctx: stream.context.id,
            blocking: !stream.non_blocking,
            legacy: stream.legacy,
        }
    }
}

/// Whether what is queued in a stream goes to a graph, with [`push`].
#[inline]
pub(crate) fn captured(stream: &Stream) -> Result<bool, CUresult> {
    GRAPHS.captures_stream(|| Ok(stream.into()))
}

/// Adds a node to the graph that a stream is captured to.
pub(crate) fn push(stream: &Stream, op: Op) -> Answer {
    GRAPHS.push(&stream.into(), op).map(drop)
}

/// A call that CUDA calls potentially unsafe.
pub(crate) fn forbid_unsafe() -> Answer {
    match GRAPHS.any_capture() {
        true => GRAPHS.forbid_unsafe(thread(), Mode::new(MODE.get())?),
        false => Ok(()),
    }
}

/// What could be captured natively, and not here.
pub(crate) fn unsupported_on(stream: &Stream, name: &str) -> Answer {
    if captured(stream)? {
        // The capture would lack it.
        let _ = GRAPHS.forbid_on(&stream.into());
        return Err(super::unsupported(name));
    }
    Ok(())
}

/// Where the parts of a capture's state go.
struct InfoTo {
    status: *mut c_uint,
    id: *mut u64,
    graph: *mut usize,
    nodes: *mut *const usize,
    edges: *mut *const c_void,
    count: *mut usize,
}

thread_local! {
    /// Programs read the nodes here until the next call.
    static NODES: Cell<Vec<usize>> = const { Cell::new(Vec::new()) };
}

fn info(stream: &Stream, to: InfoTo) -> Answer {
    let Some(info) = GRAPHS.info(&stream.into())? else {
        put_if(to.id, 0);
        return put(to.status, 0);
    };
    put(to.status, if info.invalid { 2 } else { 1 })?;
    if info.invalid {
        return Ok(());
    }
    put_if(to.id, info.id);
    put_if(to.graph, info.graph);
    put_if(to.count, info.after.len());
    put_if(to.edges, std::ptr::null());
    put_if(to.nodes, info.after.as_ptr());
    // The list stays where it is as it moves.
    NODES.set(info.after);
    Ok(())
}

/// An array that a program gives by address and length.
pub(crate) fn array(from: *const usize, count: usize) -> Result<Vec<usize>, CUresult> {
    (0..count).map(|i| get(from.wrapping_add(i))).collect()
}

fn begin(stream: &Stream, mode: c_uint, into: Option<(usize, &[usize])>) -> Answer {
    GRAPHS.begin(&stream.into(), thread(), Mode::new(mode)?, into)
}

/// Edges that carry more than an order are not supported.
fn plain(edges: *const c_void) -> Answer {
    if edges.is_null() { Ok(()) } else { Err(CUresult::CUDA_ERROR_NOT_SUPPORTED) }
}

fn update(stream: &Stream, nodes: *const usize, count: usize, flags: c_uint) -> Answer {
    if flags > 1 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    GRAPHS.update(&stream.into(), &array(nodes, count)?, flags == 1)
}

queries! {
    fn cuStreamBeginCapture_v2, fn cuStreamBeginCapture_v2_ptsz(mode: c_uint; stream) {
        begin(&stream, mode, None)
    }

    fn cuStreamBeginCaptureToGraph, fn cuStreamBeginCaptureToGraph_ptsz(
        graph: usize, nodes: *const usize, edges: *const c_void, count: usize, mode: c_uint; stream
    ) {
        plain(edges)?;
        begin(&stream, mode, Some((graph, &array(nodes, count)?)))
    }

    fn cuStreamEndCapture, fn cuStreamEndCapture_ptsz(to: *mut usize; stream) {
        put(to, 0)?;
        put(to, GRAPHS.end(&(&*stream).into(), thread())?)
    }

    fn cuStreamIsCapturing, fn cuStreamIsCapturing_ptsz(to: *mut c_uint; stream) {
        let info = GRAPHS.info(&(&*stream).into())?;
        put(to, info.map_or(0, |info| if info.invalid { 2 } else { 1 }))
    }

    fn cuStreamGetCaptureInfo, fn cuStreamGetCaptureInfo_ptsz(
        status: *mut c_uint, id: *mut u64; stream
    ) {
        let none = std::ptr::null_mut();
        let (nodes, edges) = (std::ptr::null_mut(), std::ptr::null_mut());
        info(&stream, InfoTo { status, id, graph: none, nodes, edges, count: none })
    }

    fn cuStreamGetCaptureInfo_v2, fn cuStreamGetCaptureInfo_v2_ptsz(
        status: *mut c_uint, id: *mut u64, graph: *mut usize, nodes: *mut *const usize,
        count: *mut usize;
        stream
    ) {
        let edges = std::ptr::null_mut();
        info(&stream, InfoTo { status, id, graph, nodes, edges, count })
    }

    fn cuStreamGetCaptureInfo_v3, fn cuStreamGetCaptureInfo_v3_ptsz(
        status: *mut c_uint, id: *mut u64, graph: *mut usize, nodes: *mut *const usize,
        edges: *mut *const c_void, count: *mut usize;
        stream
    ) {
        info(&stream, InfoTo { status, id, graph, nodes, edges, count })
    }

    fn cuStreamUpdateCaptureDependencies, fn cuStreamUpdateCaptureDependencies_ptsz(
        nodes: *const usize, count: usize, flags: c_uint; stream
    ) {
        update(&stream, nodes, count, flags)
    }

    fn cuStreamUpdateCaptureDependencies_v2, fn cuStreamUpdateCaptureDependencies_v2_ptsz(
        nodes: *const usize, edges: *const c_void, count: usize, flags: c_uint; stream
    ) {
        plain(edges)?;
        update(&stream, nodes, count, flags)
    }
}
