//! Checks descriptions of tensor maps, and encodes them. softgpu doesn't execute the instructions
//! that use tensor maps. Therefore, the encoding is softgpu's own format, except for the address at
//! its start.

use std::ffi::{c_int, c_uint, c_void};

use cuda_api::args::{In, Out};
use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::{
    CUtensorMap, CUtensorMapDataType as T, CUtensorMapFloatOOBfill as Fill,
    CUtensorMapIm2ColWideMode as Wide, CUtensorMapInterleave as Interleave,
    CUtensorMapL2promotion as Promotion, CUtensorMapSwizzle as Swizzle,
};

use super::entry::entries;
use crate::state::context::current;

const MAX_RANK: usize = 5;
/// Global memory addresses and strides must be multiples of this many bytes, or of twice as many
/// with 32-byte interleaving.
const ALIGNMENT: u64 = 16;
const MAX_DIM: u64 = 1 << 32;
const MAX_STRIDE: u64 = 1 << 40;
const MAX_BOX: u32 = 256;
const MAX_ELEMENT_STRIDE: u32 = 8;
const MAX_CHANNELS: u32 = 256;
const MAX_PIXELS: u32 = 1024;
/// Maximum size of a box, in bytes: the largest shared memory of a block.
const MAX_BOX_BYTES: u64 = 227 << 10;

/// The properties of a tensor in global memory.
struct Tensor {
    data_type: T,
    rank: usize,
    address: u64,
    dims: [u64; MAX_RANK],
    strides: [u64; MAX_RANK],
    element_strides: [u32; MAX_RANK],
    interleave: Interleave,
    swizzle: Swizzle,
    promotion: Promotion,
    fill: Fill,
}

/// The part of a tensor that one instruction copies.
enum Part {
    Tiled {
        box_dims: [u32; MAX_RANK],
    },
    Im2col {
        lower: [i32; 3],
        upper: [i32; 3],
        channels: u32,
        pixels: u32,
    },
    /// An im2col box in wide mode. `lower` and `upper` are corner coordinates in the width only.
    Wide {
        lower: i32,
        upper: i32,
        channels: u32,
        pixels: u32,
        mode: Wide,
    },
}

fn require(valid: bool) -> CuResult {
    if valid { Ok(()) } else { Err(CuError::INVALID_VALUE) }
}

/// Returns the size in bytes of an element. Fails for a type that doesn't exist on compute
/// capability 9.0.
fn element_size(data_type: T) -> CuResult<u32> {
    Ok(match data_type {
        T::CU_TENSOR_MAP_DATA_TYPE_UINT8 => 1,
        T::CU_TENSOR_MAP_DATA_TYPE_UINT16
        | T::CU_TENSOR_MAP_DATA_TYPE_FLOAT16
        | T::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 => 2,
        T::CU_TENSOR_MAP_DATA_TYPE_UINT32
        | T::CU_TENSOR_MAP_DATA_TYPE_INT32
        | T::CU_TENSOR_MAP_DATA_TYPE_FLOAT32
        | T::CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ
        | T::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
        | T::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ => 4,
        T::CU_TENSOR_MAP_DATA_TYPE_UINT64
        | T::CU_TENSOR_MAP_DATA_TYPE_INT64
        | T::CU_TENSOR_MAP_DATA_TYPE_FLOAT64 => 8,
        _ => return Err(CuError::INVALID_VALUE),
    })
}

fn is_integer(data_type: T) -> bool {
    data_type.0 <= T::CU_TENSOR_MAP_DATA_TYPE_INT64.0
}

/// Returns the most bytes that the inner dimension of a box can have with a swizzle mode. Fails for
/// a mode that doesn't exist on compute capability 9.0.
fn swizzle_span(swizzle: Swizzle) -> CuResult<Option<u64>> {
    Ok(match swizzle {
        Swizzle::CU_TENSOR_MAP_SWIZZLE_NONE => None,
        Swizzle::CU_TENSOR_MAP_SWIZZLE_32B => Some(32),
        Swizzle::CU_TENSOR_MAP_SWIZZLE_64B => Some(64),
        Swizzle::CU_TENSOR_MAP_SWIZZLE_128B => Some(128),
        _ => return Err(CuError::INVALID_VALUE),
    })
}

