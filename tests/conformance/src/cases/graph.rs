//! Graphs: user objects, nodes that `cuGraphAddNode` adds, disabled nodes, and the description of a
//! graph.

use super::cases;
use crate::cuda::{Cuda, Outcome};
use crate::cuda::{cu, ensure, get, refused, same};
use crate::file::File;
use cuda_api::sys::{
    CUDA_HOST_NODE_PARAMS_v2, CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v3, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS_v2, CUfunction, CUgraph, CUgraphExec, CUgraphNode, CUgraphNodeParams,
    CUgraphNodeParams_st__bindgen_ty_1 as Params, CUgraphNodeType, CUhostFn, CUmemorytype,
    CUuserObject,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

static DESTROYED: AtomicU32 = AtomicU32::new(0);

/// The destructor of a user object, which adds its argument to `DESTROYED`.
unsafe extern "C" fn destroyed(data: *mut c_void) {
    DESTROYED.fetch_add(data.addr() as u32, Ordering::SeqCst);
}

/// Returns the number of destroyed user objects. Waits until it is `expected`, but not longer than
/// a second.
fn count(expected: u32) -> u32 {
    for _ in 0..200 {
        if DESTROYED.load(Ordering::SeqCst) == expected {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    DESTROYED.load(Ordering::SeqCst)
}

pub(super) fn graph(cuda: &Cuda) -> Outcome<CUgraph> {
    Ok(get!(cuda, cuGraphCreate(@, 0))?)
}

pub(super) fn instantiate(cuda: &Cuda, graph: CUgraph) -> Outcome<CUgraphExec> {
    Ok(get!(cuda, cuGraphInstantiateWithFlags(@, graph, 0))?)
}

fn user_object(cuda: &Cuda, references: u32) -> Outcome<CUuserObject> {
    let (mut object, one) = (null_mut(), std::ptr::without_provenance_mut(1));
    cu!(cuda, cuUserObjectCreate(&mut object, one, Some(destroyed), references, 1))?;
    Ok(object)
}

pub(super) fn node(kind: CUgraphNodeType, params: Params) -> CUgraphNodeParams {
    CUgraphNodeParams { type_: kind, reserved0: [0; 3], __bindgen_anon_1: params, reserved2: 0 }
}

/// Returns the parameters of a node that sets `count` words.
pub(super) fn memset(to: u64, value: u32, count: usize) -> CUgraphNodeParams {
    let memset = CUDA_MEMSET_NODE_PARAMS_v2 {
        dst: to,
        pitch: 0,
        value,
        elementSize: 4,
        width: count,
        height: 1,
        ctx: null_mut(),
    };
    let mut params = Params { reserved1: [0; 29] };
    params.memset = memset;
    node(CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET, params)
}

/// Returns the parameters of a kernel node that runs one thread.
pub(super) fn one_thread(
    function: CUfunction,
    parameters: &mut [*mut c_void],
) -> CUDA_KERNEL_NODE_PARAMS {
    CUDA_KERNEL_NODE_PARAMS {
        func: function,
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        kernelParams: parameters.as_mut_ptr(),
        ..Default::default()
    }
}

/// Returns the generic node parameters of a kernel that runs one thread.
pub(super) fn launch(function: CUfunction, parameters: &mut [*mut c_void]) -> CUgraphNodeParams {
    let mut params = Params { reserved1: [0; 29] };
    params.kernel = CUDA_KERNEL_NODE_PARAMS_v3 {
        func: function,
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        kernelParams: parameters.as_mut_ptr(),
        ..Default::default()
    };
    node(CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL, params)
}

fn host(function: CUhostFn, data: *mut c_void) -> CUgraphNodeParams {
    let mut params = Params { reserved1: [0; 29] };
    params.host = CUDA_HOST_NODE_PARAMS_v2 { fn_: function, userData: data };
    node(CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST, params)
}

pub(super) fn add(
    cuda: &Cuda,
    graph: CUgraph,
    after: &[CUgraphNode],
    mut params: CUgraphNodeParams,
) -> Outcome<CUgraphNode> {
    Ok(get!(cuda, cuGraphAddNode(@, graph, after.as_ptr(), after.len(), &mut params))?)
}

pub(super) fn empty(cuda: &Cuda, graph: CUgraph, after: &[CUgraphNode]) -> Outcome<CUgraphNode> {
    Ok(get!(cuda, cuGraphAddEmptyNode(@, graph, after.as_ptr(), after.len()))?)
}

/// Returns the parameters of a copy of contiguous bytes of device memory.
pub(super) fn copy(to: u64, from: u64, bytes: usize) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcDevice: from,
        srcPitch: bytes,
        srcHeight: 1,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstDevice: to,
        dstPitch: bytes,
        dstHeight: 1,
        WidthInBytes: bytes,
        Height: 1,
        Depth: 1,
        ..Default::default()
    }
}

/// Adds a node that performs a copy in the current context.
pub(super) fn add_copy(
    cuda: &Cuda,
    graph: CUgraph,
    after: &[CUgraphNode],
    copy: &CUDA_MEMCPY3D,
) -> Outcome<CUgraphNode> {
    let (mut node, mut context) = (null_mut(), null_mut());
    cu!(cuda, cuCtxGetCurrent(&mut context))?;
    let (before, count) = (after.as_ptr(), after.len());
    cu!(cuda, cuGraphAddMemcpyNode(&mut node, graph, before, count, copy, context))?;
    Ok(node)
}

pub(super) fn run(cuda: &Cuda, exec: CUgraphExec) -> Outcome {
    cu!(cuda, cuGraphLaunch(exec, null_mut()))?;
    cu!(cuda, cuStreamSynchronize(null_mut()))?;
    Ok(())
}

cases! {
    fn user_objects_live_as_long_as_their_references(cuda, primary) {
        let mut object = null_mut();
        for (function, references, flags) in
            [(None, 1, 1), (Some(destroyed as _), 0, 1), (Some(destroyed as _), 1, 0)]
        {
            let made = cu!(cuda, cuUserObjectCreate(&mut object, null_mut(), function, references, flags));
            refused!(made, INVALID_VALUE);
        }
        let object = user_object(cuda, 2)?;
        refused!(cu!(cuda, cuUserObjectRelease(object, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuUserObjectRetain(object, 0)), INVALID_VALUE);
        cu!(cuda, cuUserObjectRetain(object, 1))?;
        cu!(cuda, cuUserObjectRelease(object, 2))?;
        same!(count(0), 0);
        cu!(cuda, cuUserObjectRelease(object, 1))?;
        same!(count(1), 1);

        // A clone, a child graph node, and an executable graph each hold their own references to
        // the user object.
        let (first, object) = (graph(cuda)?, user_object(cuda, 1)?);
        refused!(cu!(cuda, cuGraphRetainUserObject(first, object, 1, 2)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphRetainUserObject(first, object, 0, 0)), INVALID_VALUE);
        cu!(cuda, cuGraphRetainUserObject(first, object, 2, 0))?;
        refused!(cu!(cuda, cuGraphReleaseUserObject(first, object, 0)), INVALID_VALUE);
        cu!(cuda, cuGraphReleaseUserObject(first, object, 1))?;
        cu!(cuda, cuUserObjectRelease(object, 1))?;
        let (mut clone, mut child, outer) = (null_mut(), null_mut(), graph(cuda)?);
        cu!(cuda, cuGraphClone(&mut clone, first))?;
        cu!(cuda, cuGraphDestroy(first))?;
        cu!(cuda, cuGraphAddChildGraphNode(&mut child, outer, null(), 0, clone))?;
        cu!(cuda, cuGraphDestroy(clone))?;
        let exec = instantiate(cuda, outer)?;
        cu!(cuda, cuGraphDestroy(outer))?;
        run(cuda, exec)?;
        same!(count(1), 1);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        same!(count(2), 2);

        // An update releases the references of the executable graph, and retains those of the new
        // graph.
        let (before, after) = (graph(cuda)?, graph(cuda)?);
        for graph in [before, after] {
            add(cuda, graph, &[], node(CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY, Params { reserved1: [0; 29] }))?;
            let object = user_object(cuda, 1)?;
            cu!(cuda, cuGraphRetainUserObject(graph, object, 1, 1))?;
        }
        let exec = instantiate(cuda, before)?;
        cu!(cuda, cuGraphDestroy(before))?;
        run(cuda, exec)?;
        same!(count(2), 2);
        get!(cuda, cuGraphExecUpdate_v2(exec, after, @))?;
        same!(count(3), 3);
        cu!(cuda, cuGraphDestroy(after))?;
        cu!(cuda, cuGraphExecDestroy(exec))?;
        same!(count(4), 4);
    }

    fn nodes_of_any_kind_are_added_and_changed(cuda, primary) {
        let (pointer, graph) = (cuda.alloc(64)?, graph(cuda)?);
        cuda.upload(pointer, &[0u32; 16])?;
        let first = add(cuda, graph, &[], memset(pointer, 1, 4))?;
        let one = std::ptr::without_provenance_mut(1);
        let second = add(cuda, graph, &[first], host(Some(destroyed), one))?;
        add(cuda, graph, &[second], memset(pointer + 8, 2, 4))?;
        let exec = instantiate(cuda, graph)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 7)?, [1, 1, 2, 2, 2, 2, 0]);
        same!(count(1), 1);
        let mut kind = CUgraphNodeType(77);
        cu!(cuda, cuGraphNodeGetType(first, &mut kind))?;
        same!(kind, CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET);
        // A change of a node affects only later instantiations. A change of an executable graph's
        // node affects later launches.
        cu!(cuda, cuGraphNodeSetParams(first, &mut memset(pointer, 3, 1)))?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 2)?, [1, 1]);
        cu!(cuda, cuGraphExecNodeSetParams(exec, first, &mut memset(pointer, 4, 1)))?;
        cuda.upload(pointer, &[0u32; 16])?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 3)?, [4, 0, 2]);
        let other = host(Some(destroyed), null_mut());
        refused!(cu!(cuda, cuGraphNodeSetParams(first, &mut { other })), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphExecNodeSetParams(exec, first, &mut { other })), INVALID_VALUE);
        let mut reserved = memset(pointer, 1, 1);
        reserved.reserved2 = 1;
        let mut node = null_mut();
        refused!(cu!(cuda, cuGraphAddNode(&mut node, graph, null(), 0, &mut reserved)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphAddNode(&mut node, graph, null(), 0, null_mut())), INVALID_VALUE);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn disabled_nodes_do_nothing(cuda, primary) {
        let (pointer, graph) = (cuda.alloc(64)?, graph(cuda)?);
        cuda.upload(pointer, &[0u32; 16])?;
        let first = add(cuda, graph, &[], memset(pointer, 1, 1))?;
        let second = add(cuda, graph, &[first], memset(pointer + 4, 2, 1))?;
        let empty = node(CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY, Params { reserved1: [0; 29] });
        let last = add(cuda, graph, &[second], empty)?;
        let (exec, mut enabled) = (instantiate(cuda, graph)?, 7);
        cu!(cuda, cuGraphNodeGetEnabled(exec, first, &mut enabled))?;
        same!(enabled, 1);
        cu!(cuda, cuGraphNodeSetEnabled(exec, first, 0))?;
        cu!(cuda, cuGraphNodeGetEnabled(exec, first, &mut enabled))?;
        same!(enabled, 0);
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 2)?, [0, 2]);
        cu!(cuda, cuGraphNodeSetEnabled(exec, first, 1))?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 2)?, [1, 2]);
        refused!(cu!(cuda, cuGraphNodeSetEnabled(exec, last, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphNodeGetEnabled(exec, last, &mut enabled)), INVALID_VALUE);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn a_graph_is_described_in_dot(cuda, primary) {
        let (pointer, graph) = (cuda.alloc(64)?, graph(cuda)?);
        let first = add(cuda, graph, &[], memset(pointer, 7, 4))?;
        add(cuda, graph, &[first], host(Some(destroyed), null_mut()))?;
        let file = File::absent("graph.dot");
        cu!(cuda, cuGraphDebugDotPrint(graph, file.name().as_ptr(), 0))?;
        let text = file.read();
        ensure!(text.starts_with("digraph dot {\nsubgraph cluster_1 {\n"), "the graph is:\n{text}");
        ensure!(text.contains("\"graph_1_node_0\" -> \"graph_1_node_1\";\n"), "no edge:\n{text}");
        refused!(cu!(cuda, cuGraphDebugDotPrint(graph, c"/nonexistent/graph.dot".as_ptr(), 0)), OPERATING_SYSTEM);
        cu!(cuda, cuGraphDestroy(graph))?;
    }
}
