//! The data of edges: at which point of a node the next node can start.

use super::ids::NodeId;
use crate::error::{CuError, CuResult};
use crate::sys::{
    CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
    CUgraphDependencyType, CUgraphEdgeData, CUgraphNodeType,
};
use std::collections::BTreeMap;

const PORT_PROGRAMMATIC: u8 = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC as u8;
const PORT_LAUNCH_ORDER: u8 = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER as u8;
const TYPE_DEFAULT: u8 = CUgraphDependencyType::CU_GRAPH_DEPENDENCY_TYPE_DEFAULT.0 as u8;
const TYPE_PROGRAMMATIC: u8 = CUgraphDependencyType::CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC.0 as u8;
const KERNEL: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL;

/// The point of a node at which a dependent node can start. Ordered from the latest point, which is
/// the strongest dependency, to the earliest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Edge {
    /// The node has finished.
    #[default]
    Full,
    /// Each block of the kernel has finished or has triggered programmatic launches.
    Programmatic,
    /// Each block of the kernel has started.
    LaunchOrder,
    /// Each block of the kernel has started. The next kernel can wait for the end of this kernel.
    ProgrammaticLaunchOrder,
}

/// The nodes that a node depends on, with the data of the edges.
pub type Dependencies = BTreeMap<NodeId, Edge>;

impl Edge {
    /// Converts the data that a program passes.
    pub fn new(data: CUgraphEdgeData) -> CuResult<Self> {
        let CUgraphEdgeData { from_port, to_port, type_, reserved } = data;
        if to_port != 0 || reserved != [0; 5] {
            return Err(CuError::INVALID_VALUE);
        }
        match (from_port, type_) {
            (0, TYPE_DEFAULT) => Ok(Self::Full),
            (PORT_PROGRAMMATIC, TYPE_PROGRAMMATIC) => Ok(Self::Programmatic),
            (PORT_LAUNCH_ORDER, TYPE_DEFAULT) => Ok(Self::LaunchOrder),
            (PORT_LAUNCH_ORDER, TYPE_PROGRAMMATIC) => Ok(Self::ProgrammaticLaunchOrder),
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    /// Returns the data in the form of cuda.h.
    pub fn data(self) -> CUgraphEdgeData {
        let (from_port, type_) = match self {
            Self::Full => (0, TYPE_DEFAULT),
            Self::Programmatic => (PORT_PROGRAMMATIC, TYPE_PROGRAMMATIC),
            Self::LaunchOrder => (PORT_LAUNCH_ORDER, TYPE_DEFAULT),
            Self::ProgrammaticLaunchOrder => (PORT_LAUNCH_ORDER, TYPE_PROGRAMMATIC),
        };
        CUgraphEdgeData { from_port, to_port: 0, type_, reserved: [0; 5] }
    }

    /// Fails if an edge with this data can't connect nodes of these types. Only kernels have ports,
    /// and a programmatic edge leads to another kernel.
    pub fn check(self, from: CUgraphNodeType, to: CUgraphNodeType) -> CuResult {
        let valid = match self {
            Self::Full => true,
            Self::LaunchOrder => from == KERNEL,
            Self::Programmatic | Self::ProgrammaticLaunchOrder => from == KERNEL && to == KERNEL,
        };
        if valid { Ok(()) } else { Err(CuError::INVALID_VALUE) }
    }
}

/// Adds dependencies to `all`. For a node that `all` contains already, keeps the stronger of the
/// two edges.
pub(super) fn extend(all: &mut Dependencies, more: impl IntoIterator<Item = (NodeId, Edge)>) {
    for (node, edge) in more {
        let stronger = all.get(&node).map_or(edge, |present| edge.min(*present));
        all.insert(node, stronger);
    }
}

/// Returns dependencies with default edges.
pub fn full(nodes: &[NodeId]) -> Vec<(NodeId, Edge)> {
    nodes.iter().map(|node| (*node, Edge::Full)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMSET: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET;

    #[test]
    fn only_some_combinations_of_port_and_type_are_valid() {
        let edge = |from_port, to_port, type_| {
            Edge::new(CUgraphEdgeData { from_port, to_port, type_, reserved: [0; 5] })
        };
        for valid in [(0, 0), (1, 1), (2, 0), (2, 1)] {
            let data = edge(valid.0, 0, valid.1).unwrap().data();
            assert_eq!((data.from_port, data.type_), valid);
        }
        for bad in [(0, 0, 1), (1, 0, 0), (3, 0, 0), (3, 0, 1), (0, 1, 0), (0, 0, 2)] {
            assert_eq!(edge(bad.0, bad.1, bad.2), Err(CuError::INVALID_VALUE), "{bad:?}");
        }
        let reserved = CUgraphEdgeData { reserved: [0, 0, 0, 0, 1], ..Edge::Full.data() };
        assert_eq!(Edge::new(reserved), Err(CuError::INVALID_VALUE));
    }

    #[test]
    fn programmatic_edges_connect_kernels() {
        let valid = |edge: Edge| {
            [(KERNEL, KERNEL), (KERNEL, MEMSET), (MEMSET, KERNEL)]
                .map(|(from, to)| edge.check(from, to).is_ok())
        };
        assert_eq!(valid(Edge::Full), [true; 3]);
        assert_eq!(valid(Edge::LaunchOrder), [true, true, false]);
        assert_eq!(valid(Edge::Programmatic), [true, false, false]);
        assert_eq!(valid(Edge::ProgrammaticLaunchOrder), [true, false, false]);
    }

    #[test]
    fn the_stronger_of_two_edges_stays() {
        let mut all = Dependencies::from([(1, Edge::Programmatic), (2, Edge::Full)]);
        extend(&mut all, [(1, Edge::Full), (2, Edge::LaunchOrder), (3, Edge::LaunchOrder)]);
        let expected = [(1, Edge::Full), (2, Edge::Full), (3, Edge::LaunchOrder)];
        assert_eq!(all, Dependencies::from(expected));
    }
}
