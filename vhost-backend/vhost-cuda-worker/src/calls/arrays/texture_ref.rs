//! Calls for texture references and surface references, which belong to modules.

use cuda_api::sys::{
    CU_TRSA_OVERRIDE_FORMAT, CUDA_ARRAY_DESCRIPTOR, CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC,
    CUresourcetype, CUtexref,
};
use protocol::calls as api;

use crate::calls::arrays::texture::checked;
use crate::calls::code::image::c_name;
use crate::calls::commands::cx::Cx;
use crate::calls::lock;
use crate::calls::tables::claims::{SURFREFS, TEXREFS, claim};
use crate::calls::tables::handles::OfModule;
use crate::driver::{CuError, CuResult};

pub(in crate::calls) fn vcuda_module_get_tex_ref(
    cx: &Cx<'_>,
    call: api::VcudaModuleGetTexRef<'_>,
) -> CuResult {
    cx.enter()?;
    let (name, id) = (c_name(call.name)?, claim(cx, TEXREFS, call.texref)?);
    let module = lock(&cx.shared.tables).modules.get(call.hmod)?.clone();
    let mut texture = std::ptr::null_mut();
    // SAFETY: the module is live, because objects that a call has looked up aren't destroyed before
    // the call ends (`tables/uses.rs`). The other pointers are to local variables.
    unsafe { cx.driver().cuModuleGetTexRef(&mut texture, module.real.0, name.as_ptr())? };
    id.list(OfModule::new(texture, (call.hmod, &module)));
    Ok(())
}

pub(in crate::calls) fn vcuda_module_get_surf_ref(
    cx: &Cx<'_>,
    call: api::VcudaModuleGetSurfRef<'_>,
) -> CuResult {
    cx.enter()?;
    let (name, id) = (c_name(call.name)?, claim(cx, SURFREFS, call.surfref)?);
    let module = lock(&cx.shared.tables).modules.get(call.hmod)?.clone();
    let mut surface = std::ptr::null_mut();
    // SAFETY: the module is live, because objects that a call has looked up aren't destroyed before
    // the call ends (`tables/uses.rs`). The other pointers are to local variables.
    unsafe { cx.driver().cuModuleGetSurfRef(&mut surface, module.real.0, name.as_ptr())? };
    id.list(OfModule::new(surface, (call.hmod, &module)));
    Ok(())
}

/// Binds a texture reference to a resource. For each kind of resource, the first driver call must
/// be the one that replaces the previous resource, because the program may have destroyed the
/// previous array, and a later driver call might still read it.
///
/// # Safety
///
/// The reference and the resource must be live.
unsafe fn bind(cx: &Cx<'_>, texture: CUtexref, resource: &CUDA_RESOURCE_DESC) -> CuResult {
    let (driver, res) = (cx.driver(), &resource.res);
    // SAFETY: the caller promises that the handles are live, and the other pointers are to local
    // variables. The resource's kind says which member of the union is set.
    unsafe {
        match resource.resType {
            CUresourcetype::CU_RESOURCE_TYPE_ARRAY => {
                driver.cuTexRefSetArray(texture, res.array.hArray, CU_TRSA_OVERRIDE_FORMAT)
            }
            CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
                let mipmap = res.mipmap.hMipmappedArray;
                driver.cuTexRefSetMipmappedArray(texture, mipmap, CU_TRSA_OVERRIDE_FORMAT)
            }
            CUresourcetype::CU_RESOURCE_TYPE_LINEAR => {
                let (linear, mut offset) = (res.linear, 0);
                driver.cuTexRefSetAddress(
                    &mut offset,
                    texture,
                    linear.devPtr,
                    linear.sizeInBytes,
                )?;
                driver.cuTexRefSetFormat(texture, linear.format, linear.numChannels as i32)?;
                // The guest library has already aligned the address, so the driver must not have to
                // add an offset.
                if offset == 0 { Ok(()) } else { Err(CuError::INVALID_VALUE) }
            }
            CUresourcetype::CU_RESOURCE_TYPE_PITCH2D => {
                let (rows, mut offset) = (res.pitch2D, 0);
                let array = CUDA_ARRAY_DESCRIPTOR {
                    Width: rows.width,
                    Height: rows.height,
                    Format: rows.format,
                    NumChannels: rows.numChannels,
                };
                driver.cuTexRefSetAddress(&mut offset, texture, rows.devPtr, rows.pitchInBytes)?;
                // cuTexRefSetFormat comes first, because the driver refuses it after
                // cuTexRefSetAddress2D.
                driver.cuTexRefSetFormat(texture, rows.format, rows.numChannels as i32)?;
                driver.cuTexRefSetAddress2D(texture, &array, rows.devPtr, rows.pitchInBytes)
            }
            _ => Err(CuError::INVALID_VALUE),
        }
    }
}

pub(in crate::calls) fn vcuda_tex_ref_bind(cx: &Cx<'_>, call: api::VcudaTexRefBind) -> CuResult {
    cx.enter()?;
    let texture = lock(&cx.shared.tables).texrefs.get(call.texref)?.real.0;
    let resource = checked(cx, &call.resource)?;
    // SAFETY: the structure has the size of this array and consists only of integers and
    // floating-point numbers, for which every bit pattern is valid.
    let mut description =
        unsafe { std::mem::transmute::<[u32; 26], CUDA_TEXTURE_DESC>(call.texture) };
    let driver = cx.driver();
    // SAFETY: the reference and the array are live, because objects that a call has looked up
    // aren't destroyed before the call ends (`tables/uses.rs`). The pointer is to a local variable.
    unsafe {
        bind(cx, texture, &resource)?;
        for (dimension, mode) in (0..).zip(description.addressMode) {
            driver.cuTexRefSetAddressMode(texture, dimension, mode)?;
        }
        driver.cuTexRefSetFilterMode(texture, description.filterMode)?;
        driver.cuTexRefSetFlags(texture, description.flags)?;
        if description.maxAnisotropy > 0 {
            driver.cuTexRefSetMaxAnisotropy(texture, description.maxAnisotropy)?;
        }
        if resource.resType == CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY {
            let (least, most) = (description.minMipmapLevelClamp, description.maxMipmapLevelClamp);
            driver.cuTexRefSetMipmapFilterMode(texture, description.mipmapFilterMode)?;
            driver.cuTexRefSetMipmapLevelBias(texture, description.mipmapLevelBias)?;
            driver.cuTexRefSetMipmapLevelClamp(texture, least, most)?;
        }
        driver.cuTexRefSetBorderColor(texture, description.borderColor.as_mut_ptr())
    }
}

pub(in crate::calls) fn vcuda_surf_ref_bind(cx: &Cx<'_>, call: api::VcudaSurfRefBind) -> CuResult {
    cx.enter()?;
    let (surface, array) = {
        let tables = lock(&cx.shared.tables);
        (tables.surfrefs.get(call.surfref)?.real.0, tables.arrays.get(call.array)?.real.0)
    };
    // SAFETY: the reference and the array are live, because objects that a call has looked up
    // aren't destroyed before the call ends (`tables/uses.rs`).
    unsafe { cx.driver().cuSurfRefSetArray(surface, array, 0) }
}
