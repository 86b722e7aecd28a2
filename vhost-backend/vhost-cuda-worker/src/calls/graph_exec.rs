//! Graphs in the driver.

use std::sync::Arc;

use cuda_api::sys::{CUgraph, CUgraphExec, CUgraphNode};
use protocol::ids::ContextId;

use super::driver_handle::DriverHandle;
use super::hostfunc::GraphStops;

/// Nodes that count as one command of a channel.
const NODES_PER_COMMAND: usize = 32;
/// Bytes that count as one command, see `Flight`.
const BYTES_PER_COMMAND: usize = 4096;

/// A graph of the driver's, with its nodes in the guest's order.
pub(super) struct Graph {
    pub real: DriverHandle<CUgraph>,
    pub nodes: Vec<(DriverHandle<CUgraphNode>, u32)>,
    /// The most that a kernel of it needs, as launches compare it.
    pub need: u64,
}

/// A graph that can be launched.
#[derive(Clone)]
pub(super) struct GraphExec {
    pub real: DriverHandle<CUgraphExec>,
    /// What it was made of: its nodes' handles name those of the executable graph, too.
    pub graph: Arc<Graph>,
    pub ctx: ContextId,
    /// Host functions that it stops for now.
    pub stops: GraphStops,
    /// Nodes.
    pub size: usize,
    /// The most that a kernel of it needs.
    pub need: u64,
}

impl GraphExec {
    /// Bytes of pageable memory that a launch counts like.
    pub(super) fn weight(&self) -> usize {
        self.size / NODES_PER_COMMAND * BYTES_PER_COMMAND
    }
}
