//! One graph: nodes and their dependencies.

use super::condition::{Conditional, Conditions, Handle};
use super::edge::{Dependencies, Edge};
use super::ids::{GraphId, NodeId, Operation};
use super::user_objects::References;
use crate::error::{CuError, CuResult};
use crate::sys::CUgraphNodeType;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Weak};

/// The work that a node in a graph does.
#[derive(Clone, Debug)]
pub enum Work<Op> {
    /// An operation, such as a kernel launch.
    Op(Op),
    /// No work: the node only joins the nodes that it depends on.
    Empty,
    /// All work in a child graph, which belongs to the node.
    Child(GraphId),
    /// The work in body graphs, depending on a value.
    Conditional(Arc<Conditional>),
}

impl<Op> Work<Op> {
    /// Returns the graphs that belong to the node.
    pub(super) fn parts(&self) -> &[GraphId] {
        match self {
            Self::Op(_) | Self::Empty => &[],
            Self::Child(child) => std::slice::from_ref(child),
            Self::Conditional(conditional) => &conditional.bodies,
        }
    }
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node<Op> {
    /// The node's work.
    pub work: Work<Op>,
    /// The nodes that this node depends on.
    pub after: Dependencies,
}

impl<Op: Operation> Node<Op> {
    /// Returns the type of the node.
    pub fn kind(&self) -> CUgraphNodeType {
        match &self.work {
            Work::Op(op) => op.kind(),
            Work::Empty => CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY,
            Work::Child(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH,
            Work::Conditional(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL,
        }
    }
}

/// The nodes of a graph, in the order of their creation.
#[derive(Clone, Debug)]
pub struct Graph<Op> {
    /// The nodes.
    pub nodes: BTreeMap<NodeId, Node<Op>>,
    /// The child graph node or conditional node that owns this graph, if any. A program can't
    /// destroy such a graph directly.
    pub part_of: Option<NodeId>,
    /// The graph's number: graphs are counted from 1 in the order of their creation.
    pub number: u64,
    /// The user objects to which the graph holds references.
    pub users: References,
    /// Whether nodes allocate or free memory. Such a graph can't be copied, its nodes and edges
    /// can't be removed, and it can be instantiated only once at a time.
    pub has_memory: bool,
    /// The handles of conditional nodes that were created for the graph.
    pub handles: BTreeMap<u64, Handle>,
    /// The library's data for the handles.
    pub conditions: Option<Conditions>,
    /// A token that the instantiated graph holds, if only one can exist at a time.
    pub instance: Weak<()>,
}

impl<Op> Default for Graph<Op> {
    fn default() -> Self {
        Self {
            nodes: BTreeMap::new(),
            part_of: None,
            number: 0,
            users: References::new(),
            has_memory: false,
            handles: BTreeMap::new(),
            conditions: None,
            instance: Weak::new(),
        }
    }
}

impl<Op> Graph<Op> {
    /// Returns the node with this id.
    pub fn node(&self, id: NodeId) -> CuResult<&Node<Op>> {
        self.nodes.get(&id).ok_or(CuError::INVALID_VALUE)
    }

    /// Returns the nodes without dependencies.
    pub fn roots(&self) -> Vec<NodeId> {
        let roots = self.nodes.iter().filter(|(_, node)| node.after.is_empty());
        roots.map(|(id, _)| *id).collect()
    }

    /// Returns all pairs of a node and a node that depends on it.
    pub fn edges(&self) -> Vec<(NodeId, NodeId, Edge)> {
        let nodes = self.nodes.iter();
        nodes.flat_map(|(to, node)| node.after.iter().map(|(f, edge)| (*f, *to, *edge))).collect()
    }

    /// Returns the nodes that depend on a node.
    pub fn dependents(&self, id: NodeId) -> Vec<(NodeId, Edge)> {
        let nodes = self.nodes.iter();
        nodes.filter_map(|(to, node)| Some((*to, *node.after.get(&id)?))).collect()
    }

    /// Returns the nodes that no other node depends on.
    pub fn leaves(&self) -> BTreeSet<NodeId> {
        let mut leaves: BTreeSet<NodeId> = self.nodes.keys().copied().collect();
        for node in self.nodes.values() {
            for before in node.after.keys() {
                leaves.remove(before);
            }
        }
        leaves
    }

    /// Fails if the graph lacks one of the nodes.
    pub fn check(&self, nodes: &[(NodeId, Edge)]) -> CuResult {
        match nodes.iter().all(|(id, _)| self.nodes.contains_key(id)) {
            true => Ok(()),
            false => Err(CuError::INVALID_VALUE),
        }
    }

    /// Returns the nodes in an order in which each comes after its dependencies. Keeps the order of
    /// creation where possible.
    pub fn order(&self) -> CuResult<Vec<NodeId>> {
        let mut waiting: HashMap<NodeId, usize> = HashMap::with_capacity(self.nodes.len());
        let mut dependents: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        let mut ready = BTreeSet::new();
        for (id, node) in &self.nodes {
            if node.after.is_empty() {
                ready.insert(*id);
            } else {
                waiting.insert(*id, node.after.len());
            }
            for before in node.after.keys() {
                dependents.entry(*before).or_default().push(*id);
            }
        }
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(id) = ready.pop_first() {
            order.push(id);
            for next in dependents.remove(&id).unwrap_or_default() {
                if let Some(left) = waiting.get_mut(&next) {
                    *left -= 1;
                    if *left == 0 {
                        ready.insert(next);
                    }
                }
            }
        }
        // If nodes are missing from the order, the graph has a cycle.
        match order.len() == self.nodes.len() {
            true => Ok(order),
            false => Err(CuError::INVALID_VALUE),
        }
    }

    /// Returns the nodes in `of`, and all nodes that they depend on, directly or indirectly.
    pub fn ancestors(&self, of: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
        let mut found = BTreeSet::new();
        let mut look: Vec<NodeId> = of.iter().copied().collect();
        while let Some(id) = look.pop() {
            if found.insert(id)
                && let Some(node) = self.nodes.get(&id)
            {
                look.extend(node.after.keys());
            }
        }
        found
    }
}

impl<Op: Operation> Graph<Op> {
    /// Fails if a node of this type can't depend on these nodes with these edges.
    pub fn check_edges(&self, after: &[(NodeId, Edge)], kind: CUgraphNodeType) -> CuResult {
        after.iter().try_for_each(|(from, edge)| edge.check(self.node(*from)?.kind(), kind))
    }

    /// Adds or removes edges. If any of the edges is invalid, nothing changes.
    pub fn change_edges(&mut self, edges: &[(NodeId, NodeId, Edge)], add: bool) -> CuResult {
        let mut seen = BTreeSet::new();
        for (from, to, edge) in edges {
            let node = self.node(*to)?;
            self.check_edges(&[(*from, *edge)], node.kind())?;
            let present = node.after.get(from);
            let fits = if add { present.is_none() } else { present == Some(edge) };
            if from == to || !fits || !seen.insert((*from, *to)) {
                return Err(CuError::INVALID_VALUE);
            }
        }
        for (from, to, edge) in edges {
            if let Some(node) = self.nodes.get_mut(to) {
                if add {
                    node.after.insert(*from, *edge);
                } else {
                    node.after.remove(from);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Edges = Vec<(NodeId, NodeId, Edge)>;

    fn full(edges: &[(NodeId, NodeId)]) -> Edges {
        edges.iter().map(|(from, to)| (*from, *to, Edge::Full)).collect()
    }

    fn graph(edges: &[(NodeId, NodeId)], nodes: usize) -> Graph<u32> {
        let mut graph = Graph::default();
        for id in 1..=nodes {
            graph.nodes.insert(id, Node { work: Work::Op(0), after: Dependencies::new() });
        }
        graph.change_edges(&full(edges), true).unwrap();
        graph
    }

    #[test]
    fn an_order_respects_all_edges_and_a_cycle_has_none() {
        assert_eq!(graph(&[(3, 1), (1, 2), (3, 2)], 4).order(), Ok(vec![3, 1, 2, 4]));
        let circle = graph(&[(1, 2), (2, 3), (3, 1)], 3);
        assert_eq!(circle.order(), Err(CuError::INVALID_VALUE));
    }

    #[test]
    fn invalid_edges_are_refused_and_change_nothing() {
        let mut diamond = graph(&[(1, 2), (1, 3), (2, 4), (3, 4)], 4);
        for bad in [[(1, 4), (1, 2)], [(1, 4), (2, 2)], [(1, 4), (1, 9)], [(1, 4), (1, 4)]] {
            assert!(diamond.change_edges(&full(&bad), true).is_err(), "{bad:?}");
        }
        assert!(diamond.change_edges(&full(&[(1, 4)]), false).is_err());
        assert_eq!(diamond.edges(), full(&[(1, 2), (1, 3), (2, 4), (3, 4)]));
        assert_eq!(diamond.roots(), [1]);
        assert_eq!(diamond.dependents(1), [(2, Edge::Full), (3, Edge::Full)]);
        assert_eq!(diamond.leaves(), [4].into());
        diamond.change_edges(&full(&[(3, 4)]), false).unwrap();
        assert_eq!(diamond.leaves(), [3, 4].into());
        assert_eq!(diamond.ancestors(&[4].into()), [1, 2, 4].into());
    }

    #[test]
    fn an_edge_is_removed_only_with_its_data() {
        let mut line = graph(&[], 2);
        line.change_edges(&[(1, 2, Edge::Programmatic)], true).unwrap();
        assert!(line.change_edges(&full(&[(1, 2)]), true).is_err());
        assert!(line.change_edges(&full(&[(1, 2)]), false).is_err());
        assert_eq!(line.edges(), [(1, 2, Edge::Programmatic)]);
        line.change_edges(&[(1, 2, Edge::Programmatic)], false).unwrap();
        assert_eq!(line.edges(), []);
    }
}
