//! All graphs of a process.

use super::condition::{Conditional, Conditions, Handle, Kind};
use super::dag::{Graph, Node, Work};
use super::edge::{Dependencies, Edge};
use super::host_call::HostCall;
use super::ids::{FIRST_HANDLE, GraphId, HandleMap, NodeId, Operation, STEP};
use super::steps::{Branch, Step};
use super::user_objects::{References, UserId, UserObjects};
use crate::error::{CuError, CuResult};
use crate::sys::CUgraphNodeType;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The types of the nodes that the body of a conditional node can contain.
const IN_BODIES: &[CUgraphNodeType] = &[
    CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL,
    CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY,
    CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET,
    CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH,
    CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY,
    CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL,
];
/// The maximum nesting depth of child graphs.
const MAX_DEPTH: usize = 32;

/// All graphs by handle, and the graph that each node belongs to.
pub struct Table<Op> {
    next: usize,
    graphs: HandleMap<Graph<Op>>,
    nodes: HandleMap<GraphId>,
    /// For each node in a cloned graph, the original node.
    clones: HandleMap<NodeId>,
    /// The number of graphs that have ever been created.
    created: u64,
    /// The user objects of the process.
    pub(super) users: UserObjects,
    /// The removed nodes that allocated or freed memory. They are dropped after the table is
    /// unlocked, because dropping them may make calls.
    removed: Vec<Node<Op>>,
    /// The library's data for the handles of graphs that were destroyed, which is dropped after the
    /// table is unlocked.
    removed_conditions: Vec<Conditions>,
}

impl<Op> Default for Table<Op> {
    fn default() -> Self {
        Self {
            next: FIRST_HANDLE,
            graphs: HandleMap::default(),
            nodes: HandleMap::default(),
            clones: HandleMap::default(),
            created: 0,
            users: UserObjects::default(),
            removed: Vec::new(),
            removed_conditions: Vec::new(),
        }
    }
}

impl<Op: Operation> Table<Op> {
    fn handle(&mut self) -> usize {
        self.next += STEP;
        self.next - STEP
    }

    /// Creates a graph.
    pub fn create(&mut self) -> GraphId {
        let id = self.handle();
        self.created += 1;
        self.graphs.insert(id, Graph { number: self.created, ..Graph::default() });
        id
    }

    /// Returns the graph with this handle.
    pub fn graph(&self, id: GraphId) -> CuResult<&Graph<Op>> {
        self.graphs.get(&id).ok_or(CuError::INVALID_VALUE)
    }

    /// Returns the graph that a node belongs to.
    pub fn graph_of(&self, node: NodeId) -> CuResult<GraphId> {
        self.nodes.get(&node).copied().ok_or(CuError::INVALID_VALUE)
    }

    /// Returns the node with this handle.
    pub fn node(&self, id: NodeId) -> CuResult<&Node<Op>> {
        self.graph(self.graph_of(id)?)?.node(id)
    }

