//! softgpu's backend for memory pools and stream-ordered allocation. cuda-api implements the entry
//! points. softgpu allocates memory immediately, and frees it when the stream reaches the free
//! operation.

use cuda_api::error::{CuError, CuResult};
use cuda_api::graph::alloc::captured_alloc;
use cuda_api::pool::{Library, PoolInfo, PoolKind, Pools, SharedPool};
use std::ffi::c_int;
use std::os::fd::OwnedFd;
use std::sync::LazyLock;

use super::capture;
use super::context::ensure_primary;
use super::entry::EntryPoint;
use crate::state::context::current;
use crate::state::device::driver;
use crate::state::graph::Software;
use crate::state::memory::{self, Memory};
use crate::state::pool::{POOLS, Pool, destroy};
use crate::state::pool_file;
use crate::state::shared_file::{Contents, handle_of, words_of};
use crate::state::stream::lookup;

cuda_api::pool_entries!(Software, EntryPoint, std::convert::identity);

static BY_HANDLE: LazyLock<Pools> = LazyLock::new(Pools::default);

impl Library for Software {
    fn pools() -> &'static Pools {
        &BY_HANDLE
    }

    fn check_device(device: i32) -> CuResult {
        driver()?.device(device).map(drop)
    }

    fn can_access(_: i32, _: i32) -> CuResult<bool> {
        Ok(true)
    }

    fn create(device: i32, kind: PoolKind, max_size: usize) -> CuResult<u64> {
        Ok(POOLS.insert(Pool::new(device, kind, max_size as u64)) as u64)
    }

    fn destroy(id: u64) -> CuResult {
        destroy(id as usize)
    }

    fn trim(id: u64, keep: usize) -> CuResult {
        POOLS.get(id as usize).ok_or(CuError::INVALID_VALUE)?.trim(keep as u64);
        Ok(())
    }

    fn set(id: u64, attribute: CUmemPool_attribute, value: u64) -> CuResult {
        let pool = POOLS.get(id as usize).ok_or(CuError::INVALID_VALUE)?;
        pool.change(|numbers| match attribute {
            CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => numbers.reserved.reset(),
            CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH => numbers.used.reset(),
            _ => numbers.threshold = value,
        });
        Ok(())
    }

    fn get(id: u64, attribute: CUmemPool_attribute) -> CuResult<u64> {
        let numbers = POOLS.get(id as usize).ok_or(CuError::INVALID_VALUE)?.numbers();
        Ok(match attribute {
            CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => numbers.threshold,
            CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT => numbers.reserved.current,
            CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => numbers.reserved.high,
            CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT => numbers.used.current,
            CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH => numbers.used.high,
            _ => return Err(CuError::INVALID_VALUE),
        })
    }

    fn device_of(stream: CUstream, per_thread: bool) -> CuResult<i32> {
        Ok(lookup(stream, per_thread)?.context.ordinal)
    }

    fn allocate(
        pool: &PoolInfo,
        bytes: usize,
        stream: CUstream,
        per_thread: bool,
    ) -> CuResult<CUdeviceptr> {
        let stream = lookup(stream, per_thread)?;
        if capture::captured(&stream)? {
            return captured_alloc::<Software>(&(&*stream).into(), pool.device, bytes);
        }
        let (id, handle) = (pool.id as usize, pool.handle as u64);
        memory::allocate_from(&stream.context, bytes as u64, id, handle)
    }

    fn export(pool: SharedPool) -> CuResult<OwnedFd> {
        pool_file::create(pool)
    }

    fn import(descriptor: c_int) -> CuResult<SharedPool> {
        pool_file::open(descriptor)
    }

    fn pool_of(address: CUdeviceptr) -> Option<usize> {
        match memory::at(address)?.memory {
            Memory::Pool { handle, .. } | Memory::ImportedPool { handle, .. } => {
                Some(handle as usize)
            }
            _ => None,
        }
    }

    fn export_pointer(address: CUdeviceptr) -> CuResult<[u64; 6]> {
        let found = memory::at(address).ok_or(CuError::INVALID_VALUE)?;
        let Memory::Pool { id, .. } = found.memory else { return Err(CuError::INVALID_VALUE) };
        let pool = POOLS.get(id).ok_or(CuError::INVALID_VALUE)?;
        let (slab, offset) = pool.export(address)?;
        let [process, number, size] = words_of(&slab);
        Ok([process, number, size, offset, found.size, 0])
    }

    fn import_pointer(pool: &PoolInfo, allocation: [u64; 6]) -> CuResult<CUdeviceptr> {
        let context = match current() {
            Err(CuError::INVALID_CONTEXT) => ensure_primary(pool.device)?,
            found => found?,
        };
        if context.ordinal != pool.device {
            return Err(CuError::PEER_ACCESS_UNSUPPORTED);
        }
        let [process, number, size, offset, bytes, _] = allocation;
        let slab = handle_of(Contents::Memory, [process, number, size]);
        memory::import_pooled(&context, &slab, (offset, bytes), pool.handle as u64)
    }
}
