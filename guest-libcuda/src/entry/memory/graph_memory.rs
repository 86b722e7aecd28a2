//! Memory that graphs allocate. It comes from a pool of the worker.

use crate::context;
use crate::driver::driver;
use crate::entry::macros::LEGACY;
use crate::entry::memory::allocation::note_on;
use crate::error::CuResult;
use crate::graph::Guest;
use crate::memory::{Allocation, Kind};
use crate::objects::Context;
use crate::thread;
use cuda_api::graph::memory::Memories;
use cuda_api::pool::graphs;
use protocol::calls::{CuCtxSynchronize, CuMemAllocFromPoolAsync, CuMemFreeV2};
use protocol::ids::{PoolId, StreamId};
use std::sync::{Arc, LazyLock};

/// All memory that graphs of the process allocate.
pub static MEMORIES: LazyLock<Memories<GraphMemory>> = LazyLock::new(Memories::default);

/// An allocation, in the type that cuda-api's implementation of graphs uses.
type Shared = Arc<cuda_api::graph::memory::Allocation<GraphMemory>>;

/// Memory that a graph allocates. Dropping it waits for all work that may use the memory, as
/// `cuMemFree` does.
pub struct GraphMemory {
    address: u64,
    /// The context that the memory belongs to.
    context: &'static Context,
    /// The memory's number in the map of the program's memory. The address isn't enough to identify
    /// the memory: after the memory's context was destroyed, other memory may have the same
    /// address.
    id: u64,
}

impl GraphMemory {
    fn is(&self, found: &Allocation) -> bool {
        found.kind == Kind::Graph && found.id == self.id
    }

    /// Returns whether the memory's context still exists.
    pub fn exists(&self) -> bool {
        let found = driver().ok().and_then(|driver| driver.memory.find(self.address));
        found.is_some_and(|found| self.is(&found))
    }
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        let Ok(driver) = driver() else { return };
        if driver.memory.remove(self.address, |found| self.is(found)).is_some() {
            // If freeing the memory fails, a context has failed or the session has ended. The
            // memory is freed at the latest when the session ends.
            let _ = driver.session.call(&CuMemFreeV2 { dptr: self.address });
        }
    }
}

/// Allocates memory for a graph. Returns its address.
pub fn allocate(device: i32, bytes: usize) -> CuResult<(u64, GraphMemory)> {
    let driver = context::driver()?;
    let context = context::current()?;
    let pool = PoolId(graphs::pool::<Guest>(device)?);
    let h_stream = StreamId(LEGACY as u64);
    let call = CuMemAllocFromPoolAsync { bytesize: bytes, pool, h_stream };
    let address = driver.session.call(&call)?.dptr;
    note_on(driver, address, bytes, (Kind::Graph, device))?;
    let id = driver.memory.find(address).map_or(0, |found| found.id);
    Ok((address, GraphMemory { address, context, id }))
}

/// Drops the program's share in an allocation. If `wait` is set, waits for all work that may use
/// the memory, as `cuMemFree` does. If it isn't, waits only if this is the last share, because
/// dropping the memory waits.
pub fn free(allocation: Shared, wait: bool) -> CuResult {
    let driver = context::driver()?;
    let owner = allocation.memory.context;
    // If this wasn't the last share, a graph keeps the memory for its next launch.
    if Arc::into_inner(allocation).is_some() || !wait {
        return Ok(());
    }
    thread::within(owner, || driver.session.synchronize(&CuCtxSynchronize {}))
}
