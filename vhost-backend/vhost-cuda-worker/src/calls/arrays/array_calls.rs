//! Calls that create and destroy arrays and mipmapped arrays.

use cuda_api::arrays::{self, Extent};
use cuda_api::sys::{
    CUDA_ARRAY_MEMORY_REQUIREMENTS, CUDA_ARRAY3D_CUBEMAP, CUDA_ARRAY3D_DEFERRED_MAPPING,
    CUDA_ARRAY3D_DESCRIPTOR, CUDA_ARRAY3D_LAYERED, CUDA_ARRAY3D_SURFACE_LDST,
    CUDA_ARRAY3D_TEXTURE_GATHER, CUarray_format,
};
use protocol::calls as api;
use protocol::ids::ContextId;
use protocol::structs::ArrayDescriptor;

use crate::calls::ReplyTo;
use crate::calls::arrays::array::{Array, Mipmap};
use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::contexts::charges::{
    Reservation, Settled, give_back_array, kind, owe_clearing, reserve_array, wait_to_free,
};
use crate::calls::lock;
use crate::calls::tables::claims::{ARRAYS, MIPMAPS, claim};
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::ending::{begin_end, end_on_mirror};
use crate::driver::{CuError, CuResult};

/// The flags of arrays that the worker creates. Sparse arrays and arrays with deferred mapping
/// aren't supported, because their memory would have to be charged separately.
const FLAGS: u32 = CUDA_ARRAY3D_LAYERED
    | CUDA_ARRAY3D_SURFACE_LDST
    | CUDA_ARRAY3D_CUBEMAP
    | CUDA_ARRAY3D_TEXTURE_GATHER;

/// Checks an array's properties. Returns them as the driver's type, together with the array's size
/// in elements.
fn checked(array: &ArrayDescriptor) -> CuResult<(CUDA_ARRAY3D_DESCRIPTOR, Extent)> {
    let size = |size: u64| usize::try_from(size).map_err(|_| CuError::INVALID_VALUE);
    let descriptor = CUDA_ARRAY3D_DESCRIPTOR {
        Width: size(array.width)?,
        Height: size(array.height)?,
        Depth: size(array.depth)?,
        Format: CUarray_format(array.format),
        NumChannels: array.channels,
        Flags: array.flags,
    };
    if array.flags & !FLAGS != 0 {
        return Err(CuError::NOT_SUPPORTED);
    }
    let extent = Extent::of(&descriptor).ok_or(CuError::INVALID_VALUE)?;
    Ok((descriptor, extent))
}

