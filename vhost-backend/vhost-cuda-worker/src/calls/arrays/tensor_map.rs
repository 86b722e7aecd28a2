//! Calls that encode tensor maps.
//!
//! The driver computes 128 bytes from the arguments and doesn't access the memory that a tensor map
//! describes. A kernel could compute the same bytes itself, so the address isn't checked.

use cuda_api::sys::{
    CUtensorMap, CUtensorMapDataType, CUtensorMapFloatOOBfill, CUtensorMapIm2ColWideMode,
    CUtensorMapInterleave, CUtensorMapL2promotion, CUtensorMapSwizzle,
};
use protocol::calls as api;

use crate::calls::commands::cx::Cx;
use crate::driver::{CuError, CuResult};

const MAX_RANK: u32 = 5;

/// Fails unless a tensor has at least `min` and at most `MAX_RANK` dimensions. The arrays in a call
/// have `MAX_RANK` elements, so they then have an element for each dimension.
fn check_rank(rank: u32, min: u32) -> CuResult {
    if (min..=MAX_RANK).contains(&rank) { Ok(()) } else { Err(CuError::INVALID_VALUE) }
}

pub(in crate::calls) fn vcuda_tensor_map_encode_tiled(
    cx: &Cx<'_>,
    call: api::VcudaTensorMapEncodeTiled,
) -> CuResult<api::VcudaTensorMapEncodeTiledAnswer> {
    cx.enter()?;
    check_rank(call.rank, 1)?;
    let mut map = CUtensorMap::default();
    // SAFETY: the driver writes only to `map`, and doesn't dereference the address. It reads at
    // most `rank` elements of each array, which the check of the rank has limited to their lengths.
    unsafe {
        cx.driver().cuTensorMapEncodeTiled(
            &mut map,
            CUtensorMapDataType(call.data_type),
            call.rank,
            call.address as *mut _,
            call.global_dim.as_ptr(),
            call.global_strides.as_ptr(),
            call.box_dim.as_ptr(),
            call.element_strides.as_ptr(),
            CUtensorMapInterleave(call.interleave),
            CUtensorMapSwizzle(call.swizzle),
            CUtensorMapL2promotion(call.promotion),
            CUtensorMapFloatOOBfill(call.oob_fill),
        )?;
    }
    Ok(api::VcudaTensorMapEncodeTiledAnswer { map: map.opaque })
}

pub(in crate::calls) fn vcuda_tensor_map_encode_im_to_col(
    cx: &Cx<'_>,
    call: api::VcudaTensorMapEncodeImToCol,
) -> CuResult<api::VcudaTensorMapEncodeImToColAnswer> {
    cx.enter()?;
    check_rank(call.rank, 3)?;
    let mut map = CUtensorMap::default();
    // SAFETY: the driver writes only to `map`, and doesn't dereference the tensor's address. It
    // reads at most `rank` elements of each array, and `rank - 2` of the corners. The check of the
    // rank has limited those numbers to the arrays' lengths.
    unsafe {
        cx.driver().cuTensorMapEncodeIm2col(
            &mut map,
            CUtensorMapDataType(call.data_type),
            call.rank,
            call.address as *mut _,
            call.global_dim.as_ptr(),
            call.global_strides.as_ptr(),
            call.lower_corner.as_ptr(),
            call.upper_corner.as_ptr(),
            call.channels_per_pixel,
            call.pixels_per_column,
            call.element_strides.as_ptr(),
            CUtensorMapInterleave(call.interleave),
            CUtensorMapSwizzle(call.swizzle),
            CUtensorMapL2promotion(call.promotion),
            CUtensorMapFloatOOBfill(call.oob_fill),
        )?;
    }
    Ok(api::VcudaTensorMapEncodeImToColAnswer { map: map.opaque })
}

pub(in crate::calls) fn vcuda_tensor_map_encode_im_to_col_wide(
    cx: &Cx<'_>,
    call: api::VcudaTensorMapEncodeImToColWide,
) -> CuResult<api::VcudaTensorMapEncodeImToColWideAnswer> {
    cx.enter()?;
    check_rank(call.rank, 3)?;
    let mut map = CUtensorMap::default();
    // SAFETY: the driver writes only to `map`, and doesn't dereference the tensor's address. It
    // reads at most `rank` elements of each array, which the check of the rank has limited to the
    // arrays' lengths.
    unsafe {
        cx.driver().cuTensorMapEncodeIm2colWide(
            &mut map,
            CUtensorMapDataType(call.data_type),
            call.rank,
            call.address as *mut _,
            call.global_dim.as_ptr(),
            call.global_strides.as_ptr(),
            call.lower_corner_width,
            call.upper_corner_width,
            call.channels_per_pixel,
            call.pixels_per_column,
            call.element_strides.as_ptr(),
            CUtensorMapInterleave(call.interleave),
            CUtensorMapIm2ColWideMode(call.mode),
            CUtensorMapSwizzle(call.swizzle),
            CUtensorMapL2promotion(call.promotion),
            CUtensorMapFloatOOBfill(call.oob_fill),
        )?;
    }
    Ok(api::VcudaTensorMapEncodeImToColWideAnswer { map: map.opaque })
}

pub(in crate::calls) fn vcuda_tensor_map_replace_address(
    cx: &Cx<'_>,
    call: api::VcudaTensorMapReplaceAddress,
) -> CuResult<api::VcudaTensorMapReplaceAddressAnswer> {
    cx.enter()?;
    let mut map = CUtensorMap { opaque: call.map };
    // SAFETY: the driver accesses only the 128 bytes of `map`, and doesn't dereference the address.
    unsafe { cx.driver().cuTensorMapReplaceAddress(&mut map, call.address as *mut _)? };
    Ok(api::VcudaTensorMapReplaceAddressAnswer { replaced: map.opaque })
}
