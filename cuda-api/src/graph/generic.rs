//! Entry points that take the parameters of any kind of node.

use super::dag::Work;
use super::ids::{GraphId, NodeId};
use super::library::{Library, Op};
use super::lists::After;
use super::{alloc, conditional, exec, nodes, structure};
use crate::args::{Arg, In, Out};
use crate::error::{CuError, CuResult};
use crate::sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS,
    CUDA_MEMSET_NODE_PARAMS, CUgraph, CUgraphChildGraphNodeOwnership as Ownership, CUgraphExec,
    CUgraphNode, CUgraphNodeParams, CUgraphNodeType as Kind,
};

const INVALID: CuError = CuError::INVALID_VALUE;

/// Returns the operation that the parameters describe. `present` is the node that gets the
/// operation, if it exists already.
///
/// # Safety
///
/// The pointers in the parameters must be valid as the call for this kind of node requires.
unsafe fn op<L: Library>(
    params: &CUgraphNodeParams,
    present: Option<CUgraphNode>,
) -> CuResult<Op<L>> {
    let given = &params.__bindgen_anon_1;
    // SAFETY: the type says which member of the union the program has set. Every bit pattern is
    // valid for these members. The pointers are to local variables, or valid as the caller promises.
    unsafe {
        match params.type_ {
            Kind::CU_GRAPH_NODE_TYPE_KERNEL => {
                let kernel = given.kernel;
                match present {
                    Some(node) => nodes::other_kernel(node, In::from_c(&raw const kernel)),
                    None => nodes::kernel(In::from_c(&raw const kernel)),
                }
            }
            Kind::CU_GRAPH_NODE_TYPE_MEMCPY => {
                let copy = given.memcpy.copyParams;
                if given.memcpy.flags != 0 || given.memcpy.reserved != 0 {
                    return Err(INVALID);
                }
                nodes::copy(In::from_c(&raw const copy))
            }
            Kind::CU_GRAPH_NODE_TYPE_MEMSET => {
                let set = CUDA_MEMSET_NODE_PARAMS {
                    dst: given.memset.dst,
                    pitch: given.memset.pitch,
                    value: given.memset.value,
                    elementSize: given.memset.elementSize,
                    width: given.memset.width,
                    height: given.memset.height,
                };
                match present {
                    Some(_) => nodes::memset(In::from_c(&raw const set)),
                    None => nodes::memset_in(In::from_c(&raw const set), given.memset.ctx),
                }
            }
            Kind::CU_GRAPH_NODE_TYPE_HOST => {
                let call =
                    CUDA_HOST_NODE_PARAMS { fn_: given.host.fn_, userData: given.host.userData };
                nodes::host(In::from_c(&raw const call))
            }
            Kind::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => {
                let batch = CUDA_BATCH_MEM_OP_NODE_PARAMS {
                    ctx: given.memOp.ctx,
                    count: given.memOp.count,
                    paramArray: given.memOp.paramArray,
                    flags: given.memOp.flags,
                };
                nodes::batch(In::from_c(&raw const batch))
            }
            Kind::CU_GRAPH_NODE_TYPE_WAIT_EVENT => nodes::event(given.eventWait.event, false),
            Kind::CU_GRAPH_NODE_TYPE_EVENT_RECORD => nodes::event(given.eventRecord.event, true),
            Kind::CU_GRAPH_NODE_TYPE_EMPTY | Kind::CU_GRAPH_NODE_TYPE_GRAPH => Err(INVALID),
            _ => Err(CuError::NOT_SUPPORTED),
        }
    }
}

/// Reads the parameters, whose reserved members must be 0.
///
/// # Safety
///
/// If not null, the pointer must be valid for reading.
unsafe fn read(params: *mut CUgraphNodeParams) -> CuResult<CUgraphNodeParams> {
    // SAFETY: the caller promises the same.
    let params = unsafe { In::from_c(params.cast_const()) }.get()?;
    match params.reserved0 == [0; 3] && params.reserved2 == 0 {
        true => Ok(params),
        false => Err(INVALID),
    }
}

/// `cuGraphAddNode`.
///
/// # Safety
///
/// If not null, the arrays in `after` must have as many elements as `after` says. The pointers in the parameters must be valid
/// as the call for this kind of node requires.
pub unsafe fn add<L: Library>(
    to: Out<CUgraphNode>,
    graph: CUgraph,
    after: After,
    params: *mut CUgraphNodeParams,
) -> CuResult {
    // SAFETY: the caller promises the same as these functions require. The type says which member
    // of the union the program has set.
    unsafe {
        let given = Out::from_c(params);
        let mut params = read(params)?;
        match params.type_ {
            Kind::CU_GRAPH_NODE_TYPE_EMPTY => {
                structure::add::<L>(to, graph, after, |table, graph, after| {
                    table.add(graph, Work::Empty, after)
                })
            }
            Kind::CU_GRAPH_NODE_TYPE_GRAPH => {
                let child = params.__bindgen_anon_1.graph;
                let id = child.graph as GraphId;
                structure::add::<L>(to, graph, after, |table, graph, after| match child.ownership {
                    Ownership::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE => {
                        table.add_child(graph, id, after)
                    }
                    Ownership::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE => {
                        table.move_child(graph, id, after)
                    }
                    _ => Err(INVALID),
                })
            }
            Kind::CU_GRAPH_NODE_TYPE_MEM_ALLOC => {
                let request = params.__bindgen_anon_1.alloc;
                let mut request = CUDA_MEM_ALLOC_NODE_PARAMS {
                    poolProps: request.poolProps,
                    accessDescs: request.accessDescs,
                    accessDescCount: request.accessDescCount,
                    bytesize: request.bytesize,
                    dptr: request.dptr,
                };
                alloc::alloc::<L>(to, graph, after, &mut request)?;
                params.__bindgen_anon_1.alloc.dptr = request.dptr;
                given.set(params)
            }
            Kind::CU_GRAPH_NODE_TYPE_CONDITIONAL => {
                let mut request = params.__bindgen_anon_1.conditional;
                conditional::add::<L>(to, graph, after, &mut request)?;
                params.__bindgen_anon_1.conditional = request;
                given.set(params)
            }
            Kind::CU_GRAPH_NODE_TYPE_MEM_FREE => {
                let address = params.__bindgen_anon_1.free.dptr;
                alloc::add_free::<L>(to, graph, after, address)
            }
            _ => nodes::add::<L>(to, graph, after, op::<L>(&params, None)?),
        }
    }
}

/// `cuGraphNodeSetParams`.
///
/// # Safety
///
/// The pointers in the parameters must be valid as the call for this kind of node requires.
pub unsafe fn set<L: Library>(node: CUgraphNode, params: *mut CUgraphNodeParams) -> CuResult {
    L::graphs().with(|table| table.node(node as NodeId).map(drop))?;
    // SAFETY: the caller promises the same.
    let op = unsafe { op::<L>(&read(params)?, Some(node)) }?;
    nodes::set::<L>(node, op)
}

/// `cuGraphExecNodeSetParams`.
///
/// # Safety
///
/// The pointers in the parameters must be valid as the call for this kind of node requires.
pub unsafe fn set_in_exec<L: Library>(
    exec: CUgraphExec,
    node: CUgraphNode,
    params: *mut CUgraphNodeParams,
) -> CuResult {
    // SAFETY: the caller promises the same.
    let op = unsafe { op::<L>(&read(params)?, Some(node)) }?;
    exec::set_node::<L>(exec, node, op)
}
