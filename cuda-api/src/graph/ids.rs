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

/// The effect of an operation on memory that graphs allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryUse {
    /// The operation allocates memory.
    Allocate {
        /// The address.
        address: u64,
        /// The length in bytes.
        len: u64,
        /// The ordinal of the device.
        device: i32,
    },
    /// The operation frees the memory at an address.
    Free {
        /// The address.
        address: u64,
    },
}

/// An operation that a node in a graph can do.
pub trait Operation: Clone {
    /// Returns the type of a node with this operation.
    fn kind(&self) -> CUgraphNodeType;

    /// Returns the memory that the operation allocates or frees, if it does.
    fn memory(&self) -> Option<MemoryUse> {
        None
    }
}
