//! Arguments that are arrays of nodes or edges.

use super::edge::Edge;
use super::ids::NodeId;
use crate::args::{In, Out};
use crate::error::{CuError, CuResult};
use crate::sys::{CUgraphEdgeData, CUgraphNode};

/// Pairs of a node and a node that depends on it, with the data of the edge between them.
pub type Edges = Vec<(NodeId, NodeId, Edge)>;

/// The nodes that a new node depends on: an array of nodes, an array with the data of the edges
/// (null means zeros), and the number of elements of each.
#[derive(Clone, Copy)]
pub struct After {
    nodes: In<CUgraphNode>,
    data: In<CUgraphEdgeData>,
    count: usize,
}

impl From<(In<CUgraphNode>, usize)> for After {
    fn from((nodes, count): (In<CUgraphNode>, usize)) -> Self {
        Self { nodes, data: In::null(), count }
    }
}

impl From<(In<CUgraphNode>, In<CUgraphEdgeData>, usize)> for After {
    fn from((nodes, data, count): (In<CUgraphNode>, In<CUgraphEdgeData>, usize)) -> Self {
        Self { nodes, data, count }
    }
}

impl After {
    /// Reads the arrays.
    ///
    /// # Safety
    ///
    /// If not null, the arrays must have as many elements as the count says.
    pub unsafe fn read(self) -> CuResult<Vec<(NodeId, Edge)>> {
        // SAFETY: the caller promises that the arrays have `count` elements.
        let (nodes, data) =
            unsafe { (nodes(self.nodes, self.count)?, edge_data(self.data, self.count)?) };
        Ok(nodes.into_iter().zip(data).collect())
    }
}

/// Reads nodes that a program passes by address and count.
///
/// # Safety
///
/// If not null, the array must have `count` elements.
unsafe fn nodes(from: In<CUgraphNode>, count: usize) -> CuResult<Vec<NodeId>> {
    // SAFETY: the array has `count` elements, as the caller promises.
    let nodes = unsafe { from.array(count) };
    (0..count).map(|index| Ok(nodes.get(index)? as NodeId)).collect()
}

/// Reads the data of edges. A null array means zeros.
///
/// # Safety
///
/// If not null, the array must have `count` elements.
unsafe fn edge_data(from: In<CUgraphEdgeData>, count: usize) -> CuResult<Vec<Edge>> {
    if from.is_null() {
        return Ok(vec![Edge::Full; count]);
    }
    // SAFETY: the array has `count` elements, as the caller promises.
    let data = unsafe { from.array(count) };
    (0..count).map(|index| Edge::new(data.get(index)?)).collect()
}

/// Reads edges that a program passes as two arrays of nodes and an array of data.
///
/// # Safety
///
/// If not null, each array must have `count` elements.
pub unsafe fn edges(
    (from, to): (In<CUgraphNode>, In<CUgraphNode>),
    data: In<CUgraphEdgeData>,
    count: usize,
) -> CuResult<Edges> {
    // SAFETY: the arrays have `count` elements, as the caller promises.
    let (from, to, data) =
        unsafe { (nodes(from, count)?, nodes(to, count)?, edge_data(data, count)?) };
    Ok(from.into_iter().zip(to).zip(data).map(|((from, to), edge)| (from, to, edge)).collect())
}

/// Stores a list of nodes as CUDA's queries do. If `to` is null, stores only the number of nodes in
/// `count`. Otherwise fills the array as far as possible, and sets the remaining elements to null.
///
/// # Safety
///
/// If not null, the array must have as many elements as `count` says.
pub unsafe fn give_nodes(values: &[NodeId], to: Out<CUgraphNode>, count: Out<usize>) -> CuResult {
    if !to.is_wanted() {
        return count.set(values.len());
    }
    let room = count.read()?;
    // SAFETY: the caller promises that the array has as many elements as `count` says, which is
    // `room`.
    let to = unsafe { to.array(room) };
    let values = values.iter().map(|node| *node as CUgraphNode);
    let given = values.len().min(room);
    to.set_all(values.chain(std::iter::repeat(std::ptr::null_mut())))?;
    count.set(given)
}

/// Stores the data of edges. Elements behind the last edge become zero.
///
/// # Safety
///
/// If not null, the array must have `room` elements.
unsafe fn give_data(edges: &[Edge], to: Out<CUgraphEdgeData>, room: usize) -> CuResult {
    if !to.is_wanted() {
        // Without an array for the data, the program would take edges with data for default edges.
        // Fail if there are any.
        return match edges.iter().all(|edge| *edge == Edge::Full) {
            true => Ok(()),
            false => Err(CuError::LOSSY_QUERY),
        };
    }
    let data = edges.iter().map(|edge| edge.data());
    // SAFETY: the caller promises that the array has `room` elements.
    unsafe { to.array(room) }.set_all(data.chain(std::iter::repeat(Edge::Full.data())))
}

