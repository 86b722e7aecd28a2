//! Graphs: what they consist of. All of it is known here: no call goes to the worker.

use super::capture::array;
use crate::driver::driver;
use crate::error::{CuError, CuResult};
use crate::graph::{GRAPHS, Op};
use cuda_api::args::{In, Out};
use cuda_api::graph::NodeId;
use cuda_api::graph::dag::Work;
use cuda_api::graph::table::Table;

type Edges = Vec<(NodeId, NodeId)>;

/// Edges that carry more than an order are not supported.
pub fn plain_edges(edges: In<u64>, count: usize) -> CuResult {
    let count = if edges.is_null() { 0 } else { count };
    // SAFETY: the program's array has `count` elements.
    let edges = unsafe { edges.array(count) };
    for index in 0..count {
        if edges.get(index)? != 0 {
            return Err(CuError::NOT_SUPPORTED);
        }
    }
    Ok(())
}

/// Gives a list as CUDA gives lists: its length without an array, else what the array holds.
fn list(values: &[usize], to: Out<usize>, count: Out<usize>) -> CuResult {
    if !to.is_wanted() {
        return count.set(values.len());
    }
    let room = count.read()?;
    // SAFETY: the program's array has room for as many elements as it says.
    let to = unsafe { to.array(room) };
    to.set_all(values.iter().copied().chain(std::iter::repeat(0)))?;
    count.set(room.min(values.len()))
}

/// The data of plain edges is 0.
fn no_data(data: Out<u64>, room: usize) -> CuResult {
    match data.is_wanted() {
        // SAFETY: the program's array has room for as many elements as it says.
        true => unsafe { data.array(room) }.set_all(std::iter::repeat(0)),
        false => Ok(()),
    }
}

/// As [`list`], for nodes and the data of the edges to them.
fn nodes(values: &[usize], to: Out<usize>, data: Out<u64>, count: Out<usize>) -> CuResult {
    if to.is_wanted() {
        no_data(data, count.read()?)?;
    }
    list(values, to, count)
}

/// As [`list`], for edges.
fn pairs(
    values: &Edges,
    (from, to): (Out<usize>, Out<usize>),
    data: Out<u64>,
    count: Out<usize>,
) -> CuResult {
    if from.is_wanted() != to.is_wanted() {
        return Err(CuError::INVALID_VALUE);
    }
    let (first, second): (Vec<_>, Vec<_>) = values.iter().copied().unzip();
    if !from.is_wanted() {
        return count.set(values.len());
    }
    let room = count.read()?;
    no_data(data, room)?;
    list(&first, from, count)?;
    count.set(room)?;
    list(&second, to, count)
}

fn edges(graph: usize) -> CuResult<Edges> {
    GRAPHS.with(|table| Ok(table.graph(graph)?.edges()))
}

fn dependencies(node: usize) -> CuResult<Vec<NodeId>> {
    GRAPHS.with(|table| Ok(table.node(node)?.after.iter().copied().collect()))
}

fn dependents(node: usize) -> CuResult<Vec<NodeId>> {
    GRAPHS.with(|table| Ok(table.graph(table.graph_of(node)?)?.dependents(node)))
}

fn change(graph: usize, from: In<usize>, to: In<usize>, count: usize, add: bool) -> CuResult {
    // SAFETY: the program's arrays have `count` elements.
    let (from, to) = unsafe { (array(from, count)?, array(to, count)?) };
    let edges: Edges = from.into_iter().zip(to).collect();
    Ok(GRAPHS.with(|table| table.change_edges(graph, &edges, add))?)
}

/// Adds a node to a graph.
pub fn add(
    to: Out<usize>,
    graph: usize,
    after: In<usize>,
    count: usize,
    make: impl FnOnce(&mut Table<Op>, &[NodeId]) -> Result<NodeId, cuda_api::sys::CUresult>,
) -> CuResult {
    to.check()?;
    // SAFETY: the program's array has `count` elements.
    let after = unsafe { array(after, count) }?;
    to.set(GRAPHS.with(|table| {
        table.graph(graph)?;
        make(table, &after)
    })?)
}

