//! The description of a kernel launch.

use std::sync::Arc;

use super::heap::Heap;
use super::memory::Ranges;
use super::printf::Printf;
use super::texture::object::Objects;
use crate::ptx::ir::Kernel;
use crate::ptx::program::Program;

/// A kernel launch and everything that it needs.
pub struct Launch {
    /// The code of the kernel's module.
    pub program: Arc<Program>,
    pub kernel: Arc<Kernel>,
    /// Number of blocks in each dimension.
    pub grid: [u32; 3],
    /// Number of threads per block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory per block, in bytes.
    pub dynamic_shared: u32,
    /// The contents of the kernel's parameter buffer.
    pub params: Vec<u8>,
    /// The address ranges that kernels may access.
    pub memory: &'static Ranges,
    /// The texture objects and surface objects that kernels may use.
    pub objects: &'static dyn Objects,
    /// The buffer for `printf` output.
    pub printf: Arc<Printf>,
    /// The heap for device-side `malloc`.
    pub heap: Arc<Heap>,
    /// The launch's number in its context, which kernels read as `%gridid`.
    pub id: u64,
    /// The device's index in this process.
    pub device: usize,
    /// Number of multiprocessors on the device.
    pub processors: u32,
    /// Address of a cooperative launch's workspace, or 0.
    pub workspace: u64,
    /// Whether this is a cooperative launch, in which all blocks must run at the same time.
    pub cooperative: bool,
}

impl Launch {
    /// Returns the number of threads per block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Returns the offset of dynamic shared memory in a block's shared memory.
    pub fn dynamic_shared_start(&self) -> u32 {
        self.kernel.shared.next_multiple_of(16)
    }

    /// Returns the size of shared memory per block, in bytes.
    pub fn shared_bytes(&self) -> usize {
        self.dynamic_shared_start() as usize + self.dynamic_shared as usize
    }

    /// Returns the number of blocks in the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|n| u64::from(*n)).product()
    }
}