/// Stores a list of nodes, as [`give_nodes`] does, and the data of the edges that connect these
/// nodes to another node.
///
/// # Safety
///
/// If not null, each array must have as many elements as `count` says.
pub unsafe fn give_neighbors(
    values: &[(NodeId, Edge)],
    to: Out<CUgraphNode>,
    data: Out<CUgraphEdgeData>,
    count: Out<usize>,
) -> CuResult {
    let (nodes, edges): (Vec<_>, Vec<_>) = values.iter().copied().unzip();
    if data.is_wanted() && !to.is_wanted() {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the caller promises that each array has as many elements as `count` says.
    unsafe {
        if to.is_wanted() {
            give_data(&edges, data, count.read()?)?;
        }
        give_nodes(&nodes, to, count)
    }
}

/// Stores a list of edges, as [`give_nodes`] stores nodes, in two arrays of nodes and an array of
/// data.
///
/// # Safety
///
/// If not null, each array must have as many elements as `count` says.
pub unsafe fn give_edges(
    values: &Edges,
    (from, to): (Out<CUgraphNode>, Out<CUgraphNode>),
    data: Out<CUgraphEdgeData>,
    count: Out<usize>,
) -> CuResult {
    if from.is_wanted() != to.is_wanted() || (data.is_wanted() && !from.is_wanted()) {
        return Err(CuError::INVALID_VALUE);
    }
    if !from.is_wanted() {
        return count.set(values.len());
    }
    let first: Vec<_> = values.iter().map(|(from, ..)| *from).collect();
    let second: Vec<_> = values.iter().map(|(_, to, _)| *to).collect();
    let edges: Vec<_> = values.iter().map(|(.., edge)| *edge).collect();
    let room = count.read()?;
    // SAFETY: the caller promises that each array has as many elements as `count` says, which is
    // `room`.
    unsafe {
        give_data(&edges, data, room)?;
        give_nodes(&first, from, count)?;
        count.set(room)?;
        give_nodes(&second, to, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arg;
    use std::ptr::null_mut;

    fn given(values: &[NodeId], room: usize) -> (usize, [usize; 3]) {
        let (mut nodes, mut count) = ([1 as CUgraphNode; 3], room);
        // SAFETY: the array has at least as many elements as the count says.
        let given =
            unsafe { give_nodes(values, Out::from_c(nodes.as_mut_ptr()), Out::from_c(&mut count)) };
        given.unwrap();
        (count, nodes.map(|node| node as usize))
    }

    #[test]
    fn an_array_is_filled_with_nodes_and_then_nulls() {
        assert_eq!(given(&[7, 8], 3), (2, [7, 8, 0]));
        assert_eq!(given(&[7, 8], 1), (1, [7, 1, 1]));
        assert_eq!(given(&[7, 8], 0), (0, [1, 1, 1]));
        assert_eq!(given(&[], 2), (0, [0, 0, 1]));
    }

    #[test]
    fn without_an_array_the_number_is_returned() {
        let mut count = 0;
        // SAFETY: the array is null, and the count is a local variable.
        let given = unsafe { give_nodes(&[7, 8], Out::null(), Out::from_c(&mut count)) };
        assert_eq!((given, count), (Ok(()), 2));
        // SAFETY: both pointers are null.
        let given = unsafe { give_nodes(&[7, 8], Out::null(), Out::null()) };
        assert_eq!(given, Err(CuError::INVALID_VALUE));
    }

    #[test]
    fn edges_are_returned_in_arrays_or_counted() {
        let (mut from, mut to, mut count) = ([null_mut(); 2], [null_mut(); 2], 2);
        let mut data =
            [CUgraphEdgeData { from_port: 1, to_port: 1, type_: 1, reserved: [1; 5] }; 2];
        let edges = vec![(1, 2, Edge::Programmatic)];
        // SAFETY: the arrays have two elements, as the count says.
        let mut give = |both: bool, with_data: bool| unsafe {
            let second = if both { Out::from_c(to.as_mut_ptr()) } else { Out::null() };
            let data = if with_data { Out::from_c(data.as_mut_ptr()) } else { Out::null() };
            let arrays = (Out::from_c(from.as_mut_ptr()), second);
            give_edges(&edges, arrays, data, Out::from_c(&mut count))
        };
        assert_eq!(give(false, true), Err(CuError::INVALID_VALUE));
        assert_eq!(give(true, false), Err(CuError::LOSSY_QUERY));
        assert_eq!(give(true, true), Ok(()));
        assert_eq!(count, 1);
        let numbers = |nodes: [CUgraphNode; 2]| nodes.map(|node| node as usize);
        assert_eq!((numbers(from), numbers(to)), ([1, 0], [2, 0]));
        assert_eq!(data.map(|data| (data.from_port, data.type_)), [(1, 1), (0, 0)]);
        assert_eq!(data.map(|data| data.reserved), [[0; 5]; 2]);
    }
}
