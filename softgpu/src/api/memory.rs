//! Device memory, and host memory that kernels may use.

use std::ffi::{c_int, c_uint, c_void};

use cuda_api::sys::{CUcontext, CUdeviceptr, CUpointer_attribute as P};

use super::{Answer, CUresult, capture, cuda, get, put, put_if};
use crate::state::context::{by_handle, current};
use crate::state::memory::{self, Allocation, Memory};

/// The alignment of rows in a pitched allocation.
const PITCH: usize = 512;
const HOST_FLAGS: u32 = 7;
const REGISTER_FLAGS: u32 = 15;
const PAGE: u64 = 4096;

fn free(address: CUdeviceptr) -> Answer {
    let context = current()?;
    if address == 0 {
        return Ok(());
    }
    let found = memory::at(address).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    if !matches!(found.memory, Memory::Device | Memory::Pool(_)) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // Running kernels may still use it.
    match by_handle(found.context_handle) {
        Ok(owner) => owner.synchronize(),
        Err(_) => context.synchronize(),
    }
    memory::forget(address).map(drop).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

fn host_allocate(to: *mut *mut c_void, size: usize, flags: c_uint) -> Answer {
    capture::forbid_unsafe()?;
    let context = current()?;
    if size == 0 || flags & !HOST_FLAGS != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    put(to, memory::allocate_as(&context, size as u64, Memory::Host(flags))? as *mut c_void)
}

/// Whether all pages of an interval are mapped.
fn mapped(start: u64, size: u64) -> bool {
    let first = start & !(PAGE - 1);
    let Some(end) = start.checked_add(size) else { return false };
    let mut at = first;
    let mut pages = [0u8; 1024];
    while at < end {
        let len = (end - at).min(pages.len() as u64 * PAGE);
        // SAFETY: mincore reads nothing at the address, and its result fits in `pages`.
        let found = unsafe { libc::mincore(at as *mut c_void, len as usize, pages.as_mut_ptr()) };
        if found != 0 {
            return false;
        }
        at += pages.len() as u64 * PAGE;
    }
    true
}

fn register(address: *mut c_void, size: usize, flags: c_uint) -> Answer {
    capture::forbid_unsafe()?;
    let context = current()?;
    let (start, size) = (address as u64, size as u64);
    if start == 0 || size == 0 || flags & !REGISTER_FLAGS != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    if memory::overlaps(start, size) {
        return Err(CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    }
    if !mapped(start, size) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    memory::add(&context, start, size, 0, Memory::Registered(flags));
    Ok(())
}

fn attribute(which: c_uint, data: *mut c_void, found: Option<&Allocation>, address: u64) -> Answer {
    let Some(a) = found else {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    };
    let is = |attribute: P| attribute.0 == which;
    if is(P::CU_POINTER_ATTRIBUTE_CONTEXT) {
        put(data.cast(), a.context_handle as CUcontext)
    } else if is(P::CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
        put(data.cast(), if a.on_host() { 1u32 } else { 2u32 })
    } else if is(P::CU_POINTER_ATTRIBUTE_DEVICE_POINTER) {
        put(data.cast(), address)
    } else if is(P::CU_POINTER_ATTRIBUTE_HOST_POINTER) {
        if !a.on_host() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        put(data.cast(), address)
    } else if is(P::CU_POINTER_ATTRIBUTE_BUFFER_ID) {
        put(data.cast(), a.id)
    } else if is(P::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
        put(data.cast(), a.ordinal)
    } else if is(P::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) {
        put(data.cast(), a.start)
    } else if is(P::CU_POINTER_ATTRIBUTE_RANGE_SIZE) {
        put(data.cast(), a.size as usize)
    } else if is(P::CU_POINTER_ATTRIBUTE_MAPPED) {
        put(data.cast(), 1u8)
    } else if is(P::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) || is(P::CU_POINTER_ATTRIBUTE_IS_MANAGED) {
        // Booleans, but cudart reads four bytes.
        put(data.cast(), 0u32)
    } else if is(P::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)
        || is(P::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE)
        || is(P::CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)
    {
        put(data.cast(), 0u8)
    } else if is(P::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES)
        || is(P::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE)
        || is(P::CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID)
    {
        put(data.cast(), 0u64)
    } else if is(P::CU_POINTER_ATTRIBUTE_MAPPING_SIZE) {
        put(data.cast(), a.size as usize)
    } else if is(P::CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR) {
        put(data.cast(), a.start)
    } else if is(P::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS) {
        put(data.cast(), 3u32)
    } else {
        Err(CUresult::CUDA_ERROR_INVALID_VALUE)
    }
}

cuda! {
    fn cuMemAlloc_v2(to: *mut CUdeviceptr, size: usize) {
        capture::forbid_unsafe()?;
        put(to, memory::allocate(&current()?, size as u64)?)
    }

    fn cuMemAllocPitch_v2(
        to: *mut CUdeviceptr,
        pitch: *mut usize,
        width: usize,
        height: usize,
        element: c_uint,
    ) {
        capture::forbid_unsafe()?;
        let context = current()?;
        if !matches!(element, 4 | 8 | 16) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(PITCH);
        let row = row.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let size = row.checked_mul(height).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        put(to, memory::allocate(&context, size as u64)?)?;
        put(pitch, row)
    }

    fn cuMemFree_v2(address: CUdeviceptr) {
        capture::forbid_unsafe()?;
        free(address)
    }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let context = current()?;
        let device = context.device()?;
        let used = device.used.load(std::sync::atomic::Ordering::Relaxed);
        put(free, device.memory.saturating_sub(used) as usize)?;
        put(total, device.memory as usize)
    }

    fn cuMemGetAddressRange_v2(start: *mut CUdeviceptr, size: *mut usize, address: CUdeviceptr) {
        current()?;
        let found = memory::find(address).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        put_if(start, found.start);
        put_if(size, found.size as usize);
        Ok(())
    }

    fn cuMemAllocHost(to: *mut *mut c_void, size: c_uint) {
        host_allocate(to, size as usize, 0)
    }

    fn cuMemAllocHost_v2(to: *mut *mut c_void, size: usize) {
        host_allocate(to, size, 0)
    }

    fn cuMemHostAlloc(to: *mut *mut c_void, size: usize, flags: c_uint) {
        host_allocate(to, size, flags)
    }

    fn cuMemFreeHost(address: *mut c_void) {
        capture::forbid_unsafe()?;
        let context = current()?;
        let found = memory::at(address as u64).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        if !matches!(found.memory, Memory::Host(_)) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        context.synchronize();
        memory::forget(found.start);
        Ok(())
    }

    fn cuMemHostRegister(address: *mut c_void, size: usize, flags: c_uint) {
        register(address, size, flags)
    }

    fn cuMemHostRegister_v2(address: *mut c_void, size: usize, flags: c_uint) {
        register(address, size, flags)
    }

    fn cuMemHostUnregister(address: *mut c_void) {
        capture::forbid_unsafe()?;
        let context = current()?;
        let found = memory::at(address as u64)
            .filter(|a| matches!(a.memory, Memory::Registered(_)))
            .ok_or(CUresult::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)?;
        context.synchronize();
        memory::forget(found.start);
        Ok(())
    }

    fn cuMemHostGetDevicePointer_v2(to: *mut CUdeviceptr, address: *mut c_void, flags: c_uint) {
        current()?;
        if flags != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let found = memory::find(address as u64).filter(Allocation::on_host);
        found.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        put(to, address as u64)
    }

    fn cuMemHostGetFlags(to: *mut c_uint, address: *mut c_void) {
        current()?;
        match memory::find(address as u64).map(|a| a.memory) {
            // All host memory is portable and mapped, whatever the flags.
            Some(Memory::Host(flags)) => put(to, flags | 3),
            _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }

    fn cuPointerGetAttribute(data: *mut c_void, which: c_uint, address: CUdeviceptr) {
        current()?;
        attribute(which, data, memory::find(address).as_ref(), address)
    }

    fn cuPointerGetAttributes(
        count: c_uint,
        which: *const c_uint,
        data: *const *mut c_void,
        address: CUdeviceptr,
    ) {
        current()?;
        let found = memory::find(address);
        for i in 0..count as usize {
            let (which, data) = (get(which.wrapping_add(i))?, get(data.wrapping_add(i))?);
            if attribute(which, data, found.as_ref(), address).is_err() {
                // Attributes that the memory does not have are 0, in the attribute's own width.
                match which {
                    2 | 6 | 8 | 16 => put_if(data.cast(), 0u32),
                    9 => put_if(data.cast(), -2 as c_int),
                    10 | 13 | 15 | 21 => put_if(data.cast(), 0u8),
                    1 | 3 | 4 | 7 | 11 | 12 | 14 | 17..=20 => put_if(data.cast(), 0u64),
                    _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
                }
            }
        }
        Ok(())
    }

    fn cuPointerSetAttribute(_value: *const c_void, which: c_uint, address: CUdeviceptr) {
        current()?;
        memory::find(address).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        // Only CU_POINTER_ATTRIBUTE_SYNC_MEMOPS can be set, and copies already behave that way.
        if which == P::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS.0 {
            return Ok(());
        }
        Err(CUresult::CUDA_ERROR_INVALID_VALUE)
    }
}
