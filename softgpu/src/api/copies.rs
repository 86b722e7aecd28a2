//! Copies. cuda-api has the entry points.

use cuda_api::arrays::element_size;
use cuda_api::error::{CuError, CuResult};

use super::capture;
use super::copy::{ANY, Side, copy, copy_box};
use super::entry::EntryPoint;
use super::stream::synchronize;
use crate::state::context::by_handle;
use crate::state::device::driver;
use crate::state::graph::Software;
use crate::state::stream::{default_stream, lookup};

cuda_api::copy_entries!(Software, EntryPoint, std::convert::identity);

/// Copies a box in a stream, or in the default stream. `sides` contains the kinds of memory that
/// the called function requires for the target and the source, in addition to the memory types that
/// `params` requires.
///
/// # Safety
///
/// Host addresses must be valid for all rows, for as long as `cuMemcpy3DAsync` requires.
unsafe fn boxed(
    params: &CUDA_MEMCPY3D,
    sides: [Side; 2],
    when: When,
    per_thread: bool,
) -> CuResult {
    // SAFETY: the caller guarantees that host addresses are valid, as `copy_box` requires.
    unsafe {
        match when {
            When::Now => copy_box(&*default_stream(per_thread)?, params, sides, true),
            When::InStream(stream) => copy_box(&*lookup(stream, per_thread)?, params, sides, false),
        }
    }
}

impl Library for Software {
    unsafe fn copy(
        sides: Sides,
        dst: CUdeviceptr,
        src: CUdeviceptr,
        len: usize,
        when: When,
        per_thread: bool,
    ) -> CuResult {
        let [to, from] = match sides {
            Sides::Any => ANY,
            Sides::ToDevice => [Side::Device, Side::Host],
            Sides::FromDevice => [Side::Host, Side::Device],
            Sides::OnDevice => [Side::Device, Side::Device],
        };
        let (to, from) = ((dst, to), (src, from));
        // SAFETY: the caller guarantees that the program's host addresses are valid.
        unsafe {
            match when {
                When::Now => copy(&*default_stream(per_thread)?, to, from, len, true),
                When::InStream(stream) => copy(&*lookup(stream, per_thread)?, to, from, len, false),
            }
        }
    }

    unsafe fn copy_row(params: &CUDA_MEMCPY3D, when: When, per_thread: bool) -> CuResult {
        let sides = [params.dstMemoryType, params.srcMemoryType].map(|kind| match kind {
            CUmemorytype::CU_MEMORYTYPE_HOST => Side::Host,
            _ => Side::Device,
        });
        // SAFETY: the caller guarantees that the program's host addresses are valid.
        unsafe { boxed(params, sides, when, per_thread) }
    }

    unsafe fn copy_box(params: &CUDA_MEMCPY3D, when: When, per_thread: bool) -> CuResult {
        // SAFETY: the caller guarantees that the program's host addresses are valid.
        unsafe { boxed(params, ANY, when, per_thread) }
    }

    fn synchronize(stream: CUstream, per_thread: bool) -> CuResult {
        let stream = lookup(stream, per_thread)?;
        capture::GRAPHS.forbid_on(&(&*stream).into())?;
        synchronize(&stream)
    }

    fn element_bytes(array: CUarray) -> CuResult<usize> {
        let array = super::array::find(array)?;
        let size = element_size(array.descriptor.Format, array.descriptor.NumChannels);
        size.map(|bytes| bytes as usize).ok_or(CuError::INVALID_VALUE)
    }

    fn check_context(context: CUcontext) -> CuResult {
        driver()?;
        by_handle(context as usize).map(drop)
    }
}
