//! Handles of graphs and nodes.

/// A graph's handle.
pub type GraphId = usize;
/// A node's handle. Later nodes have greater ones.
pub type NodeId = usize;

/// Handles lie above what any process of Linux on x86-64 can have mapped.
pub(super) const FIRST_HANDLE: usize = 1 << 48;
/// Two handles are as far apart as two objects could be.
pub(super) const STEP: usize = 16;

/// What a node does.
pub trait Operation: Clone {
    /// `CUgraphNodeType`.
    fn kind(&self) -> u32;
}
