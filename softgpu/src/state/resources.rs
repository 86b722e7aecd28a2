//! The device memory that the driver allocates for a context's own needs: for the context itself,
//! local memory, modules, the heap for `malloc`, streams, and graphs.
//!
//! softgpu keeps these things in host memory or doesn't need them. Nevertheless, it counts the
//! memory that NVIDIA's driver would allocate for them as allocated on the device (docs/memory.md).
//! Therefore, a program runs out of memory at the same calls as with a GPU, and tests can compare
//! the memory that a VM is charged for with the memory that is allocated.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_api::error::{CuError, CuResult};

use super::device::Device;
use super::pool;

const MIB: u64 = 1 << 20;
/// Local memory and the memory for streams and graphs are allocated in units of this number of
/// bytes.
const BLOCK: u64 = 2 * MIB;
/// Memory for modules is allocated in units of this number of bytes.
const PAGE: u64 = 4096;
/// Memory of a context that has no modules and no streams, in bytes. It includes the amounts
/// `INCLUDED_…` of resources that need no more memory.
const CONTEXT: u64 = 8 * MIB;
const INCLUDED_LOCAL: u64 = 1024;
const INCLUDED_MODULES: u64 = 256 << 10;
const INCLUDED_STREAMS: u64 = 4;
const INCLUDED_GRAPHS: u64 = 100 * GRAPH_NODE;
/// The maximum number of threads per multiprocessor.
pub(crate) const THREADS_PER_PROCESSOR: u32 = 2048;
/// Memory that the heap needs as soon as a module that uses it is loaded, in bytes.
pub(crate) const HEAP_LOADED: u64 = 138 * MIB;
/// Memory that the heap needs in addition to its size as soon as a kernel that uses it is launched,
/// in bytes.
pub(crate) const HEAP_LAUNCHED: u64 = 140 * MIB;
/// Memory that each stream needs, in bytes.
const STREAM: u64 = 560 << 10;
/// Memory that each node of an instantiated graph needs for everything but its parameters, in
/// bytes.
pub(crate) const GRAPH_NODE: u64 = 2304;

/// A context's own device memory. It exists from the creation or activation of the context until
/// the context is destroyed or reset.
pub(crate) struct Resources {
    device: &'static Device,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    amounts: Amounts,
    /// The number of bytes that are counted as allocated on the device.
    bytes: u64,
    /// Whether the context was destroyed or reset.
    ended: bool,
}

/// The resources that a context needs, from which the amount of memory follows.
#[derive(Clone, Copy, Default)]
struct Amounts {
    /// Local memory per thread, in bytes.
    local: u64,
    /// Memory that the heap needs in addition to its size, in bytes.
    heap: u64,
    /// Size of the code and the variables of all modules, in bytes.
    modules: u64,
    streams: Peak,
    /// Memory that instantiated graphs need, in bytes.
    graphs: Peak,
}

/// A number of resources whose memory the driver doesn't free, but keeps for later use. The memory
/// therefore depends on the highest number so far.
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
    /// Returns the memory in bytes that these resources need on a device that can run `threads`
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
    /// Allocates the memory for a new context.
    pub(crate) fn new(device: &'static Device) -> CuResult<Arc<Self>> {
        let resources = Self { device, taken: Mutex::default() };
        resources.change(|_| {})?;
        Ok(Arc::new(resources))
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the resources that the context needs, and allocates or frees the difference in
    /// memory. Changes nothing and fails if too little memory is free, or if the context has been
    /// destroyed or reset.
    fn change(&self, change: impl FnOnce(&mut Amounts)) -> CuResult {
        self.change_and(change, || {})
    }

    /// Does the same as [`change`](Self::change), and then calls `then` while no other change is
    /// possible.
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
            None => device.memory.uncharge(taken.bytes - bytes),
        }
        (taken.amounts, taken.bytes) = (amounts, bytes);
        then();
        Ok(())
    }

    /// Reserves local memory for kernels that need `local` bytes per thread. The memory stays
    /// reserved for later kernels.
    pub(crate) fn reserve_local(&self, local: u64) -> CuResult {
        if local <= self.lock().amounts.local.max(INCLUDED_LOCAL) {
            return Ok(());
        }
        self.change(|amounts| amounts.local = amounts.local.max(local))
    }

    /// Changes the local memory per thread to the new stack size, and then calls `set`. As in
    /// NVIDIA's driver, this frees the local memory that earlier launches needed beyond that size.
    pub(crate) fn set_stack(&self, bytes: u64, set: impl FnOnce()) -> CuResult {
        self.change_and(|amounts| amounts.local = bytes, set)
    }

    /// Allocates the memory that the heap for `malloc` needs in addition to its size.
    pub(crate) fn set_heap(&self, bytes: u64) -> CuResult {
        self.change(|amounts| amounts.heap = bytes)
    }

    /// Allocates memory for the code and the variables of a module.
    pub(crate) fn add_module(self: &Arc<Self>, bytes: u64) -> CuResult<Part> {
        self.change(|amounts| amounts.modules = amounts.modules.saturating_add(bytes))?;
        Ok(self.part(Kind::Module, bytes))
    }

    /// Allocates memory for a stream.
    pub(crate) fn add_stream(self: &Arc<Self>) -> CuResult<Part> {
        self.change(|amounts| amounts.streams.add(1))?;
        Ok(self.part(Kind::Stream, 1))
    }

    /// Allocates memory for an instantiated graph.
    pub(crate) fn add_graph(self: &Arc<Self>, bytes: u64) -> CuResult<Part> {
        self.change(|amounts| amounts.graphs.add(bytes))?;
        Ok(self.part(Kind::Graph, bytes))
    }

    fn part(self: &Arc<Self>, kind: Kind, amount: u64) -> Part {
        Part { of: self.clone(), kind, amount }
    }

    /// Frees all of the memory, because the context is being destroyed or reset.
    pub(crate) fn end(&self) {
        let mut taken = self.lock();
        taken.ended = true;
        self.device.memory.uncharge(std::mem::take(&mut taken.bytes));
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Module,
    Stream,
    Graph,
}

/// The share of a context's own memory that belongs to a module, a stream, or an instantiated
/// graph. Dropping it frees the memory, unless the context's memory has already been freed.
pub(crate) struct Part {
    of: Arc<Resources>,
    kind: Kind,
    amount: u64,
}

impl Part {
    /// Returns whether this is a share of `resources`.
    pub(crate) fn is_of(&self, resources: &Arc<Resources>) -> bool {
        Arc::ptr_eq(&self.of, resources)
    }

    /// Allocates more memory for an instantiated graph that now needs `bytes` bytes. Does nothing
    /// if it has that much.
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
        // The change fails if the context has been destroyed or reset. Its memory is already free
        // then.
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
