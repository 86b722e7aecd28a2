//! Types for graphs and executable graphs in the driver.

use std::sync::Arc;

use cuda_api::sys::{CUgraph, CUgraphExec, CUgraphNode};
use protocol::ids::ContextId;

use crate::calls::contexts::charges::{GraphSize, Need};
use crate::calls::graphs::graph_conditions::Values;
use crate::calls::streams::hostfunc::GraphStops;
use crate::calls::tables::driver_handle::DriverHandle;

/// The number of a graph's nodes that count as one queued command when the graph is launched.
const NODES_PER_COMMAND: usize = 32;
/// The number of bytes of pageable memory that count as one queued command; see `Flight`.
const BYTES_PER_COMMAND: usize = 4096;

/// A node of a driver graph, and the number of its kind.
pub(in crate::calls) type Node = (DriverHandle<CUgraphNode>, u32);

/// A graph in the driver, with its nodes in the order of the guest's description.
pub(in crate::calls) struct Graph {
    pub real: DriverHandle<CUgraph>,
    pub nodes: Vec<Node>,
    /// The nodes in bodies of conditional nodes. A conditional node in a body is followed by the
    /// nodes in its own bodies.
    pub in_bodies: Vec<Node>,
    pub size: GraphSize,
    /// The values on which conditional nodes depend, if there are any. If so, the driver graph
    /// belongs to the values.
    pub values: Option<Arc<Values>>,
    /// The largest need of local memory among the graph's kernels.
    pub need: Need,
}

impl Graph {
    /// Returns the node with this number. The numbers of nodes in bodies follow those of the
    /// graph's other nodes.
    pub(in crate::calls) fn node(&self, number: u32) -> Option<Node> {
        let number = number as usize;
        let in_bodies = || self.in_bodies.get(number - self.nodes.len());
        self.nodes.get(number).or_else(in_bodies).copied()
    }
}

/// An executable graph in the driver.
#[derive(Clone)]
pub(in crate::calls) struct GraphExec {
    pub real: DriverHandle<CUgraphExec>,
    /// The graph from which the executable graph was instantiated. The node handles of that graph
    /// also identify the nodes of the executable graph.
    pub graph: Arc<Graph>,
    pub ctx: ContextId,
    /// The host functions in the current version of the executable graph.
    pub stops: GraphStops,
    /// The graph's size for which memory is charged. Its `parameters` are the longest that any node
    /// has had.
    pub size: GraphSize,
    /// The largest need of local memory among the kernels that the graph has contained.
    pub need: Need,
}

impl GraphExec {
    /// Returns the weight of a launch, which may count as several queued commands. It's expressed
    /// in bytes of pageable memory.
    pub(in crate::calls) fn weight(&self) -> usize {
        self.size.nodes / NODES_PER_COMMAND * BYTES_PER_COMMAND
    }
}
