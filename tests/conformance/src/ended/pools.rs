//! Kinds of objects: memory pools, and memory that was allocated from them.

use super::object::{Call, Kind, Object, calls, of_memory, output};
use crate::cuda::{Cuda, Outcome, cu, get};
use cuda_api::sys::{
    CUmemAccess_flags as Access, CUmemAccessDesc, CUmemAllocationHandleType as Handles,
    CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemPool_attribute as Attribute,
    CUmemPoolProps, CUmemPoolPtrExportData, CUmemoryPool, CUpointer_attribute as Pointer,
};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::null_mut;

pub(super) const KINDS: &[Kind] = &[
    Kind { name: "pool", create: pool },
    Kind { name: "pool-memory", create: memory },
    Kind { name: "pool-file", create: file },
    Kind { name: "stream-memory", create: stream_memory },
];

const FILE: Handles = Handles::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
const DEVICE: CUmemLocation =
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
const THRESHOLD: Attribute = Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;

fn create(cuda: &Cuda) -> Outcome<CUmemoryPool> {
    let properties = CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: FILE,
        location: DEVICE,
        ..CUmemPoolProps::default()
    };
    Ok(get!(cuda, cuMemPoolCreate(@, &properties))?)
}

fn exported(cuda: &Cuda, pool: CUmemoryPool) -> Outcome<File> {
    let mut file = -1;
    cu!(cuda, cuMemPoolExportToShareableHandle(output(&mut file), pool, FILE, 0))?;
    // SAFETY: the call has just created the descriptor, so nothing else owns it.
    Ok(unsafe { File::from_raw_fd(file) })
}

fn pool(cuda: &Cuda) -> Outcome<Object> {
    let pool = create(cuda)?;
    let calls = calls! {
        "allocate" => |cuda| cu!(cuda, cuMemAllocFromPoolAsync(&mut 0, 64, pool, null_mut())),
        "get-attribute" => |cuda| cu!(cuda, cuMemPoolGetAttribute(pool, THRESHOLD, output(&mut 0u64))),
        "set-attribute" => |cuda| cu!(cuda, cuMemPoolSetAttribute(pool, THRESHOLD, output(&mut 0u64))),
        "trim" => |cuda| cu!(cuda, cuMemPoolTrimTo(pool, 0)),
        "get-access" => |cuda| cu!(cuda, cuMemPoolGetAccess(&mut Access(0), pool, &mut DEVICE.clone())),
        "set-access" => |cuda| {
            let flags = Access::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            cu!(cuda, cuMemPoolSetAccess(pool, &CUmemAccessDesc { location: DEVICE, flags }, 1))
        },
        "export" => |cuda| {
            let mut file = -1;
            let called = cu!(cuda, cuMemPoolExportToShareableHandle(output(&mut file), pool, FILE, 0));
            // SAFETY: the call has just created the descriptor, so nothing else owns it.
            called.map(|()| drop(unsafe { File::from_raw_fd(file) }))
        },
        "make-current" => |cuda| cu!(cuda, cuDeviceSetMemPool(0, pool)),
        "destroy" => |cuda| cu!(cuda, cuMemPoolDestroy(pool)),
    };
    Ok(Object::new(calls, calls! { "end" => |cuda| cu!(cuda, cuMemPoolDestroy(pool)) }))
}

fn of_pool_memory(pointer: u64) -> Vec<(&'static str, Call)> {
    let which = Pointer::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
    let mut calls = of_memory(pointer, which);
    calls.extend(calls! {
        "export" => |cuda| cu!(cuda, cuMemPoolExportPointer(&mut CUmemPoolPtrExportData { reserved: [0; 64] }, pointer)),
        "free-async" => |cuda| cu!(cuda, cuMemFreeAsync(pointer, null_mut())),
        "free" => |cuda| cu!(cuda, cuMemFree_v2(pointer)),
    });
    calls
}

fn memory(cuda: &Cuda) -> Outcome<Object> {
    let (pool, mut pointer) = (create(cuda)?, 0);
    cu!(cuda, cuMemAllocFromPoolAsync(&mut pointer, 64, pool, null_mut()))?;
    let ends = calls! {
        "pool-destroy" => |cuda| cu!(cuda, cuMemPoolDestroy(pool)),
        "end" => |cuda| cu!(cuda, cuMemFree_v2(pointer)),
    };
    Ok(Object::new(of_pool_memory(pointer), ends))
}

/// Allocates memory from the device's current pool.
fn stream_memory(cuda: &Cuda) -> Outcome<Object> {
    let pointer = get!(cuda, cuMemAllocAsync(@, 64, null_mut()))?;
    let ends = calls! { "end" => |cuda| cu!(cuda, cuMemFree_v2(pointer)) };
    Ok(Object::new(of_pool_memory(pointer), ends))
}

/// Exports a pool. The object is the file descriptor.
fn file(cuda: &Cuda) -> Outcome<Object> {
    let pool = create(cuda)?;
    let file = exported(cuda, pool)?;
    let number = file.as_raw_fd() as usize;
    let calls = calls! {
        "import" => |cuda| cu!(cuda, cuMemPoolImportFromShareableHandle(&mut null_mut(), number as *mut _, FILE, 0)),
    };
    let ends = calls! { "pool-destroy" => |cuda| cu!(cuda, cuMemPoolDestroy(pool)) };
    Ok(Object::new(calls, ends).keeping(file))
}
