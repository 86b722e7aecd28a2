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
#[derive(Clone, Debug)]
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

/// The position of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The index in the list of the graph's steps.
    Graph(usize),
    /// The index among all steps in bodies of conditional nodes, in order. The steps in a step's
    /// own bodies follow it.
    Body(usize),
}

/// Finds the step of a node, also in the bodies of conditional nodes. Tries index `likely` first.
pub fn find<Op>(steps: &[Step<Op>], node: NodeId, likely: usize) -> Option<(Position, &Step<Op>)> {
    let is_likely = steps.get(likely).is_some_and(|step| step.id == node);
    let place = if is_likely { Some(likely) } else { steps.iter().position(|s| s.id == node) };
    if let Some(place) = place {
        return Some((Position::Graph(place), &steps[place]));
    }
    let mut before = 0;
    let (place, step) = steps.iter().find_map(|step| find_in_bodies(step, node, &mut before))?;
    Some((Position::Body(place), step))
}

/// Finds the step of a node in the bodies of a conditional node. Adds the number of steps that come
/// first to `before`.
fn find_in_bodies<'a, Op>(
    conditional: &'a Step<Op>,
    node: NodeId,
    before: &mut usize,
) -> Option<(usize, &'a Step<Op>)> {
    for step in conditional.branch.iter().flat_map(|branch| &branch.bodies).flatten() {
        if step.id == node {
            return Some((*before, step));
        }
        *before += 1;
        let found = find_in_bodies(step, node, before);
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Finds the step of a node, as [`find`] does, and returns it for changing. Copies a conditional
/// node's bodies if a launch in progress uses them, so that the launch isn't affected.
pub fn find_mut<Op: Clone>(steps: &mut [Step<Op>], node: NodeId) -> Option<&mut Step<Op>> {
    let contains =
        |step: &Step<Op>| step.id == node || find_in_bodies(step, node, &mut 0).is_some();
    let step = steps.iter_mut().find(|step| contains(step))?;
    if step.id == node {
        return Some(step);
    }
    let branch = Arc::make_mut(step.branch.as_mut()?);
    let body = branch.bodies.iter_mut().find(|body| body.iter().any(contains))?;
    find_mut(body, node)
}

/// The reason why a graph can't replace an instantiated one, and the node of the new graph that
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
            // `child` has no dependencies on steps outside of the graph, so leave out dependencies
            // on steps before the child graph.
            let within = |(place, edge): &(usize, Edge)| Some((place.checked_sub(first)?, *edge));
            let after = step.after.iter().filter_map(within).collect();
            Step { after, ..step.clone() }
        })
        .collect();
    let is_child = !within.is_empty();
    compare(&alone, child).map_err(|_| match is_child {
        true => CuError::GRAPH_EXEC_UPDATE_FAILURE,
        // The node may not be a child graph node at all: other nodes without an operation have no
        // child steps, either.
        false => CuError::INVALID_VALUE,
    })?;
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
        let other_shape = Err(CuError::GRAPH_EXEC_UPDATE_FAILURE);
        assert_eq!(replace_child(&mut steps, child, &other[..1]), other_shape);
        assert_eq!(replace_child(&mut steps, child, &other), Ok(1..3));
        let ops: Vec<_> = steps.iter().map(|step| step.op).collect();
        assert_eq!(ops, [Some(1), Some(10), Some(12), None]);
        other[1].after.clear();
        assert_eq!(replace_child(&mut steps, child, &other), other_shape);
    }

    #[test]
    fn steps_in_bodies_can_be_found_and_changed() {
        let step = |id, bodies: Vec<Vec<Step<u32>>>| Step {
            id,
            op: bodies.is_empty().then_some(0),
            after: vec![],
            enabled: true,
            child: 0,
            branch: (!bodies.is_empty()).then(|| {
                let (kind, conditions) = (Kind::Switch, Arc::new(()));
                Arc::new(Branch { handle: 0, kind, default: None, conditions, bodies })
            }),
        };
        let leaf = |id| step(id, vec![]);
        let inner = step(4, vec![vec![leaf(5)], vec![leaf(6)]]);
        let outer = step(2, vec![vec![leaf(3), inner, leaf(7)], vec![leaf(8)]]);
        let mut steps = vec![leaf(1), outer, step(9, vec![vec![leaf(10)]])];
        let place = |node| find(&steps, node, 0).map(|(place, step)| (place, step.id));
        assert_eq!(place(2), Some((Position::Graph(1), 2)));
        for likely in 0..5 {
            let found = [1, 2, 9].map(|node| find(&steps, node, likely).map(|found| found.0));
            assert_eq!(found, [0, 1, 2].map(|place| Some(Position::Graph(place))));
        }
        for (index, node) in [3, 4, 5, 6, 7, 8, 10].into_iter().enumerate() {
            assert_eq!(place(node), Some((Position::Body(index), node)));
        }
        assert_eq!(place(11), None);
        let before = steps.clone();
        find_mut(&mut steps, 6).unwrap().op = Some(60);
        find_mut(&mut steps, 1).unwrap().op = Some(10);
        assert!(find_mut(&mut steps, 11).is_none());
        let op = |steps: &[Step<u32>], node| find(steps, node, 0).unwrap().1.op;
        assert_eq!([op(&steps, 6), op(&steps, 1), op(&steps, 5)], [Some(60), Some(10), Some(0)]);
        assert_eq!([op(&before, 6), op(&before, 1)], [Some(0); 2]);
    }
}
