//! Checks the descriptions of textures and surfaces, and converts them to the form that the
//! interpreter uses.

use cuda_api::arrays::{Extent, element_size, level};
use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::{
    CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION, CU_TRSF_NORMALIZED_COORDINATES,
    CU_TRSF_READ_AS_INTEGER, CU_TRSF_SEAMLESS_CUBEMAP, CU_TRSF_SRGB, CUDA_ARRAY3D_CUBEMAP,
    CUDA_ARRAY3D_DESCRIPTOR, CUDA_ARRAY3D_LAYERED, CUDA_ARRAY3D_SURFACE_LDST, CUDA_RESOURCE_DESC,
    CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUaddress_mode, CUarray_format as F, CUfilter_mode,
    CUresourceViewFormat, CUresourcetype,
};

use crate::exec::texture::coordinate::Wrap;
use crate::exec::texture::format::{Channel, Conversion, Format};
use crate::exec::texture::object::{Image, Texture};
use crate::state::array::{ARRAYS, MIPMAPS};
use crate::state::memory;
use crate::state::texture::Source;

/// Maximum width and height of a texture in pitched linear memory, in texels, on compute capability
/// 9.0.
const MAX_PITCHED: [u64; 2] = [131_072, 65_000];
const MAX_PITCH: u64 = 2_097_120;
/// Required alignment of the address of linear memory, in bytes, as the device's attributes report
/// it.
pub(super) const ALIGNMENT: u64 = 512;
const PITCH_ALIGNMENT: u64 = 32;

/// A resource whose description has been checked.
pub(super) struct Resolved {
    pub(super) source: Source,
    /// The levels of a mipmapped array, or one element for other resources.
    pub(super) levels: Vec<Image>,
    /// The properties of the array, or `None` for linear memory.
    array: Option<CUDA_ARRAY3D_DESCRIPTOR>,
    kind: CUresourcetype,
}

fn require(valid: bool) -> CuResult {
    if valid { Ok(()) } else { Err(CuError::INVALID_VALUE) }
}

fn format(format: F, channels: u32) -> CuResult<Format> {
    let channel = match format {
        F::CU_AD_FORMAT_UNSIGNED_INT8 => Channel::U8,
        F::CU_AD_FORMAT_UNSIGNED_INT16 => Channel::U16,
        F::CU_AD_FORMAT_UNSIGNED_INT32 => Channel::U32,
        F::CU_AD_FORMAT_SIGNED_INT8 => Channel::S8,
        F::CU_AD_FORMAT_SIGNED_INT16 => Channel::S16,
        F::CU_AD_FORMAT_SIGNED_INT32 => Channel::S32,
        F::CU_AD_FORMAT_HALF => Channel::F16,
        F::CU_AD_FORMAT_FLOAT => Channel::F32,
        _ => return Err(CuError::INVALID_VALUE),
    };
    require(element_size(format, channels).is_some())?;
    Ok(Format { channel, count: channels as u8 })
}

/// Returns the properties with which the interpreter accesses an array's elements, which start at
/// an address.
fn image(array: &CUDA_ARRAY3D_DESCRIPTOR, address: u64) -> CuResult<Image> {
    let extent = Extent::of(array).ok_or(CuError::INVALID_VALUE)?;
    Ok(Image {
        address,
        format: format(array.Format, array.NumChannels)?,
        width: array.Width as u32,
        height: extent.height as u32,
        depth: extent.depth as u32,
        layered: array.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP) != 0,
        pitch: extent.width,
        slice: extent.width * extent.height,
    })
}

/// Describes rows of texels in memory that a program has allocated. As in NVIDIA's driver, the rows
/// may extend beyond the allocation. A kernel that reads outside the allocation fails.
fn linear(format: Format, address: u64, [width, height]: [u64; 2], pitch: u64) -> CuResult<Image> {
    let row = width.checked_mul(format.bytes() as u64).ok_or(CuError::INVALID_VALUE)?;
    require(address.is_multiple_of(ALIGNMENT) && pitch >= row && memory::accessible(address, 1))?;
    let width = u32::try_from(width.max(1)).unwrap_or(u32::MAX);
    let height = height.max(1) as u32;
    Ok(Image { address, format, width, height, depth: 1, layered: false, pitch, slice: 0 })
}

