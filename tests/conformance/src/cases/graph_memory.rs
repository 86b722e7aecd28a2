//! Memory that graphs allocate and free.

use super::cases;
use super::graph::{add, add_copy, copy, graph, instantiate, memset, node, run};
use crate::cuda::{Cuda, Outcome};
use crate::cuda::{cu, ensure, get, refused, same};
use cuda_api::sys::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS_v2, CUDA_MEM_FREE_NODE_PARAMS, CUgraph,
    CUgraphMem_attribute as A, CUgraphNode, CUgraphNodeParams_st__bindgen_ty_1 as Params,
    CUgraphNodeType as Kind, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation,
    CUmemLocationType, CUmemPoolProps, CUstream, CUstreamCaptureMode,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

const AUTO_FREE: u64 = 1;
const BYTES: usize = 4096;

/// Returns the parameters of an allocation on the first device.
fn request(bytes: usize) -> CUDA_MEM_ALLOC_NODE_PARAMS {
    CUDA_MEM_ALLOC_NODE_PARAMS {
        poolProps: CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: CUmemLocation {
                type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: 0,
            },
            ..Default::default()
        },
        accessDescs: null(),
        accessDescCount: 0,
        bytesize: bytes,
        dptr: 0,
    }
}

/// Adds a node that allocates memory. Returns the node and the address.
fn alloc(
    cuda: &Cuda,
    graph: CUgraph,
    after: &[CUgraphNode],
    bytes: usize,
) -> Outcome<(CUgraphNode, u64)> {
    let (mut node, mut params) = (null_mut(), request(bytes));
    let (before, count) = (after.as_ptr(), after.len());
    cu!(cuda, cuGraphAddMemAllocNode(&mut node, graph, before, count, &mut params))?;
    ensure!(params.dptr != 0, "the node has no address");
    Ok((node, params.dptr))
}

/// Adds a node that sets words in memory that the graph allocates. Its parameters must name a
/// context, because the memory's address doesn't determine one.
fn fill(
    cuda: &Cuda,
    graph: CUgraph,
    after: CUgraphNode,
    (pointer, value, count): (u64, u32, usize),
) -> Outcome<CUgraphNode> {
    let (mut context, mut params) = (null_mut(), memset(pointer, value, count));
    cu!(cuda, cuCtxGetCurrent(&mut context))?;
    params.__bindgen_anon_1.memset.ctx = context;
    add(cuda, graph, &[after], params)
}

/// Adds a node that frees memory.
fn free(cuda: &Cuda, graph: CUgraph, after: CUgraphNode, pointer: u64) -> Outcome<CUgraphNode> {
    Ok(get!(cuda, cuGraphAddMemFreeNode(@, graph, &after, 1, pointer))?)
}

fn amount(cuda: &Cuda, which: A) -> Outcome<u64> {
    let mut value = u64::MAX;
    cu!(cuda, cuDeviceGetGraphMemAttribute(0, which, (&raw mut value).cast::<c_void>()))?;
    Ok(value)
}

fn stream(cuda: &Cuda) -> Outcome<CUstream> {
    Ok(get!(cuda, cuStreamCreate(@, 1))?)
}

/// Creates a graph that allocates memory, fills it with a value, and doesn't free it. Returns the
/// graph and the memory's address.
fn keeping(cuda: &Cuda, value: u32) -> Outcome<(CUgraph, u64)> {
    let graph = graph(cuda)?;
    let (node, pointer) = alloc(cuda, graph, &[], BYTES)?;
    fill(cuda, graph, node, (pointer, value, BYTES / 4))?;
    Ok((graph, pointer))
}

