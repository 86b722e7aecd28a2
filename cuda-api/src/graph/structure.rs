//! Entry points that build graphs and query their structure.

use super::edge::Edge;
use super::ids::{GraphId, NodeId};
use super::library::{Library, Op};
use super::lists::{self, After};
use super::table::Table;
use crate::args::{In, Out};
use crate::error::{CuError, CuResult};
use crate::sys::{CUgraph, CUgraphEdgeData, CUgraphNode, CUgraphNodeType};

/// Implements `cuGraphCreate`.
pub fn create<L: Library>(to: Out<CUgraph>, flags: u32) -> CuResult {
    L::initialized()?;
    to.check()?;
    if flags != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    to.set(L::graphs().with(|table| table.create()) as CUgraph)
}

/// Implements `cuGraphClone`.
pub fn clone<L: Library>(to: Out<CUgraph>, graph: CUgraph) -> CuResult {
    to.check()?;
    to.set(L::graphs().with(|table| table.clone_graph(graph as GraphId))? as CUgraph)
}

/// Implements `cuGraphNodeFindInClone`.
pub fn find_in_clone<L: Library>(
    to: Out<CUgraphNode>,
    node: CUgraphNode,
    clone: CUgraph,
) -> CuResult {
    let (node, clone) = (node as NodeId, clone as GraphId);
    to.set(L::graphs().with(|table| table.find_in_clone(node, clone))? as CUgraphNode)
}

/// Implements `cuGraphNodeGetType`.
pub fn kind<L: Library>(node: CUgraphNode, to: Out<CUgraphNodeType>) -> CuResult {
    to.set(L::graphs().with(|table| table.kind(node as NodeId))?)
}

/// Implements `cuGraphDestroyNode`.
pub fn destroy_node<L: Library>(node: CUgraphNode) -> CuResult {
    L::graphs().with(|table| table.destroy_node(node as NodeId))
}

/// Implements `cuGraphChildGraphNodeGetGraph`.
pub fn child<L: Library>(node: CUgraphNode, to: Out<CUgraph>) -> CuResult {
    to.set(L::graphs().with(|table| table.child(node as NodeId))? as CUgraph)
}

/// Calls `make` to add a node that depends on the nodes in `after`.
///
/// # Safety
///
/// If not null, the arrays in `after` must have as many elements as `after` says.
pub unsafe fn add<L: Library>(
    to: Out<CUgraphNode>,
    graph: CUgraph,
    after: impl Into<After>,
    make: impl FnOnce(&mut Table<Op<L>>, GraphId, &[(NodeId, Edge)]) -> CuResult<NodeId>,
) -> CuResult {
    to.check()?;
    // SAFETY: the caller promises that the arrays have as many elements as `after` says.
    let after = unsafe { after.into().read() }?;
    let node = L::graphs().with(|table| {
        table.graph(graph as GraphId)?;
        make(table, graph as GraphId, &after)
    })?;
    to.set(node as CUgraphNode)
}

/// Stores the nodes of a graph that `of` selects.
///
/// # Safety
///
/// If not null, the array must have as many elements as `count` says.
pub unsafe fn nodes<L: Library>(
    graph: CUgraph,
    to: Out<CUgraphNode>,
    count: Out<usize>,
    of: impl FnOnce(&super::dag::Graph<Op<L>>) -> Vec<NodeId>,
) -> CuResult {
    let nodes = L::graphs().with(|table| table.graph(graph as GraphId).map(of))?;
    // SAFETY: the caller promises that the array has as many elements as `count` says.
    unsafe { lists::give_nodes(&nodes, to, count) }
}

/// Implements `cuGraphGetEdges`.
///
/// # Safety
///
/// If not null, each array must have as many elements as `count` says.
pub unsafe fn edges<L: Library>(
    graph: CUgraph,
    arrays: (Out<CUgraphNode>, Out<CUgraphNode>),
    data: Out<CUgraphEdgeData>,
    count: Out<usize>,
) -> CuResult {
    let edges = L::graphs().with(|table| table.graph(graph as GraphId).map(|g| g.edges()))?;
    // SAFETY: the caller promises that the arrays have as many elements as `count` says.
    unsafe { lists::give_edges(&edges, arrays, data, count) }
}

/// Implements `cuGraphNodeGetDependentNodes` if `dependents` is set, otherwise
/// `cuGraphNodeGetDependencies`.
///
/// # Safety
///
/// If not null, each array must have as many elements as `count` says.
pub unsafe fn neighbors<L: Library>(
    node: CUgraphNode,
    dependents: bool,
    to: Out<CUgraphNode>,
    data: Out<CUgraphEdgeData>,
    count: Out<usize>,
) -> CuResult {
    let node = node as NodeId;
    let found: CuResult<Vec<(NodeId, Edge)>> = L::graphs().with(|table| match dependents {
        false => Ok(table.node(node)?.after.iter().map(|(id, edge)| (*id, *edge)).collect()),
        true => Ok(table.graph(table.graph_of(node)?)?.dependents(node)),
    });
    // SAFETY: the caller promises that the arrays have as many elements as `count` says.
    unsafe { lists::give_neighbors(&found?, to, data, count) }
}

/// Implements `cuGraphRemoveDependencies`, which removes edges whatever their data is.
///
/// # Safety
///
/// If not null, each array must have `count` elements.
pub unsafe fn remove_any_edges<L: Library>(
    graph: CUgraph,
    (from, to): (In<CUgraphNode>, In<CUgraphNode>),
    count: usize,
) -> CuResult {
    // SAFETY: the arrays have `count` elements, as the caller promises.
    let mut edges = unsafe { lists::edges((from, to), In::null(), count) }?;
    L::graphs().with(|table| {
        for (from, to, edge) in &mut edges {
            let present = table.node(*to)?.after.get(from);
            *edge = *present.ok_or(CuError::INVALID_VALUE)?;
        }
        table.change_edges(graph as GraphId, &edges, false)
    })
}

/// Implements `cuGraphAddDependencies` if `add` is set, otherwise `cuGraphRemoveDependencies_v2`.
///
/// # Safety
///
/// If not null, each array must have `count` elements.
pub unsafe fn change_edges<L: Library>(
    graph: CUgraph,
    (from, to): (In<CUgraphNode>, In<CUgraphNode>),
    data: In<CUgraphEdgeData>,
    count: usize,
    add: bool,
) -> CuResult {
    // SAFETY: the arrays have `count` elements, as the caller promises.
    let edges = unsafe { lists::edges((from, to), data, count) }?;
    L::graphs().with(|table| table.change_edges(graph as GraphId, &edges, add))
}
