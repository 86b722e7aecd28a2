//! Graphs that the worker has created in the driver.

use std::sync::Arc;

use cuda_api::sys::{CUgraph, CUgraphExec, CUgraphNode};
use protocol::ids::ContextId;

use super::driver_handle::DriverHandle;
use super::hostfunc::GraphStops;

/// This many nodes count as one command of a channel.
const NODES_PER_COMMAND: usize = 32;
/// This many bytes count as one command; see `Flight`.
const BYTES_PER_COMMAND: usize = 4096;

/// A graph of the driver, with its nodes in the guest's order.
pub(super) struct Graph {
    pub real: DriverHandle<CUgraph>,
    pub nodes: Vec<(DriverHandle<CUgraphNode>, u32)>,
    /// The largest need of its kernels, as launches compare it.
    pub need: u64,
}

/// An executable graph.
#[derive(Clone)]
pub(super) struct GraphExec {
    pub real: DriverHandle<CUgraphExec>,
    /// The graph that it was made from. The handles of its nodes are valid for the executable
    /// graph, too.
    pub graph: Arc<Graph>,
    pub ctx: ContextId,
    /// The host functions at which the current version of the graph stops.
    pub stops: GraphStops,
    /// The number of nodes.
    pub size: usize,
    /// The largest need of its kernels.
    pub need: u64,
}

impl GraphExec {
    /// The cost of a launch, expressed in staging bytes.
    pub(super) fn weight(&self) -> usize {
        self.size / NODES_PER_COMMAND * BYTES_PER_COMMAND
    }
}
