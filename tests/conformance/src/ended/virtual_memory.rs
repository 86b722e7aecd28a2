//! Kinds of objects: physical memory, reserved addresses, and mappings.

use super::object::{Kind, Object, calls, of_memory, output};
use crate::cuda::{Called, Cuda, Outcome, cu, get};
use cuda_api::sys::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType as Handles, CUmemAllocationProp,
    CUmemAllocationType, CUmemLocation, CUmemLocationType, CUpointer_attribute as Pointer,
};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};

pub(super) const KINDS: &[Kind] = &[
    Kind { name: "physical-memory", create: physical },
    Kind { name: "physical-memory-file", create: file },
    Kind { name: "reservation", create: reservation },
    Kind { name: "mapping", create: mapping },
];

const BYTES: usize = 2 << 20;
const FILE: Handles = Handles::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
const DEVICE: CUmemLocation =
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
const READ_WRITE: CUmemAccessDesc = CUmemAccessDesc {
    location: DEVICE,
    flags: CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};

fn create(cuda: &Cuda) -> Outcome<u64> {
    let properties = CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: FILE,
        location: DEVICE,
        ..CUmemAllocationProp::default()
    };
    Ok(get!(cuda, cuMemCreate(@, BYTES, &properties, 0))?)
}

fn reserve(cuda: &Cuda) -> Outcome<u64> {
    Ok(get!(cuda, cuMemAddressReserve(@, BYTES, 0, 0, 0))?)
}

fn export(cuda: &Cuda, physical: u64) -> Result<File, crate::cuda::CallError> {
    let mut file = -1;
    cu!(cuda, cuMemExportToShareableHandle(output(&mut file), physical, FILE, 0))?;
    // SAFETY: the call has just created the descriptor, so nothing else owns it.
    Ok(unsafe { File::from_raw_fd(file) })
}

/// Maps physical memory, and unmaps it again.
fn map(cuda: &Cuda, address: u64, physical: u64) -> Called {
    cu!(cuda, cuMemMap(address, BYTES, 0, physical, 0))?;
    cu!(cuda, cuMemUnmap(address, BYTES))
}

fn physical(cuda: &Cuda) -> Outcome<Object> {
    let (physical, address) = (create(cuda)?, reserve(cuda)?);
    let calls = calls! {
        "properties" => |cuda| {
            let mut found = CUmemAllocationProp::default();
            cu!(cuda, cuMemGetAllocationPropertiesFromHandle(&mut found, physical))
        },
        "map" => |cuda| map(cuda, address, physical),
        "export" => |cuda| export(cuda, physical).map(drop),
        "release" => |cuda| cu!(cuda, cuMemRelease(physical)),
    };
    Ok(Object::new(calls, calls! { "end" => |cuda| cu!(cuda, cuMemRelease(physical)) }))
}

/// Exports physical memory. The object is the file descriptor.
fn file(cuda: &Cuda) -> Outcome<Object> {
    let physical = create(cuda)?;
    let file = export(cuda, physical)?;
    let number = file.as_raw_fd() as usize;
    let calls = calls! {
        "import" => |cuda| cu!(cuda, cuMemImportFromShareableHandle(&mut 0, number as *mut _, FILE)),
    };
    let ends = calls! { "handle-release" => |cuda| cu!(cuda, cuMemRelease(physical)) };
    Ok(Object::new(calls, ends).keeping(file))
}

fn reservation(cuda: &Cuda) -> Outcome<Object> {
    let (physical, address) = (create(cuda)?, reserve(cuda)?);
    let calls = calls! {
        "map" => |cuda| map(cuda, address, physical),
        "free" => |cuda| cu!(cuda, cuMemAddressFree(address, BYTES)),
    };
    let ends = calls! { "end" => |cuda| cu!(cuda, cuMemAddressFree(address, BYTES)) };
    Ok(Object::new(calls, ends))
}

fn mapping(cuda: &Cuda) -> Outcome<Object> {
    let (physical, address) = (create(cuda)?, reserve(cuda)?);
    cu!(cuda, cuMemMap(address, BYTES, 0, physical, 0))?;
    cu!(cuda, cuMemSetAccess(address, BYTES, &READ_WRITE, 1))?;
    let which = Pointer::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    let mut calls = of_memory(address, which);
    calls.extend(calls! {
        "set-access" => |cuda| cu!(cuda, cuMemSetAccess(address, BYTES, &READ_WRITE, 1)),
        "get-access" => |cuda| cu!(cuda, cuMemGetAccess(&mut 0, &DEVICE, address)),
        "retain" => |cuda| cu!(cuda, cuMemRetainAllocationHandle(&mut 0, address as *mut _)),
        "free-address" => |cuda| cu!(cuda, cuMemAddressFree(address, BYTES)),
        "unmap" => |cuda| cu!(cuda, cuMemUnmap(address, BYTES)),
    });
    let ends = calls! {
        "handle-release" => |cuda| cu!(cuda, cuMemRelease(physical)),
        "end" => |cuda| cu!(cuda, cuMemUnmap(address, BYTES)),
    };
    Ok(Object::new(calls, ends))
}
