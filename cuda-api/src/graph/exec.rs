//! Entry points for instantiated graphs.

use super::ids::{GraphId, NodeId, Operation};
use super::library::{Exec, Held, Library, Op};
use super::steps::{Difference, Step};
use crate::args::{Arg, Out};
use crate::error::{CuError, CuResult};
use crate::sys::{
    CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraph, CUgraphExec, CUgraphExecUpdateResult,
    CUgraphExecUpdateResultInfo, CUgraphInstantiate_flags as Flags, CUgraphInstantiateResult,
    CUgraphNode, CUstream,
};
use std::ffi::c_char;
use std::ptr::null_mut;

const AUTO_FREE: u64 = Flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH.0 as u64;
const UPLOAD: u64 = Flags::CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD.0 as u64;
const DEVICE_LAUNCH: u64 = Flags::CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH.0 as u64;
const NODE_PRIORITY: u64 = Flags::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY.0 as u64;
const ALL_FLAGS: u64 = AUTO_FREE | UPLOAD | DEVICE_LAUNCH | NODE_PRIORITY;

/// Implements `cuGraphInstantiateWithFlags`.
pub fn instantiate<L: Library>(to: Out<CUgraphExec>, graph: CUgraph, flags: u64) -> CuResult {
    to.check()?;
    L::ready()?;
    if flags & !ALL_FLAGS != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    if flags & DEVICE_LAUNCH != 0 {
        return Err(CuError::NOT_SUPPORTED);
    }
    let instance = L::graphs().with(|table| table.instance(graph as GraphId))?;
    let (steps, users) = steps_of::<L>(graph)?;
    to.set(L::insert(Exec::new(flags, steps, users, instance)?)?)
}

/// Implements the older `cuGraphInstantiate`. The log that it returns is empty.
///
/// # Safety
///
/// If not null, the buffer must have `room` bytes.
pub unsafe fn instantiate_with_log<L: Library>(
    to: Out<CUgraphExec>,
    graph: CUgraph,
    error_node: Out<CUgraphNode>,
    (log, room): (Out<c_char>, usize),
) -> CuResult {
    error_node.set_if_wanted(null_mut());
    if log.is_wanted() && room > 0 {
        log.set(0)?;
    }
    instantiate::<L>(to, graph, 0)
}

type Steps<L> = Vec<Step<Op<L>>>;

/// Returns the steps of a graph, and references to its user objects.
fn steps_of<L: Library>(graph: CUgraph) -> CuResult<(Steps<L>, Held<L>)> {
    L::graphs().with(|table| {
        let steps = table.steps(graph as GraphId)?;
        Ok((steps, Held::new(table.retain_users_of(graph as GraphId)?)))
    })
}

/// Implements `cuGraphInstantiateWithParams`.
pub fn instantiate_with<L: Library>(
    to: Out<CUgraphExec>,
    graph: CUgraph,
    params: Out<CUDA_GRAPH_INSTANTIATE_PARAMS>,
    per_thread: bool,
) -> CuResult {
    let mut given = params.read()?;
    let circle = L::graphs().with(|table| table.steps(graph as GraphId)).is_err();
    let mut made = instantiate::<L>(to, graph, given.flags);
    if made.is_ok() && given.flags & UPLOAD != 0 {
        made = upload::<L>(to.read()?, given.hUploadStream, per_thread);
    }
    given.hErrNode_out = null_mut();
    given.result_out = match made {
        Ok(()) => CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_SUCCESS,
        Err(_) if circle => CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE,
        Err(_) => CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_ERROR,
    };
    params.set(given)?;
    made
}

/// Fails if a stream is being captured, for a call that a capture can't contain.
fn refuse_captured<L: Library>(stream: CUstream, per_thread: bool) -> CuResult {
    if !L::graphs().any_capture() {
        return Ok(());
    }
    L::graphs().forbid_on(&L::stream(stream, per_thread)?)
}

/// Implements `cuGraphUpload`.
pub fn upload<L: Library>(exec: CUgraphExec, stream: CUstream, per_thread: bool) -> CuResult {
    L::ready()?;
    let exec = L::exec(exec)?;
    refuse_captured::<L>(stream, per_thread)?;
    L::upload(&exec, stream, per_thread)
}

