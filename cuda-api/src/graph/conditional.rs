//! Entry points for conditional nodes: nodes whose body graphs run depending on a value that
//! kernels set.

use super::condition::Kind;
use super::ids::{GraphId, NodeId};
use super::library::Library;
use super::lists::After;
use super::structure;
use crate::args::Out;
use crate::error::{CuError, CuResult};
use crate::sys::{
    CU_GRAPH_COND_ASSIGN_DEFAULT, CUDA_CONDITIONAL_NODE_PARAMS, CUcontext, CUgraph,
    CUgraphConditionalHandle, CUgraphNode,
};

/// Maximum number of bodies of a node.
const BODIES_MAX: u32 = 1 << 16;

/// Implements `cuGraphConditionalHandleCreate`.
pub fn create_handle<L: Library>(
    to: Out<CUgraphConditionalHandle>,
    graph: CUgraph,
    context: CUcontext,
    default: u32,
    flags: u32,
) -> CuResult {
    to.check()?;
    L::ready()?;
    if flags & !CU_GRAPH_COND_ASSIGN_DEFAULT != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    if context.is_null() {
        return Err(CuError::INVALID_CONTEXT);
    }
    let default = (flags != 0).then_some(default);
    let (root, present) = L::graphs().with(|table| table.conditions(graph as GraphId))?;
    // Don't lock the graphs here, because `L::condition` may have to wait.
    let (conditions, handle) = L::condition(context, present, default)?;
    L::graphs().with(|table| table.add_condition(root, conditions, handle, default))?;
    to.set(handle)
}

/// Adds a conditional node, and stores the address of the array of its bodies in the parameters.
///
/// # Safety
///
/// If not null, the arrays in `after` must have as many elements as `after` says.
pub unsafe fn add<L: Library>(
    to: Out<CUgraphNode>,
    graph: CUgraph,
    after: After,
    params: &mut CUDA_CONDITIONAL_NODE_PARAMS,
) -> CuResult {
    L::ready()?;
    if params.ctx.is_null() {
        return Err(CuError::INVALID_CONTEXT);
    }
    let kind = Kind::new(params.type_, params.size)?;
    if params.size > BODIES_MAX {
        return Err(CuError::OUT_OF_MEMORY);
    }
    let (handle, size) = (params.handle, params.size);
    // SAFETY: the caller promises that the arrays have as many elements as `after` says.
    unsafe {
        structure::add::<L>(to, graph, after, |table, graph, after| -> CuResult<NodeId> {
            let (node, bodies) = table.add_conditional(graph, (handle, kind, size), after)?;
            params.phGraph_out = bodies.cast_mut().cast();
            Ok(node)
        })
    }
}
