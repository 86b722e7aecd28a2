//! Types for graphs in the driver.

use std::sync::Arc;

use cuda_api::sys::{CUgraph, CUgraphExec, CUgraphNode};
use protocol::ids::ContextId;

use super::driver_handle::DriverHandle;
use super::hostfunc::GraphStops;

/// The number of graph nodes that count as one command in a channel.
const NODES_PER_COMMAND: usize = 32;
/// The number of staging bytes that count as one command; see `Flight`.
const BYTES_PER_COMMAND: usize = 4096;

/// A graph in the driver, with its nodes in the guest's order.
pub(super) struct Graph {
    pub real: DriverHandle<CUgraph>,
    pub nodes: Vec<(DriverHandle<CUgraphNode>, u32)>,
    /// The largest local memory need among its kernels.
    pub need: u64,
}

/// An executable graph.
#[derive(Clone)]
pub(super) struct GraphExec {
    pub real: DriverHandle<CUgraphExec>,
    /// The graph from which it was instantiated. The handles of that graph's nodes also identify
    /// the nodes of the executable graph.
    pub graph: Arc<Graph>,
    pub ctx: ContextId,
    /// The host functions in the current version of the graph.
    pub stops: GraphStops,
    /// The number of nodes.
    pub size: usize,
    /// The largest local memory need among its kernels.
    pub need: u64,
}

impl GraphExec {
    /// Returns the cost of a launch, expressed in staging bytes.
    pub(super) fn weight(&self) -> usize {
        self.size / NODES_PER_COMMAND * BYTES_PER_COMMAND
    }
}
