//! Memory pools and stream-ordered allocation.

use super::cases;
use crate::cuda::{Cuda, Outcome};
use crate::cuda::{cu, ensure, get, refused, same};
use cuda_api::sys::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType, CUmemAllocationType,
    CUmemLocation, CUmemLocationType, CUmemPool_attribute as A, CUmemPoolProps, CUmemoryPool,
    CUpointer_attribute, CUstream,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

const DEVICE: CUmemLocation =
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
const PINNED: CUmemAllocationType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
const READ_WRITE: CUmemAccess_flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
const THRESHOLD: A = A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
const RESERVED: A = A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
const RESERVED_HIGH: A = A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;
const USED: A = A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
const USED_HIGH: A = A::CU_MEMPOOL_ATTR_USED_MEM_HIGH;

fn properties(max_size: usize) -> CUmemPoolProps {
    CUmemPoolProps {
        allocType: PINNED,
        handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: DEVICE,
        win32SecurityAttributes: null_mut(),
        maxSize: max_size,
        usage: 0,
        reserved: [0; 54],
    }
}

fn pool(cuda: &Cuda, max_size: usize) -> Outcome<CUmemoryPool> {
    Ok(get!(cuda, cuMemPoolCreate(@, &properties(max_size)))?)
}

fn amount(cuda: &Cuda, pool: CUmemoryPool, which: A) -> Outcome<u64> {
    let mut value = 0u64;
    cu!(cuda, cuMemPoolGetAttribute(pool, which, (&raw mut value).cast::<c_void>()))?;
    Ok(value)
}

fn set(cuda: &Cuda, pool: CUmemoryPool, which: A, mut value: u64) -> Outcome {
    cu!(cuda, cuMemPoolSetAttribute(pool, which, (&raw mut value).cast::<c_void>()))?;
    Ok(())
}

fn from_pool(cuda: &Cuda, pool: CUmemoryPool, bytes: usize, stream: CUstream) -> Outcome<u64> {
    Ok(get!(cuda, cuMemAllocFromPoolAsync(@, bytes, pool, stream))?)
}

