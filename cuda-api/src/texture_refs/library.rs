//! The part of texture and surface references that each libcuda implements itself.

use crate::error::CuResult;
use crate::sys::{
    CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC, CUarray, CUarray_format, CUfunction, CUmipmappedArray,
    CUmodule,
};

/// The number by which the library identifies a reference of a module.
pub type Key = u64;

/// The functions that a libcuda provides for texture and surface references.
pub trait Library {
    /// Fails unless there is a usable current context.
    fn ready() -> CuResult;

    /// Finds a texture reference of a module. Fails with CUDA_ERROR_NOT_FOUND if there is none.
    fn find_texture(module: CUmodule, name: &str) -> CuResult<Key>;

    /// Finds a surface reference of a module. Fails with CUDA_ERROR_NOT_FOUND if there is none.
    fn find_surface(module: CUmodule, name: &str) -> CuResult<Key>;

    /// Returns the format of an array and its number of channels.
    fn array_format(array: CUarray) -> CuResult<(CUarray_format, u32)>;

    /// Returns the format of a mipmapped array and its number of channels.
    fn mipmap_format(mipmap: CUmipmappedArray) -> CuResult<(CUarray_format, u32)>;

    /// Returns the alignment in bytes that a texture's address must have.
    fn alignment() -> CuResult<u64>;

    /// Fails unless this is the handle of a function.
    fn check_function(function: CUfunction) -> CuResult;

    /// Makes later launches use a texture reference with these properties.
    fn bind(key: Key, resource: &CUDA_RESOURCE_DESC, texture: &CUDA_TEXTURE_DESC) -> CuResult;

    /// Makes later launches use a surface reference with this array.
    fn bind_surface(key: Key, array: CUarray) -> CuResult;
}
