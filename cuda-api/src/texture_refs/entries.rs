//! The entry points for texture references and surface references.

use super::library::Library;
use super::registry::{change, state};
use super::state::Source;
use crate::args::{In, Out};
use crate::error::{CuError, CuResult};
use crate::sys::{
    CU_TRSA_OVERRIDE_FORMAT, CUDA_ARRAY_DESCRIPTOR, CUarray, CUdeviceptr, CUmipmappedArray,
    CUtexref,
};

fn check_override(flags: u32) -> CuResult {
    if flags == CU_TRSA_OVERRIDE_FORMAT { Ok(()) } else { Err(CuError::INVALID_VALUE) }
}

/// Implements `cuTexRefSetArray`.
pub fn set_array<L: Library>(texture: CUtexref, array: CUarray, flags: u32) -> CuResult {
    check_override(flags)?;
    L::ready()?;
    let (format, channels) = L::array_format(array)?;
    change::<L>(texture, |state| {
        state.source = Some(Source::Array(array));
        state.set_format(format, channels)
    })
}

/// Implements `cuTexRefSetMipmappedArray`.
pub fn set_mipmap<L: Library>(texture: CUtexref, mipmap: CUmipmappedArray, flags: u32) -> CuResult {
    check_override(flags)?;
    L::ready()?;
    let (format, channels) = L::mipmap_format(mipmap)?;
    change::<L>(texture, |state| {
        state.source = Some(Source::Mipmap(mipmap));
        state.set_format(format, channels)
    })
}

/// Implements `cuTexRefSetAddress`. If the address isn't aligned, the reference begins before it,
/// and the program must add the offset to its coordinates.
pub fn set_address<L: Library>(
    offset: Out<usize>,
    texture: CUtexref,
    address: CUdeviceptr,
    bytes: usize,
) -> CuResult {
    L::ready()?;
    let before = address % L::alignment()?;
    if before != 0 {
        offset.check()?;
    }
    let len = bytes.checked_add(before as usize).filter(|_| bytes > 0);
    let len = len.ok_or(CuError::INVALID_VALUE)?;
    change::<L>(texture, |state| state.set_linear(address - before, len))?;
    offset.set_if_wanted(before as usize);
    Ok(())
}

/// Implements `cuTexRefSetAddress2D`.
pub fn set_address_2d<L: Library>(
    texture: CUtexref,
    array: In<CUDA_ARRAY_DESCRIPTOR>,
    address: CUdeviceptr,
    pitch: usize,
) -> CuResult {
    L::ready()?;
    let array = array.get()?;
    if !address.is_multiple_of(L::alignment()?) {
        return Err(CuError::INVALID_VALUE);
    }
    change::<L>(texture, |state| state.set_pitched(&array, address, pitch))
}

/// Returns the memory that a texture reference reads.
pub fn source<L: Library>(texture: CUtexref) -> CuResult<Source> {
    state::<L>(texture)?.source.ok_or(CuError::INVALID_VALUE)
}

