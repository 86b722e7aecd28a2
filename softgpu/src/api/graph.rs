//! Graphs: what they consist of.

use std::ffi::c_uint;

use cuda_api::graph::NodeId;
use cuda_api::graph::dag::Work;
use cuda_api::graph::table::Table;

use super::capture::{GRAPHS, array};
use super::{Answer, CUresult, cuda, put};
use crate::state::graph::Op;

type Edges = Vec<(NodeId, NodeId)>;

/// Gives a list as CUDA gives lists: its length without an array, else what the array holds.
fn list(values: &[usize], to: *mut usize, count: *mut usize) -> Answer {
    if to.is_null() {
        return put(count, values.len());
    }
    let room = super::get(count)?;
    for i in 0..room {
        put(to.wrapping_add(i), values.get(i).copied().unwrap_or(0))?;
    }
    put(count, room.min(values.len()))
}

/// As [`list`], for pairs. Their data is that of plain edges: zeroes.
fn pairs(
    values: &Edges,
    from: *mut usize,
    to: *mut usize,
    data: *mut u64,
    count: *mut usize,
) -> Answer {
    if from.is_null() != to.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let (first, second): (Vec<_>, Vec<_>) = values.iter().copied().unzip();
    if from.is_null() {
        return list(&first, from, count);
    }
    let room = super::get(count)?;
    no_data(data, room)?;
    list(&first, from, count)?;
    put(count, room)?;
    list(&second, to, count)
}

fn no_data(data: *mut u64, room: usize) -> Answer {
    if data.is_null() { Ok(()) } else { (0..room).try_for_each(|i| put(data.wrapping_add(i), 0)) }
}

/// As [`list`], for nodes and the data of the edges to them.
fn nodes(values: &[usize], to: *mut usize, data: *mut u64, count: *mut usize) -> Answer {
    if !to.is_null() {
        no_data(data, super::get(count)?)?;
    }
    list(values, to, count)
}

fn dependencies(node: usize) -> Result<Vec<NodeId>, CUresult> {
    GRAPHS.with(|table| Ok(table.node(node)?.after.iter().copied().collect()))
}

fn dependents(node: usize) -> Result<Vec<NodeId>, CUresult> {
    GRAPHS.with(|table| Ok(table.graph(table.graph_of(node)?)?.dependents(node)))
}

fn edges(graph: usize) -> Result<Edges, CUresult> {
    GRAPHS.with(|table| Ok(table.graph(graph)?.edges()))
}

/// Edges that carry more than an order are not supported.
fn change(
    graph: usize,
    (from, to): (*const usize, *const usize),
    data: *const u64,
    count: usize,
    add: bool,
) -> Answer {
    for i in 0..if data.is_null() { 0 } else { count } {
        if super::get(data.wrapping_add(i))? != 0 {
            return Err(super::unsupported("an edge with data"));
        }
    }
    let edges: Edges = array(from, count)?.into_iter().zip(array(to, count)?).collect();
    GRAPHS.with(|table| table.change_edges(graph, &edges, add))
}

/// Adds a node to a graph.
pub(super) fn add(
    to: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
    make: impl FnOnce(&mut Table<Op>, &[NodeId]) -> Result<NodeId, CUresult>,
) -> Answer {
    crate::state::device::driver()?;
    if to.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let after = array(after, count)?;
    let node = GRAPHS.with(|table| {
        table.graph(graph)?;
        make(table, &after)
    })?;
    put(to, node)
}

cuda! {
    fn cuGraphCreate(to: *mut usize, flags: c_uint) {
        crate::state::device::driver()?;
        if flags != 0 || to.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        put(to, GRAPHS.with(|table| table.create()))
    }

    fn cuGraphDestroy(graph: usize) {
        GRAPHS.destroy(graph)
    }

    fn cuGraphClone(to: *mut usize, graph: usize) {
        put(to, 0)?;
        put(to, GRAPHS.with(|table| table.clone_graph(graph))?)
    }

    fn cuGraphNodeFindInClone(to: *mut usize, node: usize, clone: usize) {
        put(to, GRAPHS.with(|table| table.find_in_clone(node, clone))?)
    }

    fn cuGraphGetNodes(graph: usize, to: *mut usize, count: *mut usize) {
        let nodes = GRAPHS.with(|table| {
            Ok::<_, CUresult>(table.graph(graph)?.nodes.keys().copied().collect::<Vec<_>>())
        });
        list(&nodes?, to, count)
    }

    fn cuGraphGetRootNodes(graph: usize, to: *mut usize, count: *mut usize) {
        let roots = GRAPHS.with(|table| Ok::<_, CUresult>(table.graph(graph)?.roots()));
        list(&roots?, to, count)
    }

    fn cuGraphGetEdges(graph: usize, from: *mut usize, to: *mut usize, count: *mut usize) {
        pairs(&edges(graph)?, from, to, std::ptr::null_mut(), count)
    }

    fn cuGraphGetEdges_v2(
        graph: usize, from: *mut usize, to: *mut usize, data: *mut u64, count: *mut usize,
    ) {
        pairs(&edges(graph)?, from, to, data, count)
    }

    fn cuGraphNodeGetDependencies(node: usize, to: *mut usize, count: *mut usize) {
        list(&dependencies(node)?, to, count)
    }

    fn cuGraphNodeGetDependencies_v2(
        node: usize, to: *mut usize, data: *mut u64, count: *mut usize,
    ) {
        nodes(&dependencies(node)?, to, data, count)
    }

    fn cuGraphNodeGetDependentNodes(node: usize, to: *mut usize, count: *mut usize) {
        list(&dependents(node)?, to, count)
    }

    fn cuGraphNodeGetDependentNodes_v2(
        node: usize, to: *mut usize, data: *mut u64, count: *mut usize,
    ) {
        nodes(&dependents(node)?, to, data, count)
    }

    fn cuGraphAddDependencies(graph: usize, from: *const usize, to: *const usize, count: usize) {
        change(graph, (from, to), std::ptr::null(), count, true)
    }

    fn cuGraphAddDependencies_v2(
        graph: usize, from: *const usize, to: *const usize, data: *const u64, count: usize,
    ) {
        change(graph, (from, to), data, count, true)
    }

    fn cuGraphRemoveDependencies(graph: usize, from: *const usize, to: *const usize, count: usize) {
        change(graph, (from, to), std::ptr::null(), count, false)
    }

    fn cuGraphRemoveDependencies_v2(
        graph: usize, from: *const usize, to: *const usize, data: *const u64, count: usize,
    ) {
        change(graph, (from, to), data, count, false)
    }

    fn cuGraphNodeGetType(node: usize, to: *mut c_uint) {
        put(to, GRAPHS.with(|table| table.kind(node))?)
    }

    fn cuGraphDestroyNode(node: usize) {
        GRAPHS.with(|table| table.destroy_node(node))
    }

    fn cuGraphAddEmptyNode(to: *mut usize, graph: usize, after: *const usize, count: usize) {
        add(to, graph, after, count, |table, after| table.add(graph, Work::Empty, after))
    }

    fn cuGraphAddChildGraphNode(
        to: *mut usize, graph: usize, after: *const usize, count: usize, child: usize,
    ) {
        add(to, graph, after, count, |table, after| table.add_child(graph, child, after))
    }

    fn cuGraphChildGraphNodeGetGraph(node: usize, to: *mut usize) {
        put(to, GRAPHS.with(|table| table.child(node))?)
    }
}
