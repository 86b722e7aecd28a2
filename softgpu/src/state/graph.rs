//! The softgpu types that cuda-api's implementation of graphs and captures needs.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cuda_api::error::{CuError, CuResult};
use cuda_api::graph::Graphs;
use cuda_api::graph::memory::Memories;

use super::context::Context;
use super::handles::{Kind, Table};
use super::memory::{self, Memory};
use super::queue::Mark;

/// Selects softgpu as the backend of cuda-api's graphs.
#[derive(Clone, Copy)]
pub(crate) struct Software;

/// The operation that a graph node performs.
pub(crate) type Op = cuda_api::graph::Op<Software>;

/// An instantiated graph.
pub(crate) type Exec = cuda_api::graph::Exec<Software>;

/// All graphs and captures in the process.
pub(crate) static GRAPHS: LazyLock<Graphs<Op>> = LazyLock::new(Graphs::new);

/// All instantiated graphs.
pub(crate) static EXECS: Table<Exec> = Table::new(Kind::GraphExec);

/// All memory that graphs in the process allocate.
pub(crate) static MEMORIES: LazyLock<Memories<GraphMemory>> = LazyLock::new(Memories::default);

/// Memory that a graph allocates. A launch holds its steps, and with them the memory, until it has
/// ended.
pub(crate) struct GraphMemory {
    pub(crate) address: u64,
    /// The allocation's number. If the memory's context was destroyed, other memory may have the
    /// address now.
    pub(crate) id: u64,
}

impl GraphMemory {
    /// Returns whether the memory's context still exists.
    pub(crate) fn exists(&self) -> bool {
        memory::at(self.address).is_some_and(|found| found.id == self.id)
    }
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        if self.exists() {
            memory::forget(self.address);
        }
    }
}

/// The values of a graph's conditional nodes. A handle is the value's address in device memory.
#[derive(Default)]
pub(crate) struct Values(Mutex<Vec<GraphMemory>>);

impl Values {
    /// Creates a value and returns its address.
    pub(crate) fn add(&self, context: &Context) -> CuResult<u64> {
        let address = memory::allocate_as(context, size_of::<u32>() as u64, Memory::Device)?;
        let id = memory::at(address).ok_or(CuError::UNKNOWN)?.id;
        let memory = GraphMemory { address, id };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(memory);
        Ok(address)
    }

    /// Returns the value at an address that [`add`](Self::add) returned for a context that still
    /// exists.
    pub(crate) fn value(address: u64) -> &'static AtomicU32 {
        // SAFETY: the address is that of a value in mapped device memory, which is readable,
        // writable, and aligned. Kernels also access it only as a 32-bit value.
        unsafe { &*std::ptr::with_exposed_provenance::<AtomicU32>(address as usize) }
    }
}

/// The data that softgpu stores for each instantiated graph.
pub(crate) struct Loaded {
    pub(crate) context: Arc<Context>,
    /// Position of the end of the graph's last launch. The next launch waits for it, because
    /// launches of one instantiated graph must not overlap.
    pub(crate) last: Mutex<Option<Mark>>,
}
