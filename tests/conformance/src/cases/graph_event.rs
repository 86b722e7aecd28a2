//! Nodes that record events or wait for them.

use super::cases;
use super::graph::{empty, graph, instantiate};
use crate::cuda::{Cuda, Outcome, cu, get, refused, same};
use cuda_api::sys::{CUevent, CUgraphExec, CUstream};
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The number of slow functions that have finished. A case runs in a process of its own.
static FINISHED: AtomicU32 = AtomicU32::new(0);

/// Gives other work time to overtake it.
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

/// Launches a graph in one stream while another stream runs a slow function and then records an
/// event. Returns how many functions had finished when the graph had.
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
        // The time between two events is known only if both have been recorded.
        let mut time = 0.0;
        let mut recorded =
            |event| cu!(cuda, cuEventElapsedTime_v2(&mut time, start, event));
        refused!(recorded(end), INVALID_HANDLE);
        cu!(cuda, cuGraphLaunch(exec, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        recorded(end)?;
        refused!(recorded(other), INVALID_HANDLE);
        // A changed node affects later instantiations, and a changed executable node later launches.
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
        // A changed node affects later instantiations, and a changed executable node later launches.
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