/// Returns the properties of an array, changed to those of an array that has no memory.
fn without_memory(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> CUDA_ARRAY3D_DESCRIPTOR {
    CUDA_ARRAY3D_DESCRIPTOR {
        Flags: descriptor.Flags | CUDA_ARRAY3D_DEFERRED_MAPPING,
        ..*descriptor
    }
}

/// Returns the number of bytes of memory that an array needs. The driver reports the number only
/// for arrays with deferred mapping, so this function creates an array with deferred mapping, which
/// has no memory, queries it, and destroys it.
fn array_bytes(cx: &Cx<'_>, device: i32, descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> CuResult<u64> {
    let (driver, empty) = (cx.driver(), without_memory(descriptor));
    let (mut array, mut needed) = (std::ptr::null_mut(), CUDA_ARRAY_MEMORY_REQUIREMENTS::default());
    // SAFETY: the driver writes only to local variables, and the array is destroyed once.
    unsafe {
        driver.cuArray3DCreate(&mut array, &empty)?;
        let queried = driver.cuArrayGetMemoryRequirements(&mut needed, array, device);
        driver.cuArrayDestroy(array)?;
        queried?;
    }
    Ok(needed.size as u64)
}

/// Returns the number of bytes of memory that a mipmapped array needs. As [`array_bytes`] does,
/// creates a mipmapped array without memory for the query, and destroys it.
fn mipmap_bytes(
    cx: &Cx<'_>,
    device: i32,
    descriptor: &CUDA_ARRAY3D_DESCRIPTOR,
    levels: u32,
) -> CuResult<u64> {
    let (driver, empty) = (cx.driver(), without_memory(descriptor));
    let mut mipmap = std::ptr::null_mut();
    let mut needed = CUDA_ARRAY_MEMORY_REQUIREMENTS::default();
    // SAFETY: the driver writes only to local variables, and the mipmapped array is destroyed once.
    unsafe {
        driver.cuMipmappedArrayCreate(&mut mipmap, &empty, levels)?;
        let queried = driver.cuMipmappedArrayGetMemoryRequirements(&mut needed, mipmap, device);
        driver.cuMipmappedArrayDestroy(mipmap)?;
        queried?;
    }
    Ok(needed.size as u64)
}

pub(in crate::calls) fn vcuda_array_create(
    cx: &Cx<'_>,
    call: api::VcudaArrayCreate,
    reservation: Reservation<kind::Memory>,
) -> CuResult<Settled<kind::Memory>> {
    let device = cx.enter()?.device;
    let (descriptor, extent) = checked(&call.descriptor)?;
    let id = claim(cx, ARRAYS, call.array)?;
    let bytes = array_bytes(cx, device, &descriptor)?.max(extent.bytes());
    let (reserved, reservation) = reserve_array(cx, reservation, bytes)?;
    let mut array = std::ptr::null_mut();
    // SAFETY: the pointers are to local variables.
    unsafe { cx.driver().cuArray3DCreate(&mut array, &descriptor)? };
    owe_clearing(cx, device, reserved);
    let real = DriverHandle(array);
    id.list(Array { real, ctx: cx.ctx, extent, reserved, mipmap: None });
    Ok(reservation.settle())
}

/// Before the memory of an array in the context `ctx` is freed, waits until the VM may use the GPU,
/// if the session owes enough GPU time.
fn wait_to_free_in(cx: &Cx<'_>, ctx: ContextId) {
    let device = lock(&cx.shared.tables).contexts.get(ctx).map(|context| context.device);
    wait_to_free(cx, device.unwrap_or(0));
}

pub(in crate::calls) fn vcuda_array_destroy(
    _: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaArrayDestroy,
    reply: ReplyTo,
) {
    // A level of a mipmapped array can't be destroyed, because its memory belongs to the mipmapped
    // array.
    let begun = begin_end(cx, ARRAYS, call.array, |_, array| match array.mipmap {
        Some(_) => Err(CuError::INVALID_VALUE),
        None => Ok(()),
    });
    end_on_mirror(cx, begun, reply, |cx, array| {
        wait_to_free_in(cx, array.ctx);
        // SAFETY: the array was live, and it has been removed from the tables, so no other call can
        // use it any more.
        unsafe { cx.driver().cuArrayDestroy(array.real.0)? };
        give_back_array(cx, array.ctx, array.reserved);
        Ok(())
    });
}

pub(in crate::calls) fn vcuda_mipmapped_array_create(
    cx: &Cx<'_>,
    call: api::VcudaMipmappedArrayCreate,
    reservation: Reservation<kind::Memory>,
) -> CuResult<Settled<kind::Memory>> {
    let device = cx.enter()?.device;
    let (first, extent) = checked(&call.descriptor)?;
    let id = claim(cx, MIPMAPS, call.mipmap)?;
    let bytes = mipmap_bytes(cx, device, &first, call.levels)?.max(extent.bytes());
    let (reserved, reservation) = reserve_array(cx, reservation, bytes)?;
    let mut mipmap = std::ptr::null_mut();
    // SAFETY: the pointers are to local variables.
    unsafe { cx.driver().cuMipmappedArrayCreate(&mut mipmap, &first, call.levels)? };
    owe_clearing(cx, device, reserved);
    let real = DriverHandle(mipmap);
    id.list(Mipmap { real, ctx: cx.ctx, first, reserved });
    Ok(reservation.settle())
}

pub(in crate::calls) fn vcuda_mipmapped_array_destroy(
    _: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaMipmappedArrayDestroy,
    reply: ReplyTo,
) {
    let begun = begin_end(cx, MIPMAPS, call.mipmap, |tables, _| {
        tables.arrays.remove_where(|array| array.mipmap == Some(call.mipmap));
        Ok(())
    });
    end_on_mirror(cx, begun, reply, |cx, mipmap| {
        wait_to_free_in(cx, mipmap.ctx);
        // SAFETY: the mipmapped array was live, and it and its levels have been removed from the
        // tables, so no other call can use them any more.
        unsafe { cx.driver().cuMipmappedArrayDestroy(mipmap.real.0)? };
        give_back_array(cx, mipmap.ctx, mipmap.reserved);
        Ok(())
    });
}

pub(in crate::calls) fn vcuda_mipmapped_array_get_level(
    cx: &Cx<'_>,
    call: api::VcudaMipmappedArrayGetLevel,
) -> CuResult {
    cx.enter()?;
    let id = claim(cx, ARRAYS, call.array)?;
    let mipmap = lock(&cx.shared.tables).mipmaps.get(call.mipmap)?.clone();
    let level = arrays::level(&mipmap.first, call.level);
    let extent = Extent::of(&level).ok_or(CuError::INVALID_VALUE)?;
    let mut array = std::ptr::null_mut();
    // SAFETY: the mipmapped array is live, because objects that a call has looked up aren't
    // destroyed before the call ends (`tables/uses.rs`). The pointer is to a local variable.
    unsafe { cx.driver().cuMipmappedArrayGetLevel(&mut array, mipmap.real.0, call.level)? };
    id.list(Array {
        real: DriverHandle(array),
        ctx: mipmap.ctx,
        extent,
        reserved: 0,
        mipmap: Some(call.mipmap),
    });
    Ok(())
}
