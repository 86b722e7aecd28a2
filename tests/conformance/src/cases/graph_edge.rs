//! Edge data: programmatic edges, with which a kernel can start before the previous kernel has
//! finished.

use super::cases;
use super::graph::{graph, instantiate, launch, memset, one_thread, run};
use crate::cuda::{Cuda, Outcome, parameter};
use crate::cuda::{cu, ensure, get, refused, same};
use crate::kernels::DEPENDENT;
use cuda_api::sys::{
    CUdeviceptr, CUgraph, CUgraphEdgeData, CUgraphNode, CUgraphNodeParams, CUlaunchAttribute,
    CUlaunchAttributeID, CUlaunchConfig, CUstreamAttrValue, CUstreamCaptureMode,
    CUstreamCaptureStatus,
};
use std::ptr::{null, null_mut};

/// Returns edge data with this outgoing port and edge type.
fn edge(from_port: u8, type_: u8) -> CUgraphEdgeData {
    CUgraphEdgeData { from_port, to_port: 0, type_, reserved: [0; 5] }
}

/// The outgoing port, the incoming port, and the type of an edge.
type Shown = (u8, u8, u8);

/// Returns the ports and the type in edge data, which are the members that CUDA uses.
fn shown(data: CUgraphEdgeData) -> Shown {
    (data.from_port, data.to_port, data.type_)
}

const FULL: Shown = (0, 0, 0);
const PROGRAMMATIC: Shown = (1, 0, 1);

/// Adds a node. If `after` is set, the node depends on that node, with that edge data.
fn add(
    cuda: &Cuda,
    graph: CUgraph,
    after: Option<(CUgraphNode, CUgraphEdgeData)>,
    mut params: CUgraphNodeParams,
) -> Outcome<CUgraphNode> {
    let (mut node, count) = (null_mut(), usize::from(after.is_some()));
    let (from, data) = after.unwrap_or((null_mut(), edge(0, 0)));
    cu!(cuda, cuGraphAddNode_v2(&mut node, graph, &from, &data, count, &mut params))?;
    Ok(node)
}

/// Creates a graph with two kernel nodes and no edges. Returns the graph, the nodes, and the
/// address of the word that the kernels change.
fn two_kernels(cuda: &Cuda) -> Outcome<(CUgraph, [CUgraphNode; 2], CUdeviceptr)> {
    let (_, function) = cuda.kernel(DEPENDENT, c"double_and_add")?;
    let (pointer, graph, value) = (cuda.alloc(64)?, graph(cuda)?, 1u32);
    let mut parameters = [parameter(&pointer), parameter(&value)];
    let first = add(cuda, graph, None, launch(function, &mut parameters))?;
    let second = add(cuda, graph, None, launch(function, &mut parameters))?;
    Ok((graph, [first, second], pointer))
}

/// Returns the edges of a graph that has at most four.
fn edges(cuda: &Cuda, graph: CUgraph) -> Outcome<Vec<(CUgraphNode, CUgraphNode, Shown)>> {
    let (mut from, mut to, mut data) = ([null_mut(); 4], [null_mut(); 4], [edge(9, 9); 4]);
    let mut count = 4;
    let arrays = (from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr());
    cu!(cuda, cuGraphGetEdges_v2(graph, arrays.0, arrays.1, arrays.2, &mut count))?;
    let data = data.map(shown);
    Ok((0..count).map(|at| (from[at], to[at], data[at])).collect())
}

