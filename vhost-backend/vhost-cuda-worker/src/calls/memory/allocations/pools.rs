//! The memory pools of a session. Makes no driver calls.

use std::collections::BTreeMap;

use cuda_api::pool::Store;
use cuda_api::sys::CUmemPool_attribute as A;
use protocol::ids::{FIRST_ID, PoolId};
use protocol::limits::HANDLES_MAX;

use crate::driver::{CuError, CuResult};

/// A memory pool. `M` describes a mapping of device memory.
pub(super) struct Pool<M> {
    /// The ordinal of the GPU on which the pool allocates.
    pub(super) device: i32,
    pub(super) store: Store<M>,
}

/// All memory pools of a session, by id. A pool stays in the table until its last allocation has
/// been freed, even if the guest has destroyed the pool.
pub(in crate::calls) struct Pools<M> {
    granule: u64,
    pools: BTreeMap<PoolId, Pool<M>>,
}

impl<M> Pools<M> {
    pub(super) fn new(granule: u64) -> Self {
        Self { granule, pools: BTreeMap::new() }
    }

    fn insert(&mut self, id: PoolId, device: i32, limit: u64) {
        self.pools.insert(id, Pool { device, store: Store::new(self.granule, limit) });
    }

    /// Creates a pool with an id that the guest has chosen.
    pub(super) fn create(&mut self, id: PoolId, device: i32, limit: u64) -> CuResult {
        if id.0 < FIRST_ID || self.pools.contains_key(&id) {
            return Err(CuError::INVALID_VALUE);
        }
        if self.pools.len() >= HANDLES_MAX {
            return Err(CuError::OUT_OF_MEMORY);
        }
        self.insert(id, device, limit);
        Ok(())
    }

    /// Returns a pool that the guest hasn't destroyed. If `id` is the default pool of one of the
    /// `devices` GPUs, creates the pool at its first use.
    pub(super) fn open(&mut self, id: PoolId, devices: i32) -> CuResult<&mut Pool<M>> {
        let default = i32::try_from(id.0).ok().filter(|device| *device < devices);
        if let Some(device) = default.filter(|_| !self.pools.contains_key(&id)) {
            self.insert(id, device, 0);
        }
        self.pools
            .get_mut(&id)
            .filter(|pool| !pool.store.is_closed())
            .ok_or(CuError::INVALID_HANDLE)
    }

    /// Returns a pool, even if the guest has destroyed it.
    pub(super) fn get(&mut self, id: PoolId) -> Option<&mut Pool<M>> {
        self.pools.get_mut(&id)
    }

    /// Destroys a pool that the guest has created. Fails for a default pool. Returns the mappings
    /// to unmap.
    pub(super) fn destroy(&mut self, id: PoolId) -> CuResult<Vec<M>> {
        if id.0 < FIRST_ID {
            return Err(CuError::INVALID_VALUE);
        }
        let gone = self.open(id, 0)?.store.close();
        self.forget_if_gone(id);
        Ok(gone)
    }

    /// Returns an allocation's memory to its pool. Returns the mapping that the pool releases,
    /// which the caller must unmap, if there is one.
    pub(super) fn give(&mut self, id: PoolId, addr: u64, len: u64) -> Option<M> {
        let gone = self.pools.get_mut(&id)?.store.give(addr, len);
        self.forget_if_gone(id);
        gone
    }

    fn forget_if_gone(&mut self, id: PoolId) {
        if self.pools.get(&id).is_some_and(|pool| pool.store.is_gone()) {
            self.pools.remove(&id);
        }
    }

    /// Returns the mappings of all pools.
    pub(super) fn mappings(&self) -> impl Iterator<Item = &M> {
        self.pools.values().flat_map(|pool| pool.store.mappings())
    }

    /// Returns the mapping that contains an address, if it belongs to a pool.
    pub(super) fn mapping_at(&mut self, addr: u64) -> Option<&mut M> {
        self.pools.values_mut().find_map(|pool| pool.store.mapping_at(addr))
    }

    /// Releases all memory that no allocation uses, in all pools. Returns the mappings to unmap.
    pub(in crate::calls) fn trim_all(&mut self) -> Vec<M> {
        self.pools.values_mut().flat_map(|pool| pool.store.trim(0)).collect()
    }
}

/// Returns the value of an attribute of a pool.
pub(super) fn attribute<M>(store: &Store<M>, attribute: u32) -> CuResult<u64> {
    match A(attribute) {
        A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => Ok(store.threshold),
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT => Ok(store.reserved.current),
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => Ok(store.reserved.high),
        A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT => Ok(store.used.current),
        A::CU_MEMPOOL_ATTR_USED_MEM_HIGH => Ok(store.used.high),
        _ => Err(CuError::INVALID_VALUE),
    }
}

/// Sets the release threshold of a pool, or resets one of its high-water marks to the current
/// value.
pub(super) fn set_attribute<M>(store: &mut Store<M>, attribute: u32, value: u64) -> CuResult {
    match A(attribute) {
        A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => store.threshold = value,
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => store.reserved.reset(),
        A::CU_MEMPOOL_ATTR_USED_MEM_HIGH => store.used.reset(),
        _ => return Err(CuError::INVALID_VALUE),
    }
    Ok(())
}
