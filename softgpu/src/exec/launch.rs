//! A kernel launch.

use std::sync::Arc;

use super::heap::Heap;
use super::memory::Ranges;
use super::printf::Printf;
use crate::ptx::ir::{Kernel, Program};

/// A kernel with its launch parameters.
pub struct Launch {
    /// The code of its module.
    pub program: Arc<Program>,
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// Blocks in each direction.
    pub grid: [u32; 3],
    /// Threads per block in each direction.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The parameter buffer, in the kernel's layout.
    pub params: Vec<u8>,
    /// The memory that kernels may access.
    pub memory: &'static Ranges,
    /// The destination of `printf`.
    pub printf: Arc<Printf>,
    /// The heap of `malloc`.
    pub heap: Arc<Heap>,
    /// The launch's number.
    pub id: u64,
    /// Number of multiprocessors that the device reports.
    pub processors: u32,
    /// Address of the workspace of a cooperative launch.
    pub workspace: u64,
    /// Whether all blocks must run at the same time.
    pub cooperative: bool,
}

impl Launch {
    /// Number of threads per block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Offset of dynamic shared memory.
    pub fn dynamic_shared_start(&self) -> u32 {
        self.kernel.shared.next_multiple_of(16)
    }

    /// Bytes of shared memory per block.
    pub fn shared_bytes(&self) -> usize {
        self.dynamic_shared_start() as usize + self.dynamic_shared as usize
    }

    /// Number of blocks in the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|n| u64::from(*n)).product()
    }
}
