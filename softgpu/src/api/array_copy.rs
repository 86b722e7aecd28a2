//! Copies of boxes, and of contiguous bytes from and to arrays.

use std::ffi::c_void;

use cuda_api::args::{In, check_handle};
use cuda_api::error::CuResult;
use cuda_api::sys::{CUDA_MEMCPY3D, CUarray, CUdeviceptr, CUmemorytype, CUstream};

use super::copy::{ANY, Side, copy_box};
use super::entry::entries;
use crate::state::stream::{Stream, default_stream, lookup};

/// One side of a copy of contiguous bytes.
enum End {
    Host(*mut c_void),
    Device(CUdeviceptr),
    Array(CUarray, usize),
}

impl End {
    fn side(&self) -> Side {
        match self {
            End::Host(_) => Side::Host,
            End::Device(_) | End::Array(..) => Side::Device,
        }
    }
}

/// Copies contiguous bytes, of which those in an array are in its first row.
///
/// # Safety
///
/// Host addresses must be valid for `len` bytes, for as long as the CUDA function requires.
unsafe fn row(stream: &Stream, to: End, from: End, len: usize, now: bool) -> CuResult {
    for end in [&to, &from] {
        if let End::Array(array, _) = end {
            check_handle(*array as usize)?;
        }
    }
    let sides = [to.side(), from.side()];
    let mut p = CUDA_MEMCPY3D { WidthInBytes: len, Height: 1, Depth: 1, ..Default::default() };
    match to {
        End::Host(host) => {
            (p.dstMemoryType, p.dstHost) = (CUmemorytype::CU_MEMORYTYPE_HOST, host);
        }
        End::Device(device) => {
            (p.dstMemoryType, p.dstDevice) = (CUmemorytype::CU_MEMORYTYPE_DEVICE, device);
        }
        End::Array(array, x) => {
            (p.dstMemoryType, p.dstArray) = (CUmemorytype::CU_MEMORYTYPE_ARRAY, array);
            p.dstXInBytes = x;
        }
    }
    match from {
        End::Host(host) => {
            (p.srcMemoryType, p.srcHost) = (CUmemorytype::CU_MEMORYTYPE_HOST, host.cast_const());
        }
        End::Device(device) => {
            (p.srcMemoryType, p.srcDevice) = (CUmemorytype::CU_MEMORYTYPE_DEVICE, device);
        }
        End::Array(array, x) => {
            (p.srcMemoryType, p.srcArray) = (CUmemorytype::CU_MEMORYTYPE_ARRAY, array);
            p.srcXInBytes = x;
        }
    }
    // SAFETY: the caller guarantees the same.
    unsafe { copy_box(stream, &p, sides, now) }
}

entries! {
    fn cuMemcpy3D_v2, fn cuMemcpy3D_v2_ptds(params: In<CUDA_MEMCPY3D>) |per_thread| {
        // SAFETY: the program passes a description of valid memory.
        unsafe { copy_box(&*default_stream(per_thread)?, &params.get()?, ANY, true) }
    }

    fn cuMemcpy3DAsync_v2, fn cuMemcpy3DAsync_v2_ptsz(
        params: In<CUDA_MEMCPY3D>, stream: CUstream,
    ) |per_thread| {
        // SAFETY: the program passes a description of valid memory.
        unsafe { copy_box(&*lookup(stream, per_thread)?, &params.get()?, ANY, false) }
    }

    fn cuMemcpyHtoA_v2, fn cuMemcpyHtoA_v2_ptds(
        to: CUarray, x: usize, from: *const c_void, len: usize,
    ) |per_thread| {
        let (to, from) = (End::Array(to, x), End::Host(from.cast_mut()));
        // SAFETY: the program passes an address that is valid for `len` bytes.
        unsafe { row(&*default_stream(per_thread)?, to, from, len, true) }
    }

    fn cuMemcpyAtoH_v2, fn cuMemcpyAtoH_v2_ptds(
        to: *mut c_void, from: CUarray, x: usize, len: usize,
    ) |per_thread| {
        let (to, from) = (End::Host(to), End::Array(from, x));
        // SAFETY: the program passes an address that is valid for `len` bytes.
        unsafe { row(&*default_stream(per_thread)?, to, from, len, true) }
    }

    fn cuMemcpyDtoA_v2, fn cuMemcpyDtoA_v2_ptds(
        to: CUarray, x: usize, from: CUdeviceptr, len: usize,
    ) |per_thread| {
        let (to, from) = (End::Array(to, x), End::Device(from));
        // SAFETY: no host memory is involved.
        unsafe { row(&*default_stream(per_thread)?, to, from, len, true) }
    }

    fn cuMemcpyAtoD_v2, fn cuMemcpyAtoD_v2_ptds(
        to: CUdeviceptr, from: CUarray, x: usize, len: usize,
    ) |per_thread| {
        let (to, from) = (End::Device(to), End::Array(from, x));
        // SAFETY: no host memory is involved.
        unsafe { row(&*default_stream(per_thread)?, to, from, len, true) }
    }

    fn cuMemcpyAtoA_v2, fn cuMemcpyAtoA_v2_ptds(
        to: CUarray, to_x: usize, from: CUarray, from_x: usize, len: usize,
    ) |per_thread| {
        let (to, from) = (End::Array(to, to_x), End::Array(from, from_x));
        // SAFETY: no host memory is involved.
        unsafe { row(&*default_stream(per_thread)?, to, from, len, true) }
    }

    fn cuMemcpyHtoAAsync_v2, fn cuMemcpyHtoAAsync_v2_ptsz(
        to: CUarray, x: usize, from: *const c_void, len: usize, stream: CUstream,
    ) |per_thread| {
        let (to, from) = (End::Array(to, x), End::Host(from.cast_mut()));
        // SAFETY: the program passes an address that is valid for `len` bytes.
        unsafe { row(&*lookup(stream, per_thread)?, to, from, len, false) }
    }

    fn cuMemcpyAtoHAsync_v2, fn cuMemcpyAtoHAsync_v2_ptsz(
        to: *mut c_void, from: CUarray, x: usize, len: usize, stream: CUstream,
    ) |per_thread| {
        let (to, from) = (End::Host(to), End::Array(from, x));
        // SAFETY: the program passes an address that is valid for `len` bytes.
        unsafe { row(&*lookup(stream, per_thread)?, to, from, len, false) }
    }
}