cases! {
    fn kernels_are_connected_by_programmatic_edges(cuda, primary) {
        let (_, function) = cuda.kernel(DEPENDENT, c"double_and_add")?;
        let (pointer, graph) = (cuda.alloc(64)?, graph(cuda)?);
        cuda.upload(pointer, &[5u32])?;
        let mut kernels = Vec::new();
        let values = [1u32, 2, 3];
        for value in &values {
            let mut parameters = [parameter(&pointer), parameter(value)];
            let after = kernels.last().map(|last| (*last, edge(1, 1)));
            kernels.push(add(cuda, graph, after, launch(function, &mut parameters))?);
        }
        let [first, second, third] = kernels[..] else { unreachable!() };
        let expected = [(first, second, PROGRAMMATIC), (second, third, PROGRAMMATIC)];
        same!(edges(cuda, graph)?, expected);
        let exec = instantiate(cuda, graph)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 1)?, [((5 * 2 + 1) * 2 + 2) * 2 + 3]);

        // Change one kernel of the instantiated graph, and disable another one. The programmatic
        // edges remain.
        let seven = 7u32;
        let mut parameters = [parameter(&pointer), parameter(&seven)];
        let params = one_thread(function, &mut parameters);
        cu!(cuda, cuGraphExecKernelNodeSetParams_v2(exec, first, &params))?;
        cu!(cuda, cuGraphNodeSetEnabled(exec, second, 0))?;
        cuda.upload(pointer, &[5u32])?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 1)?, [(5 * 2 + 7) * 2 + 3]);

        // An executable graph can't be updated from a graph with other edge data.
        let clone = get!(cuda, cuGraphClone(@, graph))?;
        let mut data: Vec<_> = edges(cuda, clone)?.iter().map(|edge| edge.2).collect();
        same!(data, [PROGRAMMATIC; 2]);
        let mut nodes = ([null_mut(); 2], [null_mut(); 2], 2);
        let refused = cu!(
            cuda,
            cuGraphGetEdges(clone, nodes.0.as_mut_ptr(), nodes.1.as_mut_ptr(), &mut nodes.2)
        );
        refused!(refused, LOSSY_QUERY);
        // `cuGraphRemoveDependencies` removes an edge regardless of its data.
        // `cuGraphRemoveDependencies_v2` removes only an edge with the given data.
        let ((from, to), programmatic) = ((edges(cuda, clone)?[0].0, edges(cuda, clone)?[0].1), edge(1, 1));
        cu!(cuda, cuGraphRemoveDependencies(clone, &from, &to, 1))?;
        refused!(cu!(cuda, cuGraphRemoveDependencies(clone, &from, &to, 1)), INVALID_VALUE);
        cu!(cuda, cuGraphAddDependencies_v2(clone, &from, &to, &programmatic, 1))?;
        cu!(cuda, cuGraphRemoveDependencies_v2(clone, &from, &to, &programmatic, 1))?;
        cu!(cuda, cuGraphAddDependencies(clone, &from, &to, 1))?;
        data = edges(cuda, clone)?.iter().map(|edge| edge.2).collect();
        data.sort_unstable();
        same!(data, [FULL, PROGRAMMATIC]);
        let mut info = Default::default();
        refused!(cu!(cuda, cuGraphExecUpdate_v2(exec, clone, &mut info)), GRAPH_EXEC_UPDATE_FAILURE);

        // The edges in a child graph keep their data.
        let outer = self::graph(cuda)?;
        get!(cuda, cuGraphAddChildGraphNode(@, outer, null(), 0, graph))?;
        let nested = instantiate(cuda, outer)?;
        cuda.upload(pointer, &[0u32])?;
        run(cuda, nested)?;
        same!(cuda.download::<u32>(pointer, 1)?, [11]);
        for exec in [exec, nested] {
            cu!(cuda, cuGraphExecDestroy(exec))?;
        }
        for graph in [graph, clone, outer] {
            cu!(cuda, cuGraphDestroy(graph))?;
        }
    }

    fn dependencies_are_queried_with_their_data(cuda, primary) {
        let (graph, [first, second], _) = two_kernels(cuda)?;
        let order = edge(2, 1);
        cu!(cuda, cuGraphAddDependencies_v2(graph, &first, &second, &order, 1))?;
        let again = cu!(cuda, cuGraphAddDependencies_v2(graph, &first, &second, &order, 1));
        refused!(again, INVALID_VALUE);
        let (mut found, mut data, mut count) = (null_mut(), edge(9, 9), 1);
        cu!(cuda, cuGraphNodeGetDependencies_v2(second, &mut found, &mut data, &mut count))?;
        same!((found, shown(data), count), (first, (2, 0, 1), 1));
        let lossy = cu!(cuda, cuGraphNodeGetDependencies(second, &mut found, &mut count));
        refused!(lossy, LOSSY_QUERY);
        cu!(cuda, cuGraphNodeGetDependencies(second, null_mut(), &mut count))?;
        same!(count, 1);
        cu!(cuda, cuGraphNodeGetDependentNodes_v2(first, &mut found, &mut data, &mut count))?;
        same!((found, shown(data), count), (second, (2, 0, 1), 1));
        let lossy = cu!(cuda, cuGraphNodeGetDependentNodes(first, &mut found, &mut count));
        refused!(lossy, LOSSY_QUERY);
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn edge_data_must_fit_the_nodes(cuda, primary) {
        let (graph, [kernel, other], pointer) = two_kernels(cuda)?;
        let set = add(cuda, graph, None, memset(pointer, 1, 1))?;
        // CUDA doesn't allow edges with these combinations of ports, type, and reserved bytes.
        let reserved = CUgraphEdgeData { reserved: [0, 0, 0, 0, 1], ..edge(0, 0) };
        let to_port = CUgraphEdgeData { to_port: 1, ..edge(0, 0) };
        for data in [edge(0, 1), edge(1, 0), edge(3, 0), edge(0, 2), reserved, to_port] {
            let added = cu!(cuda, cuGraphAddDependencies_v2(graph, &kernel, &other, &data, 1));
            refused!(added, INVALID_VALUE);
        }
        // Programmatic edges connect kernels only.
        for (from, to) in [(kernel, set), (set, kernel)] {
            let data = edge(1, 1);
            let added = cu!(cuda, cuGraphAddDependencies_v2(graph, &from, &to, &data, 1));
            refused!(added, INVALID_VALUE);
        }
        same!(edges(cuda, graph)?.len(), 0);
        let (mut params, mut node) = (memset(pointer, 2, 1), null_mut());
        let data = edge(1, 1);
        let added = cu!(cuda, cuGraphAddNode_v2(&mut node, graph, &kernel, &data, 1, &mut params));
        refused!(added, INVALID_VALUE);
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn captured_launches_become_programmatic_edges(cuda, primary) {
        let (_, function) = cuda.kernel(DEPENDENT, c"double_and_add")?;
        let (pointer, value) = (cuda.alloc(64)?, 3u32);
        let (mut stream, mut captured) = (null_mut(), null_mut());
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        let mut serialization = CUstreamAttrValue { pad: [0; 64] };
        serialization.programmaticStreamSerializationAllowed = 1;
        let mut attribute = CUlaunchAttribute {
            id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: serialization,
        };
        let config = CUlaunchConfig {
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 1,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: stream,
            attrs: &mut attribute,
            numAttrs: 1,
        };
        let mut parameters = [parameter(&pointer), parameter(&value)];
        let parameters = parameters.as_mut_ptr();
        cu!(cuda, cuStreamBeginCapture_v2(stream, CUstreamCaptureMode(0)))?;
        cu!(cuda, cuMemsetD32Async(pointer, 1, 1, stream))?;
        for _ in 0..2 {
            cu!(cuda, cuLaunchKernelEx(&config, function, parameters, null_mut()))?;
        }
        // Change the dependency's port, so that the next kernel may start when all blocks of the
        // previous one have started. The next launch has an attribute that asks for an ordinary
        // programmatic edge instead.
        let mut status = CUstreamCaptureStatus(9);
        let (mut nodes, mut data, mut count) = (null(), null(), 0);
        let (mut id, mut graph) = (0, null_mut());
        cu!(cuda, cuStreamGetCaptureInfo_v3(
            stream, &mut status, &mut id, &mut graph, &mut nodes, &mut data, &mut count,
        ))?;
        same!(count, 1);
        // SAFETY: the call has returned an array of one node. It's valid until the next call that
        // uses the stream.
        let mut last = unsafe { *nodes };
        let order = edge(2, 1);
        cu!(cuda, cuStreamUpdateCaptureDependencies_v2(stream, &mut last, &order, 1, 1))?;
        let lossy = cu!(cuda, cuStreamGetCaptureInfo_v2(
            stream, &mut status, &mut id, &mut graph, &mut nodes, &mut count,
        ));
        refused!(lossy, LOSSY_QUERY);
        cu!(cuda, cuLaunchKernelEx(&config, function, parameters, null_mut()))?;
        cu!(cuda, cuStreamEndCapture(stream, &mut captured))?;
        let mut data: Vec<_> = edges(cuda, captured)?.iter().map(|edge| edge.2).collect();
        data.sort_unstable();
        same!(data, [FULL, PROGRAMMATIC, PROGRAMMATIC]);
        let exec = instantiate(cuda, captured)?;
        run(cuda, exec)?;
        let times = |value| value * 2 + 3;
        same!(cuda.download::<u32>(pointer, 1)?, [times(times(times(1)))]);

        // A capture into an existing graph can begin with a programmatic edge from one of its
        // nodes.
        let graph = self::graph(cuda)?;
        let mut first = [parameter(&pointer), parameter(&value)];
        let first = add(cuda, graph, None, launch(function, &mut first))?;
        let data = edge(1, 1);
        cu!(cuda, cuStreamBeginCaptureToGraph(stream, graph, &first, &data, 1, CUstreamCaptureMode(0)))?;
        cu!(cuda, cuLaunchKernelEx(&config, function, parameters, null_mut()))?;
        cu!(cuda, cuStreamEndCapture(stream, &mut captured))?;
        ensure!(captured == graph, "the capture has another graph");
        same!(edges(cuda, graph)?[0].2, PROGRAMMATIC);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }
}
