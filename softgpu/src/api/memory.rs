//! Entry points for device memory, and for host memory that kernels may use.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use cuda_api::args::{In, Out};
use cuda_api::error::{CuError, CuResult};
use cuda_api::graph::alloc;
use cuda_api::pointers::{Address, Described, get, get_all, mapping};
use cuda_api::sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_WRITECOMBINED,
    CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_READ_ONLY,
    CUdeviceptr, CUpointer_attribute as P, CUstream,
};

use super::capture;
use super::entry::entries;
use super::vmm;
use crate::state::context::{CONTEXTS, Context, current, current_or_none};
use crate::state::device::driver;
use crate::state::graph::Software;
use crate::state::mapping;
use crate::state::memory::{self, Allocation, Memory};
use crate::state::stream::lookup;

/// Row alignment in pitched allocations, in bytes.
const PITCH: usize = 512;
/// The flags that `cuMemHostAlloc` accepts.
const HOST_FLAGS: u32 =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
/// The flags that `cuMemHostRegister` accepts.
const REGISTER_FLAGS: u32 =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;

/// Waits for kernels that may still use an allocation, so that it can be freed.
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

fn register(address: *mut c_void, size: usize, flags: c_uint) -> CuResult {
    capture::forbid_unsafe()?;
    let context = current()?;
    let (start, size) = (address as u64, size as u64);
    if start == 0 || size == 0 || flags & !REGISTER_FLAGS != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    match memory::overlapping(start, size) {
        Some(Memory::Registered(_)) => return Err(CuError::HOST_MEMORY_ALREADY_REGISTERED),
        Some(_) => return Err(CuError::INVALID_VALUE),
        None => {}
    }
    let read_only = flags & CU_MEMHOSTREGISTER_READ_ONLY != 0;
    if !mapping::writable(start, size).is_some_and(|writable| writable || read_only) {
        return Err(CuError::INVALID_VALUE);
    }
    memory::add(&context, start, size, 0, Memory::Registered(flags));
    Ok(())
}

fn describe(address: u64, found: &Allocation) -> Described {
    let extent = (found.start, found.size);
    // In NVIDIA's driver, stream-ordered memory doesn't belong to a context.
    let is_stream_ordered =
        matches!(found.memory, Memory::Pool { .. } | Memory::ImportedPool { .. });
    let reservation = match found.memory {
        Memory::Mapped => vmm::reservation(found.start),
        _ => None,
    };
    Described {
        context: if is_stream_ordered { 0 } else { found.context_handle as u64 },
        is_host: found.on_host() && !found.managed(),
        device_pointer: address,
        host_pointer: found.on_host().then_some(address),
        is_managed: found.managed(),
        sync_memops: found.sync_memops,
        is_allocated: found.memory == Memory::Device,
        id: found.id,
        ordinal: found.ordinal,
        range: reservation.unwrap_or(extent),
        mapping: match found.memory {
            Memory::Mapped | Memory::Registered(_) => extent,
            _ => mapping(extent, is_stream_ordered),
        },
        pool: match found.memory {
            Memory::Pool { handle, .. } | Memory::ImportedPool { handle, .. } => handle,
            _ => 0,
        },
    }
}

fn look_up(address: u64) -> Address {
    match (memory::find(address), vmm::reservation(address)) {
        (Some(found), _) => Address::Memory(describe(address, &found)),
        (None, Some(reservation)) => Address::Reserved(address, reservation),
        (None, None) => Address::Unknown(address),
    }
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
        let memory = &context.device()?.memory;
        free.set_if_wanted(memory.free()? as usize);
        total.set_if_wanted(memory.size() as usize);
        Ok(())
    }

    fn cuMemGetAddressRange_v2(start: Out<CUdeviceptr>, size: Out<usize>, address: CUdeviceptr) {
        current()?;
        let found = memory::find(address).ok_or(CuError::NOT_FOUND)?;
        start.set_if_wanted(found.start);
        size.set_if_wanted(found.size as usize);
        Ok(())
    }

    /// Unlike `cuMemHostAlloc`, accepts a size of 0, for which it returns a null pointer.
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

    /// Unlike `cuMemHostRegister_v2`, ignores all flags except PORTABLE and DEVICEMAP.
    fn cuMemHostRegister(address: *mut c_void, size: usize, flags: c_uint) {
        register(address, size, flags & (CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP))
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
            // the flags. NVIDIA's driver reports DEVICEMAP for all host memory. It reports PORTABLE
            // only for registered memory, and never for allocated memory, even if the program asked
            // for it.
            Some(Memory::Host(flags)) => {
                to.set(flags & !CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)
            }
            Some(Memory::Registered(flags)) => {
                to.set(flags & CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP)
            }
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    fn cuPointerGetAttribute(data: Out<c_void>, attribute: P, address: CUdeviceptr) {
        driver()?;
        // SAFETY: the program passes a pointer to a value of the type that the attribute has.
        unsafe { get(data, attribute, &look_up(address)) }
    }

    fn cuPointerGetAttributes(
        count: c_uint, attributes: In<P>, data: In<Out<c_void>>, address: CUdeviceptr,
    ) {
        driver()?;
        // SAFETY: the program passes two arrays of `count` elements, which are pointers to the
        // attributes' types.
        unsafe { get_all(count as usize, attributes, data, &look_up(address)) }
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
