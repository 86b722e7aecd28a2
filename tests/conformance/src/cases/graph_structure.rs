//! The structure of graphs: nodes, edges, clones, and child graphs.

use super::cases;
use super::graph::{add, add_copy, copy, empty, graph, instantiate, memset, run};
use crate::cuda::{Cuda, Outcome, cu, get, refused, same};
use cuda_api::sys::{CUgraph, CUgraphEdgeData, CUgraphNode, CUgraphNodeType as Kind};
use std::ptr::{null, null_mut};

/// The edge data of an ordinary edge, which waits for the whole node.
const ORDINARY: CUgraphEdgeData =
    CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };

fn sorted<T: Ord, const N: usize>(mut list: [T; N]) -> [T; N] {
    list.sort_unstable();
    list
}

/// Returns the edges of a graph that has at most four.
fn edges(cuda: &Cuda, graph: CUgraph) -> Outcome<Vec<(CUgraphNode, CUgraphNode)>> {
    let (mut from, mut to, mut data) = ([null_mut(); 4], [null_mut(); 4], [ORDINARY; 4]);
    let mut count = 4;
    let arrays = (from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr());
    cu!(cuda, cuGraphGetEdges_v2(graph, arrays.0, arrays.1, arrays.2, &mut count))?;
    let mut edges: Vec<_> = from.into_iter().zip(to).take(count).collect();
    edges.sort_unstable();
    Ok(edges)
}

