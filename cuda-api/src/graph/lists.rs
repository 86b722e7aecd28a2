//! Arguments that are arrays of nodes or edges.

use super::ids::NodeId;
use crate::args::{In, Out};
use crate::error::{CuError, CuResult};
use crate::sys::{CUgraphEdgeData, CUgraphNode};

/// Pairs of a node and a node that depends on it.
pub type Edges = Vec<(NodeId, NodeId)>;

/// Reads nodes that a program passes by address and count.
///
/// # Safety
///
/// If not null, the array must have `count` elements.
pub unsafe fn nodes(from: In<CUgraphNode>, count: usize) -> CuResult<Vec<NodeId>> {
    // SAFETY: the array has `count` elements, as the caller promises.
    let nodes = unsafe { from.array(count) };
    (0..count).map(|index| Ok(nodes.get(index)? as NodeId)).collect()
}

/// Reads edges that a program passes as two arrays of nodes.
///
/// # Safety
///
/// If not null, each array must have `count` elements.
pub unsafe fn edges(from: In<CUgraphNode>, to: In<CUgraphNode>, count: usize) -> CuResult<Edges> {
    // SAFETY: the arrays have `count` elements, as the caller promises.
    let (from, to) = unsafe { (nodes(from, count)?, nodes(to, count)?) };
    Ok(from.into_iter().zip(to).collect())
}

/// Fails for edges with data other than zero, which are not supported.
///
/// # Safety
///
/// If not null, the array must have `count` elements.
pub unsafe fn plain_edges(edges: In<CUgraphEdgeData>, count: usize) -> CuResult {
    let count = if edges.is_null() { 0 } else { count };
    // SAFETY: the array has `count` elements of eight bytes, as the caller promises.
    let edges = unsafe { edges.cast::<u64>().array(count) };
    for index in 0..count {
        if edges.get(index)? != 0 {
            return Err(CuError::NOT_SUPPORTED);
        }
    }
    Ok(())
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
    // SAFETY: the array has this many elements, as the caller promises.
    let to = unsafe { to.array(room) };
    let values = values.iter().map(|node| *node as CUgraphNode);
    let given = values.len().min(room);
    to.set_all(values.chain(std::iter::repeat(std::ptr::null_mut())))?;
    count.set(given)
}

/// Fills an array of edge data with zeros, since edges with other data are not supported.
///
/// # Safety
///
/// If not null, the array must have `room` elements.
unsafe fn give_no_data(data: Out<CUgraphEdgeData>, room: usize) -> CuResult {
    if !data.is_wanted() {
        return Ok(());
    }
    // SAFETY: the array has this many elements of eight bytes, as the caller promises.
    unsafe { data.cast::<u64>().array(room) }.set_all(std::iter::repeat(0))
}

/// Like [`give_nodes`], but also stores the data of the edges that connect these nodes to another
/// node.
///
/// # Safety
///
/// If not null, each array must have as many elements as `count` says.
pub unsafe fn give_neighbors(
    values: &[NodeId],
    to: Out<CUgraphNode>,
    data: Out<CUgraphEdgeData>,
    count: Out<usize>,
) -> CuResult {
    if to.is_wanted() {
        // SAFETY: the array has this many elements, as the caller promises.
        unsafe { give_no_data(data, count.read()?) }?;
    }
    // SAFETY: the caller promises the same.
    unsafe { give_nodes(values, to, count) }
}

/// Like [`give_nodes`], but stores edges, in two arrays of nodes.
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
    if from.is_wanted() != to.is_wanted() {
        return Err(CuError::INVALID_VALUE);
    }
    if !from.is_wanted() {
        return count.set(values.len());
    }
    let (first, second): (Vec<_>, Vec<_>) = values.iter().copied().unzip();
    let room = count.read()?;
    // SAFETY: the arrays have this many elements, as the caller promises.
    unsafe {
        give_no_data(data, room)?;
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
    fn edges_are_returned_in_two_arrays_or_none() {
        let (mut from, mut to, mut count) = ([null_mut(); 2], [null_mut(); 2], 2);
        let mut data =
            [CUgraphEdgeData { from_port: 1, to_port: 1, type_: 1, reserved: [1; 5] }; 2];
        // SAFETY: both arrays have two elements, as the count says.
        let given = unsafe {
            let arrays = (Out::from_c(from.as_mut_ptr()), Out::from_c(to.as_mut_ptr()));
            let (data, count) = (Out::from_c(data.as_mut_ptr()), Out::from_c(&mut count));
            assert_eq!(
                give_edges(&vec![(1, 2)], (arrays.0, Out::null()), data, count),
                Err(CuError::INVALID_VALUE)
            );
            give_edges(&vec![(1, 2)], arrays, data, count)
        };
        assert_eq!((given, count), (Ok(()), 1));
        let numbers = |nodes: [CUgraphNode; 2]| nodes.map(|node| node as usize);
        assert_eq!((numbers(from), numbers(to)), ([1, 0], [2, 0]));
        assert!(data.iter().all(|data| (data.type_, data.reserved) == (0, [0; 5])));
    }

    #[test]
    fn only_plain_edges_are_accepted() {
        let plain = CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };
        let other = CUgraphEdgeData { type_: 1, ..plain };
        let check = |edges: &[CUgraphEdgeData]| {
            // SAFETY: a slice has as many elements as its length says.
            unsafe { plain_edges(In::from_c(edges.as_ptr()), edges.len()) }
        };
        assert_eq!(check(&[plain, plain]), Ok(()));
        assert_eq!(check(&[plain, other]), Err(CuError::NOT_SUPPORTED));
        // SAFETY: the array is null.
        assert_eq!(unsafe { plain_edges(In::null(), 5) }, Ok(()));
    }
}
