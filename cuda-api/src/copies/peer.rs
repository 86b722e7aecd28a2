//! Copies between contexts. Addresses are unique across contexts and devices, so a copy doesn't
//! need the handles of its contexts. They are only checked.

use super::{Library, Sides, When};
use crate::error::{CuError, CuResult};
use crate::sys::{CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUcontext, CUdeviceptr, CUmemorytype as M};

/// Copies contiguous bytes between contexts.
pub fn linear<L: Library>(
    (dst, dst_context): (CUdeviceptr, CUcontext),
    (src, src_context): (CUdeviceptr, CUcontext),
    len: usize,
    when: When,
    per_thread: bool,
) -> CuResult {
    for context in [dst_context, src_context].into_iter().filter(|context| !context.is_null()) {
        L::check_context(context)?;
    }
    // SAFETY: the copy fails if an address is in memory that the GPU can't access.
    unsafe { L::copy(Sides::OnDevice, dst, src, len, when, per_thread) }
}

/// Copies a box between contexts.
///
/// # Safety
///
/// The requirements of [`Library::copy_box`] apply.
pub unsafe fn boxed<L: Library>(p: &CUDA_MEMCPY3D_PEER, when: When, per_thread: bool) -> CuResult {
    let sides = [(p.dstMemoryType, p.dstContext), (p.srcMemoryType, p.srcContext)];
    for (kind, context) in sides {
        // CUDA ignores the context of host memory, and finds the context of a unified address
        // itself.
        if [M::CU_MEMORYTYPE_DEVICE, M::CU_MEMORYTYPE_ARRAY].contains(&kind) {
            L::check_context(context)?;
        }
    }
    if p.srcLOD != 0 || p.dstLOD != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    let params = CUDA_MEMCPY3D {
        srcXInBytes: p.srcXInBytes,
        srcY: p.srcY,
        srcZ: p.srcZ,
        srcMemoryType: p.srcMemoryType,
        srcHost: p.srcHost,
        srcDevice: p.srcDevice,
        srcArray: p.srcArray,
        srcPitch: p.srcPitch,
        srcHeight: p.srcHeight,
        dstXInBytes: p.dstXInBytes,
        dstY: p.dstY,
        dstZ: p.dstZ,
        dstMemoryType: p.dstMemoryType,
        dstHost: p.dstHost,
        dstDevice: p.dstDevice,
        dstArray: p.dstArray,
        dstPitch: p.dstPitch,
        dstHeight: p.dstHeight,
        WidthInBytes: p.WidthInBytes,
        Height: p.Height,
        Depth: p.Depth,
        ..Default::default()
    };
    // SAFETY: the caller promises that the program's addresses are valid.
    unsafe { L::copy_box(&params, when, per_thread) }
}
