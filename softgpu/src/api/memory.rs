//! Device memory, and host memory that kernels may use.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use cuda_api::args::{In, Out};
use cuda_api::error::{CuError, CuResult};
use cuda_api::graph::alloc;
use cuda_api::sys::{
    CU_DEVICE_INVALID, CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE,
    CU_MEMHOSTALLOC_WRITECOMBINED, CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_IOMEMORY,
    CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_READ_ONLY,
    CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS as Access, CUdeviceptr, CUmemorytype,
    CUpointer_attribute as P, CUstream,
};

use super::capture;
use super::entry::entries;
use crate::state::context::{CONTEXTS, Context, current, current_or_none};
use crate::state::device::driver;
use crate::state::graph::Software;
use crate::state::memory::{self, Allocation, Memory};
use crate::state::stream::lookup;

/// Row alignment in pitched allocations, in bytes.
const PITCH: usize = 512;
/// The flags that `cuMemHostAlloc` accepts.
const HOST_FLAGS: u32 =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
/// The flags that `cuMemHostRegister` accepts.
const REGISTER_FLAGS: u32 = CU_MEMHOSTREGISTER_PORTABLE
    | CU_MEMHOSTREGISTER_DEVICEMAP
    | CU_MEMHOSTREGISTER_IOMEMORY
    | CU_MEMHOSTREGISTER_READ_ONLY;
const READ_WRITE: u32 = Access::CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE.0;
const PAGE: u64 = 4096;

/// Waits for kernels that may still use memory.
fn wait_for_uses(found: &Allocation, current: Option<Arc<Context>>) {
    if let Some(context) = CONTEXTS.find(found.context_handle).or(current) {
        context.synchronize();
    }
}

fn free(address: CUdeviceptr) -> CuResult {
    let context = current_or_none()?;
    if address == 0 {
        return Ok(());
    }
    if alloc::free::<Software>(address, None)? {
        return Ok(());
    }
    let found = memory::at(address).ok_or(CuError::INVALID_VALUE)?;
    match found.memory {
        Memory::Device | Memory::Managed => {}
        Memory::Pool { .. } | Memory::ImportedPool { .. } => {}
        _ => return Err(CuError::INVALID_VALUE),
    }
    wait_for_uses(&found, context);
    memory::forget(address).map(drop).ok_or(CuError::INVALID_VALUE)
}

fn host_allocate(to: Out<*mut c_void>, size: usize, flags: c_uint) -> CuResult {
    capture::forbid_unsafe()?;
    let context = current()?;
    if size == 0 || flags & !HOST_FLAGS != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    to.set(memory::allocate_as(&context, size as u64, Memory::Host(flags))? as *mut c_void)
}

/// Returns whether all pages of an interval are mapped.
fn mapped(start: u64, size: u64) -> bool {
    let first = start & !(PAGE - 1);
    let Some(end) = start.checked_add(size) else { return false };
    let mut at = first;
    let mut pages = [0u8; 1024];
    while at < end {
        let len = (end - at).min(pages.len() as u64 * PAGE);
        // SAFETY: mincore doesn't access the memory at the address, and its result fits in `pages`.
        let found = unsafe { libc::mincore(at as *mut c_void, len as usize, pages.as_mut_ptr()) };
        if found != 0 {
            return false;
        }
        at += pages.len() as u64 * PAGE;
    }
    true
}

fn register(address: *mut c_void, size: usize, flags: c_uint) -> CuResult {
    capture::forbid_unsafe()?;
    let context = current()?;
    let (start, size) = (address as u64, size as u64);
    if start == 0 || size == 0 || flags & !REGISTER_FLAGS != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    if memory::overlaps(start, size) {
        return Err(CuError::HOST_MEMORY_ALREADY_REGISTERED);
    }
    if !mapped(start, size) {
        return Err(CuError::INVALID_VALUE);
    }
    memory::add(&context, start, size, 0, Memory::Registered(flags));
    Ok(())
}

/// The value of a pointer attribute, whose type depends on the attribute.
enum Value {
    Byte(u8),
    Int(u32),
    Long(u64),
}

impl Value {
    /// Stores the value. Fails if the pointer is null.
    ///
    /// # Safety
    ///
    /// If not null, the pointer must be valid for writes of the attribute's type.
    unsafe fn store(self, to: Out<c_void>) -> CuResult {
        match self {
            // SAFETY: the attribute's type is one byte.
            Self::Byte(value) => unsafe { to.cast() }.set(value),
            // SAFETY: the attribute's type is a four-byte integer.
            Self::Int(value) => unsafe { to.cast() }.set(value),
            // SAFETY: the attribute's type is eight bytes.
            Self::Long(value) => unsafe { to.cast() }.set(value),
        }
    }
}