impl Tensor {
    /// Reads a tensor's arrays from a call's parameters. `dims` and `element_strides` have `rank`
    /// elements, and `strides` has one less.
    ///
    /// # Safety
    ///
    /// Pointers that aren't null must be valid for that number of elements.
    unsafe fn read(
        rank: u32,
        dims: In<u64>,
        strides: In<u64>,
        element_strides: In<u32>,
    ) -> CuResult<Self> {
        let rank = rank as usize;
        require((1..=MAX_RANK).contains(&rank))?;
        // SAFETY: the caller guarantees that the arrays have these lengths.
        let (dims, strides, element_strides) =
            unsafe { (read(dims, rank)?, read(strides, rank - 1)?, read(element_strides, rank)?) };
        Ok(Self {
            data_type: T(0),
            rank,
            address: 0,
            dims,
            strides,
            element_strides,
            interleave: Interleave(0),
            swizzle: Swizzle(0),
            promotion: Promotion(0),
            fill: Fill(0),
        })
    }

    fn alignment(&self) -> u64 {
        match self.interleave {
            Interleave::CU_TENSOR_MAP_INTERLEAVE_32B => 2 * ALIGNMENT,
            _ => ALIGNMENT,
        }
    }

    fn check(&self) -> CuResult {
        element_size(self.data_type)?;
        let interleaved = self.interleave != Interleave::CU_TENSOR_MAP_INTERLEAVE_NONE;
        require(self.interleave.0 <= Interleave::CU_TENSOR_MAP_INTERLEAVE_32B.0)?;
        require(!interleaved || self.rank >= 3)?;
        require(
            self.interleave != Interleave::CU_TENSOR_MAP_INTERLEAVE_32B
                || self.swizzle == Swizzle::CU_TENSOR_MAP_SWIZZLE_32B,
        )?;
        swizzle_span(self.swizzle)?;
        require(self.promotion.0 <= Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B.0)?;
        require(match self.fill {
            Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE => true,
            Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA => !is_integer(self.data_type),
            _ => false,
        })?;
        require(self.address.is_multiple_of(self.alignment()))?;
        let dims = &self.dims[..self.rank];
        require(dims.iter().all(|dim| (1..=MAX_DIM).contains(dim)))?;
        let strides = &self.strides[..self.rank - 1];
        require(strides.iter().all(|s| *s < MAX_STRIDE && s.is_multiple_of(self.alignment())))?;
        let element_strides = &self.element_strides[..self.rank];
        require(element_strides.iter().all(|s| (1..=MAX_ELEMENT_STRIDE).contains(s)))
    }

    /// Checks the length of a box's inner dimension, which has this number of elements.
    fn check_inner(&self, elements: u32) -> CuResult {
        let bytes = u64::from(elements) * u64::from(element_size(self.data_type)?);
        if self.interleave != Interleave::CU_TENSOR_MAP_INTERLEAVE_NONE {
            return Ok(());
        }
        require(bytes.is_multiple_of(ALIGNMENT))?;
        require(swizzle_span(self.swizzle)?.is_none_or(|span| bytes <= span))
    }

    /// Sets the properties that aren't arrays. `modes` are interleaving, swizzling, promotion to
    /// the L2 cache, and the fill value of elements outside the tensor.
    fn with(self, data_type: u32, address: *mut c_void, modes: [u32; 4]) -> Self {
        let [interleave, swizzle, promotion, fill] = modes;
        Self {
            data_type: T(data_type),
            address: address as u64,
            interleave: Interleave(interleave),
            swizzle: Swizzle(swizzle),
            promotion: Promotion(promotion),
            fill: Fill(fill),
            ..self
        }
    }

    fn check_part(&self, part: &Part) -> CuResult {
        match part {
            Part::Tiled { box_dims } => {
                let box_dims = &box_dims[..self.rank];
                require(box_dims.iter().all(|dim| (1..=MAX_BOX).contains(dim)))?;
                let size = u64::from(element_size(self.data_type)?);
                let bytes = box_dims.iter().fold(size, |bytes, dim| bytes * u64::from(*dim));
                require(bytes <= MAX_BOX_BYTES)?;
                self.check_inner(box_dims[0])
            }
            Part::Im2col { lower, upper, channels, pixels } => {
                require(self.rank >= 3)?;
                // A tensor map stores the corner coordinates of all dimensions in 16 bits, so each
                // coordinate has fewer bits if there are more dimensions.
                let limit = match self.rank {
                    3 => 1 << 15,
                    4 => 1 << 7,
                    _ => 1 << 4,
                };
                let corners = lower[..self.rank - 2].iter().chain(&upper[..self.rank - 2]);
                require(corners.copied().all(|corner| (-limit..limit).contains(&corner)))?;
                self.check_columns(*channels, *pixels)
            }
            Part::Wide { lower, upper, channels, pixels, mode } => {
                require(self.rank >= 3)?;
                require(mode.0 <= Wide::CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128.0)?;
                require([lower, upper].into_iter().all(|corner| i16::try_from(*corner).is_ok()))?;
                self.check_columns(*channels, *pixels)
            }
        }
    }

