//! Tests graphs and captures through their C functions.

use std::ffi::c_uint;
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::*;
use cuda_api::sys::CUDA_MEMSET_NODE_PARAMS;

mod common;

const INVALID_VALUE: c_uint = 1;
const ILLEGAL_STATE: c_uint = 401;
const ILLEGAL_ADDRESS: c_uint = 700;
const NOT_SUPPORTED: c_uint = 801;
const CAPTURE_UNSUPPORTED: c_uint = 900;
const CAPTURE_INVALIDATED: c_uint = 901;
const CAPTURED_EVENT: c_uint = 907;
const UPDATE_FAILURE: c_uint = 910;

/// Returns a stream in the primary context, and a guard that keeps other tests from using the
/// context.
fn stream() -> (MutexGuard<'static, ()>, usize) {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut context, mut stream) = (0, 0);
    ok!(cuInit(0));
    ok!(cuDevicePrimaryCtxRetain(&mut context, 0));
    ok!(cuCtxSetCurrent(context));
    ok!(cuStreamCreate(&mut stream, 1));
    (guard, stream)
}

fn memory() -> u64 {
    let mut at = 0;
    ok!(cuMemAlloc_v2(&mut at, 64));
    at
}

fn word(at: u64) -> u32 {
    let mut value = 0u32;
    ok!(cuMemcpyDtoH_v2((&raw mut value).cast(), at, 4));
    value
}

fn memset(dst: u64, value: c_uint) -> CUDA_MEMSET_NODE_PARAMS {
    CUDA_MEMSET_NODE_PARAMS { dst, pitch: 0, value, elementSize: 4, width: 1, height: 1 }
}

#[test]
fn test_capture_reports_its_graph_and_leaves_none_on_failure() {
    let (_one, stream) = stream();
    let at = memory();
    let mut graph = 1;
    fails!(CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2(0, 0));
    fails!(INVALID_VALUE, cuStreamBeginCapture_v2(stream, 3));
    fails!(ILLEGAL_STATE, cuStreamEndCapture(stream, &mut graph));
    ok!(cuStreamBeginCapture_v2(stream, 0));
    fails!(ILLEGAL_STATE, cuStreamBeginCapture_v2(stream, 0));
    ok!(cuMemsetD32Async(at, 5, 1, stream));
    let (mut status, mut id, mut nodes, mut count) = (0, 0, std::ptr::null(), 0);
    ok!(cuStreamGetCaptureInfo_v2(
        stream,
        &mut status,
        &mut id,
        &mut graph,
        &mut nodes,
        &mut count
    ));
    assert!(status == 1 && id != 0 && graph != 0 && count == 1);
    // The graph can't be destroyed while the capture uses it.
    fails!(INVALID_VALUE, cuGraphDestroy(graph));
    let (mut more, mut room) = ([7; 3], 3);
    ok!(cuGraphGetNodes(graph, more.as_mut_ptr(), &mut room));
    // SAFETY: the list is valid until this thread's next query.
    assert_eq!((room, more), (1, [unsafe { *nodes }, 0, 0]));
    fails!(NOT_SUPPORTED, cuStreamWaitValue32_v2(stream, at, 0, 0));
    fails!(CAPTURE_INVALIDATED, cuMemsetD32Async(at, 6, 1, stream));
    let mut ended = 1;
    fails!(CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &mut ended));
    assert_eq!(ended, 0);
    fails!(INVALID_VALUE, cuGraphGetNodes(graph, std::ptr::null_mut(), &mut room));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(word(at), 0);
    ok!(cuMemFree_v2(at));
    ok!(cuStreamDestroy_v2(stream));
}