/// Returns the value of an attribute for an address in an allocation.
fn value(attribute: P, address: u64, found: &Allocation) -> CuResult<Value> {
    Ok(match attribute {
        P::CU_POINTER_ATTRIBUTE_CONTEXT => Value::Long(found.context_handle as u64),
        P::CU_POINTER_ATTRIBUTE_MEMORY_TYPE if found.on_host() && !found.managed() => {
            Value::Int(CUmemorytype::CU_MEMORYTYPE_HOST.0)
        }
        P::CU_POINTER_ATTRIBUTE_MEMORY_TYPE => Value::Int(CUmemorytype::CU_MEMORYTYPE_DEVICE.0),
        P::CU_POINTER_ATTRIBUTE_HOST_POINTER if !found.on_host() => {
            return Err(CuError::INVALID_VALUE);
        }
        P::CU_POINTER_ATTRIBUTE_DEVICE_POINTER | P::CU_POINTER_ATTRIBUTE_HOST_POINTER => {
            Value::Long(address)
        }
        P::CU_POINTER_ATTRIBUTE_BUFFER_ID => Value::Long(found.id),
        P::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Value::Int(found.ordinal as u32),
        P::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR | P::CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR => {
            Value::Long(found.start)
        }
        P::CU_POINTER_ATTRIBUTE_RANGE_SIZE | P::CU_POINTER_ATTRIBUTE_MAPPING_SIZE => {
            Value::Long(found.size)
        }
        P::CU_POINTER_ATTRIBUTE_MAPPED => Value::Byte(1),
        // These attributes are booleans, but cudart reads four bytes.
        P::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS => Value::Int(u32::from(found.sync_memops)),
        P::CU_POINTER_ATTRIBUTE_IS_MANAGED => Value::Int(u32::from(found.managed())),
        P::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE => {
            Value::Byte(u8::from(found.memory == Memory::Device))
        }
        P::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
        | P::CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => Value::Byte(0),
        P::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => match found.memory {
            Memory::Pool { handle, .. } | Memory::ImportedPool { handle, .. } => {
                Value::Long(handle)
            }
            _ => Value::Long(0),
        },
        P::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES | P::CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => {
            Value::Long(0)
        }
        P::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => Value::Int(READ_WRITE),
        _ => return Err(CuError::INVALID_VALUE),
    })
}

/// Returns the value that `cuPointerGetAttributes` reports for an attribute that the memory doesn't
/// have.
fn value_without(attribute: P) -> CuResult<Value> {
    Ok(match attribute {
        P::CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        | P::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
        | P::CU_POINTER_ATTRIBUTE_IS_MANAGED
        | P::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => Value::Int(0),
        P::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Value::Int(CU_DEVICE_INVALID as u32),
        P::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
        | P::CU_POINTER_ATTRIBUTE_MAPPED
        | P::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
        | P::CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => Value::Byte(0),
        P::CU_POINTER_ATTRIBUTE_CONTEXT
        | P::CU_POINTER_ATTRIBUTE_DEVICE_POINTER
        | P::CU_POINTER_ATTRIBUTE_HOST_POINTER
        | P::CU_POINTER_ATTRIBUTE_BUFFER_ID
        | P::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR
        | P::CU_POINTER_ATTRIBUTE_RANGE_SIZE
        | P::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES
        | P::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE
        | P::CU_POINTER_ATTRIBUTE_MAPPING_SIZE
        | P::CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR
        | P::CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => Value::Long(0),
        _ => return Err(CuError::INVALID_VALUE),
    })
}

