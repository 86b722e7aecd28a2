//! Stream capture. All of it is known here: no call goes to the worker.

use crate::capture::describe;
use crate::context;
use crate::driver::driver;
use crate::error::{CuError, CuResult};
use crate::graph::GRAPHS;
use crate::handles::Handle;
use crate::thread;
use cuda_api::args::{In, Out};
use cuda_api::graph::NodeId;
use cuda_api::graph::capture::{Info, Mode};
use std::cell::Cell;

/// CU_STREAM_CAPTURE_STATUS_NONE, _ACTIVE, _INVALIDATED.
fn status_of(info: Option<&Info>) -> u32 {
    info.map_or(0, |info| if info.invalid { 2 } else { 1 })
}

/// An array that a program gives by address and length.
///
/// # Safety
///
/// As for [`In::array`].
pub unsafe fn array(from: In<usize>, count: usize) -> CuResult<Vec<usize>> {
    // SAFETY: the caller promises what this requires.
    unsafe { from.array(count) }.to_vec()
}

fn capture_info(stream: Handle, null: usize) -> CuResult<Option<Info>> {
    let driver = context::driver()?;
    Ok(GRAPHS.info(&describe(driver, stream, null)?)?)
}

/// Where the parts of a capture's state go.
struct InfoTo {
    status: Out<u32>,
    id: Out<u64>,
    graph: Out<usize>,
    nodes: Out<usize>,
    edges: Out<usize>,
    count: Out<usize>,
}

thread_local! {
    /// Programs read the nodes here until the thread asks again.
    static NODES: Cell<std::mem::ManuallyDrop<Vec<NodeId>>> =
        const { Cell::new(std::mem::ManuallyDrop::new(Vec::new())) };
}

fn info(stream: Handle, null: usize, to: InfoTo) -> CuResult {
    let found = capture_info(stream, null)?;
    to.status.set(status_of(found.as_ref()))?;
    match found {
        None => to.id.set_if_wanted(0),
        Some(info) if info.invalid => {}
        Some(info) => {
            to.id.set_if_wanted(info.id);
            to.graph.set_if_wanted(info.graph);
            to.count.set_if_wanted(info.after.len());
            to.edges.set_if_wanted(0);
            to.nodes.set_if_wanted(info.after.as_ptr() as usize);
            // The list's memory stays where it is as the list moves.
            drop(std::mem::ManuallyDrop::into_inner(
                NODES.replace(std::mem::ManuallyDrop::new(info.after)),
            ));
        }
    }
    Ok(())
}

fn begin(stream: Handle, null: usize, mode: u32, into: Option<(usize, &[NodeId])>) -> CuResult {
    let driver = context::driver()?;
    let stream = describe(driver, stream, null)?;
    Ok(GRAPHS.begin(&stream, u64::from(thread::origin().0), Mode::new(mode)?, into)?)
}

fn update(stream: Handle, null: usize, nodes: In<usize>, count: usize, flags: u32) -> CuResult {
    if flags > 1 {
        return Err(CuError::INVALID_VALUE);
    }
    let stream = describe(context::driver()?, stream, null)?;
    // SAFETY: the program's array has `count` elements.
    let nodes = unsafe { array(nodes, count) }?;
    Ok(GRAPHS.update(&stream, &nodes, flags == 1)?)
}

entries! {
    fn cuStreamBeginCapture_v2, fn cuStreamBeginCapture_v2_ptsz(
        stream: Handle, mode: u32,
    ) |null| {
        begin(stream, null, mode, None)
    }

    /// `edges` would make dependencies of a special kind.
    fn cuStreamBeginCaptureToGraph, fn cuStreamBeginCaptureToGraph_ptsz(
        stream: Handle, graph: usize, nodes: In<usize>, edges: In<u64>, count: usize, mode: u32,
    ) |null| {
        super::graph::plain_edges(edges, count)?;
        // SAFETY: the program's array has `count` elements.
        begin(stream, null, mode, Some((graph, &unsafe { array(nodes, count) }?)))
    }

    fn cuStreamEndCapture, fn cuStreamEndCapture_ptsz(stream: Handle, graph: Out<usize>) |null| {
        graph.set(0)?;
        let stream = describe(context::driver()?, stream, null)?;
        graph.set(GRAPHS.end(&stream, u64::from(thread::origin().0))?)
    }

    fn cuStreamIsCapturing, fn cuStreamIsCapturing_ptsz(
        stream: Handle, status: Out<u32>,
    ) |null| {
        status.set(status_of(capture_info(stream, null)?.as_ref()))
    }

    fn cuStreamGetCaptureInfo, fn cuStreamGetCaptureInfo_ptsz(
        stream: Handle, status: Out<u32>, id: Out<u64>,
    ) |null| {
        let to = InfoTo { status, id, graph: Out::null(), nodes: Out::null(), edges: Out::null(), count: Out::null() };
        info(stream, null, to)
    }

    fn cuStreamGetCaptureInfo_v2, fn cuStreamGetCaptureInfo_v2_ptsz(
        stream: Handle, status: Out<u32>, id: Out<u64>, graph: Out<usize>,
        nodes: Out<usize>, count: Out<usize>,
    ) |null| {
        info(stream, null, InfoTo { status, id, graph, nodes, edges: Out::null(), count })
    }

    fn cuStreamGetCaptureInfo_v3, fn cuStreamGetCaptureInfo_v3_ptsz(
        stream: Handle, status: Out<u32>, id: Out<u64>, graph: Out<usize>,
        nodes: Out<usize>, edges: Out<usize>, count: Out<usize>,
    ) |null| {
        info(stream, null, InfoTo { status, id, graph, nodes, edges, count })
    }

    fn cuStreamUpdateCaptureDependencies, fn cuStreamUpdateCaptureDependencies_ptsz(
        stream: Handle, nodes: In<usize>, count: usize, flags: u32,
    ) |null| {
        update(stream, null, nodes, count, flags)
    }

    fn cuStreamUpdateCaptureDependencies_v2, fn cuStreamUpdateCaptureDependencies_v2_ptsz(
        stream: Handle, nodes: In<usize>, edges: In<u64>, count: usize, flags: u32,
    ) |null| {
        super::graph::plain_edges(edges, count)?;
        update(stream, null, nodes, count, flags)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: Out<u32>) {
        driver()?;
        let wanted = mode.read()?;
        Mode::new(wanted)?;
        mode.set(thread::exchange_capture_mode(wanted))
    }
}