cases! {
    fn an_empty_node_joins_others(cuda, primary) {
        let (pointer, graph) = (cuda.alloc(1 << 20)?, graph(cuda)?);
        let mut refused_flags = null_mut();
        refused!(cu!(cuda, cuGraphCreate(&mut refused_flags, 1)), INVALID_VALUE);
        let half = 1 << 17;
        let sets = [
            add(cuda, graph, &[], memset(pointer, 5, half))?,
            add(cuda, graph, &[], memset(pointer + 4 * half as u64, 6, half))?,
        ];
        let join = empty(cuda, graph, &sets)?;
        let mut kind = Kind(77);
        cu!(cuda, cuGraphNodeGetType(join, &mut kind))?;
        same!(kind, Kind::CU_GRAPH_NODE_TYPE_EMPTY);
        // Two copies move the last word of each half to the start of the memory.
        let last = 4 * half as u64 - 4;
        let first = add_copy(cuda, graph, &[join], &copy(pointer, pointer + last, 4))?;
        add_copy(cuda, graph, &[first], &copy(pointer + 4, pointer + 2 * last + 4, 4))?;
        let exec = instantiate(cuda, graph)?;
        for _ in 0..3 {
            cu!(cuda, cuMemsetD8_v2(pointer, 0, 1 << 20))?;
            run(cuda, exec)?;
            same!(cuda.download::<u32>(pointer, 3)?, [5, 6, 5]);
        }
        let mut node = null_mut();
        refused!(cu!(cuda, cuGraphAddEmptyNode(&mut node, null_mut(), null(), 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphAddEmptyNode(&mut node, graph, null(), 3)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphNodeGetType(null_mut(), &mut kind)), INVALID_VALUE);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn nodes_and_edges_are_listed(cuda, primary) {
        let graph = graph(cuda)?;
        let first = empty(cuda, graph, &[])?;
        let second = empty(cuda, graph, &[first])?;
        let third = empty(cuda, graph, &[first])?;
        let (mut nodes, mut count) = ([first; 4], 4);
        cu!(cuda, cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count))?;
        same!((count, sorted(nodes)), (3, sorted([first, second, third, null_mut()])));
        (nodes, count) = ([second; 4], 2);
        cu!(cuda, cuGraphGetRootNodes(graph, nodes.as_mut_ptr(), &mut count))?;
        same!((count, nodes), (1, [first, null_mut(), second, second]));
        (nodes, count) = ([first; 4], 3);
        cu!(cuda, cuGraphNodeGetDependentNodes(first, nodes.as_mut_ptr(), &mut count))?;
        same!((count, nodes[3]), (2, first));
        same!(sorted([nodes[0], nodes[1], nodes[2]]), sorted([second, third, null_mut()]));
        refused!(cu!(cuda, cuGraphGetNodes(null_mut(), null_mut(), &mut count)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphGetRootNodes(null_mut(), null_mut(), &mut count)), INVALID_VALUE);
        let (none, no_data) = (null_mut(), null_mut());
        let found = cu!(cuda, cuGraphGetEdges_v2(null_mut(), none, none, no_data, &mut count));
        refused!(found, INVALID_VALUE);
        let found = cu!(cuda, cuGraphNodeGetDependencies_v2(null_mut(), none, no_data, &mut count));
        refused!(found, INVALID_VALUE);
        let found = cu!(cuda, cuGraphNodeGetDependentNodes_v2(null_mut(), none, no_data, &mut count));
        refused!(found, INVALID_VALUE);
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn edges_are_added_and_removed(cuda, primary) {
        let (pointer, graph) = (cuda.alloc(64)?, graph(cuda)?);
        let first = add(cuda, graph, &[], memset(pointer, 1, 4))?;
        let second = add(cuda, graph, &[], memset(pointer, 2, 3))?;
        let third = add(cuda, graph, &[second], memset(pointer, 3, 2))?;
        cu!(cuda, cuGraphAddDependencies(graph, &first, &second, 1))?;
        same!(edges(cuda, graph)?, sorted([(first, second), (second, third)]));
        let exec = instantiate(cuda, graph)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 4)?, [3, 3, 2, 1]);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        // An edge can be added only once, and a node can't depend on itself.
        refused!(cu!(cuda, cuGraphAddDependencies(graph, &first, &second, 1)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphAddDependencies(graph, &first, &first, 1)), INVALID_VALUE);
        cu!(cuda, cuGraphRemoveDependencies(graph, &second, &third, 1))?;
        same!(edges(cuda, graph)?, [(first, second)]);
        refused!(cu!(cuda, cuGraphRemoveDependencies(graph, &second, &third, 1)), INVALID_VALUE);
        cu!(cuda, cuGraphRemoveDependencies_v2(graph, &first, &second, &ORDINARY, 1))?;
        same!(edges(cuda, graph)?, []);
        let removed = cu!(cuda, cuGraphRemoveDependencies_v2(graph, &first, &second, &ORDINARY, 1));
        refused!(removed, INVALID_VALUE);
        // After all edges were removed, edges in the opposite direction can be added.
        let (from, to) = ([third, second], [second, first]);
        cu!(cuda, cuGraphAddDependencies(graph, from.as_ptr(), to.as_ptr(), 2))?;
        let exec = instantiate(cuda, graph)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 4)?, [1, 1, 1, 1]);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn nodes_are_found_in_a_clone(cuda, primary) {
        let (pointer, graph) = (cuda.alloc(64)?, graph(cuda)?);
        let first = add(cuda, graph, &[], memset(pointer, 1, 2))?;
        let second = add(cuda, graph, &[first], memset(pointer + 8, 2, 2))?;
        let clone = get!(cuda, cuGraphClone(@, graph))?;
        let found = get!(cuda, cuGraphNodeFindInClone(@, second, clone))?;
        cu!(cuda, cuGraphNodeSetParams(found, &mut memset(pointer + 8, 7, 2)))?;
        for (graph, expected) in [(graph, [1, 1, 2, 2]), (clone, [1, 1, 7, 7])] {
            let exec = instantiate(cuda, graph)?;
            run(cuda, exec)?;
            same!(cuda.download::<u32>(pointer, 4)?, expected);
            cu!(cuda, cuGraphExecDestroy(exec))?;
        }
        let (other, mut none) = (self::graph(cuda)?, null_mut());
        refused!(cu!(cuda, cuGraphNodeFindInClone(&mut none, second, other)), INVALID_VALUE);
        // `later` was added after the graph was cloned, so the clone has no node for it.
        let later = add(cuda, graph, &[], memset(pointer, 3, 1))?;
        refused!(cu!(cuda, cuGraphNodeFindInClone(&mut none, later, clone)), INVALID_VALUE);
        for graph in [graph, clone, other] {
            cu!(cuda, cuGraphDestroy(graph))?;
        }
    }

    fn a_child_graph_is_changed_through_its_node(cuda, primary) {
        let (pointer, outer, inner) = (cuda.alloc(64)?, graph(cuda)?, graph(cuda)?);
        cuda.upload(pointer, &[0u32; 4])?;
        add(cuda, inner, &[], memset(pointer, 1, 1))?;
        let (mut child, mut within, mut count) = (null_mut(), null_mut(), 0);
        cu!(cuda, cuGraphAddChildGraphNode(&mut child, outer, null(), 0, inner))?;
        cu!(cuda, cuGraphChildGraphNodeGetGraph(child, &mut within))?;
        // The child graph node has its own copy of the graph.
        same!(within == inner, false);
        cu!(cuda, cuGraphDestroy(inner))?;
        cu!(cuda, cuGraphGetNodes(within, null_mut(), &mut count))?;
        same!(count, 1);
        add(cuda, within, &[], memset(pointer + 4, 2, 1))?;
        let last = empty(cuda, outer, &[child])?;
        let exec = instantiate(cuda, outer)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 3)?, [1, 2, 0]);
        refused!(cu!(cuda, cuGraphChildGraphNodeGetGraph(last, &mut within)), INVALID_VALUE);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(outer))?;
    }
}
