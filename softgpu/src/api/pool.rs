//! Memory pools and stream-ordered allocation. Memory is allocated immediately, and freed when the
//! stream reaches the operation that frees it.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cuda_api::args::{In, Out};
use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::{
    CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType,
    CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemPool_attribute as A,
    CUmemPoolProps, CUmemoryPool, CUstream,
};

use super::capture;
use super::entry::entries;
use crate::state::device::driver;
use crate::state::handles::{Kind, Table};
use crate::state::memory::{self, Memory};
use crate::state::stream::{Stream, lookup};

const REUSE_EVENTS: A = A::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
const REUSE_OPPORTUNISTIC: A = A::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC;
const REUSE_INTERNAL: A = A::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
const RELEASE_THRESHOLD: A = A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
const RESERVED_CURRENT: A = A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
const RESERVED_HIGH: A = A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;
const USED_CURRENT: A = A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
const USED_HIGH: A = A::CU_MEMPOOL_ATTR_USED_MEM_HIGH;

struct Pool {
    ordinal: i32,
    /// Values that the program has set, indexed by attribute. They have no effect because a pool
    /// doesn't retain free memory.
    attributes: [AtomicU64; A::CU_MEMPOOL_ATTR_USED_MEM_HIGH.0 as usize + 1],
    default: bool,
}

static POOLS: Table<Pool> = Table::new(Kind::Pool);
/// Each device's default pool.
static DEFAULTS: Mutex<Vec<(i32, usize)>> = Mutex::new(Vec::new());
/// Each device's current pool, if the program has set one.
static CURRENT: Mutex<Vec<(i32, usize)>> = Mutex::new(Vec::new());

fn new_pool(ordinal: i32, default: bool) -> usize {
    let attributes = std::array::from_fn(|attribute| {
        let reuse =
            matches!(A(attribute as u32), REUSE_EVENTS | REUSE_OPPORTUNISTIC | REUSE_INTERNAL);
        AtomicU64::new(reuse.into())
    });
    POOLS.insert(Pool { ordinal, attributes, default })
}

fn default_pool(ordinal: i32) -> CuResult<usize> {
    driver()?.device(ordinal)?;
    let mut defaults = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, pool)) = defaults.iter().find(|(o, _)| *o == ordinal) {
        return Ok(*pool);
    }
    let pool = new_pool(ordinal, true);
    defaults.push((ordinal, pool));
    Ok(pool)
}

fn current_pool(ordinal: i32) -> CuResult<usize> {
    let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    match current.iter().find(|(o, pool)| *o == ordinal && POOLS.get(*pool).is_some()) {
        Some((_, pool)) => Ok(*pool),
        None => default_pool(ordinal),
    }
}

fn allocate(to: Out<CUdeviceptr>, size: usize, pool: usize, stream: &Stream) -> CuResult {
    if size == 0 {
        return to.set(0);
    }
    capture::unsupported_on(stream, "cuMemAllocAsync")?;
    POOLS.get(pool).ok_or(CuError::INVALID_HANDLE)?;
    to.set(memory::allocate_as(&stream.context, size as u64, Memory::Pool(pool as u64))?)
}

