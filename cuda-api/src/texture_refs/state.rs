//! The properties of a texture reference.

use crate::arrays::element_size;
use crate::error::{CuError, CuResult};
use crate::sys::{
    CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION, CU_TRSF_NORMALIZED_COORDINATES,
    CU_TRSF_READ_AS_INTEGER, CU_TRSF_SEAMLESS_CUBEMAP, CU_TRSF_SRGB, CUDA_ARRAY_DESCRIPTOR,
    CUDA_RESOURCE_DESC, CUDA_RESOURCE_DESC_st__bindgen_ty_1 as Resource,
    CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1 as OfArray,
    CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_2 as OfMipmap,
    CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 as Linear,
    CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 as Pitched,
    CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5 as Reserved, CUDA_TEXTURE_DESC,
    CUaddress_mode, CUarray, CUarray_format, CUdeviceptr, CUfilter_mode, CUmipmappedArray,
    CUresourcetype as Kind,
};

const FLAGS: u32 = CU_TRSF_READ_AS_INTEGER
    | CU_TRSF_NORMALIZED_COORDINATES
    | CU_TRSF_SRGB
    | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION
    | CU_TRSF_SEAMLESS_CUBEMAP;

/// The memory that a texture reference reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    Array(CUarray),
    Mipmap(CUmipmappedArray),
    /// An address and a number of bytes.
    Linear(CUdeviceptr, usize),
    /// An address, a width and a height in texels, and the bytes per row.
    Pitched(CUdeviceptr, [usize; 2], usize),
}

// SAFETY: the handles and addresses are only numbers here, and aren't dereferenced.
unsafe impl Send for Source {}

/// The properties of a texture reference.
#[derive(Clone, Copy, Debug)]
pub struct TextureState {
    pub source: Option<Source>,
    pub format: CUarray_format,
    pub channels: u32,
    pub texture: CUDA_TEXTURE_DESC,
}

impl Default for TextureState {
    fn default() -> Self {
        Self {
            source: None,
            format: CUarray_format::CU_AD_FORMAT_FLOAT,
            channels: 1,
            texture: CUDA_TEXTURE_DESC::default(),
        }
    }
}

fn require(valid: bool) -> CuResult {
    if valid { Ok(()) } else { Err(CuError::INVALID_VALUE) }
}

impl TextureState {
    /// Sets the format of the texels.
    pub fn set_format(&mut self, format: CUarray_format, channels: u32) -> CuResult {
        require(element_size(format, channels).is_some())?;
        (self.format, self.channels) = (format, channels);
        Ok(())
    }

    /// Binds linear memory. The address must be aligned.
    pub fn set_linear(&mut self, address: CUdeviceptr, bytes: usize) -> CuResult {
        require(address != 0 && bytes > 0)?;
        self.source = Some(Source::Linear(address, bytes));
        Ok(())
    }

    /// Binds rows of texels.
    pub fn set_pitched(
        &mut self,
        array: &CUDA_ARRAY_DESCRIPTOR,
        address: CUdeviceptr,
        pitch: usize,
    ) -> CuResult {
        require(address != 0 && array.Width > 0 && array.Height > 0)?;
        self.set_format(array.Format, array.NumChannels)?;
        self.source = Some(Source::Pitched(address, [array.Width, array.Height], pitch));
        Ok(())
    }

    /// Sets how a coordinate outside the texture selects a texel.
    pub fn set_address_mode(&mut self, dimension: i32, mode: CUaddress_mode) -> CuResult {
        require(mode.0 <= CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER.0)?;
        *self.address_mode(dimension)? = mode;
        Ok(())
    }

    /// Returns the address mode of a dimension.
    pub fn address_mode(&mut self, dimension: i32) -> CuResult<&mut CUaddress_mode> {
        let dimension = usize::try_from(dimension).ok();
        let mode = dimension.and_then(|index| self.texture.addressMode.get_mut(index));
        mode.ok_or(CuError::INVALID_VALUE)
    }

    /// Sets the filter between texels or, with `levels`, between levels.
    pub fn set_filter(&mut self, mode: CUfilter_mode, levels: bool) -> CuResult {
        require(mode.0 <= CUfilter_mode::CU_TR_FILTER_MODE_LINEAR.0)?;
        match levels {
            true => self.texture.mipmapFilterMode = mode,
            false => self.texture.filterMode = mode,
        }
        Ok(())
    }

    /// Sets the flags.
    pub fn set_flags(&mut self, flags: u32) -> CuResult {
        require(flags & !FLAGS == 0)?;
        self.texture.flags = flags;
        Ok(())
    }

    /// Describes the memory that the reference reads, if it's bound.
    pub fn resource(&self) -> Option<CUDA_RESOURCE_DESC> {
        let mut res = Resource { reserved: Reserved { reserved: [0; 32] } };
        let (format, channels) = (self.format, self.channels);
        let kind = match self.source? {
            Source::Array(array) => {
                res.array = OfArray { hArray: array };
                Kind::CU_RESOURCE_TYPE_ARRAY
            }
            Source::Mipmap(mipmap) => {
                res.mipmap = OfMipmap { hMipmappedArray: mipmap };
                Kind::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY
            }
            Source::Linear(address, bytes) => {
                res.linear =
                    Linear { devPtr: address, format, numChannels: channels, sizeInBytes: bytes };
                Kind::CU_RESOURCE_TYPE_LINEAR
            }
            Source::Pitched(address, [width, height], pitch) => {
                res.pitch2D = Pitched {
                    devPtr: address,
                    format,
                    numChannels: channels,
                    width,
                    height,
                    pitchInBytes: pitch,
                };
                Kind::CU_RESOURCE_TYPE_PITCH2D
            }
        };
        Some(CUDA_RESOURCE_DESC { resType: kind, res, flags: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_checked() {
        let (mut state, invalid) = (TextureState::default(), Err(CuError::INVALID_VALUE));
        assert_eq!(state.set_format(CUarray_format::CU_AD_FORMAT_FLOAT, 3), invalid);
        assert_eq!(state.set_address_mode(7, CUaddress_mode(0)), invalid);
        assert_eq!(state.set_address_mode(-1, CUaddress_mode(0)), invalid);
        assert_eq!(state.set_address_mode(0, CUaddress_mode(4)), invalid);
        assert_eq!(state.set_filter(CUfilter_mode(2), false), invalid);
        assert_eq!(state.set_flags(4), invalid);
        assert!(state.resource().is_none());
        state.set_address_mode(2, CUaddress_mode(3)).unwrap();
        assert_eq!(state.address_mode(2).copied(), Ok(CUaddress_mode(3)));
        state.set_linear(512, 64).unwrap();
        assert_eq!(state.resource().map(|r| r.resType), Some(Kind::CU_RESOURCE_TYPE_LINEAR));
    }
}
