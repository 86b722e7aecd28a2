//! Handles of graphs and nodes.

use crate::sys::CUgraphNodeType;

/// A graph's handle.
pub type GraphId = usize;
/// A node's handle. Nodes created later have larger handles.
pub type NodeId = usize;

/// Handles start above all addresses that a Linux process on x86-64 can map.
pub(super) const FIRST_HANDLE: usize = 1 << 48;
/// The distance between handles, as between two objects in memory.
pub(super) const STEP: usize = 16;

/// The operation of a node.
pub trait Operation: Clone {
    /// The type of the node.
    fn kind(&self) -> CUgraphNodeType;
}
