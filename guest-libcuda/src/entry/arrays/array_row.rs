//! Entry points that copy contiguous bytes from or to an array.

use crate::context;
use crate::entry::memory::box_copy::{Area, BoxCopy};
use crate::entry::memory::copy2d::copy_3d;
use crate::entry::streams::stream::stream_id;
use crate::error::CuResult;
use crate::handles::Handle;
use crate::transfer::synchronize;
use cuda_api::args::check_handle;
use cuda_api::sys::CUmemorytype;

fn of_array(array: Handle, x: usize) -> Area {
    Area { array, x, ..Area::start_of(CUmemorytype::CU_MEMORYTYPE_ARRAY) }
}

fn of_host(host: u64) -> Area {
    Area { host, ..Area::start_of(CUmemorytype::CU_MEMORYTYPE_HOST) }
}

fn of_device(device: u64) -> Area {
    Area { device, ..Area::start_of(CUmemorytype::CU_MEMORYTYPE_DEVICE) }
}

/// Copies contiguous bytes from or to the first row of an array. Waits for the copy if there is no
/// stream and one side is host memory.
///
/// # Safety
///
/// Host memory must be valid for `len` bytes.
unsafe fn row(dst: Area, src: Area, len: usize, stream: Option<Handle>, null: usize) -> CuResult {
    for area in
        [&dst, &src].into_iter().filter(|area| area.kind == CUmemorytype::CU_MEMORYTYPE_ARRAY)
    {
        check_handle(area.array)?;
    }
    let copy = BoxCopy { src, dst, width: len, height: 1, depth: 1 };
    let handle = stream.unwrap_or(0);
    // SAFETY: host memory is valid, as the caller promises.
    unsafe { copy_3d(copy, handle, null, stream.is_none()) }?;
    // As with the real driver, a copy of managed memory waits if the function's name says that the
    // memory is host memory.
    let driver = context::driver()?;
    if len > 0
        && stream.is_some()
        && [dst.host, src.host].iter().any(|at| driver.memory.is_managed(*at))
    {
        return synchronize(driver, stream_id(driver, handle, null)?);
    }
    Ok(())
}

entries! {
    fn cuMemcpyHtoA_v2, fn cuMemcpyHtoA_v2_ptds(
        dst: Handle, offset: usize, src: u64, len: usize,
    ) |null| {
        // SAFETY: the program passes an address that is valid for `len` bytes.
        unsafe { row(of_array(dst, offset), of_host(src), len, None, null) }
    }

    fn cuMemcpyAtoH_v2, fn cuMemcpyAtoH_v2_ptds(
        dst: u64, src: Handle, offset: usize, len: usize,
    ) |null| {
        // SAFETY: the program passes an address that is valid for `len` bytes.
        unsafe { row(of_host(dst), of_array(src, offset), len, None, null) }
    }

    fn cuMemcpyDtoA_v2, fn cuMemcpyDtoA_v2_ptds(
        dst: Handle, offset: usize, src: u64, len: usize,
    ) |null| {
        // SAFETY: the copy fails unless the address is device memory.
        unsafe { row(of_array(dst, offset), of_device(src), len, None, null) }
    }

    fn cuMemcpyAtoD_v2, fn cuMemcpyAtoD_v2_ptds(
        dst: u64, src: Handle, offset: usize, len: usize,
    ) |null| {
        // SAFETY: as in `cuMemcpyDtoA_v2`.
        unsafe { row(of_device(dst), of_array(src, offset), len, None, null) }
    }

    fn cuMemcpyAtoA_v2, fn cuMemcpyAtoA_v2_ptds(
        dst: Handle, dst_offset: usize, src: Handle, src_offset: usize, len: usize,
    ) |null| {
        // SAFETY: no host memory is involved.
        unsafe { row(of_array(dst, dst_offset), of_array(src, src_offset), len, None, null) }
    }

    fn cuMemcpyHtoAAsync_v2, fn cuMemcpyHtoAAsync_v2_ptsz(
        dst: Handle, offset: usize, src: u64, len: usize, stream: Handle,
    ) |null| {
        // SAFETY: the program passes an address that is valid for `len` bytes.
        unsafe { row(of_array(dst, offset), of_host(src), len, Some(stream), null) }
    }

    fn cuMemcpyAtoHAsync_v2, fn cuMemcpyAtoHAsync_v2_ptsz(
        dst: u64, src: Handle, offset: usize, len: usize, stream: Handle,
    ) |null| {
        // SAFETY: the program passes an address that is valid for `len` bytes.
        unsafe { row(of_host(dst), of_array(src, offset), len, Some(stream), null) }
    }
}
