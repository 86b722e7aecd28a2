//! Address ranges and physical memory that the program manages itself.

use super::cases;
use crate::cuda::{Cuda, Outcome, parameter};
use crate::cuda::{cu, ensure, get, refused, same};
use crate::kernels;
use cuda_api::sys::{
    CUdevice, CUdevice_attribute, CUmemAccess_flags as Access, CUmemAccessDesc,
    CUmemAllocationGranularity_flags, CUmemAllocationHandleType, CUmemAllocationProp,
    CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemorytype, CUpointer_attribute,
};
use std::ptr::{null, null_mut};

/// Returns the properties of physical memory on a device.
fn on(device: CUdevice) -> CUmemAllocationProp {
    let type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        location: CUmemLocation { type_, id: device },
        ..CUmemAllocationProp::default()
    }
}

fn access(device: CUdevice, flags: Access) -> CUmemAccessDesc {
    CUmemAccessDesc { location: on(device).location, flags }
}

/// Returns the recommended granularity of memory with these properties.
fn granularity(cuda: &Cuda, prop: &CUmemAllocationProp) -> Outcome<usize> {
    let mut bytes = 0;
    let option = CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_RECOMMENDED;
    cu!(cuda, cuMemGetAllocationGranularity(&mut bytes, prop, option))?;
    Ok(bytes)
}

fn free_memory(cuda: &Cuda) -> Outcome<usize> {
    let (mut free, mut total) = (0, 0);
    cu!(cuda, cuMemGetInfo_v2(&mut free, &mut total))?;
    Ok(free)
}