    fn check_columns(&self, channels: u32, pixels: u32) -> CuResult {
        require((1..=MAX_CHANNELS).contains(&channels))?;
        require((1..=MAX_PIXELS).contains(&pixels))?;
        self.check_inner(channels)
    }

    fn encode(&self, part: &Part) -> CUtensorMap {
        let mut bytes = [0u8; 128];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        put(&self.address.to_le_bytes());
        put(&[
            self.rank as u8,
            self.data_type.0 as u8,
            self.interleave.0 as u8,
            self.swizzle.0 as u8,
            self.promotion.0 as u8,
            self.fill.0 as u8,
            match part {
                Part::Tiled { .. } => 0,
                Part::Im2col { .. } => 1,
                Part::Wide { .. } => 2,
            },
            0,
        ]);
        self.strides[..MAX_RANK - 1].iter().for_each(|stride| put(&stride.to_le_bytes()));
        // A dimension is from 1 to 2^32, so the dimension minus 1 fits in 32 bits.
        self.dims.iter().for_each(|dim| put(&(dim.wrapping_sub(1) as u32).to_le_bytes()));
        self.element_strides.iter().for_each(|stride| put(&[*stride as u8]));
        match part {
            Part::Tiled { box_dims } => {
                box_dims.iter().for_each(|dim| put(&(*dim as u16).to_le_bytes()));
            }
            Part::Im2col { lower, upper, channels, pixels } => {
                lower.iter().chain(upper).for_each(|corner| put(&(*corner as i16).to_le_bytes()));
                put(&(*channels as u16).to_le_bytes());
                put(&(*pixels as u16).to_le_bytes());
            }
            Part::Wide { lower, upper, channels, pixels, mode } => {
                [lower, upper].iter().for_each(|corner| put(&(**corner as i16).to_le_bytes()));
                put(&(*channels as u16).to_le_bytes());
                put(&(*pixels as u16).to_le_bytes());
                put(&[mode.0 as u8]);
            }
        }
        let words = bytes.as_chunks().0;
        CUtensorMap { opaque: std::array::from_fn(|word| u64::from_le_bytes(words[word])) }
    }
}

/// Reads the first `len` elements of an array. The other elements of the result are 0.
///
/// # Safety
///
/// A pointer that isn't null must be valid for `len` elements.
unsafe fn read<E: Copy + Default, const N: usize>(from: In<E>, len: usize) -> CuResult<[E; N]> {
    let mut elements = [E::default(); N];
    // SAFETY: the caller guarantees that the array has this length.
    let from = unsafe { from.array(len) };
    for (index, element) in elements.iter_mut().enumerate().take(len) {
        *element = from.get(index)?;
    }
    Ok(elements)
}

fn encode(to: Out<CUtensorMap>, tensor: Tensor, part: Part) -> CuResult {
    tensor.check()?;
    tensor.check_part(&part)?;
    to.set(tensor.encode(&part))
}

