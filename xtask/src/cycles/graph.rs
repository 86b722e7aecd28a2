//! Finds cycles in a directed graph, which is given as a list of successors per node.

use std::collections::{BTreeSet, VecDeque};

/// Returns the strongly connected components with two or more nodes, each sorted.
pub fn cycles(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let reached: Vec<BTreeSet<usize>> =
        (0..successors.len()).map(|start| reachable(successors, start)).collect();
    let mut found = Vec::new();
    for (node, reached_by_node) in reached.iter().enumerate() {
        let component: Vec<usize> = reached_by_node
            .iter()
            .copied()
            .filter(|&other| reached[other].contains(&node))
            .collect();
        if component.len() > 1 && component[0] == node {
            found.push(component);
        }
    }
    found
}

/// Returns the nodes in one of the shortest cycles in a component.
pub fn shortest_cycle(successors: &[Vec<usize>], component: &[usize]) -> Vec<usize> {
    let cycles = component.iter().map(|&start| shortest_cycle_through(successors, start));
    cycles.filter(|cycle| !cycle.is_empty()).min_by_key(Vec::len).unwrap_or_default()
}

fn shortest_cycle_through(successors: &[Vec<usize>], start: usize) -> Vec<usize> {
    let mut previous: Vec<Option<usize>> = vec![None; successors.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &next in &successors[node] {
            if next == start {
                let mut cycle = vec![node];
                while let Some(before) = previous[cycle[cycle.len() - 1]] {
                    cycle.push(before);
                }
                cycle.reverse();
                return cycle;
            }
            if previous[next].is_none() {
                previous[next] = Some(node);
                queue.push_back(next);
            }
        }
    }
    Vec::new()
}

/// Returns the nodes that can be reached from `start` in one or more steps.
fn reachable(successors: &[Vec<usize>], start: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![start];
    while let Some(node) = pending.pop() {
        for &next in &successors[node] {
            if reached.insert(next) {
                pending.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_each_component_once() {
        // Nodes 0 and 1 import each other. Nodes 2, 3 and 4 form a cycle. Node 5 imports nodes of
        // both cycles and itself.
        let successors =
            [vec![1], vec![0, 2], vec![3], vec![4], vec![2], vec![0, 2, 5]].map(Vec::from);
        assert_eq!(cycles(&successors), [vec![0, 1], vec![2, 3, 4]]);
        assert_eq!(shortest_cycle(&successors, &[2, 3, 4]).len(), 3);
    }

    #[test]
    fn prefers_a_pair_to_a_longer_cycle() {
        let successors = [vec![1], vec![2, 0], vec![0]].map(Vec::from);
        assert_eq!(cycles(&successors), [vec![0, 1, 2]]);
        assert_eq!(shortest_cycle(&successors, &[0, 1, 2]), [0, 1]);
    }
}
