//! The entry points of copies. A library implements copies of contiguous bytes and of boxes.
//! Batches and all other copies are made of these.
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
    /// The source and the destination, as for `cuMemcpyDtoD`.
    OnDevice,
}

/// The copies that a library implements. If `per_thread` is true, a null stream and [`When::Now`]
/// mean the thread's default stream.
pub trait Library {
    /// Copies contiguous bytes, as `cuMemcpy` and `cuMemcpyAsync` do.
    ///
    /// # Safety
    ///
    /// Addresses in the program's own memory must be valid for as long as `cuMemcpy` or
    /// `cuMemcpyAsync` requires.
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
    /// Addresses in the program's own memory must be valid for as long as `cuMemcpy3D` or
    /// `cuMemcpy3DAsync` requires.
    unsafe fn copy_row(params: &CUDA_MEMCPY3D, when: When, per_thread: bool) -> CuResult;

    /// Copies a box, as `cuMemcpy3D` and `cuMemcpy3DAsync` do.
    ///
    /// # Safety
    ///
    /// Addresses in the program's own memory must be valid for as long as `cuMemcpy3D` or
    /// `cuMemcpy3DAsync` requires.
    unsafe fn copy_box(params: &CUDA_MEMCPY3D, when: When, per_thread: bool) -> CuResult;

    /// Copies a rectangle, as `cuMemcpy2D` and `cuMemcpy2DAsync` do. `params` describes it as a
    /// box.
    ///
    /// # Safety
    ///
    /// Addresses in the program's own memory must be valid for as long as `cuMemcpy2D` or
    /// `cuMemcpy2DAsync` requires.
    unsafe fn copy_rectangle(params: &CUDA_MEMCPY3D, when: When, per_thread: bool) -> CuResult {
        // SAFETY: the caller promises that the program's addresses are valid, as `copy_box`
        // requires.
        unsafe { Self::copy_box(params, when, per_thread) }
    }

    /// Waits for a stream, as `cuStreamSynchronize` does.
    fn synchronize(stream: CUstream, per_thread: bool) -> CuResult;

    /// Returns the size in bytes of an array's elements.
    fn element_bytes(array: CUarray) -> CuResult<usize>;

    /// Checks a context handle. Returns CUDA_ERROR_INVALID_CONTEXT if it is invalid.
    fn check_context(context: CUcontext) -> CuResult;
}
