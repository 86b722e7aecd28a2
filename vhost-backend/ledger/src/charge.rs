//! What device memory is charged for.

use serde::{Deserialize, Serialize};

/// What device memory is charged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Charge {
    /// A context itself.
    Context,
    /// What a program allocates, at the driver's granularity.
    Memory,
    /// Code and global variables.
    Module,
    /// The heap of kernels' own malloc.
    Heap,
    /// Kernels' stacks and local memory, beyond what each context has from its start.
    Local,
    /// Streams.
    Stream,
    /// Instantiated graphs.
    Graph,
}

impl Charge {
    /// All of them, each at the place of its number.
    pub const ALL: [Self; 7] = [
        Self::Context,
        Self::Memory,
        Self::Module,
        Self::Heap,
        Self::Local,
        Self::Stream,
        Self::Graph,
    ];

    /// Its name, in logs and statistics.
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
