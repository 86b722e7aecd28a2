//! Copies. cuda-api has the entry points; this module implements the guest library's part.

use crate::capture;
use crate::driver::driver;
use crate::entry::arrays::array;
use crate::entry::contexts::context;
use crate::entry::macros::EntryPoint;
use crate::entry::memory::{copy, copy2d};
use crate::entry::streams::stream::{is_per_thread, null_of, stream_id};
use crate::error::{CuError, CuResult};
use crate::graph::Guest;
use crate::handles::Handle;
use crate::transfer::synchronize;
use cuda_api::arrays::element_size;

cuda_api::copy_entries!(Guest, EntryPoint, is_per_thread);

/// Returns the stream of a copy (0 for the default stream), and whether the call waits for the
/// copy.
fn stream_of(when: When) -> (Handle, bool) {
    match when {
        When::Now => (0, true),
        When::InStream(stream) => (stream as Handle, false),
    }
}

impl Library for Guest {
    unsafe fn copy(
        sides: Sides,
        dst: u64,
        src: u64,
        len: usize,
        when: When,
        per_thread: bool,
    ) -> CuResult {
        let null = null_of(per_thread);
        let sides = match sides {
            Sides::Any => copy::ANY,
            Sides::ToDevice => copy::TO_DEVICE,
            Sides::FromDevice => copy::FROM_DEVICE,
            Sides::OnDevice => copy::WITHIN_DEVICE,
        };
        // SAFETY: the caller promises that addresses in pageable memory are valid for the copy.
        unsafe {
            match when {
                When::Now => copy::blocking(sides, dst, src, len, null),
                When::InStream(stream) => {
                    copy::queued(sides, (dst, src), len, stream as Handle, null)
                }
            }
        }
    }

    /// Copies contiguous bytes from or to an array. As with NVIDIA's driver, a copy in a stream
    /// waits if the host memory that the entry point's name refers to is managed memory.
    unsafe fn copy_row(params: &CUDA_MEMCPY3D, when: When, per_thread: bool) -> CuResult {
        // SAFETY: the caller promises that addresses in pageable memory are valid for the copy.
        unsafe { Self::copy_box(params, when, per_thread) }?;
        let When::InStream(stream) = when else { return Ok(()) };
        let driver = crate::context::driver()?;
        let managed = |host: u64| driver.memory.is_managed(host);
        if params.WidthInBytes > 0
            && (managed(params.dstHost as u64) || managed(params.srcHost as u64))
        {
            return synchronize(driver, stream_id(driver, stream as Handle, null_of(per_thread))?);
        }
        Ok(())
    }

    unsafe fn copy_box(params: &CUDA_MEMCPY3D, when: When, per_thread: bool) -> CuResult {
        let (stream, blocking) = stream_of(when);
        // SAFETY: the caller promises that pageable memory is valid for all rows.
        unsafe { copy2d::copy_3d(params.into(), stream, null_of(per_thread), blocking) }
    }

    unsafe fn copy_rectangle(params: &CUDA_MEMCPY3D, when: When, per_thread: bool) -> CuResult {
        let (stream, blocking) = stream_of(when);
        // SAFETY: the caller promises that pageable memory is valid for all rows.
        unsafe { copy2d::copy_2d(params.into(), stream, null_of(per_thread), blocking) }
    }

    fn synchronize(stream: CUstream, per_thread: bool) -> CuResult {
        let driver = crate::context::driver()?;
        let (stream, null) = (stream as Handle, null_of(per_thread));
        capture::forbid_on(driver, stream, null)?;
        synchronize(driver, stream_id(driver, stream, null)?)
    }

    fn element_bytes(handle: CUarray) -> CuResult<usize> {
        let descriptor = array::find(driver()?, handle as Handle)?.descriptor;
        let size = element_size(descriptor.Format, descriptor.NumChannels);
        size.map(|bytes| bytes as usize).ok_or(CuError::INVALID_VALUE)
    }

    fn check_context(handle: CUcontext) -> CuResult {
        context::named(driver()?, handle as Handle).map(drop)
    }
}
