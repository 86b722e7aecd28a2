//! Copies of rectangles, which are boxes with one slice.

use crate::sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D};

/// Converts the parameters of a copy of a rectangle to those of a copy of a box with one slice.
pub fn boxed(p: &CUDA_MEMCPY2D) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        srcXInBytes: p.srcXInBytes,
        srcY: p.srcY,
        srcMemoryType: p.srcMemoryType,
        srcHost: p.srcHost,
        srcDevice: p.srcDevice,
        srcArray: p.srcArray,
        srcPitch: p.srcPitch,
        dstXInBytes: p.dstXInBytes,
        dstY: p.dstY,
        dstMemoryType: p.dstMemoryType,
        dstHost: p.dstHost,
        dstDevice: p.dstDevice,
        dstArray: p.dstArray,
        dstPitch: p.dstPitch,
        WidthInBytes: p.WidthInBytes,
        Height: p.Height,
        Depth: 1,
        ..Default::default()
    }
}