entries! {
    fn cuMemAllocAsync, fn cuMemAllocAsync_ptsz(
        to: Out<CUdeviceptr>, size: usize, stream: CUstream,
    ) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        allocate(to, size, current_pool(stream.context.ordinal)?, &stream)
    }

    fn cuMemAllocFromPoolAsync, fn cuMemAllocFromPoolAsync_ptsz(
        to: Out<CUdeviceptr>, size: usize, pool: CUmemoryPool, stream: CUstream,
    ) |per_thread| {
        allocate(to, size, pool as usize, &*lookup(stream, per_thread)?)
    }

    fn cuMemFreeAsync, fn cuMemFreeAsync_ptsz(address: CUdeviceptr, stream: CUstream) |per_thread| {
        let stream = lookup(stream, per_thread)?;
        if address == 0 {
            return Ok(());
        }
        let found = memory::at(address).ok_or(CuError::INVALID_VALUE)?;
        if !matches!(found.memory, Memory::Device | Memory::Pool(_)) {
            return Err(CuError::INVALID_VALUE);
        }
        capture::unsupported_on(&stream, "cuMemFreeAsync")?;
        stream.now_or_submit(move |_| {
            memory::forget(address);
        });
        Ok(())
    }

    fn cuDeviceGetDefaultMemPool(to: Out<CUmemoryPool>, device: c_int) {
        to.set(default_pool(device)? as CUmemoryPool)
    }

    fn cuDeviceGetMemPool(to: Out<CUmemoryPool>, device: c_int) {
        driver()?.device(device)?;
        to.set(current_pool(device)? as CUmemoryPool)
    }

    fn cuDeviceSetMemPool(device: c_int, pool: CUmemoryPool) {
        driver()?.device(device)?;
        let found = POOLS.get(pool as usize).ok_or(CuError::INVALID_HANDLE)?;
        if found.ordinal != device {
            return Err(CuError::INVALID_VALUE);
        }
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        current.retain(|(ordinal, _)| *ordinal != device);
        current.push((device, pool as usize));
        Ok(())
    }

    fn cuMemPoolCreate(to: Out<CUmemoryPool>, properties: In<CUmemPoolProps>) {
        let properties = properties.get()?;
        let CUmemLocation { type_: place, id: ordinal } = properties.location;
        if properties.allocType != CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED {
            return Err(CuError::INVALID_VALUE);
        }
        if properties.handleTypes != CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE
            || place != CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE
        {
            return Err(CuError::NOT_SUPPORTED);
        }
        driver()?.device(ordinal)?;
        to.set(new_pool(ordinal, false) as CUmemoryPool)
    }

    fn cuMemPoolDestroy(pool: CUmemoryPool) {
        let found = POOLS.get(pool as usize).ok_or(CuError::INVALID_HANDLE)?;
        if found.default {
            return Err(CuError::NOT_PERMITTED);
        }
        POOLS.remove(pool as usize);
        Ok(())
    }

    fn cuMemPoolTrimTo(pool: CUmemoryPool, _keep: usize) {
        // Nothing to trim: a pool doesn't retain free memory.
        POOLS.get(pool as usize).map(drop).ok_or(CuError::INVALID_HANDLE)
    }

    fn cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: A, value: Out<c_void>) {
        let pool = POOLS.get(pool as usize).ok_or(CuError::INVALID_HANDLE)?;
        let value = match attribute {
            REUSE_EVENTS | REUSE_OPPORTUNISTIC | REUSE_INTERNAL => {
                // SAFETY: the program passes a pointer to the attribute's type, an int.
                u64::from(unsafe { value.cast::<u32>() }.read()?)
            }
            RELEASE_THRESHOLD | RESERVED_HIGH | USED_HIGH => {
                // SAFETY: the program passes a pointer to the attribute's type, a cuuint64_t.
                unsafe { value.cast::<u64>() }.read()?
            }
            _ => return Err(CuError::INVALID_VALUE),
        };
        if matches!(attribute, RESERVED_HIGH | USED_HIGH) && value != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        pool.attributes[attribute.0 as usize].store(value, Ordering::Relaxed);
        Ok(())
    }

    fn cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: A, value: Out<c_void>) {
        let found = POOLS.get(pool as usize).ok_or(CuError::INVALID_HANDLE)?;
        let value_set = || found.attributes[attribute.0 as usize].load(Ordering::Relaxed);
        match attribute {
            REUSE_EVENTS | REUSE_OPPORTUNISTIC | REUSE_INTERNAL => {
                // SAFETY: the program passes a pointer to the attribute's type, an int.
                unsafe { value.cast::<u32>() }.set(value_set() as u32)
            }
            RELEASE_THRESHOLD => {
                // SAFETY: the program passes a pointer to the attribute's type, a cuuint64_t.
                unsafe { value.cast::<u64>() }.set(value_set())
            }
            RESERVED_CURRENT | RESERVED_HIGH | USED_CURRENT | USED_HIGH => {
                // SAFETY: the program passes a pointer to the attribute's type, a cuuint64_t.
                unsafe { value.cast::<u64>() }.set(memory::in_pool(pool as u64))
            }
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    fn cuMemPoolSetAccess(pool: CUmemoryPool, _map: In<CUmemAccessDesc>, _count: usize) {
        // Nothing to change: every device can access the pool.
        POOLS.get(pool as usize).map(drop).ok_or(CuError::INVALID_HANDLE)
    }

    fn cuMemPoolGetAccess(
        flags: Out<CUmemAccess_flags>, pool: CUmemoryPool, _location: In<CUmemLocation>,
    ) {
        POOLS.get(pool as usize).ok_or(CuError::INVALID_HANDLE)?;
        flags.set(CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
    }
}
