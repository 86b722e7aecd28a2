//! Calls that create and destroy texture objects and surface objects.
//!
//! The guest gets the driver's own handles of these objects, because kernels get them as
//! parameters, which the worker doesn't interpret.
//!
//! These calls aren't gated, but the driver makes the GPU reload its descriptors. A program that
//! only created and destroyed textures took a third of another VM's time on an H200. So the VM is
//! charged for each call, and a program that makes many of them waits for its VM's window.

use cuda_api::sys::{
    CUDA_RESOURCE_DESC, CUDA_RESOURCE_DESC_st__bindgen_ty_1 as Resource,
    CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1 as OfArray,
    CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_2 as OfMipmap,
    CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 as Linear,
    CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 as Pitched,
    CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5 as Reserved, CUDA_RESOURCE_VIEW_DESC,
    CUDA_TEXTURE_DESC, CUarray_format, CUresourcetype,
};
use protocol::calls as api;
use protocol::structs::TextureResource;

use crate::calls::commands::cx::Cx;
use crate::calls::lock;
use crate::calls::tables::claims::Which;
use crate::driver::{CuError, CuResult};
use protocol::ids::ContextId;

const TEXTURES: Which<(ContextId, u64), ()> = |tables| &mut tables.textures;
const SURFACES: Which<(ContextId, u64), ()> = |tables| &mut tables.surfaces;

/// The estimated GPU time, in ns, that creating or destroying a texture or surface object takes.
const CHANGE: u64 = 5_000;

/// Waits until the VM may use the GPU, if the session owes enough GPU time for texture and surface
/// objects and similar operations.
fn wait_to_change(cx: &Cx<'_>) -> CuResult {
    let device = cx.enter()?.device as usize;
    cx.shared.turns.wait_if_due(device, CHANGE);
    cx.enter().map(drop)
}

/// Checks a resource. Returns it as the driver's type.
///
/// A texture in memory must begin in memory of the session, but may extend beyond it: programs rely
/// on that, and it gives kernels nothing that they can't read with a pointer.
pub(in crate::calls) fn checked(
    cx: &Cx<'_>,
    resource: &TextureResource,
) -> CuResult<CUDA_RESOURCE_DESC> {
    let size = |size: u64| usize::try_from(size).map_err(|_| CuError::INVALID_VALUE);
    let format = CUarray_format(resource.format);
    let mut res = Resource { reserved: Reserved { reserved: [0; 32] } };
    match CUresourcetype(resource.kind) {
        CUresourcetype::CU_RESOURCE_TYPE_ARRAY => {
            let array = lock(&cx.shared.tables).arrays.get(resource.array)?.real;
            res.array = OfArray { hArray: array.0 };
        }
        CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
            let mipmap = lock(&cx.shared.tables).mipmaps.get(resource.mipmap)?.real;
            res.mipmap = OfMipmap { hMipmappedArray: mipmap.0 };
        }
        CUresourcetype::CU_RESOURCE_TYPE_LINEAR => {
            cx.check(resource.address, 1)?;
            res.linear = Linear {
                devPtr: resource.address,
                format,
                numChannels: resource.channels,
                sizeInBytes: size(resource.bytes)?,
            };
        }
        CUresourcetype::CU_RESOURCE_TYPE_PITCH2D => {
            cx.check(resource.address, 1)?;
            res.pitch2D = Pitched {
                devPtr: resource.address,
                format,
                numChannels: resource.channels,
                width: size(resource.width)?,
                height: size(resource.height)?,
                pitchInBytes: size(resource.pitch)?,
            };
        }
        _ => return Err(CuError::INVALID_VALUE),
    }
    let kind = CUresourcetype(resource.kind);
    Ok(CUDA_RESOURCE_DESC { resType: kind, res, flags: resource.flags })
}

