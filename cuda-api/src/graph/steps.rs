//! The steps of a graph: its nodes in an order in which they can run.

use super::condition::{Conditions, Kind};
use super::edge::Edge;
use super::ids::{NodeId, Operation};
use crate::error::{CuError, CuResult};
use crate::sys::{CUgraphExecUpdateResult, CUgraphNodeType};
use std::ops::Range;
use std::sync::Arc;

const KIND_EMPTY: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
const TOPOLOGY_CHANGED: CUgraphExecUpdateResult =
    CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
const NODE_TYPE_CHANGED: CUgraphExecUpdateResult =
    CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;

/// A node in the form in which it runs: child graphs are replaced by their nodes.
#[derive(Clone, Debug)]
pub struct Step<Op> {
    /// The node's handle.
    pub id: NodeId,
    /// The node's operation, or `None` if the node only joins other nodes.
    pub op: Option<Op>,
    /// The indices of the steps that this one depends on, all of which come earlier in the list.
    pub after: Vec<(usize, Edge)>,
    /// Whether launches run the operation.
    pub enabled: bool,
    /// For a child graph's node, the number of the child graph's steps, which come right before
    /// this one.
    pub child: usize,
    /// The work of a conditional node.
    pub branch: Option<Arc<Branch<Op>>>,
}

/// A conditional node in the form in which it runs.
#[derive(Debug)]
pub struct Branch<Op> {
    /// The handle of the value on which the node depends.
    pub handle: u64,
    /// Determines which body runs.
    pub kind: Kind,
    /// The value that each launch of the graph assigns first, if any.
    pub default: Option<u32>,
    /// The library's data for the graph's handles.
    pub conditions: Conditions,
    /// The steps of each body.
    pub bodies: Vec<Vec<Step<Op>>>,
}

/// The reason why a graph can't replace an executable one, and the node of the new graph that
/// differs, if there is one.
pub type Difference = (CUgraphExecUpdateResult, Option<NodeId>);

/// Fails if two graphs differ in more than the operations of their nodes.
pub fn compare<Op: Operation>(old: &[Step<Op>], new: &[Step<Op>]) -> Result<(), Difference> {
    if old.len() != new.len() {
        return Err((TOPOLOGY_CHANGED, None));
    }
    for (old, new) in old.iter().zip(new) {
        if old.after != new.after || old.child != new.child {
            return Err((TOPOLOGY_CHANGED, Some(new.id)));
        }
        let kinds = [old, new].map(|step| step.op.as_ref().map_or(KIND_EMPTY, Op::kind));
        if kinds[0] != kinds[1] {
            return Err((NODE_TYPE_CHANGED, Some(new.id)));
        }
    }
    Ok(())
}

/// Replaces the operations of a child graph's steps with those of another graph, which may differ
/// only in the operations of its nodes. Returns the indices of the steps.
pub fn replace_child<Op: Operation>(
    steps: &mut [Step<Op>],
    node: NodeId,
    child: &[Step<Op>],
) -> CuResult<Range<usize>> {
    let place = steps.iter().position(|step| step.id == node).ok_or(CuError::INVALID_VALUE)?;
    if steps[place].op.is_some() {
        return Err(CuError::INVALID_VALUE);
    }
    let first = place - steps[place].child;
    let within = &mut steps[first..place];
    let alone: Vec<Step<Op>> = within
        .iter()
        .map(|step| {
            // Without its node, the child graph begins with the steps that depend on no others.
            let within = |(place, edge): &(usize, Edge)| Some((place.checked_sub(first)?, *edge));
            let after = step.after.iter().filter_map(within).collect();
            Step { after, ..step.clone() }
        })
        .collect();
    compare(&alone, child).map_err(|_| CuError::INVALID_VALUE)?;
    for (step, new) in within.iter_mut().zip(child) {
        step.op = new.op.clone();
    }
    Ok(first..place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dag::Work;
    use crate::graph::edge::full;
    use crate::graph::table::Table;

    const INVALID: CuError = CuError::INVALID_VALUE;

    #[test]
    fn graphs_of_the_same_shape_can_replace_each_other() {
        let mut table = Table::default();
        let mut make = |ops: &[Work<u32>], edge: bool| {
            let graph = table.create();
            let first = table.add(graph, ops[0].clone(), &[]).unwrap();
            let after = if edge { full(&[first]) } else { vec![] };
            table.add(graph, ops[1].clone(), &after).unwrap();
            table.steps(graph).unwrap()
        };
        let old = make(&[Work::Op(1), Work::Op(2)], true);
        assert_eq!(compare(&old, &make(&[Work::Op(3), Work::Op(4)], true)), Ok(()));
        let apart = make(&[Work::Op(3), Work::Op(4)], false);
        assert_eq!(compare(&old, &apart), Err((TOPOLOGY_CHANGED, Some(apart[1].id))));
        let other = make(&[Work::Op(3), Work::Empty], true);
        assert_eq!(compare(&old, &other), Err((NODE_TYPE_CHANGED, Some(other[1].id))));
        assert_eq!(compare(&old, &old[..1]), Err((TOPOLOGY_CHANGED, None)));
    }

    #[test]
    fn the_steps_of_a_child_graph_can_be_found_and_replaced() {
        let mut table = Table::default();
        let inner = table.create();
        let a = table.add(inner, Work::Op(10), &[]).unwrap();
        table.add(inner, Work::Op(11), &full(&[a])).unwrap();
        let outer = table.create();
        let first = table.add(outer, Work::Op(1), &[]).unwrap();
        let child = table.add_child(outer, inner, &full(&[first])).unwrap();
        let mut steps = table.steps(outer).unwrap();
        let mut other = table.steps(inner).unwrap();
        other[1].op = Some(12);
        assert_eq!(replace_child(&mut steps, first, &other), Err(INVALID));
        assert_eq!(replace_child(&mut steps, child, &other[..1]), Err(INVALID));
        assert_eq!(replace_child(&mut steps, child, &other), Ok(1..3));
        let ops: Vec<_> = steps.iter().map(|step| step.op).collect();
        assert_eq!(ops, [Some(1), Some(10), Some(12), None]);
        other[1].after.clear();
        assert_eq!(replace_child(&mut steps, child, &other), Err(INVALID));
    }
}
