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
    // valid for these members. The pointers are to local variables, or valid as the caller
    // promises.
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
            Kind::CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
            | Kind::CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT
            | Kind::CU_GRAPH_NODE_TYPE_MEM_ALLOC
            | Kind::CU_GRAPH_NODE_TYPE_MEM_FREE
            | Kind::CU_GRAPH_NODE_TYPE_CONDITIONAL => Err(CuError::NOT_SUPPORTED),
            _ => Err(INVALID),
        }
    }
}

/// Reads the parameters, whose reserved members must be 0.
///
/// # Safety
///
/// If not null, the pointer must be valid for reading.
unsafe fn read(params: *mut CUgraphNodeParams) -> CuResult<CUgraphNodeParams> {
    // SAFETY: the caller promises that the pointer is null or valid for reading.
    let params = unsafe { In::from_c(params.cast_const()) }.get()?;
    let is_empty = params.type_ == Kind::CU_GRAPH_NODE_TYPE_EMPTY;
    // SAFETY: every bit pattern is valid for this member of the union.
    let unused = unsafe { params.__bindgen_anon_1.reserved1 };
    match params.reserved0 == [0; 3] && params.reserved2 == 0 && !(is_empty && unused != [0; 29]) {
        true => Ok(params),
        false => Err(INVALID),
    }
}

/// Implements `cuGraphAddNode`.
///
/// # Safety
///
/// If not null, the arrays in `after` must have as many elements as `after` says. The pointers in
/// the parameters must be valid as the call for this kind of node requires.
pub unsafe fn add<L: Library>(
    to: Out<CUgraphNode>,
    graph: CUgraph,
    after: After,
    params: *mut CUgraphNodeParams,
) -> CuResult {
    // SAFETY: the caller promises that the arrays have as many elements as `after` says and that
    // the pointers in the parameters are valid, as these functions require. `type_` says which
    // member of the union the program has set.
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
                // As in NVIDIA's driver, any value other than MOVE means that the node gets a copy
                // of the graph.
                let moves = child.ownership == Ownership::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
                structure::add::<L>(to, graph, after, |table, graph, after| match moves {
                    true => table.move_child(graph, id, after),
                    false => table.add_child(graph, id, after),
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

/// Implements `cuGraphNodeSetParams`.
///
/// # Safety
///
/// `params` must be null or valid for reading, and the pointers in the parameters valid as the call
/// for this kind of node requires.
pub unsafe fn set<L: Library>(node: CUgraphNode, params: *mut CUgraphNodeParams) -> CuResult {
    // SAFETY: the caller promises that `params` is null or valid for reading.
    let params = unsafe { read(params) }?;
    match params.type_ {
        Kind::CU_GRAPH_NODE_TYPE_EMPTY => is_empty::<L>(node),
        Kind::CU_GRAPH_NODE_TYPE_GRAPH => {
            // SAFETY: the type says that the program has set this member of the union.
            let child = unsafe { params.__bindgen_anon_1.graph }.graph as GraphId;
            L::graphs().with(|table| table.set_child(node as NodeId, child))
        }
        _ => {
            L::graphs().with(|table| table.node(node as NodeId).map(drop))?;
            // SAFETY: the caller promises that the pointers in the parameters are valid, as `op`
            // requires.
            nodes::set::<L>(node, unsafe { op::<L>(&params, Some(node)) }?)
        }
    }
}

/// Fails unless a node is empty.
fn is_empty<L: Library>(node: CUgraphNode) -> CuResult {
    L::graphs().with(|table| match table.node(node as NodeId)?.work {
        Work::Empty => Ok(()),
        _ => Err(INVALID),
    })
}

/// Implements `cuGraphExecNodeSetParams`.
///
/// # Safety
///
/// `params` must be null or valid for reading, and the pointers in the parameters valid as the call
/// for this kind of node requires.
pub unsafe fn set_in_exec<L: Library>(
    exec: CUgraphExec,
    node: CUgraphNode,
    params: *mut CUgraphNodeParams,
) -> CuResult {
    // SAFETY: the caller promises that `params` is null or valid for reading.
    let params = unsafe { read(params) }?;
    match params.type_ {
        Kind::CU_GRAPH_NODE_TYPE_EMPTY => {
            L::exec(exec)?;
            is_empty::<L>(node)
        }
        Kind::CU_GRAPH_NODE_TYPE_GRAPH => {
            // SAFETY: the type says that the program has set this member of the union.
            exec::set_child::<L>(exec, node, unsafe { params.__bindgen_anon_1.graph }.graph)
        }
        _ => {
            // SAFETY: the caller promises that the pointers in the parameters are valid, as `op`
            // requires.
            exec::set_node::<L>(exec, node, unsafe { op::<L>(&params, Some(node)) }?)
        }
    }
}