/// Creates a texture or surface object in the driver, and adds it to the session's table of such
/// objects. If the table is full, destroys the object again, so that a guest can't make the
/// worker's memory grow without limit.
fn list(
    cx: &Cx<'_>,
    which: Which<(ContextId, u64), ()>,
    create: impl FnOnce(&mut u64) -> CuResult,
    destroy: impl FnOnce(u64) -> CuResult,
) -> CuResult<u64> {
    let mut object = 0;
    create(&mut object)?;
    let claimed = which(&mut lock(&cx.shared.tables)).claim((cx.ctx, object));
    if let Err(error) = claimed {
        destroy(object)?;
        return Err(error);
    }
    which(&mut lock(&cx.shared.tables)).list((cx.ctx, object), ());
    Ok(object)
}

/// Removes a texture or surface object from its table. Fails if the table doesn't contain it.
fn unlist(cx: &Cx<'_>, which: Which<(ContextId, u64), ()>, object: u64) -> CuResult {
    wait_to_change(cx)?;
    let removed = which(&mut lock(&cx.shared.tables)).remove((cx.ctx, object));
    removed.map(drop).map_err(|_| CuError::INVALID_VALUE)
}

pub(in crate::calls) fn vcuda_texture_create(
    cx: &Cx<'_>,
    call: api::VcudaTextureCreate,
) -> CuResult<api::VcudaTextureCreateAnswer> {
    wait_to_change(cx)?;
    let resource = checked(cx, &call.resource)?;
    // SAFETY: both structures have the size of these arrays and consist only of integers and
    // floating-point numbers, for which every bit pattern is valid.
    let (texture, view) = unsafe {
        (
            std::mem::transmute::<[u32; 26], CUDA_TEXTURE_DESC>(call.texture),
            std::mem::transmute::<[u64; 14], CUDA_RESOURCE_VIEW_DESC>(call.view),
        )
    };
    let view = if call.has_view != 0 { &raw const view } else { std::ptr::null() };
    let driver = cx.driver();
    let object = list(
        cx,
        TEXTURES,
        // SAFETY: the pointers are to local variables. The array is live, because objects that a
        // call has looked up aren't destroyed before the call ends (`tables/uses.rs`). Linear
        // memory was checked to belong to the session.
        |object| unsafe { driver.cuTexObjectCreate(object, &resource, &texture, view) },
        // SAFETY: the object was just created, and no other code has its handle yet.
        |object| unsafe { driver.cuTexObjectDestroy(object) },
    )?;
    Ok(api::VcudaTextureCreateAnswer { object })
}

pub(in crate::calls) fn vcuda_texture_destroy(
    cx: &Cx<'_>,
    call: api::VcudaTextureDestroy,
) -> CuResult {
    unlist(cx, TEXTURES, call.object)?;
    // SAFETY: the object was live, and it's destroyed only once, because it was removed from the
    // table.
    unsafe { cx.driver().cuTexObjectDestroy(call.object) }
}

pub(in crate::calls) fn vcuda_surface_create(
    cx: &Cx<'_>,
    call: api::VcudaSurfaceCreate,
) -> CuResult<api::VcudaSurfaceCreateAnswer> {
    wait_to_change(cx)?;
    let array = lock(&cx.shared.tables).arrays.get(call.array)?.real;
    let mut res = Resource { reserved: Reserved { reserved: [0; 32] } };
    res.array = OfArray { hArray: array.0 };
    let kind = CUresourcetype::CU_RESOURCE_TYPE_ARRAY;
    let resource = CUDA_RESOURCE_DESC { resType: kind, res, flags: 0 };
    let driver = cx.driver();
    let object = list(
        cx,
        SURFACES,
        // SAFETY: the pointers are to local variables. The array is live, because objects that a
        // call has looked up aren't destroyed before the call ends (`tables/uses.rs`).
        |object| unsafe { driver.cuSurfObjectCreate(object, &resource) },
        // SAFETY: the object was just created, and no other code has its handle yet.
        |object| unsafe { driver.cuSurfObjectDestroy(object) },
    )?;
    Ok(api::VcudaSurfaceCreateAnswer { object })
}

pub(in crate::calls) fn vcuda_surface_destroy(
    cx: &Cx<'_>,
    call: api::VcudaSurfaceDestroy,
) -> CuResult {
    unlist(cx, SURFACES, call.object)?;
    // SAFETY: the object was live, and it's destroyed only once, because it was removed from the
    // table.
    unsafe { cx.driver().cuSurfObjectDestroy(call.object) }
}
