//! Entry points that export physical memory as a file descriptor, and import it.

use std::ffi::{c_int, c_void};
use std::os::fd::IntoRawFd;

use crate::driver::driver;
use crate::error::CuError;
use crate::shareable::{export, reap, token_of};
use cuda_api::args::Out;
use cuda_api::sys::CUmemAllocationHandleType;
use protocol::calls::{VcudaMemExport, VcudaMemImport};

const HANDLE_FILE: CUmemAllocationHandleType =
    CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

entries! {
    fn cuMemExportToShareableHandle(
        out: Out<c_void>, handle: u64, kind: CUmemAllocationHandleType, flags: u64,
    ) {
        let driver = driver()?;
        out.check()?;
        if kind != HANDLE_FILE || flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        reap(driver);
        let descriptor =
            export(|| Ok(driver.session.call(&VcudaMemExport { handle })?.token))?;
        // SAFETY: the program passes a pointer to this handle type, a file descriptor.
        unsafe { out.cast::<c_int>() }.set(descriptor.into_raw_fd())
    }

    fn cuMemImportFromShareableHandle(
        out: Out<u64>, descriptor: usize, kind: CUmemAllocationHandleType,
    ) {
        let driver = driver()?;
        out.check()?;
        if kind != HANDLE_FILE {
            return Err(CuError::NOT_SUPPORTED);
        }
        let token = token_of(descriptor as c_int)?;
        out.set(driver.session.call(&VcudaMemImport { token })?.handle)
    }
}
