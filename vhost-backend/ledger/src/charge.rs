//! Kinds of charges for device memory.

use serde::{Deserialize, Serialize};

/// The kind of a charge for device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Charge {
    /// A context's own memory.
    Context,
    /// Allocations of the program, rounded up to the driver's granularity.
    Memory,
    /// Code and global variables of modules.
    Module,
    /// The heap that kernels' malloc uses.
    Heap,
    /// Kernels' stacks and local memory, beyond those that each new context includes.
    Local,
    /// Streams.
    Stream,
    /// Instantiated graphs.
    Graph,
}

impl Charge {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Context,
        Self::Memory,
        Self::Module,
        Self::Heap,
        Self::Local,
        Self::Stream,
        Self::Graph,
    ];

    /// The name in logs and statistics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Memory => "memory",
            Self::Module => "module",
            Self::Heap => "heap",
            Self::Local => "local",
            Self::Stream => "stream",
            Self::Graph => "graph",
        }
    }
}