entries! {
    fn cuTensorMapEncodeTiled(
        map: Out<CUtensorMap>, data_type: c_uint, rank: c_uint, address: *mut c_void,
        dims: In<u64>, strides: In<u64>, box_dims: In<u32>, element_strides: In<u32>,
        interleave: c_uint, swizzle: c_uint, promotion: c_uint, fill: c_uint,
    ) {
        current()?;
        map.check()?;
        // SAFETY: the program passes arrays of the lengths that the rank implies.
        let (tensor, box_dims) = unsafe {
            (Tensor::read(rank, dims, strides, element_strides)?, read(box_dims, rank as usize)?)
        };
        let tensor = tensor.with(data_type, address, [interleave, swizzle, promotion, fill]);
        encode(map, tensor, Part::Tiled { box_dims })
    }

    fn cuTensorMapEncodeIm2col(
        map: Out<CUtensorMap>, data_type: c_uint, rank: c_uint, address: *mut c_void,
        dims: In<u64>, strides: In<u64>, lower: In<c_int>, upper: In<c_int>, channels: c_uint,
        pixels: c_uint, element_strides: In<u32>, interleave: c_uint, swizzle: c_uint,
        promotion: c_uint, fill: c_uint,
    ) {
        current()?;
        map.check()?;
        let corners = (rank as usize).checked_sub(2).ok_or(CuError::INVALID_VALUE)?;
        // SAFETY: the program passes arrays of the lengths that the rank implies.
        let (tensor, lower, upper) = unsafe {
            let tensor = Tensor::read(rank, dims, strides, element_strides)?;
            (tensor, read(lower, corners)?, read(upper, corners)?)
        };
        let tensor = tensor.with(data_type, address, [interleave, swizzle, promotion, fill]);
        encode(map, tensor, Part::Im2col { lower, upper, channels, pixels })
    }

    fn cuTensorMapEncodeIm2colWide(
        map: Out<CUtensorMap>, data_type: c_uint, rank: c_uint, address: *mut c_void,
        dims: In<u64>, strides: In<u64>, lower: c_int, upper: c_int, channels: c_uint,
        pixels: c_uint, element_strides: In<u32>, interleave: c_uint, mode: c_uint,
        swizzle: c_uint, promotion: c_uint, fill: c_uint,
    ) {
        current()?;
        map.check()?;
        // SAFETY: the program passes arrays of the lengths that the rank implies.
        let tensor = unsafe { Tensor::read(rank, dims, strides, element_strides) }?;
        let tensor = tensor.with(data_type, address, [interleave, swizzle, promotion, fill]);
        encode(map, tensor, Part::Wide { lower, upper, channels, pixels, mode: Wide(mode) })
    }

    fn cuTensorMapReplaceAddress(map: Out<CUtensorMap>, address: *mut c_void) {
        current()?;
        let mut encoded = map.read()?;
        let address = address as u64;
        require(address != 0 && address.is_multiple_of(ALIGNMENT))?;
        encoded.opaque[0] = address;
        map.set(encoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tensor of 64 by 64 single-precision numbers.
    fn tensor() -> Tensor {
        Tensor {
            data_type: T::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
            rank: 2,
            address: 4096,
            dims: [64, 64, 0, 0, 0],
            strides: [256, 0, 0, 0, 0],
            element_strides: [1, 1, 0, 0, 0],
            interleave: Interleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle: Swizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
            promotion: Promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
            fill: Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        }
    }

    fn tiled(change: impl Fn(&mut Tensor), x: u32, y: u32) -> CuResult {
        let mut tensor = tensor();
        change(&mut tensor);
        tensor.check()?;
        tensor.check_part(&Part::Tiled { box_dims: [x, y, 0, 0, 0] })
    }

    /// Checks that softgpu accepts and rejects the same tensor maps as NVIDIA's driver on an H200.
    #[test]
    fn test_the_limits_of_a_tensor_and_its_box() {
        let accepted: [fn(&mut Tensor); 8] = [
            |_| {},
            |t| t.address = 0,
            |t| t.strides[0] = 64,
            |t| t.strides[0] = 0,
            |t| t.dims[0] = 1 << 32,
            |t| t.element_strides = [2, 8, 0, 0, 0],
            |t| t.rank = 1,
            |t| t.fill = Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
        ];
        for (index, change) in accepted.into_iter().enumerate() {
            assert_eq!(tiled(change, 16, 16), Ok(()), "{index}");
        }
        let refused: [fn(&mut Tensor); 14] = [
            |t| t.address = 8,
            |t| t.strides[0] = 8,
            |t| t.strides[0] = 1 << 40,
            |t| t.dims[0] = 0,
            |t| t.dims[0] = (1 << 32) + 1,
            |t| t.element_strides[0] = 9,
            |t| t.element_strides[1] = 0,
            |t| t.interleave = Interleave::CU_TENSOR_MAP_INTERLEAVE_16B,
            |t| t.swizzle = Swizzle::CU_TENSOR_MAP_SWIZZLE_32B,
            |t| t.swizzle = Swizzle(9),
            |t| t.data_type = T::CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B,
            |t| t.promotion = Promotion(4),
            |t| t.fill = Fill(2),
            |t| {
                t.data_type = T::CU_TENSOR_MAP_DATA_TYPE_UINT32;
                t.fill = Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
            },
        ];
        for (index, change) in refused.into_iter().enumerate() {
            assert_eq!(tiled(change, 16, 16), Err(CuError::INVALID_VALUE), "{index}");
        }
        for (x, y) in [(257, 1), (0, 1), (3, 3), (256, 256)] {
            assert_eq!(tiled(|_| {}, x, y), Err(CuError::INVALID_VALUE), "{x} {y}");
        }
        assert_eq!(tiled(|t| t.swizzle = Swizzle::CU_TENSOR_MAP_SWIZZLE_128B, 32, 16), Ok(()));
    }

    #[test]
    fn test_different_descriptions_have_different_encodings() {
        let encode = |change: fn(&mut Tensor), y| {
            let mut tensor = tensor();
            change(&mut tensor);
            tensor.encode(&Part::Tiled { box_dims: [16, y, 0, 0, 0] }).opaque
        };
        let first = encode(|_| {}, 16);
        assert_eq!(first[0], 4096);
        let other: [fn(&mut Tensor); 4] = [
            |t| t.address = 8192,
            |t| t.dims[1] = 65,
            |t| t.strides[0] = 512,
            |t| t.element_strides[1] = 2,
        ];
        assert!(other.into_iter().all(|change| encode(change, 16) != first));
        assert_ne!(encode(|_| {}, 17), first);
    }
}