/// Checks the description of a resource.
pub(super) fn resource(resource: &CUDA_RESOURCE_DESC) -> CuResult<Resolved> {
    require(resource.flags == 0)?;
    let (res, invalid) = (&resource.res, CuError::INVALID_VALUE);
    let kind = resource.resType;
    // SAFETY: the union's members consist of integers and handles, so every bit pattern is valid.
    // The program initializes the member that the type selects.
    let (source, levels, array) = unsafe {
        match kind {
            CUresourcetype::CU_RESOURCE_TYPE_ARRAY => {
                let handle = res.array.hArray as usize;
                let array = ARRAYS.get(handle).ok_or(invalid)?;
                let level = image(&array.descriptor, array.address()?)?;
                (Source::Array(handle), vec![level], Some(array.descriptor))
            }
            CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
                let handle = res.mipmap.hMipmappedArray as usize;
                let mipmap = MIPMAPS.get(handle).ok_or(invalid)?;
                require(mipmap.levels.iter().all(|address| *address != 0))?;
                let levels = mipmap.levels.iter().zip(0..);
                let levels = levels.map(|(at, number)| image(&level(&mipmap.first, number), *at));
                let levels = levels.collect::<CuResult<Vec<_>>>()?;
                (Source::Mipmap(handle), levels, Some(mipmap.first))
            }
            CUresourcetype::CU_RESOURCE_TYPE_LINEAR => {
                let described = res.linear;
                let format = format(described.format, described.numChannels)?;
                let width = described.sizeInBytes as u64 / format.bytes() as u64;
                let pitch = width * format.bytes() as u64;
                let level = linear(format, described.devPtr, [width, 1], pitch)?;
                (Source::Memory, vec![level], None)
            }
            CUresourcetype::CU_RESOURCE_TYPE_PITCH2D => {
                let described = res.pitch2D;
                let format = format(described.format, described.numChannels)?;
                let size = [described.width as u64, described.height as u64];
                let pitch = described.pitchInBytes as u64;
                require(size[0] <= MAX_PITCHED[0] && size[1] <= MAX_PITCHED[1])?;
                require(pitch <= MAX_PITCH && pitch.is_multiple_of(PITCH_ALIGNMENT))?;
                let level = linear(format, described.devPtr, size, pitch)?;
                (Source::Memory, vec![level], None)
            }
            _ => return Err(invalid),
        }
    };
    Ok(Resolved { source, levels, array, kind })
}

/// Checks the description of a surface's resource.
pub(super) fn surface(described: &CUDA_RESOURCE_DESC) -> CuResult<Resolved> {
    require(described.resType == CUresourcetype::CU_RESOURCE_TYPE_ARRAY)?;
    let resolved = resource(described)?;
    let flags = resolved.array.map_or(0, |array| array.Flags);
    require(flags & CUDA_ARRAY3D_SURFACE_LDST != 0)?;
    Ok(resolved)
}

/// Returns the format of a resource view. Rejects CU_RES_VIEW_FORMAT_NONE, as NVIDIA's driver does,
/// although the header defines it as the resource's own format.
fn view_format(view: CUresourceViewFormat, own: Format) -> CuResult<Format> {
    const CHANNELS: [Channel; 8] = [
        Channel::U8,
        Channel::S8,
        Channel::U16,
        Channel::S16,
        Channel::U32,
        Channel::S32,
        Channel::F16,
        Channel::F32,
    ];
    require(view != CUresourceViewFormat::CU_RES_VIEW_FORMAT_NONE)?;
    require(view.0 <= CUresourceViewFormat::CU_RES_VIEW_FORMAT_UNSIGNED_BC7.0)?;
    // For each channel type, there are three consecutive formats, with 1, 2, and 4 components. The
    // compressed formats follow at the end.
    let index = view.0 as usize - 1;
    let channel = *CHANNELS.get(index / 3).ok_or(CuError::NOT_SUPPORTED)?;
    let format = Format { channel, count: [1, 2, 4][index % 3] };
    require(format.bytes() == own.bytes())?;
    Ok(format)
}

