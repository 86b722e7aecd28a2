//! Copies of contiguous bytes from or to arrays. The bytes in an array are a part of its first row.

use super::{Library, When};
use crate::args::check_handle;
use crate::error::CuResult;
use crate::sys::{CUDA_MEMCPY3D, CUarray, CUdeviceptr, CUmemorytype as M};
use core::ffi::c_void;

/// A source or destination.
#[derive(Clone, Copy, Debug)]
pub enum End {
    Host(u64),
    Device(CUdeviceptr),
    /// An array, and the offset in bytes at which the copy begins.
    Array(CUarray, usize),
}

/// Copies contiguous bytes.
///
/// # Safety
///
/// The requirements of [`Library::copy_row`] apply.
pub unsafe fn copy<L: Library>(
    dst: End,
    src: End,
    len: usize,
    when: When,
    per_thread: bool,
) -> CuResult {
    for end in [dst, src] {
        if let End::Array(array, _) = end {
            check_handle(array as usize)?;
        }
    }
    let mut p = CUDA_MEMCPY3D { WidthInBytes: len, Height: 1, Depth: 1, ..Default::default() };
    match dst {
        End::Host(host) => {
            (p.dstMemoryType, p.dstHost) = (M::CU_MEMORYTYPE_HOST, host as *mut c_void);
        }
        End::Device(device) => (p.dstMemoryType, p.dstDevice) = (M::CU_MEMORYTYPE_DEVICE, device),
        End::Array(array, x) => {
            (p.dstMemoryType, p.dstArray, p.dstXInBytes) = (M::CU_MEMORYTYPE_ARRAY, array, x);
        }
    }
    match src {
        End::Host(host) => {
            (p.srcMemoryType, p.srcHost) = (M::CU_MEMORYTYPE_HOST, host as *const c_void);
        }
        End::Device(device) => (p.srcMemoryType, p.srcDevice) = (M::CU_MEMORYTYPE_DEVICE, device),
        End::Array(array, x) => {
            (p.srcMemoryType, p.srcArray, p.srcXInBytes) = (M::CU_MEMORYTYPE_ARRAY, array, x);
        }
    }
    // SAFETY: the caller promises that the program's addresses are valid.
    unsafe { L::copy_row(&p, when, per_thread) }
}
