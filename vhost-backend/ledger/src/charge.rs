//! Kinds of device memory charges.

use serde::{Deserialize, Serialize};

/// The kind of a device memory charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Charge {
    /// A context's own memory.
    Context,
    /// The program's allocations, rounded up to the driver's granularity.
    Memory,
    /// Code and global variables of modules.
    Module,
    /// The heap for malloc in kernels.
    Heap,
    /// Stacks and local memory for kernels, beyond the amount included in each new context.
    Local,
    /// Streams.
    Stream,
    /// Instantiated graphs.
    Graph,
}

impl Charge {
    /// All kinds, in numeric order.
    pub const ALL: [Self; 7] = [
        Self::Context,
        Self::Memory,
        Self::Module,
        Self::Heap,
        Self::Local,
        Self::Stream,
        Self::Graph,
    ];

    /// Returns the name used in logs and statistics.
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
