//! Kinds of objects: managed memory, and host memory that the driver has allocated or registered.

use super::object::{Call, Kind, Object, calls, of_memory, output};
use crate::cuda::{Cuda, Failure, Outcome, cu, get};
use cuda_api::sys::{
    CUmem_advise as Advice, CUmem_range_attribute as Range, CUpointer_attribute as Pointer,
};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) const KINDS: &[Kind] = &[
    Kind { name: "managed-memory", create: managed },
    Kind { name: "host-memory", create: host },
    Kind { name: "registered-memory", create: registered },
    Kind { name: "unmapped-memory", create: unmapped },
];

const BYTES: usize = 1 << 16;
const MAPPED: u32 = 2;
const KIND: Pointer = Pointer::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;

fn managed(cuda: &Cuda) -> Outcome<Object> {
    let pointer = get!(cuda, cuMemAllocManaged(@, BYTES, 1))?;
    let mut calls = of_memory(pointer, KIND);
    calls.extend(calls! {
        "prefetch" => |cuda| cu!(cuda, cuMemPrefetchAsync(pointer, BYTES, 0, null_mut())),
        "advise" => |cuda| cu!(cuda, cuMemAdvise(pointer, BYTES, Advice::CU_MEM_ADVISE_SET_READ_MOSTLY, 0)),
        "range-attribute" => |cuda| {
            let which = Range::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
            cu!(cuda, cuMemRangeGetAttribute(output(&mut 0u32), 4, which, pointer, BYTES))
        },
        "attach" => |cuda| cu!(cuda, cuStreamAttachMemAsync(null_mut(), pointer, 0, 1)),
        "free" => |cuda| cu!(cuda, cuMemFree_v2(pointer)),
    });
    Ok(Object::new(calls, calls! { "end" => |cuda| cu!(cuda, cuMemFree_v2(pointer)) }))
}

/// Returns the calls to make with host memory. `device` is the address by which the device accesses
/// it.
fn of_host(host: *mut c_void, device: u64) -> Vec<(&'static str, Call)> {
    calls! {
        "range" => |cuda| cu!(cuda, cuMemGetAddressRange_v2(&mut 0, &mut 0, device)),
        "attribute" => |cuda| cu!(cuda, cuPointerGetAttribute(output(&mut 0u64), KIND, device)),
        "pointer" => |cuda| cu!(cuda, cuMemHostGetDevicePointer_v2(&mut 0, host, 0)),
        "flags" => |cuda| cu!(cuda, cuMemHostGetFlags(&mut 0, host)),
    }
}

fn host(cuda: &Cuda) -> Outcome<Object> {
    let host = get!(cuda, cuMemHostAlloc(@, BYTES, MAPPED))?;
    let device = get!(cuda, cuMemHostGetDevicePointer_v2(@, host, 0))?;
    let mut calls = of_host(host, device);
    calls.extend(calls! {
        "fill" => |cuda| cu!(cuda, cuMemsetD32_v2(device, 1, 1)),
        "free" => |cuda| cu!(cuda, cuMemFreeHost(host)),
    });
    Ok(Object::new(calls, calls! { "end" => |cuda| cu!(cuda, cuMemFreeHost(host)) }))
}

/// Maps pages at an address that this process hasn't used before, so that a stale registration
/// can't refer to them.
fn map() -> Outcome<*mut c_void> {
    static NEXT: AtomicUsize = AtomicUsize::new(0x5000_0000_0000);
    let hint = NEXT.fetch_add(BYTES, Ordering::Relaxed) as *mut c_void;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the address is only a hint. Without MAP_FIXED, mmap doesn't replace existing
    // mappings.
    let at = unsafe { libc::mmap(hint, BYTES, access, flags, -1, 0) };
    if at == libc::MAP_FAILED { Err(Failure::new("cannot map pages")) } else { Ok(at) }
}

/// Unmaps pages that [`map`] returned.
fn unmap(at: *mut c_void) {
    // SAFETY: `map` has mapped these pages, and the program doesn't use them any more. Only the
    // driver's registration still refers to them.
    unsafe { libc::munmap(at, BYTES) };
}

/// Maps and registers pages, and returns their addresses on the host and on the device.
fn register(cuda: &Cuda) -> Outcome<(*mut c_void, u64)> {
    let (host, mut device) = (map()?, 0);
    cu!(cuda, cuMemHostRegister_v2(host, BYTES, MAPPED))?;
    cu!(cuda, cuMemHostGetDevicePointer_v2(&mut device, host, 0))?;
    Ok((host, device))
}

fn of_registered(host: *mut c_void, device: u64) -> Object {
    let mut calls = of_host(host, device);
    calls.extend(calls! {
        "register" => |cuda| cu!(cuda, cuMemHostRegister_v2(host, BYTES, MAPPED)),
        "unregister" => |cuda| cu!(cuda, cuMemHostUnregister(host)),
    });
    Object::new(calls, calls! { "end" => |cuda| cu!(cuda, cuMemHostUnregister(host)) })
}

fn registered(cuda: &Cuda) -> Outcome<Object> {
    let (host, device) = register(cuda)?;
    let mut object = of_registered(host, device);
    object.calls.extend(calls! { "fill" => |cuda| cu!(cuda, cuMemsetD32_v2(device, 1, 1)) });
    Ok(object)
}

/// Creates registered memory that the program has unmapped without unregistering it.
fn unmapped(cuda: &Cuda) -> Outcome<Object> {
    let (host, device) = register(cuda)?;
    unmap(host);
    Ok(of_registered(host, device))
}
