//! Handles of graphs and nodes.

use crate::sys::CUgraphNodeType;

/// A graph's handle.
pub type GraphId = usize;
/// A node's handle. Nodes created later have larger handles.
pub type NodeId = usize;

/// Handles start above all addresses that a Linux process on x86-64 can map.
pub(super) const FIRST_HANDLE: usize = 1 << 48;
/// The distance between consecutive handles, similar to that between objects in memory.
pub(super) const STEP: usize = 16;

/// An operation that a node in a graph can do.
pub trait Operation: Clone {
    /// Returns the type of a node with this operation.
    fn kind(&self) -> CUgraphNodeType;
}
