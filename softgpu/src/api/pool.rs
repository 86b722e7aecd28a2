//! Memory pools and stream-ordered allocation. Memory is allocated at once, and freed when the stream
//! reaches the free.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cuda_api::sys::{CUdeviceptr, CUmemPoolProps, CUmemoryPool};

use super::{Answer, CUresult, capture, cuda, cuda_on_stream, get, put};
use crate::state::device::driver;
use crate::state::handles::{Kind, Table};
use crate::state::memory::{self, Memory};
use crate::state::stream::Stream;

struct Pool {
    ordinal: i32,
    /// Can be set and read, but has no effect: freed memory is not kept.
    attributes: [AtomicU64; 9],
    default: bool,
}

static POOLS: Table<Pool> = Table::new(Kind::Pool);
/// Each device's default pool.
static DEFAULTS: Mutex<Vec<(i32, usize)>> = Mutex::new(Vec::new());
/// Each device's current pool, if one was set.
static CURRENT: Mutex<Vec<(i32, usize)>> = Mutex::new(Vec::new());

fn new_pool(ordinal: i32, default: bool) -> usize {
    let attributes = std::array::from_fn(|i| AtomicU64::new(u64::from((1..4).contains(&i))));
    POOLS.insert(Pool { ordinal, attributes, default })
}

fn default_pool(ordinal: i32) -> Result<usize, CUresult> {
    driver()?.device(ordinal)?;
    let mut defaults = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, pool)) = defaults.iter().find(|(o, _)| *o == ordinal) {
        return Ok(*pool);
    }
    let pool = new_pool(ordinal, true);
    defaults.push((ordinal, pool));
    Ok(pool)
}

fn current_pool(ordinal: i32) -> Result<usize, CUresult> {
    let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    match current.iter().find(|(o, pool)| *o == ordinal && POOLS.get(*pool).is_some()) {
        Some((_, pool)) => Ok(*pool),
        None => default_pool(ordinal),
    }
}

fn allocate(to: *mut CUdeviceptr, size: usize, pool: usize, stream: &Stream) -> Answer {
    if size == 0 {
        return put(to, 0);
    }
    capture::unsupported_on(stream, "cuMemAllocAsync")?;
    POOLS.get(pool).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    put(to, memory::allocate_as(&stream.context, size as u64, Memory::Pool(pool as u64))?)
}

cuda_on_stream! {
    fn cuMemAllocAsync, fn cuMemAllocAsync_ptsz(to: *mut CUdeviceptr, size: usize; stream) {
        allocate(to, size, current_pool(stream.context.ordinal)?, &stream)
    }

    fn cuMemAllocFromPoolAsync, fn cuMemAllocFromPoolAsync_ptsz(
        to: *mut CUdeviceptr, size: usize, pool: CUmemoryPool; stream
    ) {
        allocate(to, size, pool as usize, &stream)
    }

    fn cuMemFreeAsync, fn cuMemFreeAsync_ptsz(address: CUdeviceptr; stream) {
        if address == 0 {
            return Ok(());
        }
        let found = memory::at(address).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        if !matches!(found.memory, Memory::Device | Memory::Pool(_)) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        capture::unsupported_on(&stream, "cuMemFreeAsync")?;
        stream.now_or_submit(move |_| {
            memory::forget(address);
        });
        Ok(())
    }
}

cuda! {
    fn cuDeviceGetDefaultMemPool(to: *mut CUmemoryPool, device: c_int) {
        put(to, default_pool(device)? as CUmemoryPool)
    }

    fn cuDeviceGetMemPool(to: *mut CUmemoryPool, device: c_int) {
        driver()?.device(device)?;
        put(to, current_pool(device)? as CUmemoryPool)
    }

    fn cuDeviceSetMemPool(device: c_int, pool: CUmemoryPool) {
        driver()?.device(device)?;
        let found = POOLS.get(pool as usize).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        if found.ordinal != device {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        current.retain(|(ordinal, _)| *ordinal != device);
        current.push((device, pool as usize));
        Ok(())
    }

    fn cuMemPoolCreate(to: *mut CUmemoryPool, properties: *const CUmemPoolProps) {
        let properties = get(properties)?;
        let (kind, handles) = (properties.allocType.0, properties.handleTypes.0);
        let (place, ordinal) = (properties.location.type_.0, properties.location.id);
        if kind != 1 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        if handles != 0 || place != 1 {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        driver()?.device(ordinal)?;
        put(to, new_pool(ordinal, false) as CUmemoryPool)
    }

    fn cuMemPoolDestroy(pool: CUmemoryPool) {
        let found = POOLS.get(pool as usize).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        if found.default {
            return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
        }
        POOLS.remove(pool as usize);
        Ok(())
    }

    fn cuMemPoolTrimTo(pool: CUmemoryPool, _keep: usize) {
        // A pool keeps no free memory.
        POOLS.get(pool as usize).map(drop).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
    }

    fn cuMemPoolSetAttribute(pool: CUmemoryPool, which: c_uint, value: *const c_void) {
        let pool = POOLS.get(pool as usize).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        let value = match which {
            1..=3 => u64::from(get(value.cast::<u32>())?),
            4 | 6 | 8 => get(value.cast::<u64>())?,
            _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        };
        if matches!(which, 6 | 8) && value != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        pool.attributes[which as usize].store(value, Ordering::Relaxed);
        Ok(())
    }

    fn cuMemPoolGetAttribute(pool: CUmemoryPool, which: c_uint, value: *mut c_void) {
        let found = POOLS.get(pool as usize).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        match which {
            1..=3 => put(value.cast(), found.attributes[which as usize].load(Ordering::Relaxed) as u32),
            4 => put(value.cast(), found.attributes[4].load(Ordering::Relaxed)),
            5..=8 => put(value.cast(), memory::in_pool(pool as u64)),
            _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }

    fn cuMemPoolSetAccess(pool: CUmemoryPool, _map: *const c_void, _count: usize) {
        // Every device can access it.
        POOLS.get(pool as usize).map(drop).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
    }

    fn cuMemPoolGetAccess(flags: *mut c_uint, pool: CUmemoryPool, _location: *const c_void) {
        POOLS.get(pool as usize).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        put(flags, 3)
    }
}
