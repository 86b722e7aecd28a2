//! Texture references and surface references. cuda-api has the entry points.

use crate::context::{self, current};
use crate::driver::driver;
use crate::entry::arrays::array;
use crate::entry::arrays::texture::{texture_words, wire};
use crate::entry::macros::EntryPoint;
use crate::error::CuResult;
use crate::graph::Guest;
use crate::handles::Handle;
use crate::objects::{Function, Mipmap, Module};
use cuda_api::sys::{
    CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC, CUarray, CUarray_format, CUdevice_attribute, CUfunction,
    CUmipmappedArray, CUmodule,
};
use cuda_api::texture_refs::library::{Key, Library};
use protocol::calls::{
    VcudaModuleGetSurfRef, VcudaModuleGetTexRef, VcudaSurfRefBind, VcudaTexRefBind,
};
use protocol::ids::{SurfRefId, TexRefId};
use std::sync::Arc;

cuda_api::texture_ref_entries!(Guest, EntryPoint);

impl Library for Guest {
    fn ready() -> CuResult {
        context::driver().map(drop)
    }

    fn find_texture(module: CUmodule, name: &str) -> CuResult<Key> {
        let driver = driver()?;
        let module: Arc<Module> = driver.handles.get(module as Handle)?;
        let texref: TexRefId = driver.session.mint();
        driver.session.call(&VcudaModuleGetTexRef { texref, hmod: module.id, name })?;
        Ok(texref.0)
    }

    fn find_surface(module: CUmodule, name: &str) -> CuResult<Key> {
        let driver = driver()?;
        let module: Arc<Module> = driver.handles.get(module as Handle)?;
        let surfref: SurfRefId = driver.session.mint();
        driver.session.call(&VcudaModuleGetSurfRef { surfref, hmod: module.id, name })?;
        Ok(surfref.0)
    }

    fn array_format(array: CUarray) -> CuResult<(CUarray_format, u32)> {
        let descriptor = array::find(driver()?, array as Handle)?.descriptor;
        Ok((descriptor.Format, descriptor.NumChannels))
    }

    fn mipmap_format(mipmap: CUmipmappedArray) -> CuResult<(CUarray_format, u32)> {
        let mipmap: Arc<Mipmap> = driver()?.handles.get(mipmap as Handle)?;
        Ok((mipmap.descriptor.Format, mipmap.descriptor.NumChannels))
    }

    fn alignment() -> CuResult<u64> {
        let which = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT;
        let alignment = driver()?.device(current()?.device)?.attribute(which.0)?;
        Ok(alignment.max(1) as u64)
    }

    fn check_function(function: CUfunction) -> CuResult {
        driver()?.handles.get::<Arc<Function>>(function as Handle).map(drop)
    }

    fn bind(key: Key, resource: &CUDA_RESOURCE_DESC, texture: &CUDA_TEXTURE_DESC) -> CuResult {
        let driver = driver()?;
        let resource = wire(driver, resource)?;
        let texture = texture_words(texture);
        driver.session.call(&VcudaTexRefBind { texref: TexRefId(key), resource, texture })
    }

    fn bind_surface(key: Key, array: CUarray) -> CuResult {
        let driver = driver()?;
        let array = array::find(driver, array as Handle)?.id;
        driver.session.call(&VcudaSurfRefBind { surfref: SurfRefId(key), array })
    }
}