    /// Returns the operation of a node. Fails if the node has no operation.
    pub fn op(&self, id: NodeId) -> CuResult<&Op> {
        match &self.node(id)?.work {
            Work::Op(op) => Ok(op),
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    /// Returns the operation of a node for changing it. Fails if the node has no operation.
    pub fn op_mut(&mut self, id: NodeId) -> CuResult<&mut Op> {
        let graph = self.graph_of(id)?;
        let node = self.graphs.get_mut(&graph).and_then(|graph| graph.nodes.get_mut(&id));
        match node.map(|node| &mut node.work) {
            Some(Work::Op(op)) => Ok(op),
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    /// Implements `cuGraphNodeGetType`.
    pub fn kind(&self, id: NodeId) -> CuResult<CUgraphNodeType> {
        Ok(self.node(id)?.kind())
    }

    /// Adds a node that depends on other nodes in the same graph.
    pub fn add(
        &mut self,
        graph: GraphId,
        work: Work<Op>,
        after: &[(NodeId, Edge)],
    ) -> CuResult<NodeId> {
        let deps: Dependencies = after.iter().copied().collect();
        let node = Node { work, after: deps };
        self.graph(graph)?.check_edges(after, node.kind())?;
        if node.after.len() != after.len() {
            return Err(CuError::INVALID_VALUE);
        }
        let has_memory = Graph::has_memory(&node.work);
        if has_memory && self.graph(graph)?.part_of.is_some() {
            return Err(CuError::NOT_SUPPORTED);
        }
        let id = self.handle();
        if let Some(graph) = self.graphs.get_mut(&graph) {
            graph.nodes.insert(id, node);
            graph.has_memory |= has_memory;
        }
        self.nodes.insert(id, graph);
        Ok(id)
    }

    /// Adds a node with the operation that `make` returns for the graph and the new node's
    /// dependencies. If `make` returns none, adds no node.
    pub(super) fn add_with(
        &mut self,
        graph: GraphId,
        after: &[(NodeId, Edge)],
        make: impl FnOnce(&Graph<Op>, &[(NodeId, Edge)]) -> CuResult<Option<Op>>,
    ) -> CuResult<Option<NodeId>> {
        let found = self.graph(graph)?;
        found.check(after)?;
        match make(found, after)? {
            Some(op) => self.add(graph, Work::Op(op), after).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the outermost graph that directly or indirectly contains the graph `id` as the body
    /// of a conditional node, or `id` itself if there is none. Fails if the graph belongs to a
    /// child graph node.
    fn root(&self, mut id: GraphId) -> CuResult<GraphId> {
        while let Some(node) = self.graph(id)?.part_of {
            match self.node(node)?.work {
                Work::Conditional(_) => id = self.graph_of(node)?,
                _ => return Err(CuError::NOT_SUPPORTED),
            }
        }
        Ok(id)
    }

    /// Returns the graph for which a handle for a conditional node in this graph is created, and
    /// the library's data for the handles that the returned graph has already.
    pub(super) fn conditions(&self, id: GraphId) -> CuResult<(GraphId, Option<Conditions>)> {
        let root = self.root(id)?;
        Ok((root, self.graph(root)?.conditions.clone()))
    }

    /// Adds a handle for a conditional node to a graph.
    pub(super) fn add_condition(
        &mut self,
        graph: GraphId,
        conditions: Conditions,
        handle: u64,
        default: Option<u32>,
    ) -> CuResult {
        let graph = self.graphs.get_mut(&graph).ok_or(CuError::INVALID_VALUE)?;
        graph.conditions = Some(conditions);
        graph.handles.insert(handle, Handle { default, used: false });
        Ok(())
    }

    /// Adds a conditional node with empty bodies. Returns the node and the array of its bodies.
    pub(super) fn add_conditional(
        &mut self,
        graph: GraphId,
        (handle, kind, size): (u64, Kind, u32),
        after: &[(NodeId, Edge)],
    ) -> CuResult<(NodeId, *const GraphId)> {
        let root = self.root(graph)?;
        let unused = self.graph(root)?.handles.get(&handle).is_some_and(|handle| !handle.used);
        if !unused {
            return Err(CuError::INVALID_VALUE);
        }
        self.graph(graph)?.check_edges(after, CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL)?;
        let bodies: Box<[GraphId]> = (0..size).map(|_| self.create()).collect();
        let conditional = Arc::new(Conditional { handle, kind, bodies });
        let node = match self.add(graph, Work::Conditional(conditional.clone()), after) {
            Ok(node) => node,
            Err(error) => {
                conditional.bodies.iter().for_each(|body| self.forget(*body));
                return Err(error);
            }
        };
        for body in &conditional.bodies {
            if let Some(body) = self.graphs.get_mut(body) {
                body.part_of = Some(node);
            }
        }
        self.set_used(root, handle, true);
        Ok((node, conditional.bodies.as_ptr()))
    }

    fn set_used(&mut self, root: GraphId, handle: u64, used: bool) {
        let root = self.graphs.get_mut(&root);
        if let Some(handle) = root.and_then(|root| root.handles.get_mut(&handle)) {
            handle.used = used;
        }
    }

    /// Fails if a graph contains nodes that allocate or free memory, or conditional nodes, for a
    /// call that is refused for such graphs.
    fn check_can_copy(&self, id: GraphId) -> CuResult {
        self.check_no_memory(id)?;
        let conditional = |node: &Node<Op>| matches!(node.work, Work::Conditional(_));
        match self.graph(id)?.nodes.values().any(conditional) {
            true => Err(CuError::NOT_SUPPORTED),
            false => Ok(()),
        }
    }

    /// Fails if a graph contains nodes that allocate or free memory, for a call that is refused for
    /// such graphs.
    fn check_no_memory(&self, id: GraphId) -> CuResult {
        match self.graph(id)?.has_memory {
            true => Err(CuError::NOT_SUPPORTED),
            false => Ok(()),
        }
    }

    /// Returns the token for an instantiated graph, if only one can exist at a time. Fails if
    /// another instantiated graph has the token.
    pub(super) fn instance(&mut self, id: GraphId) -> CuResult<Option<Arc<()>>> {
        let graph = self.graphs.get_mut(&id).ok_or(CuError::INVALID_VALUE)?;
        if !graph.has_memory && graph.handles.is_empty() {
            return Ok(None);
        }
        if graph.instance.strong_count() > 0 {
            return Err(CuError::NOT_SUPPORTED);
        }
        let token = Arc::new(());
        graph.instance = Arc::downgrade(&token);
        Ok(Some(token))
    }

    /// Returns the removed nodes that allocated or freed memory, and the library's data for the
    /// handles of removed graphs. Dropping them may make calls, so the caller must first unlock the
    /// table.
    pub(super) fn take_removed(&mut self) -> (Vec<Node<Op>>, Vec<Conditions>) {
        (std::mem::take(&mut self.removed), std::mem::take(&mut self.removed_conditions))
    }

    /// Adds a node that contains a copy of a graph.
    pub fn add_child(
        &mut self,
        graph: GraphId,
        child: GraphId,
        after: &[(NodeId, Edge)],
    ) -> CuResult<NodeId> {
        self.graph(graph)?.check(after)?;
        if graph == child {
            return Err(CuError::INVALID_VALUE);
        }
        let copy = self.clone_graph(child)?;
        let node = self.add(graph, Work::Child(copy), after);
        match node {
            Ok(node) => {
                if let Some(copy) = self.graphs.get_mut(&copy) {
                    copy.part_of = Some(node);
                }
            }
            Err(_) => self.forget(copy),
        }
        node
    }

    /// Replaces the graph in a node by a copy of another one.
    pub fn set_child(&mut self, node: NodeId, child: GraphId) -> CuResult {
        let Work::Child(present) = self.node(node)?.work else {
            return Err(CuError::INVALID_VALUE);
        };
        let (copy, graph) = (self.clone_graph(child)?, self.graph_of(node)?);
        let of_node = self.graphs.get_mut(&graph).and_then(|graph| graph.nodes.get_mut(&node));
        if let Some(of_node) = of_node {
            of_node.work = Work::Child(copy);
        }
        if let Some(copy) = self.graphs.get_mut(&copy) {
            copy.part_of = Some(node);
        }
        self.forget(present);
        Ok(())
    }

    /// Adds a node that contains a graph itself, which from then on belongs to the node.
    pub fn move_child(
        &mut self,
        graph: GraphId,
        child: GraphId,
        after: &[(NodeId, Edge)],
    ) -> CuResult<NodeId> {
        if graph == child
            || self.graph(child)?.part_of.is_some()
            || self.contains(child, graph, 0)?
        {
            return Err(CuError::INVALID_VALUE);
        }
        self.check_can_copy(child)?;
        let node = self.add(graph, Work::Child(child), after)?;
        if let Some(child) = self.graphs.get_mut(&child) {
            child.part_of = Some(node);
        }
        Ok(node)
    }

    /// Returns whether a graph contains another one, directly or indirectly.
    fn contains(&self, graph: GraphId, other: GraphId, depth: usize) -> CuResult<bool> {
        if depth > MAX_DEPTH {
            return Err(CuError::NOT_SUPPORTED);
        }
        for node in self.graph(graph)?.nodes.values() {
            for part in node.work.parts() {
                if *part == other || self.contains(*part, other, depth + 1)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Creates a user object with this many references, which belong to the program.
    pub(super) fn create_user(&mut self, destructor: HostCall, references: u64) -> UserId {
        let id = self.handle();
        self.users.create(id, destructor, references);
        id
    }

    /// Adds references to a user object to a graph. If `moved` is set, the program gives up as many
    /// references of its own.
    pub(super) fn retain_user(
        &mut self,
        graph: GraphId,
        object: UserId,
        count: u64,
        moved: bool,
    ) -> CuResult {
        let graph = self.graphs.get_mut(&graph).ok_or(CuError::INVALID_VALUE)?;
        if moved {
            self.users.check(object, count)?;
        } else {
            self.users.retain(object, count)?;
        }
        *graph.users.entry(object).or_default() += count;
        Ok(())
    }

    /// Releases references of a graph to a user object.
    pub(super) fn release_user(&mut self, graph: GraphId, object: UserId, count: u64) -> CuResult {
        let graph = self.graphs.get_mut(&graph).ok_or(CuError::INVALID_VALUE)?;
        let held = graph.users.get_mut(&object).filter(|held| **held >= count);
        let held = held.ok_or(CuError::INVALID_VALUE)?;
        *held -= count;
        if *held == 0 {
            graph.users.remove(&object);
        }
        self.users.release(object, count)
    }

    /// Returns the references of a graph and its child graphs to user objects, after adding a
    /// reference for each.
    pub(super) fn retain_users_of(&mut self, id: GraphId) -> CuResult<References> {
        let mut all = References::new();
        let mut graphs = vec![id];
        while let Some(id) = graphs.pop() {
            let graph = self.graph(id)?;
            for (object, count) in &graph.users {
                *all.entry(*object).or_default() += count;
            }
            graphs.extend(graph.nodes.values().flat_map(|node| node.work.parts()));
        }
        self.users.retain_all(&all);
        Ok(all)
    }

    /// Returns the child graph that a node contains.
    pub fn child(&self, node: NodeId) -> CuResult<GraphId> {
        match self.node(node)?.work {
            Work::Child(child) => Ok(child),
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    /// Implements `cuGraphClone`.
    pub fn clone_graph(&mut self, of: GraphId) -> CuResult<GraphId> {
        self.clone_within(of, 0)
    }

    fn clone_within(&mut self, of: GraphId, depth: usize) -> CuResult<GraphId> {
        if depth > MAX_DEPTH {
            return Err(CuError::NOT_SUPPORTED);
        }
        self.check_can_copy(of)?;
        let (nodes, users) = {
            let graph = self.graph(of)?;
            (graph.nodes.clone(), graph.users.clone())
        };
        let copy = self.create();
        self.users.retain_all(&users);
        if let Some(copy) = self.graphs.get_mut(&copy) {
            copy.users = users;
        }
        let ids: BTreeMap<NodeId, NodeId> = nodes.keys().map(|id| (*id, self.handle())).collect();
        for (id, node) in nodes {
            let new = ids[&id];
            let work = match node.work {
                Work::Child(child) => {
                    let child = self.clone_within(child, depth + 1)?;
                    if let Some(child) = self.graphs.get_mut(&child) {
                        child.part_of = Some(new);
                    }
                    Work::Child(child)
                }
                work => work,
            };
            let after = node.after.iter().filter_map(|(id, edge)| Some((*ids.get(id)?, *edge)));
            let after = after.collect();
            self.nodes.insert(new, copy);
            self.clones.insert(new, id);
            if let Some(copy) = self.graphs.get_mut(&copy) {
                copy.nodes.insert(new, Node { work, after });
            }
        }
        Ok(copy)
    }

    /// Implements `cuGraphNodeFindInClone`.
    pub fn find_in_clone(&self, original: NodeId, clone: GraphId) -> CuResult<NodeId> {
        let mut nodes = self.graph(clone)?.nodes.keys();
        let found = nodes.find(|id| self.clones.get(id) == Some(&original));
        found.copied().ok_or(CuError::INVALID_VALUE)
    }

    /// Adds edges to a graph, or removes edges from it.
    pub fn change_edges(
        &mut self,
        id: GraphId,
        edges: &[(NodeId, NodeId, Edge)],
        add: bool,
    ) -> CuResult {
        if !add {
            self.check_no_memory(id)?;
        }
        let graph = self.graphs.get_mut(&id).ok_or(CuError::INVALID_VALUE)?;
        graph.change_edges(edges, add)
    }

    /// Implements `cuGraphDestroyNode`.
    pub fn destroy_node(&mut self, id: NodeId) -> CuResult {
        let of = self.graph_of(id)?;
        self.check_no_memory(of)?;
        let graph = self.graphs.get_mut(&of).ok_or(CuError::INVALID_VALUE)?;
        let node = graph.nodes.remove(&id).ok_or(CuError::INVALID_VALUE)?;
        for other in graph.nodes.values_mut() {
            other.after.remove(&id);
        }
        self.nodes.remove(&id);
        self.clones.remove(&id);
        if let Work::Conditional(conditional) = &node.work {
            let root = self.root(of)?;
            self.release(root, conditional);
        }
        node.work.parts().iter().for_each(|part| self.forget(*part));
        Ok(())
    }

    /// Makes the handles of a conditional node, and of those in its bodies, available again.
    fn release(&mut self, root: GraphId, conditional: &Conditional) {
        self.set_used(root, conditional.handle, false);
        for body in &conditional.bodies {
            let nodes = self.graphs.get(body).map(|body| body.nodes.values());
            let within: Vec<_> = nodes
                .into_iter()
                .flatten()
                .filter_map(|node| match &node.work {
                    Work::Conditional(conditional) => Some(conditional.clone()),
                    _ => None,
                })
                .collect();
            within.iter().for_each(|conditional| self.release(root, conditional));
        }
    }

    /// Implements `cuGraphDestroy`.
    pub fn destroy(&mut self, id: GraphId) -> CuResult {
        if self.graph(id)?.part_of.is_some() {
            return Err(CuError::INVALID_VALUE);
        }
        self.forget(id);
        Ok(())
    }

    pub(super) fn forget(&mut self, id: GraphId) {
        let Some(graph) = self.graphs.remove(&id) else { return };
        self.users.release_all(&graph.users);
        self.removed_conditions.extend(graph.conditions);
        for (id, node) in graph.nodes {
            self.nodes.remove(&id);
            self.clones.remove(&id);
            let parts = node.work.parts().to_vec();
            parts.iter().for_each(|part| self.forget(*part));
            if parts.is_empty() && graph.has_memory {
                self.removed.push(node);
            }
        }
    }

    /// Returns the graph's current steps, in an order in which they can run.
    pub fn steps(&self, id: GraphId) -> CuResult<Vec<Step<Op>>> {
        if self.graph(id)?.handles.values().any(|handle| !handle.used) {
            // Every handle for a conditional node must be used by a node when the graph is
            // instantiated.
            return Err(CuError::INVALID_VALUE);
        }
        let mut steps = Vec::new();
        self.steps_within(id, &[], &mut steps, (0, false))?;
        Ok(steps)
    }

    /// Returns a conditional node in the form in which it runs.
    fn branch(&self, graph: GraphId, node: &Conditional, depth: usize) -> CuResult<Branch<Op>> {
        let root = self.graph(self.root(graph)?)?;
        let handle = root.handles.get(&node.handle).ok_or(CuError::INVALID_VALUE)?;
        let bodies = node.bodies.iter().map(|body| {
            let mut steps = Vec::new();
            self.steps_within(*body, &[], &mut steps, (depth + 1, true))?;
            Ok(steps)
        });
        Ok(Branch {
            handle: node.handle,
            kind: node.kind,
            default: handle.default,
            conditions: root.conditions.clone().ok_or(CuError::INVALID_VALUE)?,
            bodies: bodies.collect::<CuResult<_>>()?,
        })
    }

    /// Appends the steps of a graph, which run after the steps at the indices in `before`. Returns
    /// the indices of the appended steps that no other appended step depends on. The body of a
    /// conditional node can contain only some kinds of nodes.
    fn steps_within(
        &self,
        id: GraphId,
        before: &[(usize, Edge)],
        steps: &mut Vec<Step<Op>>,
        (depth, in_body): (usize, bool),
    ) -> CuResult<Vec<(usize, Edge)>> {
        if depth > MAX_DEPTH {
            return Err(CuError::NOT_SUPPORTED);
        }
        let (graph_id, graph) = (id, self.graph(id)?);
        let mut places: HashMap<NodeId, usize> = HashMap::with_capacity(graph.nodes.len());
        for id in graph.order()? {
            let node = graph.node(id)?;
            let after = node.after.iter().map(|(id, edge)| (places[id], *edge));
            let mut after: Vec<(usize, Edge)> = after.collect();
            if after.is_empty() {
                after = before.to_vec();
            }
            if in_body && !IN_BODIES.contains(&node.kind()) {
                return Err(CuError::INVALID_VALUE);
            }
            let (first, mut branch) = (steps.len(), None);
            let op = match &node.work {
                Work::Op(op) => Some(op.clone()),
                Work::Empty => None,
                Work::Child(child) => {
                    let ends = self.steps_within(*child, &after, steps, (depth + 1, in_body))?;
                    if !ends.is_empty() {
                        after = ends;
                    }
                    None
                }
                Work::Conditional(node) => {
                    branch = Some(Arc::new(self.branch(graph_id, node, depth)?));
                    None
                }
            };
            let child = steps.len() - first;
            places.insert(id, steps.len());
            steps.push(Step { id, op, after, enabled: true, child, branch });
        }
        Ok(graph.leaves().iter().map(|id| (places[id], Edge::Full)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::edge::full;

    impl Operation for u32 {
        fn kind(&self) -> CUgraphNodeType {
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL
        }
    }

    const INVALID: CuError = CuError::INVALID_VALUE;

    #[test]
    fn forged_and_stale_handles_are_refused() {
        let mut table = Table::default();
        let graph = table.create();
        let node = table.add(graph, Work::Op(1), &[]).unwrap();
        for bad in [0, 1, 2, graph, node + 8, usize::MAX] {
            assert_eq!(table.kind(bad), Err(INVALID));
            assert_eq!(table.add(graph, Work::Op(1), &full(&[bad])), Err(INVALID));
            assert!(bad == graph || table.destroy(bad) == Err(INVALID));
        }
        assert_eq!(table.add(graph, Work::Op(2), &full(&[node, node])), Err(INVALID));
        table.destroy(graph).unwrap();
        assert_eq!((table.kind(node), table.destroy(graph)), (Err(INVALID), Err(INVALID)));
        assert_ne!(table.create(), graph);
    }

    #[test]
    fn a_child_graph_is_a_copy_that_runs_in_place_of_its_node() {
        let mut table = Table::default();
        let inner = table.create();
        let a = table.add(inner, Work::Op(10), &[]).unwrap();
        let b = table.add(inner, Work::Op(11), &[]).unwrap();
        let outer = table.create();
        let first = table.add(outer, Work::Op(1), &[]).unwrap();
        let child = table.add_child(outer, inner, &full(&[first])).unwrap();
        table.add(outer, Work::Op(2), &full(&[child])).unwrap();
        table.destroy(inner).unwrap();
        let steps = table.steps(outer).unwrap();
        let after = |step: &Step<u32>| step.after.iter().map(|(place, _)| *place).collect();
        let seen: Vec<(_, Vec<_>)> = steps.iter().map(|step| (step.op, after(step))).collect();
        let join = (None, vec![1, 2]);
        let expected =
            [(Some(1), vec![]), (Some(10), vec![0]), (Some(11), vec![0]), join, (Some(2), vec![3])];
        assert_eq!(seen, expected);
        let within = table.child(child).unwrap();
        assert_eq!(table.destroy(within), Err(INVALID));
        assert!(table.find_in_clone(a, within).is_ok() && table.find_in_clone(b, within).is_ok());
        table.destroy(outer).unwrap();
        assert!(table.graph(within).is_err() && table.nodes.is_empty() && table.clones.is_empty());
    }

    #[test]
    fn a_graph_cannot_contain_itself() {
        let mut table = Table::<u32>::default();
        let graph = table.create();
        assert_eq!(table.add_child(graph, graph, &[]), Err(INVALID));
    }
}
