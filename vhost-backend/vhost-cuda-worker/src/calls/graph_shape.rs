//! Which nodes of a graph can run beside others.

/// What looking for them may cost, in nodes and edges.
const BUDGET: usize = 1 << 22;

/// What each node of a graph comes after, in an order in which that is before it.
#[derive(Default)]
pub(super) struct Shape {
    before: Vec<u32>,
    /// Where each node's part of that ends.
    ends: Vec<usize>,
}

impl Shape {
    /// Adds a node.
    pub(super) fn add(&mut self, before: &[u32]) {
        self.before.extend_from_slice(before);
        self.ends.push(self.before.len());
    }

    fn before(&self, node: usize) -> &[u32] {
        let from = node.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        &self.before[from..self.ends[node]]
    }

    /// Of these nodes, those beside which nothing runs: all others come before or after each of them.
    /// A node that would take too long to find out about is not among them.
    pub(super) fn alone<'a>(&'a self, nodes: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
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
        // Only what comes after the node counts from here on.
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
        graph.iter().for_each(|before| shape.add(before));
        let all: Vec<u32> = (0..graph.len() as u32).collect();
        shape.alone(&all).collect()
    }

    #[test]
    fn in_a_line_each_is_alone_and_of_branches_none() {
        assert_eq!(alone(&[&[], &[0], &[1]]), [0, 1, 2]);
        assert_eq!(alone(&[&[], &[]]), [0; 0]);
        // A fork and what joins it: the first and the last.
        assert_eq!(alone(&[&[], &[0], &[0], &[1, 2]]), [0, 3]);
        // A second root beside a line, and a second end.
        assert_eq!(alone(&[&[], &[0], &[], &[1]]), [0; 0]);
        assert_eq!(alone(&[&[], &[0], &[1], &[1]]), [0, 1]);
        // What skips a node on its way runs beside it.
        assert_eq!(alone(&[&[], &[0], &[0], &[2], &[1, 3]]), [0, 4]);
        assert_eq!(alone(&[&[], &[0], &[0, 1]]), [0, 1, 2]);
    }

    #[test]
    fn what_costs_too_much_is_taken_for_one_that_runs_beside_others() {
        let mut shape = Shape::default();
        let count = 1 << 16;
        for node in 0..count {
            let before: Vec<u32> = u32::checked_sub(node, 1).into_iter().collect();
            shape.add(&before);
        }
        let all: Vec<u32> = (0..count).collect();
        assert_eq!(shape.alone(&all).count(), BUDGET / (2 * count as usize - 1));
    }
}
