//! The kinds of charges for device memory.

use serde::{Deserialize, Serialize};

/// The purpose for which device memory is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Charge {
    /// The memory that the driver uses for a context.
    Context,
    /// The program's own allocations, rounded up to the driver's granularity.
    Memory,
    /// Code and global variables in loaded modules.
    Module,
    /// The heap from which kernels allocate with malloc.
    Heap,
    /// Stacks and local memory for kernels, if they exceed the amount that each new context
    /// includes.
    Local,
    /// The memory that the driver uses for streams.
    Stream,
    /// The memory that the driver uses for instantiated graphs.
    Graph,
}

impl Charge {
    /// All kinds of charges, in numeric order.
    pub const ALL: [Self; 7] = [
        Self::Context,
        Self::Memory,
        Self::Module,
        Self::Heap,
        Self::Local,
        Self::Stream,
        Self::Graph,
    ];

    /// Returns the name of this kind in logs and statistics.
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
