//! Entry points that encode tensor maps. The worker's driver does the encoding.

use crate::context::{self, current};
use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use cuda_api::args::{In, Out};
use cuda_api::sys::CUtensorMap;
use protocol::calls::{
    VcudaTensorMapEncodeImToCol, VcudaTensorMapEncodeImToColWide, VcudaTensorMapEncodeTiled,
    VcudaTensorMapReplaceAddress,
};
use protocol::codec::Call;

const MAX_RANK: u32 = 5;

/// Checks a tensor's rank.
fn checked(rank: u32) -> CuResult<usize> {
    if (1..=MAX_RANK).contains(&rank) { Ok(rank as usize) } else { Err(CuError::INVALID_VALUE) }
}

/// Reads the first `len` elements of an array. The other elements of the result are 0.
///
/// # Safety
///
/// A pointer that isn't null must be valid for `len` elements.
unsafe fn array<T: Copy + Default, const N: usize>(from: In<T>, len: usize) -> CuResult<[T; N]> {
    let mut elements = [T::default(); N];
    // SAFETY: the caller promises that the array has `len` elements.
    let from = unsafe { from.array(len) };
    for (index, element) in elements.iter_mut().enumerate().take(len) {
        *element = from.get(index)?;
    }
    Ok(elements)
}

/// Stores the 128 bytes of the tensor map that `call` encodes. If the same call with the same
/// arguments has been made before, its result is reused. `out` need not be aligned.
fn encode<'a, C: Call<'a>>(
    driver: &Driver,
    out: Out<CUtensorMap>,
    call: &C,
    map: impl FnOnce(C::Answer) -> [u64; 16],
) -> CuResult {
    let device = current()?.device;
    let opaque = driver.tensor_maps.encoded(&driver.session, device, call, map)?;
    out.set(CUtensorMap { opaque })
}

entries! {
    fn cuTensorMapEncodeTiled(
        out: Out<CUtensorMap>, data_type: u32, rank: u32, address: usize, dims: In<u64>,
        strides: In<u64>, box_dims: In<u32>, element_strides: In<u32>, interleave: u32,
        swizzle: u32, promotion: u32, oob_fill: u32,
    ) {
        let driver = context::driver()?;
        out.check()?;
        let n = checked(rank)?;
        // SAFETY: the program passes arrays with one element per dimension, and strides for all
        // dimensions but the first.
        let call = unsafe {
            VcudaTensorMapEncodeTiled {
                data_type,
                rank,
                address: address as u64,
                global_dim: array(dims, n)?,
                global_strides: array(strides, n - 1)?,
                box_dim: array(box_dims, n)?,
                element_strides: array(element_strides, n)?,
                interleave,
                swizzle,
                promotion,
                oob_fill,
            }
        };
        encode(driver, out, &call, |answer| answer.map)
    }

    fn cuTensorMapEncodeIm2col(
        out: Out<CUtensorMap>, data_type: u32, rank: u32, address: usize, dims: In<u64>,
        strides: In<u64>, lower: In<i32>, upper: In<i32>, channels_per_pixel: u32,
        pixels_per_column: u32, element_strides: In<u32>, interleave: u32, swizzle: u32,
        promotion: u32, oob_fill: u32,
    ) {
        let driver = context::driver()?;
        out.check()?;
        let n = checked(rank)?;
        let corners = n.checked_sub(2).ok_or(CuError::INVALID_VALUE)?;
        // SAFETY: the program passes arrays with one element per dimension, strides for all
        // dimensions but the first, and corners for all dimensions but the first and the last.
        let call = unsafe {
            VcudaTensorMapEncodeImToCol {
                data_type,
                rank,
                address: address as u64,
                global_dim: array(dims, n)?,
                global_strides: array(strides, n - 1)?,
                lower_corner: array(lower, corners)?,
                upper_corner: array(upper, corners)?,
                channels_per_pixel,
                pixels_per_column,
                element_strides: array(element_strides, n)?,
                interleave,
                swizzle,
                promotion,
                oob_fill,
            }
        };
        encode(driver, out, &call, |answer| answer.map)
    }

    fn cuTensorMapEncodeIm2colWide(
        out: Out<CUtensorMap>, data_type: u32, rank: u32, address: usize, dims: In<u64>,
        strides: In<u64>, lower: i32, upper: i32, channels_per_pixel: u32,
        pixels_per_column: u32, element_strides: In<u32>, interleave: u32, mode: u32,
        swizzle: u32, promotion: u32, oob_fill: u32,
    ) {
        let driver = context::driver()?;
        out.check()?;
        let n = checked(rank)?;
        // SAFETY: the program passes arrays with one element per dimension, and strides for all
        // dimensions but the first.
        let call = unsafe {
            VcudaTensorMapEncodeImToColWide {
                data_type,
                rank,
                address: address as u64,
                global_dim: array(dims, n)?,
                global_strides: array(strides, n - 1)?,
                lower_corner_width: lower,
                upper_corner_width: upper,
                channels_per_pixel,
                pixels_per_column,
                element_strides: array(element_strides, n)?,
                interleave,
                mode,
                swizzle,
                promotion,
                oob_fill,
            }
        };
        encode(driver, out, &call, |answer| answer.map)
    }

    fn cuTensorMapReplaceAddress(map: Out<CUtensorMap>, address: usize) {
        let driver = context::driver()?;
        let call = VcudaTensorMapReplaceAddress {
            map: map.read()?.opaque,
            address: address as u64,
        };
        encode(driver, map, &call, |answer| answer.replaced)
    }
}