#[test]
fn test_only_external_events_become_nodes_of_a_capture() {
    let (_one, stream) = stream();
    let (mut place, mut outside, mut graph, mut exec) = (0, 0, 0, 0);
    ok!(cuEventCreate(&mut place, 0));
    ok!(cuEventCreate(&mut outside, 0));
    ok!(cuStreamBeginCapture_v2(stream, 2));
    ok!(cuEventRecord(place, stream));
    ok!(cuEventRecordWithFlags(outside, stream, 1));
    ok!(cuStreamEndCapture(stream, &mut graph));
    let mut count = 0;
    ok!(cuGraphGetNodes(graph, std::ptr::null_mut(), &mut count));
    assert_eq!(count, 1);
    fails!(CAPTURED_EVENT, cuEventQuery(place));
    fails!(CAPTURED_EVENT, cuEventElapsedTime(&mut 0.0, place, outside));
    ok!(cuEventRecord(place, stream));
    ok!(cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    ok!(cuGraphLaunch(exec, stream));
    ok!(cuEventSynchronize(outside));
    let mut ms = -1.0;
    ok!(cuEventElapsedTime(&mut ms, place, outside));
    assert!(ms >= 0.0);
    ok!(cuGraphExecDestroy(exec));
    ok!(cuGraphDestroy(graph));
    ok!(cuStreamDestroy_v2(stream));
}

/// The context gets the same error as after a kernel that accesses freed memory.
#[test]
fn test_a_graph_that_uses_freed_memory_fails() {
    let (_one, _) = stream();
    let kept = memory();
    let node = |at: u64, kind: c_uint, stream: usize| match kind {
        0 => ok!(cuMemsetD32Async(at, 5, 1, stream)),
        1 => ok!(cuMemcpyDtoDAsync_v2(at, kept, 4, stream)),
        _ => ok!(cuMemcpyDtoDAsync_v2(kept, at, 4, stream)),
    };
    for kind in 0..3 {
        let (mut context, mut stream, mut graph, mut exec) = (0, 0, 0, 0);
        ok!(cuCtxCreate_v2(&mut context, 0, 0));
        ok!(cuStreamCreate(&mut stream, 1));
        let freed = memory();
        ok!(cuStreamBeginCapture_v2(stream, 0));
        node(freed, kind, stream);
        ok!(cuStreamEndCapture(stream, &mut graph));
        ok!(cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok!(cuGraphLaunch(exec, stream));
        ok!(cuStreamSynchronize(stream));
        ok!(cuMemFree_v2(freed));
        ok!(cuGraphLaunch(exec, stream));
        fails!(ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
        ok!(cuCtxDestroy_v2(context));
    }
}

#[test]
fn test_built_graph_runs_in_order_and_can_be_changed() {
    let (_one, stream) = stream();
    let at = memory();
    let (mut graph, mut first, mut second, mut exec) = (0, 0, 0, 0);
    ok!(cuGraphCreate(&mut graph, 0));
    let none = std::ptr::null();
    ok!(cuGraphAddMemsetNode(&mut second, graph, none, 0, &memset(at, 2), 0));
    ok!(cuGraphAddMemsetNode(&mut first, graph, none, 0, &memset(at, 1), 0));
    fails!(INVALID_VALUE, cuGraphAddMemsetNode(&mut 0, graph, none, 0, &memset(64, 1), 0));
    fails!(INVALID_VALUE, cuGraphAddMemsetNode(&mut 0, graph, &99, 1, &memset(at, 1), 0));
    ok!(cuGraphAddDependencies(graph, &first, &second, 1));
    fails!(INVALID_VALUE, cuGraphAddDependencies(graph, &first, &second, 1));
    let (mut from, mut to, mut count) = (0, 0, 1);
    ok!(cuGraphGetEdges(graph, &mut from, &mut to, &mut count));
    assert_eq!((from, to, count), (first, second, 1));
    ok!(cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    ok!(cuGraphLaunch(exec, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(word(at), 2);
    ok!(cuGraphExecMemsetNodeSetParams(exec, second, &memset(at, 3), 0));
    fails!(INVALID_VALUE, cuGraphExecMemsetNodeSetParams(exec, exec, &memset(at, 3), 0));
    ok!(cuGraphLaunch(exec, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(word(at), 3);
    // Update the executable graph from the graph that it was instantiated from, which hasn't
    // changed.
    let mut info = [9; 3];
    ok!(cuGraphExecUpdate_v2(exec, graph, &mut info));
    ok!(cuGraphLaunch(exec, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!((word(at), info[0] as u32), (2, 0));
    ok!(cuGraphAddEmptyNode(&mut 0, graph, none, 0));
    fails!(UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, graph, &mut info));
    assert_eq!(info[0] as u32, 2);
    // A cyclic graph can't be instantiated.
    ok!(cuGraphAddDependencies(graph, &second, &first, 1));
    fails!(INVALID_VALUE, cuGraphInstantiateWithFlags(&mut 0, graph, 0));
    fails!(NOT_SUPPORTED, cuGraphInstantiateWithFlags(&mut 0, graph, 4));
    ok!(cuGraphDestroy(graph));
    fails!(INVALID_VALUE, cuGraphDestroy(graph));
    ok!(cuGraphExecDestroy(exec));
    fails!(INVALID_VALUE, cuGraphLaunch(exec, stream));
    ok!(cuMemFree_v2(at));
    ok!(cuStreamDestroy_v2(stream));
}

/// Captures an allocation of 64 MiB in a graph that doesn't free it, and instantiates the graph.
/// Returns the address, the graph, and the executable graph.
fn keeping(stream: usize) -> (u64, usize, usize) {
    let (mut at, mut graph, mut exec) = (0, 0, 0);
    ok!(cuStreamBeginCapture_v2(stream, 0));
    ok!(cuMemAllocAsync(&mut at, 64 << 20, stream));
    ok!(cuMemsetD32Async(at, 5, 16 << 20, stream));
    ok!(cuStreamEndCapture(stream, &mut graph));
    ok!(cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    (at, graph, exec)
}

fn free_bytes() -> usize {
    let (mut free, mut total) = (0, 0);
    ok!(cuMemGetInfo_v2(&mut free, &mut total));
    free
}

#[test]
fn test_graph_memory_lives_until_graph_and_program_have_freed_it() {
    let (_one, stream) = stream();
    ok!(cuDeviceGraphMemTrim(0));
    let before = free_bytes();
    let trimmed = || {
        ok!(cuStreamSynchronize(stream));
        ok!(cuDeviceGraphMemTrim(0));
        before - free_bytes()
    };
    // The graph was never launched, so the program doesn't own its memory and can't free it.
    let (at, graph, exec) = keeping(stream);
    fails!(INVALID_VALUE, cuMemFree_v2(at));
    fails!(INVALID_VALUE, cuMemFreeAsync(at, stream));
    ok!(cuGraphDestroy(graph));
    assert_eq!(trimmed(), 64 << 20);
    ok!(cuGraphExecDestroy(exec));
    assert_eq!(trimmed(), 0);
    // A graph can be destroyed while it runs. Its memory remains allocated.
    let (at, graph, exec) = keeping(stream);
    ok!(cuGraphLaunch(exec, stream));
    ok!(cuGraphExecDestroy(exec));
    ok!(cuGraphDestroy(graph));
    ok!(cuStreamSynchronize(stream));
    assert_eq!((word(at), word(at + (64 << 20) - 4)), (5, 5));
    ok!(cuMemFreeAsync(at, stream));
    fails!(INVALID_VALUE, cuMemFreeAsync(at, stream));
    assert_eq!(trimmed(), 0);
    ok!(cuStreamDestroy_v2(stream));
}

#[test]
fn test_graph_memory_is_reused_within_a_graph_after_its_free() {
    let (_one, stream) = stream();
    let (mut first, mut second, mut third, mut graph) = (0, 0, 0, 0);
    ok!(cuStreamBeginCapture_v2(stream, 0));
    ok!(cuMemAllocAsync(&mut first, 8 << 20, stream));
    ok!(cuMemAllocAsync(&mut second, 8 << 20, stream));
    assert_ne!(first, second);
    ok!(cuMemFreeAsync(first, stream));
    fails!(INVALID_VALUE, cuMemFreeAsync(first, stream));
    ok!(cuMemAllocAsync(&mut third, 8 << 20, stream));
    assert_eq!(first, third);
    ok!(cuMemFreeAsync(second, stream));
    ok!(cuMemFreeAsync(third, stream));
    ok!(cuStreamEndCapture(stream, &mut graph));
    ok!(cuGraphDestroy(graph));
    ok!(cuStreamDestroy_v2(stream));
}

#[test]
fn test_launch_frees_only_memory_that_is_live() {
    let (_one, stream) = stream();
    let (at, graph, exec) = keeping(stream);
    let (mut other, mut frees) = (0, 0);
    let none = std::ptr::null();
    ok!(cuGraphCreate(&mut other, 0));
    ok!(cuGraphAddMemFreeNode(&mut 0, other, none, 0, at));
    fails!(INVALID_VALUE, cuGraphAddMemFreeNode(&mut 0, other, none, 0, at));
    fails!(INVALID_VALUE, cuGraphAddMemFreeNode(&mut 0, other, none, 0, at + 512));
    ok!(cuGraphInstantiateWithFlags(&mut frees, other, 0));
    fails!(INVALID_VALUE, cuGraphLaunch(frees, stream));
    ok!(cuGraphLaunch(exec, stream));
    fails!(INVALID_VALUE, cuGraphLaunch(exec, stream));
    ok!(cuGraphLaunch(frees, stream));
    fails!(INVALID_VALUE, cuGraphLaunch(frees, stream));
    fails!(INVALID_VALUE, cuMemFree_v2(at));
    let mut info = [9; 3];
    fails!(UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, graph, &mut info));
    for graph in [graph, other] {
        ok!(cuGraphDestroy(graph));
    }
    for exec in [exec, frees] {
        ok!(cuGraphExecDestroy(exec));
    }
    ok!(cuStreamSynchronize(stream));
    ok!(cuStreamDestroy_v2(stream));
}