/// Exports the entry points of texture and surface references. The arguments are the [`Library`]
/// and its [`EntryPoint`](crate::entries::EntryPoint).
#[macro_export]
macro_rules! texture_ref_entries {
    ($library:ty, $entry_point:ty) => {
        use $crate::args::{In, Out, Text};
        use $crate::error::CuError as Error;
        use $crate::sys;
        use $crate::texture_refs::entries::{
            set_address, set_address_2d, set_array, set_mipmap, source,
        };
        use $crate::texture_refs::registry;
        use $crate::texture_refs::registry::{change, state};
        use $crate::texture_refs::state::Source;

        $crate::entries! { $entry_point;
            fn cuModuleGetTexRef(to: Out<sys::CUtexref>, module: sys::CUmodule, name: Text) {
                to.check()?;
                to.set(registry::texture_of::<$library>(module, name.name()?)?)
            }
            fn cuModuleGetSurfRef(to: Out<sys::CUsurfref>, module: sys::CUmodule, name: Text) {
                to.check()?;
                to.set(registry::surface_of::<$library>(module, name.name()?)?)
            }
            fn cuTexRefCreate(to: Out<sys::CUtexref>) {
                to.check()?;
                to.set(registry::create::<$library>()?)
            }
            fn cuTexRefDestroy(texture: sys::CUtexref) {
                registry::destroy::<$library>(texture)
            }
            /// Checks the arguments and has no other effect. Kernels name the texture references
            /// that they use, so a function needs no list of them.
            fn cuParamSetTexRef(function: sys::CUfunction, unit: i32, texture: sys::CUtexref) {
                <$library as $crate::texture_refs::library::Library>::check_function(function)?;
                let can_use = registry::is_named::<$library>(texture)?;
                let is_default = unit == sys::CU_PARAM_TR_DEFAULT;
                if can_use && is_default { Ok(()) } else { Err(Error::INVALID_VALUE) }
            }
            fn cuTexRefSetArray(texture: sys::CUtexref, array: sys::CUarray, flags: u32) {
                set_array::<$library>(texture, array, flags)
            }
            fn cuTexRefSetMipmappedArray(
                texture: sys::CUtexref, mipmap: sys::CUmipmappedArray, flags: u32,
            ) {
                set_mipmap::<$library>(texture, mipmap, flags)
            }
            fn cuTexRefSetAddress_v2(
                offset: Out<usize>, texture: sys::CUtexref, address: sys::CUdeviceptr, bytes: usize,
            ) {
                set_address::<$library>(offset, texture, address, bytes)
            }
            fn cuTexRefSetAddress2D_v2(
                texture: sys::CUtexref, array: In<sys::CUDA_ARRAY_DESCRIPTOR>,
                address: sys::CUdeviceptr, pitch: usize,
            ) {
                set_address_2d::<$library>(texture, array, address, pitch)
            }
            fn cuTexRefSetAddress2D_v3(
                texture: sys::CUtexref, array: In<sys::CUDA_ARRAY_DESCRIPTOR>,
                address: sys::CUdeviceptr, pitch: usize,
            ) {
                set_address_2d::<$library>(texture, array, address, pitch)
            }
            fn cuTexRefSetFormat(
                texture: sys::CUtexref, format: sys::CUarray_format, channels: i32,
            ) {
                let channels = u32::try_from(channels).map_err(|_| Error::INVALID_VALUE)?;
                change::<$library>(texture, |state| state.set_format(format, channels))
            }
            fn cuTexRefSetAddressMode(
                texture: sys::CUtexref, dimension: i32, mode: sys::CUaddress_mode,
            ) {
                change::<$library>(texture, |state| state.set_address_mode(dimension, mode))
            }
            fn cuTexRefSetFilterMode(texture: sys::CUtexref, mode: sys::CUfilter_mode) {
                change::<$library>(texture, |state| state.set_filter(mode, false))
            }
            fn cuTexRefSetMipmapFilterMode(texture: sys::CUtexref, mode: sys::CUfilter_mode) {
                change::<$library>(texture, |state| state.set_filter(mode, true))
            }
            fn cuTexRefSetMipmapLevelBias(texture: sys::CUtexref, bias: f32) {
                change::<$library>(texture, |state| {
                    state.texture.mipmapLevelBias = bias;
                    Ok(())
                })
            }
            fn cuTexRefSetMipmapLevelClamp(texture: sys::CUtexref, least: f32, most: f32) {
                change::<$library>(texture, |state| {
                    state.texture.minMipmapLevelClamp = least;
                    state.texture.maxMipmapLevelClamp = most;
                    Ok(())
                })
            }
            fn cuTexRefSetMaxAnisotropy(texture: sys::CUtexref, most: u32) {
                change::<$library>(texture, |state| {
                    state.texture.maxAnisotropy = most;
                    Ok(())
                })
            }
            fn cuTexRefSetBorderColor(texture: sys::CUtexref, color: Out<f32>) {
                // SAFETY: the program passes a pointer to four numbers.
                let color = unsafe { color.cast::<[f32; 4]>() }.read()?;
                change::<$library>(texture, |state| {
                    state.texture.borderColor = color;
                    Ok(())
                })
            }
            fn cuTexRefSetFlags(texture: sys::CUtexref, flags: u32) {
                change::<$library>(texture, |state| state.set_flags(flags))
            }
            fn cuTexRefGetAddress_v2(to: Out<sys::CUdeviceptr>, texture: sys::CUtexref) {
                match source::<$library>(texture)? {
                    Source::Linear(address, _) | Source::Pitched(address, ..) => {
                        to.set_if_wanted(address);
                        Ok(())
                    }
                    _ => Err(Error::INVALID_VALUE),
                }
            }
            fn cuTexRefGetArray(to: Out<sys::CUarray>, texture: sys::CUtexref) {
                match source::<$library>(texture)? {
                    Source::Array(array) => to.set(array),
                    _ => Err(Error::INVALID_VALUE),
                }
            }
            fn cuTexRefGetMipmappedArray(
                to: Out<sys::CUmipmappedArray>, texture: sys::CUtexref,
            ) {
                match source::<$library>(texture)? {
                    Source::Mipmap(mipmap) => to.set(mipmap),
                    _ => Err(Error::INVALID_VALUE),
                }
            }
            fn cuTexRefGetAddressMode(
                to: Out<sys::CUaddress_mode>, texture: sys::CUtexref, dimension: i32,
            ) {
                to.set(*state::<$library>(texture)?.address_mode(dimension)?)
            }
            fn cuTexRefGetFilterMode(to: Out<sys::CUfilter_mode>, texture: sys::CUtexref) {
                to.set(state::<$library>(texture)?.texture.filterMode)
            }
            fn cuTexRefGetFormat(
                to: Out<sys::CUarray_format>, channels: Out<i32>, texture: sys::CUtexref,
            ) {
                let state = state::<$library>(texture)?;
                to.set_if_wanted(state.format);
                channels.set_if_wanted(state.channels as i32);
                Ok(())
            }
            fn cuTexRefGetMipmapFilterMode(to: Out<sys::CUfilter_mode>, texture: sys::CUtexref) {
                to.set(state::<$library>(texture)?.texture.mipmapFilterMode)
            }
            fn cuTexRefGetMipmapLevelBias(to: Out<f32>, texture: sys::CUtexref) {
                to.set(state::<$library>(texture)?.texture.mipmapLevelBias)
            }
            fn cuTexRefGetMipmapLevelClamp(
                least: Out<f32>, most: Out<f32>, texture: sys::CUtexref,
            ) {
                let texture = state::<$library>(texture)?.texture;
                most.check()?;
                least.set(texture.minMipmapLevelClamp)?;
                most.set(texture.maxMipmapLevelClamp)
            }
            fn cuTexRefGetMaxAnisotropy(to: Out<i32>, texture: sys::CUtexref) {
                to.set(state::<$library>(texture)?.texture.maxAnisotropy as i32)
            }
            fn cuTexRefGetBorderColor(to: Out<f32>, texture: sys::CUtexref) {
                // SAFETY: the program passes a pointer to four numbers.
                let to = unsafe { to.cast::<[f32; 4]>() };
                to.set(state::<$library>(texture)?.texture.borderColor)
            }
            fn cuTexRefGetFlags(to: Out<u32>, texture: sys::CUtexref) {
                to.set(state::<$library>(texture)?.texture.flags)
            }
            fn cuSurfRefSetArray(surface: sys::CUsurfref, array: sys::CUarray, flags: u32) {
                if flags != 0 {
                    return Err(Error::INVALID_VALUE);
                }
                registry::set_surface::<$library>(surface, array)
            }
            fn cuSurfRefGetArray(to: Out<sys::CUarray>, surface: sys::CUsurfref) {
                to.check()?;
                to.set(registry::surface::<$library>(surface)?)
            }
        }
    };
}
