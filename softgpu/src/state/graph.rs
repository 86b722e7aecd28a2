//! The softgpu types that cuda-api's implementation of graphs and captures needs.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use cuda_api::error::{CuError, CuResult};
use cuda_api::graph::Graphs;
use cuda_api::graph::memory::Memories;
use cuda_api::graph::steps::Step;
use cuda_api::sys::CUstreamBatchMemOpParams;

use super::context::Context;
use super::handles::{Kind, Table};
use super::memory::{self, Memory};
use super::queue::Mark;
use super::resources::{GRAPH_NODE, Part};

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

/// Memory that a graph allocates. A launch holds the graph's steps, and with them the memory, until
/// the launch has ended.
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
        let address = memory::allocate_as(context, size_of::<u32>() as u64, Memory::Internal)?;
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
    /// The memory that the graph takes.
    pub(crate) memory: Mutex<ExecMemory>,
}

impl Loaded {
    pub(crate) fn memory(&self) -> MutexGuard<'_, ExecMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The memory that an instantiated graph takes.
pub(crate) struct ExecMemory {
    /// The bytes that its nodes need now.
    pub(crate) needed: u64,
    /// The memory for the largest number of bytes that the graph's nodes have needed.
    pub(crate) part: Part,
}

impl ExecMemory {
    /// Makes room for nodes that need this many bytes.
    pub(crate) fn grow(&mut self, needed: u64) -> CuResult {
        self.part.grow_graph(needed)?;
        self.needed = needed;
        Ok(())
    }
}

/// The resources that a graph needs: those of its kernels, and memory for its nodes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Needs {
    /// The most local memory per thread that a kernel needs, in bytes.
    pub(crate) local: u64,
    /// The bytes that the nodes take.
    pub(crate) bytes: u64,
}

impl Needs {
    /// Returns what these steps need, including those in bodies of conditional nodes.
    pub(crate) fn of(steps: &[Step<Op>]) -> Self {
        let mut needs = Self::default();
        for step in steps {
            needs.bytes += GRAPH_NODE + step.op.as_ref().map_or(0, parameters);
            if let Some(Op::Kernel(kernel)) = &step.op {
                needs.local = needs.local.max(kernel.local());
            }
            for body in step.branch.iter().flat_map(|branch| &branch.bodies) {
                let inner = Self::of(body);
                needs.local = needs.local.max(inner.local);
                needs.bytes += inner.bytes;
            }
        }
        needs
    }
}

/// Returns the bytes that a node takes for its parameters.
pub(crate) fn parameters(op: &Op) -> u64 {
    let bytes = match op {
        Op::Kernel(kernel) => kernel.params.len(),
        Op::Batch(operations, _) => size_of::<CUstreamBatchMemOpParams>() * operations.len(),
        _ => 0,
    };
    bytes.next_multiple_of(8) as u64
}
