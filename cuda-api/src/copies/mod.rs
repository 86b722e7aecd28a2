//! The entry points of copies. A library provides copies of contiguous bytes and of boxes, of which
//! batches and the other copies consist.
//!
//! | module | contents |
//! |---|---|
//! | [`batch`] | `cuMemcpyBatchAsync` and `cuMemcpy3DBatchAsync` |
//! | [`peer`] | copies between contexts |
//! | [`rectangle`] | copies of rectangles |
//! | [`row`] | copies of contiguous bytes from and to arrays |
//! | [`entries`] | the exports |

pub mod batch;
pub mod entries;
pub mod peer;
pub mod rectangle;
pub mod row;

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

/// Which addresses of a copy must be memory that the GPU can access, because the entry point's name
/// says so. Any other address can be in any kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    Any,
    /// The destination, as for `cuMemcpyHtoD`. The source is host memory.
    ToDevice,
    /// The source, as for `cuMemcpyDtoH`. The destination is host memory.
    FromDevice,
    /// Both, as for `cuMemcpyDtoD`.
    OnDevice,
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
        sides: Sides,
        dst: CUdeviceptr,
        src: CUdeviceptr,
        len: usize,
        when: When,
        per_thread: bool,
    ) -> CuResult;

    /// Copies contiguous bytes from or to an array, which `params` describes as a box of one row.
    ///
    /// # Safety
    ///
    /// Addresses in the program's own memory must be valid, for as long as these functions require.
    unsafe fn copy_row(params: &CUDA_MEMCPY3D, when: When, per_thread: bool) -> CuResult;

    /// Copies a box, as `cuMemcpy3D` and `cuMemcpy3DAsync` do.
    ///
    /// # Safety
    ///
    /// Addresses in the program's own memory must be valid, for as long as these functions require.
    unsafe fn copy_box(params: &CUDA_MEMCPY3D, when: When, per_thread: bool) -> CuResult;

    /// Copies a rectangle, as `cuMemcpy2D` and `cuMemcpy2DAsync` do. `params` describes it as a box.
    ///
    /// # Safety
    ///
    /// Addresses in the program's own memory must be valid, for as long as these functions require.
    unsafe fn copy_rectangle(params: &CUDA_MEMCPY3D, when: When, per_thread: bool) -> CuResult {
        // SAFETY: the caller promises the same.
        unsafe { Self::copy_box(params, when, per_thread) }
    }

    /// Waits for a stream, as `cuStreamSynchronize` does.
    fn synchronize(stream: CUstream, per_thread: bool) -> CuResult;

    /// Returns the size in bytes of an array's elements.
    fn element_bytes(array: CUarray) -> CuResult<usize>;

    /// Checks a context handle. Returns CUDA_ERROR_INVALID_CONTEXT if it is invalid.
    fn check_context(context: CUcontext) -> CuResult;
}
