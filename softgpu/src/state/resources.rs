//! The device memory that a context takes without a program allocating it: for the context itself,
//! local memory, modules, the heap for `malloc`, streams, and graphs.
//!
//! softgpu keeps these things in host memory or doesn't need them, but it counts the memory that
//! NVIDIA's driver takes for them as allocated on the device (docs/memory.md). A program can
//! therefore run out of memory in the same places, and tests can compare the memory that a VM is
//! charged for with the memory that is really gone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_api::error::{CuError, CuResult};

use super::device::Device;
use super::pool;

const MIB: u64 = 1 << 20;
/// The unit of local memory, streams, and graphs, in bytes.
const BLOCK: u64 = 2 * MIB;
/// The unit of modules, in bytes.
const PAGE: u64 = 4096;
/// Memory for the context itself, in bytes. It includes the amounts of the constants `INCLUDED_…`.
const CONTEXT: u64 = 8 * MIB;
const INCLUDED_LOCAL: u64 = 1024;
const INCLUDED_MODULES: u64 = 256 << 10;
const INCLUDED_STREAMS: u64 = 4;
const INCLUDED_GRAPHS: u64 = 100 * GRAPH_NODE;
/// The maximum number of threads per multiprocessor.
pub(crate) const THREADS_PER_PROCESSOR: u32 = 2048;
/// Bytes that the heap takes from the time when the first module that uses it is loaded.
pub(crate) const HEAP_LOADED: u64 = 138 * MIB;
/// Bytes that the heap takes from the first launch, in addition to its size.
pub(crate) const HEAP_LAUNCHED: u64 = 140 * MIB;
/// Bytes for each stream.
const STREAM: u64 = 560 << 10;
/// Bytes for each node of an instantiated graph, without its parameters.
pub(crate) const GRAPH_NODE: u64 = 2304;

/// The memory of a context, from the time when it is created or retained until it is destroyed or
/// reset.
pub(crate) struct Resources {
    device: &'static Device,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    amounts: Amounts,
    /// The bytes that are counted as allocated on the device.
    bytes: u64,
    /// Whether the context has ended.
    ended: bool,
}

/// The resources that a context needs.
#[derive(Clone, Copy, Default)]
struct Amounts {
    /// Bytes of local memory per thread.
    local: u64,
    /// Bytes that the heap takes in addition to its size.
    heap: u64,
    /// Bytes of code and variables.
    modules: u64,
    streams: Peak,
    /// Bytes of instantiated graphs.
    graphs: Peak,
}

/// An amount whose memory the driver keeps for later use. The memory therefore depends on the
/// largest value that the amount has had.
#[derive(Clone, Copy, Default)]
struct Peak {
    now: u64,
    most: u64,
}

impl Peak {
    fn add(&mut self, amount: u64) {
        self.now = self.now.saturating_add(amount);
        self.most = self.most.max(self.now);
    }
}

impl Amounts {
    /// Returns the memory that these amounts take, in bytes, on a device that can run this many
    /// threads at once.
    fn bytes(&self, threads: u64) -> u64 {
        let beyond = |amount: u64, included: u64, each: u64, unit: u64| {
            let bytes = amount.saturating_sub(included).saturating_mul(each);
            bytes.checked_next_multiple_of(unit).unwrap_or(u64::MAX)
        };
        [
            beyond(self.local, INCLUDED_LOCAL, threads, BLOCK),
            self.heap,
            beyond(self.modules, INCLUDED_MODULES, 1, PAGE),
            beyond(self.streams.most, INCLUDED_STREAMS, STREAM, BLOCK),
            beyond(self.graphs.most, INCLUDED_GRAPHS, 1, BLOCK),
        ]
        .into_iter()
        .fold(CONTEXT, u64::saturating_add)
    }
}