/// Implements `cuGraphLaunch`.
pub fn launch<L: Library>(exec: CUgraphExec, stream: CUstream, per_thread: bool) -> CuResult {
    L::ready()?;
    let exec = L::exec(exec)?;
    refuse_captured::<L>(stream, per_thread)?;
    let before = exec.begin_launch(exec.flags() & AUTO_FREE != 0)?;
    let launched = L::launch(&exec, stream, per_thread);
    if let (Err(_), Some(before)) = (launched, before) {
        L::memories().undo(before);
    }
    launched
}

/// Implements the older `cuGraphExecUpdate`.
pub fn update_v1<L: Library>(
    exec: CUgraphExec,
    graph: CUgraph,
    error_node: Out<CUgraphNode>,
    result: Out<CUgraphExecUpdateResult>,
) -> CuResult {
    let mut info = CUgraphExecUpdateResultInfo::default();
    // SAFETY: the pointer is to a local variable, which lives until `update` returns.
    let updated = update::<L>(exec, graph, unsafe { Out::from_c(&mut info) });
    // The older call has no result for a changed topology. It reports such a change as not
    // supported, without a node.
    if info.result == CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED {
        info.result = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
        info.errorNode = null_mut();
    }
    error_node.set_if_wanted(info.errorNode);
    result.set_if_wanted(info.result);
    updated
}

/// Implements `cuGraphExecUpdate`. The pointer to the details may be null.
pub fn update<L: Library>(
    exec: CUgraphExec,
    graph: CUgraph,
    to: Out<CUgraphExecUpdateResultInfo>,
) -> CuResult {
    L::ready()?;
    let exec = L::exec(exec)?;
    let (steps, users) = steps_of::<L>(graph)?;
    let updated = exec.update(steps, users)?;
    let (result, node): Difference =
        updated.err().unwrap_or((CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS, None));
    to.set_if_wanted(CUgraphExecUpdateResultInfo {
        result,
        errorNode: node.unwrap_or(0) as CUgraphNode,
        errorFromNode: null_mut(),
    });
    updated.map_err(|_| CuError::GRAPH_EXEC_UPDATE_FAILURE)
}

/// Implements `cuGraphExecChildGraphNodeSetParams`.
pub fn set_child<L: Library>(exec: CUgraphExec, node: CUgraphNode, child: CUgraph) -> CuResult {
    L::ready()?;
    let exec = L::exec(exec)?;
    let (steps, users) = steps_of::<L>(child)?;
    let uses_memory = |op: &Op<L>| op.memory().is_some();
    if steps.iter().any(|step| step.branch.is_some() || step.op.as_ref().is_some_and(uses_memory)) {
        return Err(CuError::NOT_SUPPORTED);
    }
    exec.set_child(node as NodeId, &steps, users)
}

/// Replaces the work of a node in an instantiated graph with other work of the same kind.
pub fn set_node<L: Library>(exec: CUgraphExec, node: CUgraphNode, op: Op<L>) -> CuResult {
    L::ready()?;
    L::exec(exec)?.set_node(node as NodeId, op)
}

/// Implements `cuGraphNodeGetEnabled`.
pub fn is_enabled<L: Library>(exec: CUgraphExec, node: CUgraphNode, to: Out<u32>) -> CuResult {
    to.check()?;
    to.set(L::exec(exec)?.is_enabled(node as NodeId)?.into())
}

/// Implements `cuGraphNodeSetEnabled`.
pub fn set_enabled<L: Library>(exec: CUgraphExec, node: CUgraphNode, enabled: u32) -> CuResult {
    L::ready()?;
    L::exec(exec)?.set_enabled(node as NodeId, enabled != 0)
}

/// Implements `cuGraphExecGetFlags`. The flag for an upload isn't returned, because the upload was
/// a part of the instantiation.
pub fn flags<L: Library>(exec: CUgraphExec, to: Out<u64>) -> CuResult {
    to.set(L::exec(exec)?.flags() & !UPLOAD)
}