entries! {
    fn cuMemFreeAsync, fn cuMemFreeAsync_ptsz(address: CUdeviceptr, handle: CUstream) |per_thread| {
        let stream = lookup(handle, per_thread)?;
        if address == 0 {
            return Ok(());
        }
        if capture::captured(&stream)? {
            return alloc::captured_free::<Software>(&(&*stream).into(), address);
        }
        if alloc::free::<Software>(address, Some((handle, per_thread)))? {
            return Ok(());
        }
        let found = memory::at(address).ok_or(CuError::INVALID_VALUE)?;
        match found.memory {
            Memory::Device | Memory::Pool { .. } | Memory::ImportedPool { .. } => {}
            _ => return Err(CuError::INVALID_VALUE),
        }
        stream.now_or_submit(move |_| {
            memory::forget(address);
        });
        Ok(())
    }

    fn cuMemAlloc_v2(to: Out<CUdeviceptr>, size: usize) {
        capture::forbid_unsafe()?;
        to.set(memory::allocate(&*current()?, size as u64)?)
    }

    fn cuMemAllocPitch_v2(
        to: Out<CUdeviceptr>,
        pitch: Out<usize>,
        width: usize,
        height: usize,
        element: c_uint,
    ) {
        capture::forbid_unsafe()?;
        let context = current()?;
        if !matches!(element, 4 | 8 | 16) {
            return Err(CuError::INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(PITCH);
        let row = row.ok_or(CuError::INVALID_VALUE)?;
        let size = row.checked_mul(height).ok_or(CuError::INVALID_VALUE)?;
        to.set(memory::allocate(&context, size as u64)?)?;
        pitch.set(row)
    }

    fn cuMemFree_v2(address: CUdeviceptr) {
        capture::forbid_unsafe()?;
        free(address)
    }

    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let context = current()?;
        let device = context.device()?;
        let used = device.used.load(std::sync::atomic::Ordering::Relaxed);
        free.set_if_wanted(device.memory.saturating_sub(used) as usize);
        total.set_if_wanted(device.memory as usize);
        Ok(())
    }

    fn cuMemGetAddressRange_v2(start: Out<CUdeviceptr>, size: Out<usize>, address: CUdeviceptr) {
        current()?;
        let found = memory::find(address).ok_or(CuError::NOT_FOUND)?;
        start.set_if_wanted(found.start);
        size.set_if_wanted(found.size as usize);
        Ok(())
    }

    /// Unlike `cuMemHostAlloc`, accepts a size of 0, for which there is no memory.
    fn cuMemAllocHost_v2(to: Out<*mut c_void>, size: usize) {
        if size != 0 {
            return host_allocate(to, size, 0);
        }
        current()?;
        to.set(std::ptr::null_mut())
    }

    fn cuMemHostAlloc(to: Out<*mut c_void>, size: usize, flags: c_uint) {
        host_allocate(to, size, flags)
    }

    fn cuMemFreeHost(address: *mut c_void) {
        capture::forbid_unsafe()?;
        let context = current_or_none()?;
        if address.is_null() {
            return Ok(());
        }
        let found = memory::at(address as u64).ok_or(CuError::INVALID_VALUE)?;
        if !matches!(found.memory, Memory::Host(_)) {
            return Err(CuError::INVALID_VALUE);
        }
        wait_for_uses(&found, context);
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
        let context = current_or_none()?;
        if address.is_null() {
            return Err(CuError::INVALID_VALUE);
        }
        let found = memory::find(address as u64)
            .filter(|a| matches!(a.memory, Memory::Registered(_) | Memory::Host(_)))
            .ok_or(CuError::HOST_MEMORY_NOT_REGISTERED)?;
        if found.start != address as u64 || matches!(found.memory, Memory::Host(_)) {
            return Err(CuError::INVALID_VALUE);
        }
        wait_for_uses(&found, context);
        memory::forget(found.start);
        Ok(())
    }

    fn cuMemHostGetDevicePointer_v2(to: Out<CUdeviceptr>, address: *mut c_void, flags: c_uint) {
        current()?;
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let pinned = |found: &Allocation| found.on_host() && !found.managed();
        let found = memory::find(address as u64).filter(pinned);
        found.ok_or(CuError::INVALID_VALUE)?;
        to.set(address as u64)
    }

    fn cuMemHostGetFlags(to: Out<c_uint>, address: *mut c_void) {
        current()?;
        match memory::find(address as u64).map(|a| a.memory) {
            // All host memory is portable and mapped into the device's address space, regardless of
            // the flags.
            Some(Memory::Host(flags)) => {
                to.set(flags | CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)
            }
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    fn cuPointerGetAttribute(data: Out<c_void>, attribute: P, address: CUdeviceptr) {
        driver()?;
        let found = memory::find(address).ok_or(CuError::INVALID_VALUE)?;
        // SAFETY: the program passes a pointer to the attribute's type.
        unsafe { value(attribute, address, &found)?.store(data) }
    }

    fn cuPointerGetAttributes(
        count: c_uint, attributes: In<P>, data: In<Out<c_void>>, address: CUdeviceptr,
    ) {
        driver()?;
        let found = memory::find(address);
        let count = count as usize;
        // SAFETY: the program passes two arrays of `count` elements.
        let (attributes, data) = unsafe { (attributes.array(count), data.array(count)) };
        for index in 0..count {
            let (attribute, data) = (attributes.get(index)?, data.get(index)?);
            let value = match found.as_ref().map(|found| value(attribute, address, found)) {
                Some(Ok(value)) => value,
                _ => value_without(attribute)?,
            };
            if data.is_wanted() {
                // SAFETY: the program passes a pointer to the attribute's type.
                unsafe { value.store(data) }?;
            }
        }
        Ok(())
    }

    /// The only attribute that can be set is CU_POINTER_ATTRIBUTE_SYNC_MEMOPS.
    fn cuPointerSetAttribute(value: In<c_void>, attribute: P, address: CUdeviceptr) {
        current()?;
        if attribute != P::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the program passes a pointer to an unsigned integer.
        let value: c_uint = unsafe { value.cast() }.get()?;
        let may_be_marked = |a: &Allocation| !a.on_host() || a.memory == Memory::Managed;
        let found = memory::find(address).filter(may_be_marked);
        memory::set_sync_memops(found.ok_or(CuError::INVALID_VALUE)?.start, value != 0);
        Ok(())
    }
}
