//! The entry points that share pools and their memory with other processes.

use std::ffi::{c_int, c_void};
use std::os::fd::IntoRawFd;

use super::pools::{FILE, Library, NO_HANDLES, add_imported, pool, set_exported};
use super::sharing::{SharedPool, Sharing, decode, encode};
use crate::args::{In, Out};
use crate::error::{CuError, CuResult};
use crate::sys::{CUdeviceptr, CUmemAllocationHandleType, CUmemPoolPtrExportData, CUmemoryPool};

const INVALID: CuError = CuError::INVALID_VALUE;

/// Implements `cuMemPoolExportToShareableHandle`.
pub fn export<L: Library>(
    to: Out<c_void>,
    handle: CUmemoryPool,
    kind: CUmemAllocationHandleType,
    flags: u64,
) -> CuResult {
    to.check()?;
    let pool = pool::<L>(handle)?;
    let (Sharing::Exportable(name) | Sharing::Exported(name)) = pool.sharing else {
        return Err(INVALID);
    };
    if kind != FILE || flags != 0 {
        return Err(INVALID);
    }
    let descriptor = L::export(SharedPool { name, device: pool.device })?;
    set_exported::<L>(handle, name);
    // SAFETY: the program passes a pointer to this handle type, a file descriptor.
    unsafe { to.cast::<c_int>() }.set(descriptor.into_raw_fd())
}

/// Implements `cuMemPoolImportFromShareableHandle`.
pub fn import<L: Library>(
    to: Out<CUmemoryPool>,
    handle: *mut c_void,
    kind: CUmemAllocationHandleType,
    flags: u64,
) -> CuResult {
    L::check_device(0)?;
    to.check()?;
    match kind {
        FILE if flags == 0 => {}
        FILE | NO_HANDLES => return Err(INVALID),
        _ => return Err(CuError::NOT_SUPPORTED),
    }
    to.set(add_imported::<L>(L::import(handle as usize as c_int)?))
}

/// Implements `cuMemPoolExportPointer`. The pool must have been exported.
pub fn export_pointer<L: Library>(
    to: Out<CUmemPoolPtrExportData>,
    address: CUdeviceptr,
) -> CuResult {
    L::check_device(0)?;
    to.check()?;
    let handle = L::pool_of(address).ok_or(INVALID)?;
    let Sharing::Exported(name) = pool::<L>(handle as CUmemoryPool)?.sharing else {
        return Err(INVALID);
    };
    to.set(encode(name, L::export_pointer(address)?))
}

/// Implements `cuMemPoolImportPointer`.
pub fn import_pointer<L: Library>(
    to: Out<CUdeviceptr>,
    handle: CUmemoryPool,
    data: In<CUmemPoolPtrExportData>,
) -> CuResult {
    to.check()?;
    let pool = pool::<L>(handle)?;
    let (name, allocation) = decode(&data.get()?);
    if pool.sharing != Sharing::Imported(name) {
        return Err(INVALID);
    }
    to.set(L::import_pointer(&pool, allocation)?)
}
