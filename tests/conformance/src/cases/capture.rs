//! The state of captures, and captures that continue a graph.

use super::cases;
use super::graph::{add, graph, instantiate, memset, run};
use crate::cuda::{Cuda, Outcome, cu, ensure, get, refused, same};
use cuda_api::sys::{CUstream, CUstreamCaptureMode as Mode, CUstreamCaptureStatus as Status};
use std::ptr::{null, null_mut};

const RELAXED: Mode = Mode::CU_STREAM_CAPTURE_MODE_RELAXED;
const ACTIVE: Status = Status::CU_STREAM_CAPTURE_STATUS_ACTIVE;
const NONE: Status = Status::CU_STREAM_CAPTURE_STATUS_NONE;

fn stream(cuda: &Cuda) -> Outcome<CUstream> {
    Ok(get!(cuda, cuStreamCreate(@, 1))?)
}

cases! {
    fn a_capture_has_an_id_and_a_graph(cuda, primary) {
        let (stream, pointer) = (stream(cuda)?, cuda.alloc(64)?);
        let (mut status, mut id) = (Status(77), [0; 3]);
        cu!(cuda, cuStreamGetCaptureInfo(stream, &mut status, &mut id[0]))?;
        same!(status, NONE);
        cu!(cuda, cuStreamBeginCapture_v2(stream, RELAXED))?;
        cu!(cuda, cuMemsetD32Async(pointer, 1, 4, stream))?;
        cu!(cuda, cuMemsetD32Async(pointer + 16, 2, 4, stream))?;
        cu!(cuda, cuStreamGetCaptureInfo(stream, &mut status, &mut id[0]))?;
        same!(status, ACTIVE);
        let (mut graph, mut last, mut count) = (null_mut(), null(), 0);
        let (mut other, mut edges) = (null_mut(), null());
        let (s, g, l, n) = (&mut status, &mut graph, &mut last, &mut count);
        cu!(cuda, cuStreamGetCaptureInfo_v2(stream, s, &mut id[1], g, l, n))?;
        same!((*s, *n), (ACTIVE, 1));
        cu!(cuda, cuStreamGetCaptureInfo_v3(stream, s, &mut id[2], &mut other, l, &mut edges, n))?;
        same!((*s, *n), (ACTIVE, 1));
        same!((graph, id[0]), (other, id[1]));
        same!(id[1], id[2]);
        let nodes = get!(cuda, cuGraphGetNodes(graph, null_mut(), @))?;
        same!(nodes, 2);
        cu!(cuda, cuStreamEndCapture(stream, &mut other))?;
        same!(other, graph);
        cu!(cuda, cuGraphDestroy(graph))?;
        let (none, nothing) = (null_mut(), null_mut());
        refused!(cu!(cuda, cuStreamGetCaptureInfo(stream, null_mut(), &mut id[0])), INVALID_VALUE);
        let called = cu!(cuda, cuStreamGetCaptureInfo_v2(stream, null_mut(), none, &mut other, nothing, null_mut()));
        refused!(called, INVALID_VALUE);
        let (none, nothing, nowhere) = (null_mut(), null_mut(), null_mut());
        let called = cu!(
            cuda,
            cuStreamGetCaptureInfo_v3(stream, null_mut(), none, &mut other, nothing, nowhere, null_mut())
        );
        refused!(called, INVALID_VALUE);
        refused!(cu!(cuda, cuStreamIsCapturing(stream, null_mut())), INVALID_VALUE);
    }

    fn the_nodes_that_come_next_can_be_made_independent(cuda, primary) {
        let (stream, pointer) = (stream(cuda)?, cuda.alloc(64)?);
        cu!(cuda, cuMemsetD32_v2(pointer, 0, 16))?;
        let (mut graph, mut roots, mut edges) = (null_mut(), 0, 0);
        cu!(cuda, cuStreamBeginCapture_v2(stream, RELAXED))?;
        cu!(cuda, cuMemsetD32Async(pointer, 1, 4, stream))?;
        let (mut last, mut count, mut status) = (null(), 0, NONE);
        let (l, n) = (&mut last, &mut count);
        cu!(cuda, cuStreamGetCaptureInfo_v2(stream, &mut status, null_mut(), null_mut(), l, n))?;
        same!(count, 1);
        // SAFETY: the library returned an array with one node.
        let mut first = unsafe { *last };
        // Replace the dependencies of the next captured node with none, so that it doesn't depend
        // on the first memset.
        let (replace, append) = (1, 0);
        cu!(cuda, cuStreamUpdateCaptureDependencies(stream, null_mut(), 0, replace))?;
        cu!(cuda, cuMemsetD32Async(pointer + 16, 2, 4, stream))?;
        cu!(cuda, cuStreamUpdateCaptureDependencies_v2(stream, &mut first, null(), 1, append))?;
        cu!(cuda, cuMemsetD32Async(pointer + 32, 3, 4, stream))?;
        refused!(cu!(cuda, cuStreamUpdateCaptureDependencies(stream, &mut first, 1, 99)), INVALID_VALUE);
        let called =
            cu!(cuda, cuStreamUpdateCaptureDependencies_v2(stream, &mut first, null(), 1, 99));
        refused!(called, INVALID_VALUE);
        cu!(cuda, cuStreamEndCapture(stream, &mut graph))?;
        cu!(cuda, cuGraphGetRootNodes(graph, null_mut(), &mut roots))?;
        cu!(cuda, cuGraphGetEdges(graph, null_mut(), null_mut(), &mut edges))?;
        same!((roots, edges), (2, 2));
        let exec = instantiate(cuda, graph)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 13)?[3..], [1, 2, 2, 2, 2, 3, 3, 3, 3, 0]);
        refused!(
            cu!(cuda, cuStreamUpdateCaptureDependencies(stream, &mut first, 1, append)),
            ILLEGAL_STATE
        );
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    /// A stream that takes part in a capture must usually be joined with the stream that began it.
    /// That isn't necessary if the program has replaced the stream's dependencies, even by the same
    /// ones, or has added a dependency on a node that depends on them.
    fn a_stream_with_changed_dependencies_is_not_joined(cuda, primary) {
        let (first, other, mut event) = (stream(cuda)?, stream(cuda)?, null_mut());
        cu!(cuda, cuEventCreate(&mut event, 0))?;
        let pointer = cuda.alloc(64)?;
        let (replace, append) = (Some(1), Some(0));
        // Each element contains: `flags`, the flags of the call that changes the dependencies, or
        // `None` without such a call; `new`, the node in that call, which is the captured one
        // (`None`), a new node that depends on it (`Some(true)`), or a new node that doesn't
        // (`Some(false)`); `again`, whether another operation is captured afterward; and `joined`,
        // whether the capture then ends without an error although the stream isn't joined.
        for (flags, new, again, joined) in [
            (None, None, false, false),
            (replace, None, false, true),
            (append, None, false, false),
            (replace, Some(true), false, true),
            (append, Some(true), false, true),
            (replace, Some(false), false, true),
            (append, Some(false), false, false),
            (replace, None, true, false),
        ] {
            let mut graph = null_mut();
            cu!(cuda, cuStreamBeginCapture_v2(first, RELAXED))?;
            cu!(cuda, cuEventRecord(event, first))?;
            cu!(cuda, cuStreamWaitEvent(other, event, 0))?;
            cu!(cuda, cuMemsetD32Async(pointer, 1, 4, other))?;
            if let Some(flags) = flags {
                let (mut last, mut count, mut status, mut into) = (null(), 0, NONE, null_mut());
                let (l, n, g) = (&mut last, &mut count, &mut into);
                cu!(cuda, cuStreamGetCaptureInfo_v2(other, &mut status, null_mut(), g, l, n))?;
                // SAFETY: the library returned an array with one node.
                let (captured, mut node) = unsafe { (*last, *last) };
                if let Some(depends) = new {
                    let count = usize::from(depends);
                    cu!(cuda, cuGraphAddEmptyNode(&mut node, into, &captured, count))?;
                }
                cu!(cuda, cuStreamUpdateCaptureDependencies(other, &mut node, 1, flags))?;
            }
            if again {
                cu!(cuda, cuMemsetD32Async(pointer, 2, 4, other))?;
            }
            let ended = cu!(cuda, cuStreamEndCapture(first, &mut graph));
            if !joined {
                refused!(ended, STREAM_CAPTURE_UNJOINED);
                continue;
            }
            ended?;
            cu!(cuda, cuGraphDestroy(graph))?;
        }
    }

    fn a_capture_can_add_to_a_graph(cuda, primary) {
        let (stream, pointer, graph) = (stream(cuda)?, cuda.alloc(64)?, graph(cuda)?);
        cu!(cuda, cuMemsetD32_v2(pointer, 0, 16))?;
        let first = add(cuda, graph, &[], memset(pointer, 1, 8))?;
        cu!(cuda, cuStreamBeginCaptureToGraph(stream, graph, &first, null(), 1, RELAXED))?;
        cu!(cuda, cuMemsetD32Async(pointer + 16, 2, 4, stream))?;
        let captured = get!(cuda, cuStreamEndCapture(stream, @))?;
        same!(captured, graph);
        let nodes = get!(cuda, cuGraphGetNodes(graph, null_mut(), @))?;
        let edges = get!(cuda, cuGraphGetEdges(graph, null_mut(), null_mut(), @))?;
        same!((nodes, edges), (2, 1));
        let exec = instantiate(cuda, graph)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 9)?, [1, 1, 1, 1, 2, 2, 2, 2, 0]);
        let called = cu!(cuda, cuStreamBeginCaptureToGraph(stream, null_mut(), null(), null(), 0, RELAXED));
        refused!(called, INVALID_VALUE | INVALID_HANDLE);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn a_thread_has_a_capture_mode(cuda, primary) {
        let (mut mode, stream) = (RELAXED, stream(cuda)?);
        cu!(cuda, cuThreadExchangeStreamCaptureMode(&mut mode))?;
        same!(mode, Mode::CU_STREAM_CAPTURE_MODE_GLOBAL);
        cu!(cuda, cuThreadExchangeStreamCaptureMode(&mut mode))?;
        same!(mode, RELAXED);
        refused!(cu!(cuda, cuStreamBeginCapture_v2(stream, Mode(99))), INVALID_VALUE);
        let mut status = ACTIVE;
        cu!(cuda, cuStreamIsCapturing(stream, &mut status))?;
        same!(status, NONE);
        let (mut second, mut captured) = (null_mut(), null_mut());
        cu!(cuda, cuStreamCreate(&mut second, 1))?;
        cu!(cuda, cuStreamBeginCapture_v2(stream, RELAXED))?;
        // A stream that is being captured can't begin another capture, and a stream that takes no
        // part in the capture can't end it.
        ensure!(cu!(cuda, cuStreamBeginCapture_v2(stream, RELAXED)).is_err(), "it began twice");
        refused!(cu!(cuda, cuStreamEndCapture(second, &mut captured)), ILLEGAL_STATE);
        let _ = cu!(cuda, cuStreamEndCapture(stream, &mut captured));
    }

    fn the_first_version_captures_in_the_relaxed_mode(cuda, primary) {
        let (stream, pointer) = (stream(cuda)?, cuda.alloc(64)?);
        cuda.upload(pointer, &[0u32; 4])?;
        let (mut captured, mut other) = (null_mut(), 0);
        cu!(cuda, cuStreamBeginCapture(stream))?;
        cu!(cuda, cuMemsetD32Async(pointer, 6, 2, stream))?;
        cu!(cuda, cuStreamEndCapture(stream, &mut captured))?;
        same!(cuda.download::<u32>(pointer, 3)?, [0, 0, 0]);
        let exec = instantiate(cuda, captured)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 3)?, [6, 6, 0]);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(captured))?;
        cu!(cuda, cuStreamBeginCapture(stream))?;
        // `cuStreamBeginCapture` begins a capture in a mode that, unlike the global mode, allows
        // the thread to make potentially unsafe calls.
        cu!(cuda, cuMemAlloc_v2(&mut other, 64))?;
        cu!(cuda, cuStreamEndCapture(stream, &mut captured))?;
        cu!(cuda, cuStreamBeginCapture(stream))?;
        refused!(cu!(cuda, cuStreamBeginCapture(stream)), ILLEGAL_STATE);
        refused!(cu!(cuda, cuStreamBeginCapture_v2(stream, RELAXED)), ILLEGAL_STATE);
        let _ = cu!(cuda, cuStreamEndCapture(stream, &mut captured));
    }
}
