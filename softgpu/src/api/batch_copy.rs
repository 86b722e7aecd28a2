//! Batches of copies, and copies between contexts. cuda-api has the entry points.

use cuda_api::arrays::element_size;
use cuda_api::copies::Library;
use cuda_api::error::{CuError, CuResult};

use super::capture;
use super::copy::{ANY, copy_any, copy_box, on_device};
use super::entry::EntryPoint;
use super::stream::synchronize;
use crate::state::context::by_handle;
use crate::state::device::driver;
use crate::state::graph::Software;
use crate::state::stream::{default_stream, lookup};

cuda_api::copy_entries!(Software, EntryPoint, std::convert::identity);

impl Library for Software {
    unsafe fn copy(
        dst: CUdeviceptr,
        src: CUdeviceptr,
        len: usize,
        when: When,
        per_thread: bool,
    ) -> CuResult {
        // SAFETY: the program's addresses are valid, as the caller promises.
        unsafe {
            match when {
                When::Now => copy_any(&*default_stream(per_thread)?, dst, src, len, true),
                When::InStream(stream) => {
                    copy_any(&*lookup(stream, per_thread)?, dst, src, len, false)
                }
            }
        }
    }

    fn copy_on_device(
        dst: CUdeviceptr,
        src: CUdeviceptr,
        len: usize,
        when: When,
        per_thread: bool,
    ) -> CuResult {
        match when {
            When::Now => on_device(&*default_stream(per_thread)?, dst, src, len, true),
            When::InStream(stream) => {
                on_device(&*lookup(stream, per_thread)?, dst, src, len, false)
            }
        }
    }

    unsafe fn copy_box(params: &CUDA_MEMCPY3D, when: When, per_thread: bool) -> CuResult {
        // SAFETY: the program's addresses are valid, as the caller promises.
        unsafe {
            match when {
                When::Now => copy_box(&*default_stream(per_thread)?, params, ANY, true),
                When::InStream(stream) => {
                    copy_box(&*lookup(stream, per_thread)?, params, ANY, false)
                }
            }
        }
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
