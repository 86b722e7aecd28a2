//! Allocations, page-locked memory, and free memory.

use std::ptr::null_mut;

use super::{p50, p50_p99};
use crate::bench::gpu::Gpu;
use crate::bench::sample::{Measured, samples, time};
use crate::cuda::{AccessDesc, AllocationProp, Failed};

/// CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE, and CU_MEM_ACCESS_FLAGS_PROT_READWRITE.
const PINNED: i32 = 1;
const DEVICE: i32 = 1;
const READ_WRITE: i32 = 3;
/// The size of an allocation of [`virtual_memory`], a multiple of the granularity.
const CREATED: usize = 20 << 20;

/// cuMemGetInfo.
pub(in crate::bench) fn mem_info(gpu: &Gpu) -> Measured {
    Ok(p50_p99(&samples(gpu.count(1000), || time_info(gpu))?))
}

/// cuMemGetInfo right after cuMemFree.
pub(in crate::bench) fn mem_info_after_free(gpu: &Gpu) -> Measured {
    let times = samples(gpu.count(500), || {
        alloc_and_free(gpu, 4 << 20)?;
        time_info(gpu)
    })?;
    Ok(p50_p99(&times))
}

fn time_info(gpu: &Gpu) -> Result<f64, Failed> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are writable.
    time(|| unsafe { gpu.cuda.mem_info(&mut free, &mut total) })
}

fn alloc_and_free(gpu: &Gpu, bytes: usize) -> Result<(), Failed> {
    let mut address = 0;
    // SAFETY: `address` is writable, and nothing uses the memory.
    unsafe {
        gpu.cuda.alloc(&mut address, bytes)?;
        gpu.cuda.free(address)
    }
}

/// cuMemAlloc and cuMemFree.
pub(in crate::bench) fn alloc(gpu: &Gpu, bytes: usize) -> Measured {
    Ok(p50(&samples(gpu.count(500), || time(|| alloc_and_free(gpu, bytes)))?))
}

/// cuMemAllocAsync and cuMemFreeAsync.
pub(in crate::bench) fn alloc_async(gpu: &Gpu) -> Measured {
    let mut address = 0;
    let times = samples(gpu.count(2000), || {
        time(|| {
            // SAFETY: `address` is writable, and nothing uses the memory.
            unsafe {
                gpu.cuda.alloc_async(&mut address, 1 << 20, gpu.stream)?;
                gpu.cuda.free_async(address, gpu.stream)
            }
        })
    })?;
    gpu.wait()?;
    Ok(p50_p99(&times))
}

/// 20 MiB by cuMemCreate, mapped and unmapped.
pub(in crate::bench) fn virtual_memory(gpu: &Gpu) -> Measured {
    let location = [DEVICE, 0];
    let prop = AllocationProp { kind: PINNED, location, ..AllocationProp::default() };
    let access = AccessDesc { location, flags: READ_WRITE };
    let cuda = &gpu.cuda;
    let times = samples(gpu.count(200), || {
        let (mut handle, mut address) = (0, 0);
        time(|| {
            // SAFETY: the pointers are valid, each call has set its result before the next one uses it,
            // and nothing uses the memory.
            unsafe {
                cuda.create(&mut handle, CREATED, &prop, 0)?;
                cuda.reserve(&mut address, CREATED, 0, 0, 0)?;
                cuda.map(address, CREATED, 0, handle, 0)?;
                cuda.set_access(address, CREATED, &access, 1)?;
                cuda.unmap(address, CREATED)?;
                cuda.release(handle)?;
                cuda.address_free(address, CREATED)
            }
        })
    })?;
    Ok(p50(&times))
}

/// cuMemHostRegister and cuMemHostUnregister, in milliseconds.
pub(in crate::bench) fn register(gpu: &Gpu, bytes: usize) -> Measured {
    let bytes = gpu.bytes(bytes);
    let mut memory = vec![1u8; bytes];
    let address = memory.as_mut_ptr().cast();
    let times = samples(gpu.count(5), || {
        time(|| {
            // SAFETY: the memory has this many bytes, and lives until it's unregistered.
            unsafe {
                gpu.cuda.host_register(address, bytes, 0)?;
                gpu.cuda.host_unregister(address)
            }
        })
    })?;
    Ok(p50(&times.iter().map(|us| us / 1e3).collect::<Vec<_>>()))
}

/// cuMemAllocHost and cuMemFreeHost, in milliseconds.
pub(in crate::bench) fn host_alloc(gpu: &Gpu, bytes: usize) -> Measured {
    let bytes = gpu.bytes(bytes);
    let times = samples(gpu.count(5), || {
        let mut address = null_mut();
        time(|| {
            // SAFETY: `address` is writable, and nothing uses the memory.
            unsafe {
                gpu.cuda.host_alloc(&mut address, bytes)?;
                gpu.cuda.host_free(address)
            }
        })
    })?;
    Ok(p50(&times.iter().map(|us| us / 1e3).collect::<Vec<_>>()))
}
