//! Handles of graphs and nodes.

use crate::sys::CUgraphNodeType;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A graph's handle.
pub type GraphId = usize;
/// A node's handle. Nodes created later have larger handles.
pub type NodeId = usize;

/// Handles start above all addresses that a Linux process on x86-64 can map.
pub(super) const FIRST_HANDLE: usize = 1 << 48;
/// The distance between consecutive handles, similar to that between objects in memory.
pub(super) const STEP: usize = 16;

/// A fast hash function for handles. It need not be a strong one, because the library assigns the
/// handles itself.
#[derive(Default)]
pub struct HandleHasher(u64);

impl Hasher for HandleHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, handle: usize) {
        let mixed = (self.0 ^ handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

/// A map by handle.
pub type HandleMap<T> = HashMap<usize, T, BuildHasherDefault<HandleHasher>>;

/// The effect of an operation on memory that graphs allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryUse {
    /// The operation allocates memory.
    Allocate {
        /// The start of the memory.
        address: u64,
        /// The length in bytes.
        len: u64,
        /// The ordinal of the device.
        device: i32,
    },
    /// The operation frees the memory at this address.
    Free {
        /// The start of the memory.
        address: u64,
    },
}

/// An operation that a node in a graph can do.
pub trait Operation: Clone {
    /// Returns the type of a node with this operation.
    fn kind(&self) -> CUgraphNodeType;

    /// Returns the memory that the operation allocates or frees, or `None` if it does neither.
    fn memory(&self) -> Option<MemoryUse> {
        None
    }
}