/// Restricts an array to the part that a view describes. Views of memory have no effect.
fn restrict(resolved: &mut Resolved, view: &CUDA_RESOURCE_VIEW_DESC) -> CuResult {
    let Some(array) = resolved.array else { return Ok(()) };
    let first = resolved.levels[0];
    let format = view_format(view.format, first.format)?;
    require([view.width, view.height, view.depth] == [array.Width, array.Height, array.Depth])?;
    let (low, high) = (view.firstMipmapLevel as usize, view.lastMipmapLevel as usize);
    require(low <= high && high < resolved.levels.len())?;
    // NVIDIA's driver doesn't check the last layer, so limit it instead of failing.
    let last = view.lastLayer.min(first.depth.saturating_sub(1));
    require(view.firstLayer <= last)?;
    resolved.levels = resolved.levels[low..=high].to_vec();
    for level in &mut resolved.levels {
        level.format = format;
        if level.layered {
            level.address += u64::from(view.firstLayer) * level.slice;
            level.depth = last - view.firstLayer + 1;
        }
    }
    Ok(())
}

fn wrap(mode: CUaddress_mode, normalized: bool) -> CuResult<Wrap> {
    Ok(match mode {
        CUaddress_mode::CU_TR_ADDRESS_MODE_WRAP if normalized => Wrap::Repeat,
        CUaddress_mode::CU_TR_ADDRESS_MODE_MIRROR if normalized => Wrap::Mirror,
        CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER => Wrap::Border,
        // Wrap and mirror modes require normalized coordinates. Without them, the texture clamps.
        CUaddress_mode(0..=2) => Wrap::Clamp,
        _ => return Err(CuError::INVALID_VALUE),
    })
}

fn is_linear(mode: CUfilter_mode) -> CuResult<bool> {
    require(mode.0 <= CUfilter_mode::CU_TR_FILTER_MODE_LINEAR.0)?;
    Ok(mode == CUfilter_mode::CU_TR_FILTER_MODE_LINEAR)
}

/// Checks the description of a texture object, and creates the object that kernels use.
pub(super) fn texture(
    mut resolved: Resolved,
    described: &CUDA_TEXTURE_DESC,
    view: Option<&CUDA_RESOURCE_VIEW_DESC>,
) -> CuResult<Texture> {
    const FLAGS: u32 = CU_TRSF_READ_AS_INTEGER
        | CU_TRSF_NORMALIZED_COORDINATES
        | CU_TRSF_SRGB
        | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION
        | CU_TRSF_SEAMLESS_CUBEMAP;
    let is = |flag: u32| described.flags & flag != 0;
    require(described.flags & !FLAGS == 0)?;
    if let Some(view) = view {
        restrict(&mut resolved, view)?;
    }
    let (levels, kind) = (resolved.levels, resolved.kind);
    let channel = levels[0].format.channel;
    let conversion = match (is(CU_TRSF_READ_AS_INTEGER), is(CU_TRSF_SRGB)) {
        (true, _) => Conversion::Integer,
        (false, true) => Conversion::Srgb,
        (false, false) => Conversion::Normalized,
    };
    let mut texture = Texture {
        levels,
        conversion,
        wraps: [Wrap::Border; 3],
        normalized: false,
        linear: false,
        linear_levels: false,
        bias: described.mipmapLevelBias,
        min_level: described.minMipmapLevelClamp,
        max_level: described.maxMipmapLevelClamp,
        border: [0; 4],
    };
    if kind == CUresourcetype::CU_RESOURCE_TYPE_LINEAR {
        // Address modes and filters don't apply to linear memory. A fetch outside a linear texture
        // returns zeros.
        return Ok(texture);
    }
    texture.normalized = is(CU_TRSF_NORMALIZED_COORDINATES);
    texture.border = described.borderColor.map(f32::to_bits);
    texture.linear = is_linear(described.filterMode)?;
    for (to, mode) in texture.wraps.iter_mut().zip(described.addressMode) {
        *to = wrap(mode, texture.normalized)?;
    }
    if kind == CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY {
        texture.linear_levels = is_linear(described.mipmapFilterMode)?;
    }
    let filtered = texture.linear || texture.linear_levels;
    require(!filtered || channel.is_float(conversion))?;
    if is(CU_TRSF_SEAMLESS_CUBEMAP) {
        require(resolved.array.is_some_and(|array| array.Flags & CUDA_ARRAY3D_CUBEMAP != 0))?;
        if texture.linear {
            return Err(CuError::NOT_SUPPORTED);
        }
    }
    Ok(texture)
}
