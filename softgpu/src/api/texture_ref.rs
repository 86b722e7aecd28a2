//! Texture references and surface references. cuda-api has the entry points.

use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::{
    CUDA_RESOURCE_DESC, CUDA_RESOURCE_DESC_st__bindgen_ty_1 as Resource,
    CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1 as OfArray,
    CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5 as Reserved, CUDA_TEXTURE_DESC, CUarray,
    CUarray_format, CUfunction, CUmipmappedArray, CUmodule, CUresourcetype,
};
use cuda_api::texture_refs::library::{Key, Library};

use super::entry::EntryPoint;
use super::{module, texture_desc};
use crate::ptx::declaration::Reference;
use crate::state::array::{ARRAYS, MIPMAPS};
use crate::state::context::{current, object};
use crate::state::module::MODULES;
use crate::state::texture::{bind_surface, bind_texture, unbind};

/// The type that implements [`Library`].
struct Softgpu;

cuda_api::texture_ref_entries!(Softgpu, EntryPoint);

fn find(module: CUmodule, name: &str, kind: Reference) -> CuResult<Key> {
    let module = MODULES.get(module as usize).ok_or(CuError::INVALID_HANDLE)?;
    module.reference(name, kind).ok_or(CuError::NOT_FOUND)
}

impl Library for Softgpu {
    fn ready() -> CuResult {
        current().map(drop)
    }

    fn find_texture(module: CUmodule, name: &str) -> CuResult<Key> {
        find(module, name, Reference::Texture)
    }

    fn find_surface(module: CUmodule, name: &str) -> CuResult<Key> {
        find(module, name, Reference::Surface)
    }

    fn array_format(array: CUarray) -> CuResult<(CUarray_format, u32)> {
        let array = object(&ARRAYS, array as usize)?;
        Ok((array.descriptor.Format, array.descriptor.NumChannels))
    }

    fn mipmap_format(mipmap: CUmipmappedArray) -> CuResult<(CUarray_format, u32)> {
        let mipmap = object(&MIPMAPS, mipmap as usize)?;
        Ok((mipmap.first.Format, mipmap.first.NumChannels))
    }

    fn alignment() -> CuResult<u64> {
        Ok(texture_desc::ALIGNMENT)
    }

    fn check_function(function: CUfunction) -> CuResult {
        module::function(function.cast()).map(drop)
    }

    fn bind(key: Key, resource: &CUDA_RESOURCE_DESC, texture: &CUDA_TEXTURE_DESC) -> CuResult {
        let resolved = texture_desc::resource(resource)?;
        let source = resolved.source;
        // Kernels that are already launched use the old properties, so wait until they have
        // finished.
        current()?.synchronize();
        match texture_desc::texture(resolved, texture, None) {
            Ok(texture) => bind_texture(key, source, texture),
            // A program sets the properties of a reference one after another, so they may not be
            // valid together yet. Until they are, kernels that use the reference fail.
            Err(_) => unbind(key),
        }
        Ok(())
    }

    fn bind_surface(key: Key, array: CUarray) -> CuResult {
        let mut res = Resource { reserved: Reserved { reserved: [0; 32] } };
        res.array = OfArray { hArray: array };
        let kind = CUresourcetype::CU_RESOURCE_TYPE_ARRAY;
        let described = CUDA_RESOURCE_DESC { resType: kind, res, flags: 0 };
        let resolved = texture_desc::surface(&described)?;
        current()?.synchronize();
        bind_surface(key, resolved.source, resolved.levels[0]);
        Ok(())
    }
}
