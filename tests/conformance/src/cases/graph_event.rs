//! Graph nodes that record events or wait for them.

use super::cases;
use super::graph::{empty, graph, instantiate};
use crate::cuda::{Cuda, Outcome, cu, get, refused, same};
use cuda_api::sys::{CUevent, CUgraphExec, CUstream};
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The number of slow host functions that have finished. Each case runs in its own process.
static FINISHED: AtomicU32 = AtomicU32::new(0);

/// Adds 1 to `FINISHED` after a delay, in which work that doesn't wait for this function would run.
unsafe extern "C" fn slow(_: *mut c_void) {
    std::thread::sleep(Duration::from_millis(150));
    FINISHED.fetch_add(1, Ordering::SeqCst);
}

fn event(cuda: &Cuda) -> Outcome<CUevent> {
    Ok(get!(cuda, cuEventCreate(@, 0))?)
}

fn stream(cuda: &Cuda) -> Outcome<CUstream> {
    Ok(get!(cuda, cuStreamCreate(@, 1))?)
}

/// Runs a slow host function in the first stream, records an event after it, and launches a graph
/// in the second stream. Returns how many slow functions had finished when the graph had finished.
fn finished(
    cuda: &Cuda,
    exec: CUgraphExec,
    [first, second]: [CUstream; 2],
    event: CUevent,
) -> Outcome<u32> {
    cu!(cuda, cuLaunchHostFunc(first, Some(slow), null_mut()))?;
    cu!(cuda, cuEventRecord(event, first))?;
    cu!(cuda, cuGraphLaunch(exec, second))?;
    cu!(cuda, cuStreamSynchronize(second))?;
    let finished = FINISHED.load(Ordering::SeqCst);
    cu!(cuda, cuStreamSynchronize(first))?;
    Ok(finished)
}

cases! {
    fn a_node_records_an_event(cuda, primary) {
        let (graph, stream) = (graph(cuda)?, stream(cuda)?);
        let [start, end, other, last] = [event(cuda)?, event(cuda)?, event(cuda)?, event(cuda)?];
        let first = get!(cuda, cuGraphAddEventRecordNode(@, graph, null(), 0, start))?;
        let second = get!(cuda, cuGraphAddEventRecordNode(@, graph, &first, 1, end))?;
        let mut found = get!(cuda, cuGraphEventRecordNodeGetEvent(second, @))?;
        same!(found, end);
        let none = empty(cuda, graph, &[second])?;
        let exec = instantiate(cuda, graph)?;
        // The elapsed time between two events exists only if both of them have been recorded.
        let mut time = 0.0;
        let mut recorded =
            |event| cu!(cuda, cuEventElapsedTime_v2(&mut time, start, event));
        refused!(recorded(end), INVALID_HANDLE);
        cu!(cuda, cuGraphLaunch(exec, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        recorded(end)?;
        refused!(recorded(other), INVALID_HANDLE);
        // A change of a node affects only later instantiations. A change of an executable graph's
        // node affects later launches.
        cu!(cuda, cuGraphEventRecordNodeSetEvent(second, other))?;
        cu!(cuda, cuGraphEventRecordNodeGetEvent(second, &mut found))?;
        same!(found, other);
        let later = instantiate(cuda, graph)?;
        cu!(cuda, cuGraphExecEventRecordNodeSetEvent(exec, second, last))?;
        for (exec, event) in [(later, other), (exec, last)] {
            refused!(recorded(event), INVALID_HANDLE);
            cu!(cuda, cuGraphLaunch(exec, stream))?;
            cu!(cuda, cuStreamSynchronize(stream))?;
            recorded(event)?;
        }
        let mut node = null_mut();
        let added = cu!(cuda, cuGraphAddEventRecordNode(&mut node, null_mut(), null(), 0, end));
        refused!(added, INVALID_VALUE);
        refused!(cu!(cuda, cuGraphEventRecordNodeGetEvent(none, &mut found)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphEventRecordNodeSetEvent(none, end)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphExecEventRecordNodeSetEvent(exec, none, end)), INVALID_VALUE);
        for exec in [exec, later] {
            cu!(cuda, cuGraphExecDestroy(exec))?;
        }
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn a_node_waits_for_an_event(cuda, primary) {
        let (graph, streams) = (graph(cuda)?, [stream(cuda)?, stream(cuda)?]);
        let [first, second, third] = [event(cuda)?, event(cuda)?, event(cuda)?];
        let node = get!(cuda, cuGraphAddEventWaitNode(@, graph, null(), 0, first))?;
        let mut found = get!(cuda, cuGraphEventWaitNodeGetEvent(node, @))?;
        same!(found, first);
        let none = empty(cuda, graph, &[node])?;
        let exec = instantiate(cuda, graph)?;
        same!(finished(cuda, exec, streams, first)?, 1);
        // A change of a node affects only later instantiations. A change of an executable graph's
        // node affects later launches.
        cu!(cuda, cuGraphEventWaitNodeSetEvent(node, second))?;
        cu!(cuda, cuGraphEventWaitNodeGetEvent(node, &mut found))?;
        same!(found, second);
        let later = instantiate(cuda, graph)?;
        same!(finished(cuda, later, streams, second)?, 2);
        cu!(cuda, cuGraphExecEventWaitNodeSetEvent(exec, node, third))?;
        same!(finished(cuda, exec, streams, third)?, 3);
        let mut added = null_mut();
        let added = cu!(cuda, cuGraphAddEventWaitNode(&mut added, null_mut(), null(), 0, first));
        refused!(added, INVALID_VALUE);
        refused!(cu!(cuda, cuGraphEventWaitNodeGetEvent(none, &mut found)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphEventWaitNodeSetEvent(none, first)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphExecEventWaitNodeSetEvent(exec, none, first)), INVALID_VALUE);
        for exec in [exec, later] {
            cu!(cuda, cuGraphExecDestroy(exec))?;
        }
        cu!(cuda, cuGraphDestroy(graph))?;
    }
}
