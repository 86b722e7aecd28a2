//! Batches of copies, and copies between contexts. They consist of copies that a library also
//! offers separately.
//!
//! | module | contents |
//! |---|---|
//! | [`batch`] | `cuMemcpyBatchAsync` and `cuMemcpy3DBatchAsync` |
//! | [`peer`] | copies between contexts |
//! | [`entries`] | the exports |

pub mod batch;
pub mod entries;
pub mod peer;

use crate::error::CuResult;
use crate::sys::{CUDA_MEMCPY3D, CUarray, CUcontext, CUdeviceptr, CUstream};

/// When a copy runs.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// In the default stream. The function returns when the program may use its own memory again.
    Now,
    /// In this stream, after the stream's earlier work.
    InStream(CUstream),
}

/// A library's separate copies. `per_thread` says that a null stream, and [`When::Now`], mean the
/// thread's default stream.
pub trait Library {
    /// Copies contiguous bytes, as `cuMemcpy` and `cuMemcpyAsync` do.
    ///
    /// # Safety
    ///
    /// Addresses in the program's own memory must be valid, for as long as these functions require.
    unsafe fn copy(
        dst: CUdeviceptr,
        src: CUdeviceptr,
        len: usize,
        when: When,
        per_thread: bool,
    ) -> CuResult;

    /// Copies contiguous bytes between addresses that the GPU can access, as `cuMemcpyDtoD` and
    /// `cuMemcpyDtoDAsync` do.
    fn copy_on_device(
        dst: CUdeviceptr,
        src: CUdeviceptr,
        len: usize,
        when: When,
        per_thread: bool,
    ) -> CuResult;

    /// Copies a box, as `cuMemcpy3D` and `cuMemcpy3DAsync` do.
    ///
    /// # Safety
    ///
    /// Addresses in the program's own memory must be valid, for as long as these functions require.
    unsafe fn copy_box(params: &CUDA_MEMCPY3D, when: When, per_thread: bool) -> CuResult;

    /// Waits for a stream, as `cuStreamSynchronize` does.
    fn synchronize(stream: CUstream, per_thread: bool) -> CuResult;

    /// Returns the size in bytes of an array's elements.
    fn element_bytes(array: CUarray) -> CuResult<usize>;

    /// Checks a context handle. Returns CUDA_ERROR_INVALID_CONTEXT if it is invalid.
    fn check_context(context: CUcontext) -> CuResult;
}
