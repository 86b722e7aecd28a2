//! Memory pools, which divide large mappings (slabs) into allocations.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_api::error::{CuError, CuResult};
use cuda_api::ipc::HandleBytes;
use cuda_api::pool::{PoolKind, Store};

use super::device::{Device, driver};
use super::handles::{Kind, Table};
use super::mapping::{map, unmap};
use super::shared_file::{Contents, SharedFile};

/// Slab sizes are multiples of this number of bytes.
const GRANULE: u64 = 2 << 20;

/// All memory pools of the process, by id. A pool that the program has destroyed stays in the table
/// until its last allocation has been freed.
pub(crate) static POOLS: Table<Pool> = Table::new(Kind::Pool);

/// A contiguous mapping from which a pool allocates memory.
struct Slab {
    start: u64,
    len: u64,
    /// The file that is mapped, or `None` if the slab can't be shared with other processes.
    file: Option<SharedFile>,
}

impl Slab {
    /// Maps memory for a slab. If it is `shareable`, other processes can map it, too.
    fn new(len: u64, shareable: bool) -> CuResult<Self> {
        if !shareable {
            return Ok(Self { start: map(len)?, len, file: None });
        }
        let file = SharedFile::create(Contents::Memory, len, len)?;
        Ok(Self { start: file.map_new(len)?, len, file: Some(file) })
    }
}

/// A memory pool on a device, and its slabs.
pub(crate) struct Pool {
    ordinal: i32,
    shareable: bool,
    store: Mutex<Store<Slab>>,
}

/// The settings and statistics of a pool that a program can query.
pub(crate) struct Numbers {
    pub(crate) threshold: u64,
    pub(crate) reserved: cuda_api::pool::Amount,
    pub(crate) used: cuda_api::pool::Amount,
}

impl Pool {
    /// Creates a pool with at most `limit` bytes, or without a limit if that is 0.
    pub(crate) fn new(ordinal: i32, kind: PoolKind, limit: u64) -> Self {
        let shareable = kind == PoolKind::Shareable;
        Self { ordinal, shareable, store: Mutex::new(Store::new(GRANULE, limit)) }
    }

    fn lock(&self) -> MutexGuard<'_, Store<Slab>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release(&self, slabs: impl IntoIterator<Item = Slab>) {
        for Slab { start, len, file } in slabs {
            // Only this process's descriptor is closed. Processes that have mapped the file keep
            // the memory.
            drop(file);
            // SAFETY: `take` mapped the slab. The pool has removed it, and no allocation was left
            // in it.
            unsafe { unmap(start, len) };
            if let Ok(device) = driver().and_then(|driver| driver.device(self.ordinal)) {
                device.memory.uncharge(len);
            }
        }
    }

    /// Allocates memory. If the device has too little free memory, first frees the unused memory of
    /// all pools.
    pub(crate) fn take(&self, size: u64) -> CuResult<u64> {
        let device = driver()?.device(self.ordinal)?;
        let mut store = self.lock();
        if let Some(start) = store.take(size) {
            return Ok(start);
        }
        if store.slab_for(size).is_none() {
            let gone = store.trim(0);
            self.release(gone);
        }
        let len = store.slab_for(size).ok_or(CuError::OUT_OF_MEMORY)?;
        if device.memory.charge(len).is_err() {
            drop(store);
            charge(device, len)?;
            store = self.lock();
            if store.slab_for(size) != Some(len) {
                device.memory.uncharge(len);
                return Err(CuError::OUT_OF_MEMORY);
            }
        }
        let slab = Slab::new(len, self.shareable).inspect_err(|_| device.memory.uncharge(len))?;
        store.add(slab.start, len, slab);
        store.take(size).ok_or(CuError::OUT_OF_MEMORY)
    }

    /// Returns the handle of the file that contains an allocation of this pool, and the offset of
    /// the allocation in that file.
    pub(crate) fn export(&self, start: u64) -> CuResult<(HandleBytes, u64)> {
        let mut store = self.lock();
        let slab = store.mapping_at(start).ok_or(CuError::INVALID_VALUE)?;
        let file = slab.file.as_ref().ok_or(CuError::INVALID_VALUE)?;
        Ok((file.handle(), start - slab.start))
    }

    /// Frees unused slabs until the pool has at most `keep` bytes.
    pub(crate) fn trim(&self, keep: u64) {
        let gone = self.lock().trim(keep);
        self.release(gone);
    }

    /// Calls `change` with the pool's settings and statistics. After that, frees unused slabs above
    /// the threshold.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Numbers)) {
        let mut store = self.lock();
        let mut numbers =
            Numbers { threshold: store.threshold, reserved: store.reserved, used: store.used };
        change(&mut numbers);
        (store.threshold, store.reserved, store.used) =
            (numbers.threshold, numbers.reserved, numbers.used);
        let gone = store.trim(numbers.threshold);
        self.release(gone);
    }

    /// Returns the pool's settings and statistics.
    pub(crate) fn numbers(&self) -> Numbers {
        let store = self.lock();
        Numbers { threshold: store.threshold, reserved: store.reserved, used: store.used }
    }
}

/// Frees the unused slabs of all pools.
pub(crate) fn trim_all() {
    POOLS.all().iter().for_each(|pool| pool.trim(0));
}

/// Counts bytes as allocated on a device. If the device has too little free memory, first frees the
/// unused memory of all pools.
pub(crate) fn charge(device: &Device, bytes: u64) -> CuResult {
    device.memory.charge(bytes).or_else(|_| {
        trim_all();
        device.memory.charge(bytes)
    })
}

/// Frees an allocation of the pool with this id.
pub(crate) fn give(id: usize, start: u64, size: u64) {
    let Some(pool) = POOLS.find(id) else { return };
    let mut store = pool.lock();
    let gone = store.give(start, size);
    let is_gone = store.is_gone();
    drop(store);
    pool.release(gone);
    if is_gone {
        POOLS.remove(id);
    }
}

/// Destroys a pool. It stays in [`POOLS`] until its last allocation has been freed.
pub(crate) fn destroy(id: usize) -> CuResult {
    let pool: Arc<Pool> = POOLS.get(id).ok_or(CuError::INVALID_VALUE)?;
    let mut store = pool.lock();
    let gone = store.close();
    let is_gone = store.is_gone();
    drop(store);
    pool.release(gone);
    if is_gone {
        POOLS.remove(id);
    }
    Ok(())
}