impl Resources {
    /// Takes the memory for a new context.
    pub(crate) fn new(device: &'static Device) -> CuResult<Arc<Self>> {
        let resources = Self { device, taken: Mutex::default() };
        resources.change(|_| {})?;
        Ok(Arc::new(resources))
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what the context needs, and takes or frees the difference. Changes nothing if too
    /// little memory is free, or if the context has ended.
    fn change(&self, change: impl FnOnce(&mut Amounts)) -> CuResult {
        self.change_and(change, || {})
    }

    /// Like [`change`](Self::change). Calls `then` before anything else can change.
    fn change_and(&self, change: impl FnOnce(&mut Amounts), then: impl FnOnce()) -> CuResult {
        let device = self.device;
        let mut taken = self.lock();
        if taken.ended {
            return Err(CuError::CONTEXT_IS_DESTROYED);
        }
        let mut amounts = taken.amounts;
        change(&mut amounts);
        let threads = u64::from(device.processors) * u64::from(THREADS_PER_PROCESSOR);
        let bytes = amounts.bytes(threads);
        match bytes.checked_sub(taken.bytes) {
            Some(more) => pool::charge(device, more)?,
            None => device.uncharge(taken.bytes - bytes),
        }
        (taken.amounts, taken.bytes) = (amounts, bytes);
        then();
        Ok(())
    }

    /// Makes room for kernels that need this many bytes of local memory per thread. The memory stays
    /// allocated for later kernels.
    pub(crate) fn reserve_local(&self, local: u64) -> CuResult {
        if local <= self.lock().amounts.local.max(INCLUDED_LOCAL) {
            return Ok(());
        }
        self.change(|amounts| amounts.local = amounts.local.max(local))
    }

    /// Resizes the stacks, and then calls `set`. As in NVIDIA's driver, this frees the local memory
    /// that launches have needed beyond the new size.
    pub(crate) fn set_stack(&self, bytes: u64, set: impl FnOnce()) -> CuResult {
        self.change_and(|amounts| amounts.local = bytes, set)
    }

    /// Takes the memory that the heap for `malloc` needs in addition to its size.
    pub(crate) fn set_heap(&self, bytes: u64) -> CuResult {
        self.change(|amounts| amounts.heap = bytes)
    }

    /// Takes memory for the code and the variables of a module.
    pub(crate) fn add_module(self: &Arc<Self>, bytes: u64) -> CuResult<Part> {
        self.change(|amounts| amounts.modules = amounts.modules.saturating_add(bytes))?;
        Ok(self.part(Kind::Module, bytes))
    }

    /// Takes memory for a stream.
    pub(crate) fn add_stream(self: &Arc<Self>) -> CuResult<Part> {
        self.change(|amounts| amounts.streams.add(1))?;
        Ok(self.part(Kind::Stream, 1))
    }

    /// Takes memory for an instantiated graph.
    pub(crate) fn add_graph(self: &Arc<Self>, bytes: u64) -> CuResult<Part> {
        self.change(|amounts| amounts.graphs.add(bytes))?;
        Ok(self.part(Kind::Graph, bytes))
    }

    fn part(self: &Arc<Self>, kind: Kind, amount: u64) -> Part {
        Part { of: self.clone(), kind, amount }
    }

    /// Frees everything when the context ends.
    pub(crate) fn end(&self) {
        let mut taken = self.lock();
        taken.ended = true;
        self.device.uncharge(std::mem::take(&mut taken.bytes));
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Module,
    Stream,
    Graph,
}

/// The part of a context's memory that belongs to a module, a stream, or an instantiated graph.
/// Dropping it frees the memory, unless the context has ended.
pub(crate) struct Part {
    of: Arc<Resources>,
    kind: Kind,
    amount: u64,
}

impl Part {
    /// Returns whether the part belongs to this memory.
    pub(crate) fn is_of(&self, resources: &Arc<Resources>) -> bool {
        Arc::ptr_eq(&self.of, resources)
    }

    /// Takes more memory for an instantiated graph that now needs this many bytes. If it needs less
    /// than before, it keeps its memory.
    pub(crate) fn grow_graph(&mut self, bytes: u64) -> CuResult {
        if let Some(more) = bytes.checked_sub(self.amount) {
            self.of.change(|amounts| amounts.graphs.add(more))?;
            self.amount = bytes;
        }
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let amount = self.amount;
        // The change fails if the context has ended, which has freed the memory.
        let _ = self.of.change(|amounts| match self.kind {
            Kind::Module => amounts.modules = amounts.modules.saturating_sub(amount),
            Kind::Stream => amounts.streams.now = amounts.streams.now.saturating_sub(amount),
            Kind::Graph => amounts.graphs.now = amounts.graphs.now.saturating_sub(amount),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of threads that an H200 can run at once.
    const THREADS: u64 = 132 * 2048;

    #[track_caller]
    fn takes(mib: u64, change: impl Fn(&mut Amounts)) {
        let mut amounts = Amounts::default();
        change(&mut amounts);
        assert_eq!(amounts.bytes(THREADS), CONTEXT + mib * MIB);
    }

    #[test]
    fn test_a_context_includes_a_little_of_everything() {
        takes(0, |_| {});
        takes(0, |amounts| {
            (amounts.local, amounts.modules) = (1024, 256 << 10);
            amounts.streams.add(4);
            amounts.graphs.add(100 * GRAPH_NODE);
        });
    }

    #[test]
    fn test_local_memory_is_allocated_for_all_threads() {
        takes(264, |amounts| amounts.local = 2048);
        takes(67_320, |amounts| amounts.local = 256 << 10);
    }

    #[test]
    fn test_memory_of_streams_and_graphs_is_kept() {
        takes(546, |amounts| {
            amounts.streams.add(1000);
            amounts.streams.now = 0;
            amounts.streams.add(10);
        });
        takes(22, |amounts| {
            amounts.graphs.add(10_000 * GRAPH_NODE);
            amounts.graphs.now = 0;
        });
    }

    #[test]
    fn test_too_much_does_not_wrap_around() {
        let mut amounts = Amounts { local: u64::MAX, modules: u64::MAX, ..Amounts::default() };
        amounts.graphs.add(u64::MAX);
        amounts.graphs.add(u64::MAX);
        assert_eq!(amounts.bytes(THREADS), u64::MAX);
    }
}
