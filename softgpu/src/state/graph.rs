//! The types with which softgpu is a backend for cuda-api's implementation of graphs and captures.

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

/// The type that selects softgpu as the backend of cuda-api's graphs.
#[derive(Clone, Copy)]
pub(crate) struct Software;

/// The operation that a graph node performs.
pub(crate) type Op = cuda_api::graph::Op<Software>;

/// An instantiated graph.
pub(crate) type Exec = cuda_api::graph::Exec<Software>;

/// All graphs and captures in the process.
pub(crate) static GRAPHS: LazyLock<Graphs<Op>> = LazyLock::new(Graphs::new);

/// All instantiated graphs of the process, by handle.
pub(crate) static EXECS: Table<Exec> = Table::new(Kind::GraphExec);

/// The memory of the allocation nodes of all graphs in the process.
pub(crate) static MEMORIES: LazyLock<Memories<GraphMemory>> = LazyLock::new(Memories::default);

/// Memory that a graph's allocation node allocates. Each launch holds the graph's steps, which hold
/// the memory, until the launch has finished.
pub(crate) struct GraphMemory {
    pub(crate) address: u64,
    /// The allocation's unique id. It shows whether the memory still exists: after its context has
    /// been destroyed, other memory may have the same address.
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

/// The values of a graph's conditional nodes. A node's handle is the address of its value in device
/// memory.
#[derive(Default)]
pub(crate) struct Values(Mutex<Vec<GraphMemory>>);

impl Values {
    /// Allocates a value for a conditional node, and returns its address.
    pub(crate) fn add(&self, context: &Context) -> CuResult<u64> {
        let address = memory::allocate_as(context, size_of::<u32>() as u64, Memory::Internal)?;
        let id = memory::at(address).ok_or(CuError::UNKNOWN)?.id;
        let memory = GraphMemory { address, id };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(memory);
        Ok(address)
    }

    /// Returns the value at an address that [`add`](Self::add) returned. The context for which it
    /// was allocated must still exist.
    pub(crate) fn value(address: u64) -> &'static AtomicU32 {
        // SAFETY: the caller guarantees that the value's context exists, so the address is that of
        // mapped, writable, aligned device memory. Kernels access the value only as a 32-bit word.
        unsafe { &*std::ptr::with_exposed_provenance::<AtomicU32>(address as usize) }
    }
}

/// The data that softgpu stores for each instantiated graph.
pub(crate) struct Loaded {
    pub(crate) context: Arc<Context>,
    /// Position of the end of the graph's last launch. The next launch waits for it, because
    /// launches of one instantiated graph must not overlap.
    pub(crate) last: Mutex<Option<Mark>>,
    pub(crate) memory: Mutex<ExecMemory>,
}

impl Loaded {
    pub(crate) fn memory(&self) -> MutexGuard<'_, ExecMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The device memory that an instantiated graph uses for its nodes.
pub(crate) struct ExecMemory {
    /// The bytes that the graph's nodes need at present.
    pub(crate) needed: u64,
    /// The reserved memory. It's sized for the largest number of bytes that the graph's nodes have
    /// needed so far.
    pub(crate) part: Part,
}

impl ExecMemory {
    /// Reserves memory for nodes that need `needed` bytes, and records that number.
    pub(crate) fn grow(&mut self, needed: u64) -> CuResult {
        self.part.grow_graph(needed)?;
        self.needed = needed;
        Ok(())
    }
}

/// The resources that a graph needs for its nodes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Needs {
    /// Largest number of bytes of local memory per thread that any of the graph's kernels needs.
    pub(crate) local: u64,
    /// Number of bytes of device memory that the nodes need.
    pub(crate) bytes: u64,
}

impl Needs {
    /// Returns the resources that the steps need, including the steps in bodies of conditional
    /// nodes.
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

/// Returns the number of bytes that a node needs for its parameters.
pub(crate) fn parameters(op: &Op) -> u64 {
    let bytes = match op {
        Op::Kernel(kernel) => kernel.params.len(),
        Op::Batch(operations, _) => size_of::<CUstreamBatchMemOpParams>() * operations.len(),
        _ => 0,
    };
    bytes.next_multiple_of(8) as u64
}