entries! {
    fn cuGraphCreate(to: Out<usize>, flags: u32) {
        driver()?;
        to.check()?;
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        to.set(GRAPHS.with(|table| table.create()))
    }

    fn cuGraphDestroy(graph: usize) { Ok(GRAPHS.destroy(graph)?) }

    fn cuGraphClone(to: Out<usize>, graph: usize) {
        to.check()?;
        to.set(GRAPHS.with(|table| table.clone_graph(graph))?)
    }

    fn cuGraphNodeFindInClone(to: Out<usize>, node: usize, clone: usize) {
        to.set(GRAPHS.with(|table| table.find_in_clone(node, clone))?)
    }

    fn cuGraphGetNodes(graph: usize, to: Out<usize>, count: Out<usize>) {
        let nodes: CuResult<Vec<NodeId>> =
            GRAPHS.with(|table| Ok(table.graph(graph)?.nodes.keys().copied().collect()));
        list(&nodes?, to, count)
    }

    fn cuGraphGetRootNodes(graph: usize, to: Out<usize>, count: Out<usize>) {
        let roots: CuResult<Vec<NodeId>> = GRAPHS.with(|table| Ok(table.graph(graph)?.roots()));
        list(&roots?, to, count)
    }

    fn cuGraphGetEdges(graph: usize, from: Out<usize>, to: Out<usize>, count: Out<usize>) {
        pairs(&edges(graph)?, (from, to), Out::null(), count)
    }

    fn cuGraphGetEdges_v2(
        graph: usize, from: Out<usize>, to: Out<usize>, data: Out<u64>, count: Out<usize>,
    ) {
        pairs(&edges(graph)?, (from, to), data, count)
    }

    fn cuGraphNodeGetDependencies(node: usize, to: Out<usize>, count: Out<usize>) {
        list(&dependencies(node)?, to, count)
    }

    fn cuGraphNodeGetDependencies_v2(
        node: usize, to: Out<usize>, data: Out<u64>, count: Out<usize>,
    ) {
        nodes(&dependencies(node)?, to, data, count)
    }

    fn cuGraphNodeGetDependentNodes(node: usize, to: Out<usize>, count: Out<usize>) {
        list(&dependents(node)?, to, count)
    }

    fn cuGraphNodeGetDependentNodes_v2(
        node: usize, to: Out<usize>, data: Out<u64>, count: Out<usize>,
    ) {
        nodes(&dependents(node)?, to, data, count)
    }

    fn cuGraphAddDependencies(graph: usize, from: In<usize>, to: In<usize>, count: usize) {
        change(graph, from, to, count, true)
    }

    fn cuGraphAddDependencies_v2(
        graph: usize, from: In<usize>, to: In<usize>, data: In<u64>, count: usize,
    ) {
        plain_edges(data, count)?;
        change(graph, from, to, count, true)
    }

    fn cuGraphRemoveDependencies(graph: usize, from: In<usize>, to: In<usize>, count: usize) {
        change(graph, from, to, count, false)
    }

    fn cuGraphRemoveDependencies_v2(
        graph: usize, from: In<usize>, to: In<usize>, data: In<u64>, count: usize,
    ) {
        plain_edges(data, count)?;
        change(graph, from, to, count, false)
    }

    fn cuGraphNodeGetType(node: usize, to: Out<u32>) {
        to.set(GRAPHS.with(|table| table.kind(node))?)
    }

    fn cuGraphDestroyNode(node: usize) { Ok(GRAPHS.with(|table| table.destroy_node(node))?) }

    fn cuGraphAddEmptyNode(to: Out<usize>, graph: usize, after: In<usize>, count: usize) {
        add(to, graph, after, count, |table, after| table.add(graph, Work::Empty, after))
    }

    fn cuGraphAddChildGraphNode(
        to: Out<usize>, graph: usize, after: In<usize>, count: usize, child: usize,
    ) {
        add(to, graph, after, count, |table, after| table.add_child(graph, child, after))
    }

    fn cuGraphChildGraphNodeGetGraph(node: usize, to: Out<usize>) {
        to.set(GRAPHS.with(|table| table.child(node))?)
    }
}
