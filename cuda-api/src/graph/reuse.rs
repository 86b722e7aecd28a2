//! The memory nodes of one graph: which memory a new node can use, and which it can free.

use super::dag::{Graph, Node, Work};
use super::edge::Edge;
use super::ids::{MemoryUse, NodeId, Operation};
use crate::error::{CuError, CuResult};
use std::collections::BTreeMap;

/// An allocation reuses memory only if it's at most this many times as long, so that small
/// allocations don't take large blocks from large allocations.
const MOST_TIMES: u64 = 2;

/// Memory that a graph's nodes allocate.
struct Block {
    len: u64,
    device: i32,
    /// The last node that allocates this memory.
    node: NodeId,
    /// The node that frees the memory after `node`, if any.
    freed: Option<NodeId>,
}

fn memory_of<Op: Operation>(node: &Node<Op>) -> Option<MemoryUse> {
    match &node.work {
        Work::Op(op) => op.memory(),
        _ => None,
    }
}

impl<Op: Operation> Graph<Op> {
    /// Returns whether a node with this work allocates or frees memory.
    pub(super) fn has_memory(work: &Work<Op>) -> bool {
        matches!(work, Work::Op(op) if op.memory().is_some())
    }

    /// Returns a node whose memory a new allocation of `len` bytes can reuse. The new node will
    /// depend on the nodes in `after`. A node's memory can be reused if it was freed by one of
    /// these nodes or by a node that they depend on.
    pub(super) fn reusable(
        &self,
        after: &[(NodeId, Edge)],
        len: u64,
        device: i32,
    ) -> Option<NodeId> {
        let mut blocks: BTreeMap<u64, Block> = BTreeMap::new();
        // This order is right, because the nodes are in the order of their creation, and memory is
        // reused only by nodes that are created after the node that frees it.
        for (id, node) in &self.nodes {
            match memory_of(node) {
                Some(MemoryUse::Allocate { address, len, device }) => {
                    blocks.insert(address, Block { len, device, node: *id, freed: None });
                }
                Some(MemoryUse::Free { address }) => {
                    if let Some(block) = blocks.get_mut(&address) {
                        block.freed = Some(*id);
                    }
                }
                None => {}
            }
        }
        let fits = |block: &Block| {
            block.device == device && (len..=len.saturating_mul(MOST_TIMES)).contains(&block.len)
        };
        blocks.retain(|_, block| block.freed.is_some() && fits(block));
        if blocks.is_empty() {
            return None;
        }
        let before = self.ancestors(&after.iter().map(|(node, _)| *node).collect());
        let free = |block: &&Block| block.freed.is_some_and(|node| before.contains(&node));
        blocks.values().filter(free).min_by_key(|block| block.len).map(|block| block.node)
    }

    /// Fails if a new node can't free the memory at an address, because the graph already frees it.
    pub(super) fn check_free(&self, address: u64) -> CuResult {
        let (mut allocated, mut freed) = (0usize, 0usize);
        for used in self.nodes.values().filter_map(memory_of) {
            match used {
                MemoryUse::Allocate { address: at, .. } => allocated += usize::from(at == address),
                MemoryUse::Free { address: at } => freed += usize::from(at == address),
            }
        }
        // If the memory belongs to another graph, this graph doesn't allocate it, but can free it
        // once.
        match freed < allocated.max(1) {
            true => Ok(()),
            false => Err(CuError::INVALID_VALUE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::edge::full;
    use crate::graph::table::Table;
    use crate::sys::CUgraphNodeType;

    impl Operation for MemoryUse {
        fn kind(&self) -> CUgraphNodeType {
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC
        }
        fn memory(&self) -> Option<MemoryUse> {
            Some(*self)
        }
    }

    fn alloc(address: u64, len: u64) -> Work<MemoryUse> {
        Work::Op(MemoryUse::Allocate { address, len, device: 0 })
    }

    fn free(address: u64) -> Work<MemoryUse> {
        Work::Op(MemoryUse::Free { address })
    }

    #[test]
    fn freed_memory_is_reused_only_after_the_free() {
        let mut table = Table::default();
        let graph = table.create();
        let a = table.add(graph, alloc(1 << 20, 4096), &[]).unwrap();
        let reusable = |table: &Table<MemoryUse>, after: &[NodeId], len, device| {
            table.graph(graph).unwrap().reusable(&full(after), len, device)
        };
        assert_eq!(reusable(&table, &[a], 4096, 0), None);
        let b = table.add(graph, free(1 << 20), &full(&[a])).unwrap();
        let c = table.add(graph, Work::Empty, &full(&[b])).unwrap();
        assert_eq!(reusable(&table, &[c], 4096, 0), Some(a));
        assert_eq!(reusable(&table, &[c], 2048, 0), Some(a));
        for (after, len, device) in
            [(a, 4096, 0), (c, 4608, 0), (c, 1536, 0), (c, 4096, 1), (c, u64::MAX, 0)]
        {
            assert_eq!(reusable(&table, &[after], len, device), None, "{len} {device}");
        }
        let d = table.add(graph, alloc(1 << 20, 4096), &full(&[c])).unwrap();
        assert_eq!(reusable(&table, &[d], 4096, 0), None);
        let e = table.add(graph, free(1 << 20), &full(&[d])).unwrap();
        assert_eq!(reusable(&table, &[c], 4096, 0), None);
        assert_eq!(reusable(&table, &[e], 4096, 0), Some(d));
    }

    #[test]
    fn memory_is_freed_once_for_each_allocation() {
        let mut table = Table::default();
        let graph = table.create();
        let check = |table: &Table<MemoryUse>| table.graph(graph).unwrap().check_free(512);
        assert_eq!(check(&table), Ok(()), "another graph's memory");
        let a = table.add(graph, alloc(512, 512), &[]).unwrap();
        let b = table.add(graph, free(512), &full(&[a])).unwrap();
        assert_eq!(check(&table), Err(CuError::INVALID_VALUE));
        table.add(graph, alloc(512, 512), &full(&[b])).unwrap();
        assert_eq!(check(&table), Ok(()));
    }

    #[test]
    fn a_graph_with_memory_nodes_is_not_copied_or_reduced() {
        const REFUSED: CuError = CuError::NOT_SUPPORTED;
        let mut table = Table::default();
        let graph = table.create();
        let first = table.add(graph, Work::Empty, &[]).unwrap();
        let node = table.add(graph, alloc(512, 512), &full(&[first])).unwrap();
        let other = table.create();
        assert_eq!(table.clone_graph(graph), Err(REFUSED));
        assert_eq!(table.add_child(other, graph, &[]), Err(REFUSED));
        assert_eq!(table.move_child(other, graph, &[]), Err(REFUSED));
        assert_eq!(table.destroy_node(node), Err(REFUSED));
        assert_eq!(table.change_edges(graph, &[(first, node, Edge::Full)], false), Err(REFUSED));
        let instance = table.instance(graph).unwrap();
        assert!(instance.is_some());
        assert_eq!(table.instance(graph).err(), Some(REFUSED));
        drop(instance);
        assert!(table.instance(graph).is_ok() && table.instance(other).unwrap().is_none());
        table.destroy(graph).unwrap();
        assert_eq!(table.take_removed().0.len(), 2);
        // A child graph can't get nodes that allocate memory after it has been added, either.
        let inner = table.create();
        let child = table.add_child(other, inner, &[]).unwrap();
        let inner = table.child(child).unwrap();
        assert_eq!(table.add(inner, alloc(512, 512), &[]), Err(REFUSED));
    }
}