cases! {
    fn a_captured_allocation_becomes_a_node(cuda, primary) {
        let (stream, out) = (stream(cuda)?, cuda.alloc(BYTES)?);
        let (mut pointer, mut graph) = (0, null_mut());
        cu!(cuda, cuStreamBeginCapture_v2(stream, CUstreamCaptureMode(0)))?;
        cu!(cuda, cuMemAllocAsync(&mut pointer, BYTES, stream))?;
        cu!(cuda, cuMemsetD32Async(pointer, 7, BYTES / 4, stream))?;
        cu!(cuda, cuMemcpyDtoDAsync_v2(out, pointer, BYTES, stream))?;
        cu!(cuda, cuMemFreeAsync(pointer, stream))?;
        cu!(cuda, cuStreamEndCapture(stream, &mut graph))?;
        let (mut nodes, mut count) = ([null_mut(); 5], 5);
        cu!(cuda, cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count))?;
        same!(count, 4);
        let mut kinds = Vec::new();
        for node in &nodes[..4] {
            let mut kind = Kind(77);
            cu!(cuda, cuGraphNodeGetType(*node, &mut kind))?;
            let (mut params, mut freed) = (request(0), 0);
            if kind == Kind::CU_GRAPH_NODE_TYPE_MEM_ALLOC {
                cu!(cuda, cuGraphMemAllocNodeGetParams(*node, &mut params))?;
                same!((params.dptr, params.bytesize), (pointer, BYTES));
            } else {
                refused!(cu!(cuda, cuGraphMemAllocNodeGetParams(*node, &mut params)), INVALID_VALUE);
            }
            if kind == Kind::CU_GRAPH_NODE_TYPE_MEM_FREE {
                cu!(cuda, cuGraphMemFreeNodeGetParams(*node, &mut freed))?;
                same!(freed, pointer);
            } else {
                refused!(cu!(cuda, cuGraphMemFreeNodeGetParams(*node, &mut freed)), INVALID_VALUE);
            }
            kinds.push(kind.0);
        }
        kinds.sort_unstable();
        same!(kinds, [1, 2, 10, 11]);
        let exec = instantiate(cuda, graph)?;
        for _ in 0..3 {
            cuda.upload(out, &[0u32; BYTES / 4])?;
            cu!(cuda, cuGraphLaunch(exec, stream))?;
            cu!(cuda, cuStreamSynchronize(stream))?;
            same!(cuda.download::<u32>(out, BYTES / 4)?, [7; BYTES / 4]);
        }
        // The graph is destroyed while its last launch runs. The launch still fills the memory.
        cuda.upload(out, &[0u32; BYTES / 4])?;
        cu!(cuda, cuGraphLaunch(exec, stream))?;
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(out, BYTES / 4)?, [7; BYTES / 4]);
    }

    fn memory_nodes_of_any_form_are_added(cuda, primary) {
        let (graph, out) = (graph(cuda)?, cuda.alloc(16)?);
        let (first, pointer) = alloc(cuda, graph, &[], BYTES)?;
        let mut params = Params { reserved1: [0; 29] };
        let wanted = request(100);
        params.alloc = CUDA_MEM_ALLOC_NODE_PARAMS_v2 {
            poolProps: wanted.poolProps,
            accessDescs: null(),
            accessDescCount: 0,
            bytesize: 100,
            dptr: 0,
        };
        let (mut second, mut params) =
            (null_mut(), node(Kind::CU_GRAPH_NODE_TYPE_MEM_ALLOC, params));
        cu!(cuda, cuGraphAddNode(&mut second, graph, &first, 1, &mut params))?;
        // SAFETY: the call has stored the address in the parameters, which are those of an
        // allocation node.
        let other = unsafe { params.__bindgen_anon_1.alloc.dptr };
        ensure!(other != 0 && other != pointer, "the address is {other:#x}");
        let filled = fill(cuda, graph, second, (pointer, 3, BYTES / 4))?;
        let again = fill(cuda, graph, filled, (other, 4, 25))?;
        // The graph's memory isn't allocated yet, so its address doesn't determine a context. A
        // node whose parameters don't name a context is refused.
        let (mut added, mut unnamed) = (null_mut(), memset(other, 4, 25));
        let added = cu!(cuda, cuGraphAddNode(&mut added, graph, &again, 1, &mut unnamed));
        refused!(added, INVALID_VALUE);
        let last = add_copy(cuda, graph, &[again], &copy(out, other + 84, 16))?;
        let mut freeing = Params { reserved1: [0; 29] };
        freeing.free = CUDA_MEM_FREE_NODE_PARAMS { dptr: pointer };
        let freed = add(cuda, graph, &[last], node(Kind::CU_GRAPH_NODE_TYPE_MEM_FREE, freeing))?;
        free(cuda, graph, freed, other)?;
        let exec = instantiate(cuda, graph)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(out, 4)?, [4; 4]);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn a_graph_with_memory_nodes_cannot_be_copied_or_reduced(cuda, primary) {
        let (owner, outer) = (graph(cuda)?, graph(cuda)?);
        let (node, pointer) = alloc(cuda, owner, &[], BYTES)?;
        let last = free(cuda, owner, node, pointer)?;
        let (mut clone, mut other) = (null_mut(), null_mut());
        let plain = cuda.alloc(64)?;
        refused!(cu!(cuda, cuGraphAddMemFreeNode(&mut other, owner, &last, 1, pointer)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphAddMemFreeNode(&mut other, owner, &last, 1, plain)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphAddMemAllocNode(&mut other, owner, null(), 0, null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphClone(&mut clone, owner)), NOT_SUPPORTED);
        refused!(cu!(cuda, cuGraphAddChildGraphNode(&mut other, outer, null(), 0, owner)), NOT_SUPPORTED);
        refused!(cu!(cuda, cuGraphDestroyNode(last)), NOT_SUPPORTED);
        let exec = instantiate(cuda, owner)?;
        let mut second = null_mut();
        refused!(cu!(cuda, cuGraphInstantiateWithFlags(&mut second, owner, 0)), NOT_SUPPORTED);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        let exec = instantiate(cuda, owner)?;
        run(cuda, exec)?;
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(owner))?;
        cu!(cuda, cuGraphDestroy(outer))?;
    }

    fn memory_that_a_graph_does_not_free_stays_allocated(cuda, primary) {
        let (graph, pointer) = keeping(cuda, 9)?;
        let (exec, stream) = (instantiate(cuda, graph)?, stream(cuda)?);
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer + BYTES as u64 - 4, 1)?, [9]);
        refused!(cu!(cuda, cuGraphLaunch(exec, null_mut())), INVALID_VALUE);
        cu!(cuda, cuMemFree_v2(pointer))?;
        run(cuda, exec)?;
        cu!(cuda, cuMemFreeAsync(pointer, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        run(cuda, exec)?;
        // Memory that the graph allocates and doesn't free remains after the graph was destroyed.
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
        same!(cuda.download::<u32>(pointer, 2)?, [9, 9]);
        cu!(cuda, cuMemFree_v2(pointer))?;
        refused!(cu!(cuda, cuMemFree_v2(pointer)), INVALID_VALUE);
    }

    fn memory_is_freed_by_the_next_launch_if_wanted(cuda, primary) {
        let (graph, pointer) = keeping(cuda, 5)?;
        let exec = get!(cuda, cuGraphInstantiateWithFlags(@, graph, AUTO_FREE))?;
        let flags = get!(cuda, cuGraphExecGetFlags(exec, @))?;
        same!(flags, AUTO_FREE);
        run(cuda, exec)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 1)?, [5]);
        cu!(cuda, cuMemFree_v2(pointer))?;
        run(cuda, exec)?;
        cu!(cuda, cuMemFree_v2(pointer))?;
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn another_graph_frees_the_memory(cuda, primary) {
        let (first, pointer) = keeping(cuda, 6)?;
        let (second, out) = (graph(cuda)?, cuda.alloc(16)?);
        cuda.upload(out, &[0u32; 4])?;
        let node = add(cuda, second, &[], memset(out, 1, 1))?;
        free(cuda, second, node, pointer)?;
        let (makes, frees) = (instantiate(cuda, first)?, instantiate(cuda, second)?);
        for _ in 0..3 {
            run(cuda, makes)?;
            same!(cuda.download::<u32>(pointer, 1)?, [6]);
            run(cuda, frees)?;
        }
        same!(cuda.download::<u32>(out, 2)?, [1, 0]);
        for exec in [makes, frees] {
            cu!(cuda, cuGraphExecDestroy(exec))?;
        }
        cu!(cuda, cuGraphDestroy(first))?;
        cu!(cuda, cuGraphDestroy(second))?;
    }

    fn memory_of_graphs_is_counted_and_trimmed(cuda, primary) {
        let all = [
            A::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT,
            A::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH,
            A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
            A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
        ];
        let [used, used_high, reserved, reserved_high] = all;
        for which in all {
            same!(amount(cuda, which)?, 0);
        }
        cu!(cuda, cuDeviceGraphMemTrim(0))?;
        let (graph, pointer) = keeping(cuda, 1)?;
        let exec = instantiate(cuda, graph)?;
        run(cuda, exec)?;
        ensure!(amount(cuda, used)? >= BYTES as u64, "too little memory is in use");
        ensure!(amount(cuda, reserved)? >= amount(cuda, used)?, "too little memory is reserved");
        cu!(cuda, cuMemFree_v2(pointer))?;
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
        cu!(cuda, cuCtxSynchronize())?;
        ensure!(amount(cuda, used)? > 0, "freed memory must be in use until it is trimmed");
        cu!(cuda, cuDeviceGraphMemTrim(0))?;
        same!((amount(cuda, used)?, amount(cuda, reserved)?), (0, 0));
        ensure!(amount(cuda, used_high)? >= BYTES as u64, "the largest amount in use is too small");
        ensure!(amount(cuda, reserved_high)? >= BYTES as u64, "the largest amount is too small");
        let mut value = 0u64;
        let at = (&raw mut value).cast::<c_void>();
        for which in [used_high, reserved_high] {
            cu!(cuda, cuDeviceSetGraphMemAttribute(0, which, at))?;
            same!(amount(cuda, which)?, 0);
        }
        refused!(cu!(cuda, cuDeviceSetGraphMemAttribute(0, used, at)), INVALID_VALUE);
        refused!(cu!(cuda, cuDeviceGetGraphMemAttribute(0, A(99), at)), INVALID_VALUE);
        refused!(cu!(cuda, cuDeviceGetGraphMemAttribute(0, used, null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuDeviceGraphMemTrim(99)), INVALID_DEVICE | INVALID_VALUE);
    }
}