cases! {
    fn a_pool_keeps_memory_up_to_its_threshold(cuda, primary) {
        let (pool, mut stream) = (pool(cuda, 0)?, null_mut());
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        same!([THRESHOLD, RESERVED, USED].map(|a| amount(cuda, pool, a).unwrap_or(1)), [0, 0, 0]);
        let pointer = from_pool(cuda, pool, 3 << 20, stream)?;
        cu!(cuda, cuMemsetD8Async(pointer, 7, 3 << 20, stream))?;
        same!(amount(cuda, pool, USED)?, 3 << 20);
        ensure!(amount(cuda, pool, RESERVED)? >= 3 << 20, "the pool has too little memory");
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u8>(pointer + (3 << 20) - 2, 2)?, [7, 7]);
        set(cuda, pool, THRESHOLD, u64::MAX)?;
        same!(amount(cuda, pool, THRESHOLD)?, u64::MAX);
        cu!(cuda, cuMemFreeAsync(pointer, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(amount(cuda, pool, USED)?, 0);
        ensure!(amount(cuda, pool, RESERVED)? >= 3 << 20, "the pool kept too little memory");
        cu!(cuda, cuMemPoolTrimTo(pool, 0))?;
        same!(amount(cuda, pool, RESERVED)?, 0);
        same!(amount(cuda, pool, USED_HIGH)?, 3 << 20);
        set(cuda, pool, USED_HIGH, 0)?;
        set(cuda, pool, RESERVED_HIGH, 0)?;
        same!([RESERVED_HIGH, USED_HIGH].map(|a| amount(cuda, pool, a).unwrap_or(1)), [0, 0]);
        let mut value = 5u64;
        let at = (&raw mut value).cast::<c_void>();
        refused!(cu!(cuda, cuMemPoolSetAttribute(pool, USED_HIGH, at)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemPoolSetAttribute(pool, USED, at)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemPoolGetAttribute(pool, A(99), at)), INVALID_VALUE);
        let reuse = A::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC;
        let (mut before, mut off, mut after) = (7i32, 0i32, 7i32);
        cu!(cuda, cuMemPoolGetAttribute(pool, reuse, (&raw mut before).cast()))?;
        cu!(cuda, cuMemPoolSetAttribute(pool, reuse, (&raw mut off).cast()))?;
        cu!(cuda, cuMemPoolGetAttribute(pool, reuse, (&raw mut after).cast()))?;
        same!((before, after), (1, 0));
        cu!(cuda, cuMemPoolDestroy(pool))?;
        cu!(cuda, cuStreamDestroy_v2(stream))?;
    }

    fn a_device_has_a_default_and_a_current_pool(cuda, primary = (device, _)) {
        let default = get!(cuda, cuDeviceGetDefaultMemPool(@, device))?;
        let mut current = get!(cuda, cuDeviceGetMemPool(@, device))?;
        same!(current, default);
        refused!(cu!(cuda, cuDeviceGetDefaultMemPool(&mut current, 99)), INVALID_DEVICE);
        ensure!(cu!(cuda, cuMemPoolDestroy(default)).is_err(), "the default pool was destroyed");
        let (own, mut pointer, mut handle) = (pool(cuda, 0)?, 0, 0usize);
        cu!(cuda, cuDeviceSetMemPool(device, own))?;
        cu!(cuda, cuDeviceGetMemPool(&mut current, device))?;
        same!(current, own);
        cu!(cuda, cuMemAllocAsync(&mut pointer, 100, null_mut()))?;
        let which = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
        cu!(cuda, cuPointerGetAttribute((&raw mut handle).cast(), which, pointer))?;
        same!(handle, own as usize);
        // The allocation stays usable after the program has destroyed its pool.
        cu!(cuda, cuMemPoolDestroy(own))?;
        cu!(cuda, cuDeviceGetMemPool(&mut current, device))?;
        same!(current, default);
        cuda.upload(pointer, &[1u32, 2])?;
        same!(cuda.download::<u32>(pointer, 2)?, [1, 2]);
        cu!(cuda, cuMemFree_v2(pointer))?;
        refused!(cu!(cuda, cuMemFreeAsync(pointer, null_mut())), INVALID_VALUE);
    }

    fn access_and_sharing_are_limited(cuda, primary) {
        let pool = pool(cuda, 0)?;
        let own = CUmemAccessDesc { location: DEVICE, flags: READ_WRITE };
        cu!(cuda, cuMemPoolSetAccess(pool, &own, 1))?;
        let none = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE;
        let read = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ;
        let set = |access: CUmemAccessDesc| cu!(cuda, cuMemPoolSetAccess(pool, &access, 1));
        refused!(set(CUmemAccessDesc { flags: none, ..own }), INVALID_DEVICE);
        refused!(set(CUmemAccessDesc { flags: read, ..own }), NOT_SUPPORTED);
        let at = |type_, id| CUmemAccessDesc { location: CUmemLocation { type_, id }, ..own };
        refused!(set(at(DEVICE.type_, 99)), INVALID_DEVICE);
        refused!(set(at(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, 0)), NOT_SUPPORTED);
        let (mut flags, mut location) = (none, DEVICE);
        cu!(cuda, cuMemPoolGetAccess(&mut flags, pool, &mut location))?;
        same!(flags, READ_WRITE);
        let mut share = 0u64;
        let kind = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        let to = (&raw mut share).cast();
        refused!(cu!(cuda, cuMemPoolExportToShareableHandle(to, pool, kind, 0)), INVALID_VALUE);
        cu!(cuda, cuMemPoolDestroy(pool))?;
        let mut pool = null_mut();
        refused!(cu!(cuda, cuMemPoolCreate(&mut pool, null())), INVALID_VALUE);
        let managed = CUmemPoolProps { allocType: CUmemAllocationType(0), ..properties(0) };
        refused!(cu!(cuda, cuMemPoolCreate(&mut pool, &managed)), INVALID_VALUE);
    }

    fn a_pool_does_not_exceed_its_maximum_size(cuda, primary) {
        let (pool, mut pointer) = (pool(cuda, 64 << 20)?, 0);
        let first = from_pool(cuda, pool, 64 << 20, null_mut())?;
        let more = cu!(cuda, cuMemAllocFromPoolAsync(&mut pointer, 64 << 20, pool, null_mut()));
        refused!(more, OUT_OF_MEMORY);
        cu!(cuda, cuMemFreeAsync(first, null_mut()))?;
        cu!(cuda, cuStreamSynchronize(null_mut()))?;
        let second = from_pool(cuda, pool, 64 << 20, null_mut())?;
        cu!(cuda, cuMemFreeAsync(second, null_mut()))?;
        cu!(cuda, cuMemPoolDestroy(pool))?;
    }
}
