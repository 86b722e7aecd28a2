//! Finds the nodes in a graph that never run at the same time as other nodes.

/// The maximum number of nodes and edges that the search visits in total.
const BUDGET: usize = 1 << 22;

/// The dependencies between the nodes of a graph, which are in topological order. `before` contains
/// the predecessors of the first node, then those of the second node, and so on.
#[derive(Default)]
pub(in crate::calls) struct Shape {
    before: Vec<u32>,
    /// For each node, the index in `before` at which its predecessors end.
    ends: Vec<usize>,
}

impl Shape {
    /// Adds a node. `before` contains its predecessors.
    pub(in crate::calls) fn add(&mut self, before: impl IntoIterator<Item = u32>) {
        self.before.extend(before);
        self.ends.push(self.before.len());
    }

    fn before(&self, node: usize) -> &[u32] {
        let from = node.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        &self.before[from..self.ends[node]]
    }

    /// Returns those of `nodes` that never run at the same time as another node, because every
    /// other node comes before or after them. The search stops after [`BUDGET`] steps, and then
    /// returns no further nodes.
    pub(in crate::calls) fn alone<'a>(
        &'a self,
        nodes: &'a [u32],
    ) -> impl Iterator<Item = u32> + 'a {
        let each = self.ends.len() + self.before.len();
        nodes.iter().copied().take(BUDGET / each.max(1)).filter(|node| self.is_alone(*node))
    }

    fn is_alone(&self, node: u32) -> bool {
        let (node, count) = (node as usize, self.ends.len());
        let mut reached = vec![false; count];
        reached[node] = true;
        for at in (0..=node).rev() {
            if !reached[at] {
                return false;
            }
            self.before(at).iter().for_each(|before| reached[*before as usize] = true);
        }
        // All earlier nodes come before this one. Next, check that all later nodes come after it.
        reached[..node].fill(false);
        (node + 1..count).all(|at| {
            reached[at] = self.before(at).iter().any(|before| reached[*before as usize]);
            reached[at]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(graph: &[&[u32]]) -> Vec<u32> {
        let mut shape = Shape::default();
        graph.iter().for_each(|before| shape.add(before.iter().copied()));
        let all: Vec<u32> = (0..graph.len() as u32).collect();
        shape.alone(&all).collect()
    }

    #[test]
    fn nodes_of_a_line_are_alone_and_nodes_of_branches_are_not() {
        assert_eq!(alone(&[&[], &[0], &[1]]), [0, 1, 2]);
        assert_eq!(alone(&[&[], &[]]), [0; 0]);
        // Node 0 forks and node 3 joins, so the first and the last node run alone.
        assert_eq!(alone(&[&[], &[0], &[0], &[1, 2]]), [0, 3]);
        // There are two nodes without predecessors, and two without successors, so none runs alone.
        assert_eq!(alone(&[&[], &[0], &[], &[1]]), [0; 0]);
        assert_eq!(alone(&[&[], &[0], &[1], &[1]]), [0, 1]);
        // Node 1 is a branch beside node 2, so only node 0 and the last node run alone.
        assert_eq!(alone(&[&[], &[0], &[0], &[2], &[1, 3]]), [0, 4]);
        assert_eq!(alone(&[&[], &[0], &[0, 1]]), [0, 1, 2]);
    }

    #[test]
    fn nodes_beyond_the_search_limit_are_not_alone() {
        let mut shape = Shape::default();
        let count = 1 << 16;
        for node in 0..count {
            shape.add(u32::checked_sub(node, 1));
        }
        let all: Vec<u32> = (0..count).collect();
        assert_eq!(shape.alone(&all).count(), BUDGET / (2 * count as usize - 1));
    }
}