cases! {
    /// Grows and shrinks a segment of memory in the same way as PyTorch's allocator.
    fn segments_grow_and_shrink(cuda, primary = (device, _)) {
        let supported = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
        same!(cuda.attribute(device, supported)?, 1);
        let (_, add) = cuda.kernel(kernels::FILL, c"add")?;
        let mut prop = on(device);
        prop.requestedHandleTypes =
            CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        let chunk = 10 * granularity(cuda, &prop)?;
        let before = free_memory(cuda)?;
        let (mut segment, range) = (0, 1 << 33);
        cu!(cuda, cuMemAddressReserve(&mut segment, range, 0, 0, 0))?;
        same!(segment % granularity(cuda, &prop)? as u64, 0);
        let mut handles = [0; 3];
        let read_write = access(device, Access::CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        for (index, handle) in handles.iter_mut().enumerate() {
            let at = segment + (index * chunk) as u64;
            cu!(cuda, cuMemCreate(handle, chunk, &prop, 0))?;
            cu!(cuda, cuMemMap(at, chunk, 0, *handle, 0))?;
            cu!(cuda, cuMemSetAccess(at, chunk, &read_write, 1))?;
        }
        let used = before - free_memory(cuda)?;
        ensure!(used >= 3 * chunk, "{used} bytes are used for {chunk}");

        // The copies, memsets, and kernels access memory in two adjacent chunks.
        let words = 1000;
        let values: Vec<u32> = (0..words).collect();
        let start = segment + chunk as u64 - 2000;
        cuda.upload(start, &values)?;
        cu!(cuda, cuMemsetD32_v2(start + 1600, 9, 200))?;
        let (one, all) = (1u32, words);
        cuda.launch(add, [8, 128], null_mut(), &mut [parameter(&start), parameter(&one), parameter(&all)])?;
        let seen = cuda.download::<u32>(start, words as usize)?;
        same!((seen[0], seen[399], seen[400], seen[599], seen[600]), (1, 400, 10, 10, 601));
        let elsewhere = cuda.alloc(4000)?;
        cu!(cuda, cuMemcpyDtoD_v2(elsewhere, start, 4000))?;
        same!(cuda.download::<u32>(elsewhere, words as usize)?, seen);

        let (mut kind, mut ordinal) = (0u32, 9);
        let get = |attribute, value| cu!(cuda, cuPointerGetAttribute(value, attribute, start));
        get(CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (&raw mut kind).cast())?;
        get(CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (&raw mut ordinal).cast())?;
        same!((kind, ordinal), (CUmemorytype::CU_MEMORYTYPE_DEVICE.0, device));
        let (mut base, mut size) = (0, 0);
        cu!(cuda, cuMemGetAddressRange_v2(&mut base, &mut size, start + 3000))?;
        same!((base, size), (segment + chunk as u64, chunk));
        let (mut flags, mut found) = (0, 0);
        cu!(cuda, cuMemGetAccess(&mut flags, &read_write.location, start))?;
        same!(flags, 3);
        cu!(cuda, cuMemRetainAllocationHandle(&mut found, start as *mut _))?;
        same!(found, handles[0]);
        cu!(cuda, cuMemRelease(found))?;
        let mut of_handle = CUmemAllocationProp::default();
        cu!(cuda, cuMemGetAllocationPropertiesFromHandle(&mut of_handle, found))?;
        same!((of_handle.type_, of_handle.location), (prop.type_, prop.location));

        // Physical memory still exists after its handle was released, because it's mapped.
        for handle in handles {
            cu!(cuda, cuMemRelease(handle))?;
        }
        same!(cuda.download::<u32>(start, words as usize)?, seen);
        let mapped = free_memory(cuda)?;
        cu!(cuda, cuMemUnmap(segment, chunk))?;
        same!(cuda.download::<u32>(segment + chunk as u64, 10)?.len(), 10);
        same!(free_memory(cuda)? - mapped, chunk);
        refused!(cu!(cuda, cuMemAddressFree(segment, range)), INVALID_VALUE);
        cu!(cuda, cuMemUnmap(segment + chunk as u64, 2 * chunk))?;
        cu!(cuda, cuMemAddressFree(segment, range))?;
        cu!(cuda, cuMemFree_v2(elsewhere))?;
        // The kernel's launch may have allocated up to a chunk of memory.
        let after = free_memory(cuda)?;
        ensure!(after + chunk > before, "{before} bytes were free before, {after} after");
    }

    fn mappings_follow_the_rules(cuda, primary = (device, _)) {
        let prop = on(device);
        let size = granularity(cuda, &prop)?;
        let handle = get!(cuda, cuMemCreate(@, size, &prop, 0))?;
        let at = get!(cuda, cuMemAddressReserve(@, 4 * size, 0, 0, 0))?;
        let next = at + size as u64;
        refused!(cu!(cuda, cuMemMap(at, size, size, handle, 0)), NOT_SUPPORTED);
        refused!(cu!(cuda, cuMemMap(at, size, 0, handle, 1)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemMap(at + 4096, size, 0, handle, 0)), INVALID_VALUE);
        for wrong in [4096, 2 * size] {
            refused!(cu!(cuda, cuMemMap(at, wrong, 0, handle, 0)), NOT_SUPPORTED);
        }
        cu!(cuda, cuMemMap(at, size, 0, handle, 0))?;
        refused!(cu!(cuda, cuMemMap(at, size, 0, handle, 0)), INVALID_VALUE);
        let read_write = access(device, Access::CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        refused!(cu!(cuda, cuMemSetAccess(next, size, &read_write, 1)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemSetAccess(at, size, &read_write, 0)), INVALID_VALUE);
        cu!(cuda, cuMemSetAccess(at, size, &read_write, 1))?;
        // Map the same physical memory at a second address.
        cu!(cuda, cuMemMap(next, size, 0, handle, 0))?;
        cu!(cuda, cuMemSetAccess(at, 2 * size, &read_write, 1))?;
        cuda.upload(at + 8, &[1u32, 2, 3])?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u32>(next + 8, 3)?, [1, 2, 3]);
        refused!(cu!(cuda, cuMemUnmap(at, size / 2)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemFree_v2(at)), INVALID_VALUE);
        cu!(cuda, cuMemUnmap(at, 2 * size))?;
        let mut flags = 0;
        refused!(cu!(cuda, cuMemGetAccess(&mut flags, &read_write.location, at)), INVALID_VALUE);
        let mut found = 0;
        refused!(cu!(cuda, cuMemRetainAllocationHandle(&mut found, at as *mut _)), INVALID_VALUE);
        cu!(cuda, cuMemRelease(handle))?;
        cu!(cuda, cuMemAddressFree(at, 4 * size))?;
    }

    fn impossible_memory_is_refused(cuda, primary = (device, _)) {
        let prop = on(device);
        let size = granularity(cuda, &prop)?;
        let (mut handle, mut at) = (0, 0);
        refused!(cu!(cuda, cuMemCreate(&mut handle, 0, &prop, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemCreate(&mut handle, size + 1, &prop, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemCreate(null_mut(), size, &prop, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemCreate(&mut handle, size, null(), 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemCreate(&mut handle, size << 36, &prop, 0)), OUT_OF_MEMORY);
        let nowhere = CUmemAllocationProp { location: CUmemLocation::default(), ..prop };
        refused!(cu!(cuda, cuMemCreate(&mut handle, size, &nowhere, 0)), INVALID_VALUE);
        let untyped = CUmemAllocationProp { type_: CUmemAllocationType(0), ..prop };
        refused!(cu!(cuda, cuMemCreate(&mut handle, size, &untyped, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemAddressReserve(&mut at, 0, 0, 0, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemAddressReserve(null_mut(), size, 0, 0, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemAddressReserve(&mut at, size, 3, 0, 0)), INVALID_VALUE);
        cu!(cuda, cuMemAddressReserve(&mut at, 2 * size, 64 * size, 0, 0))?;
        same!(at % (64 * size) as u64, 0);
        refused!(cu!(cuda, cuMemAddressFree(at, size)), INVALID_VALUE);
        cu!(cuda, cuMemAddressFree(at, 2 * size))?;
    }
}
