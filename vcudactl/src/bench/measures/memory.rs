//! Measures allocations, page-locked memory, and queries of the free memory.

use std::ptr::null_mut;

use super::{p50, p50_p99};
use crate::bench::gpu::Gpu;
use crate::bench::sample::{Measured, samples, time};
use crate::cuda::{AccessDesc, AllocationProp, Failed};

/// The values of CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE, and
/// CU_MEM_ACCESS_FLAGS_PROT_READWRITE.
const PINNED: i32 = 1;
const DEVICE: i32 = 1;
const READ_WRITE: i32 = 3;
/// Size of an allocation in [`virtual_memory`], in bytes. It's a multiple of the granularity.
const CREATED: usize = 20 << 20;

/// Measures cuMemGetInfo.
pub(in crate::bench) fn mem_info(gpu: &Gpu) -> Measured {
    Ok(p50_p99(&samples(gpu.count(1000), || time_info(gpu))?))
}

/// Measures cuMemGetInfo directly after cuMemFree.
pub(in crate::bench) fn mem_info_after_free(gpu: &Gpu) -> Measured {
    let times = samples(gpu.count(500), || {
        alloc_and_free(gpu, 4 << 20)?;
        time_info(gpu)
    })?;
    Ok(p50_p99(&times))
}

fn time_info(gpu: &Gpu) -> Result<f64, Failed> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: `free` and `total` are writable.
    time(|| unsafe { gpu.cuda.mem_info(&mut free, &mut total) })
}

fn alloc_and_free(gpu: &Gpu, bytes: usize) -> Result<(), Failed> {
    let mut address = 0;
    // SAFETY: `address` is writable, and nothing uses the memory before it's freed.
    unsafe {
        gpu.cuda.alloc(&mut address, bytes)?;
        gpu.cuda.free(address)
    }
}

/// Measures a cuMemAlloc and a cuMemFree.
pub(in crate::bench) fn alloc(gpu: &Gpu, bytes: usize) -> Measured {
    Ok(p50(&samples(gpu.count(500), || time(|| alloc_and_free(gpu, bytes)))?))
}

/// Measures a cuMemAllocAsync and a cuMemFreeAsync.
pub(in crate::bench) fn alloc_async(gpu: &Gpu) -> Measured {
    let mut address = 0;
    let times = samples(gpu.count(2000), || {
        time(|| {
            // SAFETY: `address` is writable, and nothing uses the memory before it's freed.
            unsafe {
                gpu.cuda.alloc_async(&mut address, 1 << 20, gpu.stream)?;
                gpu.cuda.free_async(address, gpu.stream)
            }
        })
    })?;
    gpu.wait()?;
    Ok(p50_p99(&times))
}

/// Measures how long it takes to create 20 MiB with cuMemCreate, and to map, unmap, and release
/// this memory.
pub(in crate::bench) fn virtual_memory(gpu: &Gpu) -> Measured {
    let location = [DEVICE, 0];
    let prop = AllocationProp { kind: PINNED, location, ..AllocationProp::default() };
    let access = AccessDesc { location, flags: READ_WRITE };
    let cuda = &gpu.cuda;
    let times = samples(gpu.count(200), || {
        let (mut handle, mut address) = (0, 0);
        time(|| {
            // SAFETY: the pointers are to live variables, each value that a call uses was set by an
            // earlier call that succeeded, and nothing uses the memory.
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

/// Measures a cuMemHostRegister and a cuMemHostUnregister, in milliseconds.
pub(in crate::bench) fn register(gpu: &Gpu, bytes: usize) -> Measured {
    let bytes = gpu.bytes(bytes);
    let mut memory = vec![1u8; bytes];
    let address = memory.as_mut_ptr().cast();
    let times = samples(gpu.count(5), || {
        time(|| {
            // SAFETY: the memory has this many bytes, and exists until it's unregistered.
            unsafe {
                gpu.cuda.host_register(address, bytes, 0)?;
                gpu.cuda.host_unregister(address)
            }
        })
    })?;
    Ok(p50(&times.iter().map(|us| us / 1e3).collect::<Vec<_>>()))
}

/// Measures a cuMemAllocHost and a cuMemFreeHost, in milliseconds.
pub(in crate::bench) fn host_alloc(gpu: &Gpu, bytes: usize) -> Measured {
    let bytes = gpu.bytes(bytes);
    let times = samples(gpu.count(5), || {
        let mut address = null_mut();
        time(|| {
            // SAFETY: `address` is writable, and nothing uses the memory before it's freed.
            unsafe {
                gpu.cuda.host_alloc(&mut address, bytes)?;
                gpu.cuda.host_free(address)
            }
        })
    })?;
    Ok(p50(&times.iter().map(|us| us / 1e3).collect::<Vec<_>>()))
}
