//! Calls with which the guest itself manages addresses and physical memory.

use cuda_api::sys::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationGranularity_flags, CUmemLocation,
    CUmemLocationType,
};
use protocol::calls as api;
use protocol::codec::Array;
use protocol::options::MEMORY_HANDLE_TYPES;
use protocol::structs::MemoryAccess;

use super::charged::Charged;
use super::physical::properties;
use super::session::Memory;
use super::space::{Created, Properties};
use crate::calls::commands::cx::Cx;
use crate::calls::contexts::charges::{
    Reservation, Settled, kind, owe_clearing, reserve_memory, wait_to_free,
};
use crate::calls::lock;
use crate::driver::{CuError, CuResult};

/// Creates physical memory, if the VM's quota has room, and returns the guest's handle for it. Runs
/// only on the ring reader's thread.
pub(in crate::calls) fn create(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Memory>,
    call: api::VcudaMemCreate,
) -> CuResult<(u64, Settled<kind::Memory>)> {
    let api::VcudaMemCreate { device, size, handle_types, compression } = call;
    cx.check_device(device)?;
    let mut wanted = properties(device);
    wanted.allocFlags.compressionType = match compression {
        0 | 1 => compression as u8,
        _ => return Err(CuError::INVALID_VALUE),
    };
    if !MEMORY_HANDLE_TYPES.contains(&handle_types) {
        return Err(CuError::NOT_SUPPORTED);
    }
    let len = size as u64;
    {
        let space = lock(&cx.shared.memory.space);
        space.check_len(len)?;
        if !space.has_room_for_physical() {
            return Err(CuError::OUT_OF_MEMORY);
        }
    }
    cx.enter_any()?;
    let reserved = reserve_memory(cx, reservation, device, len)?;
    let mut real = 0;
    // SAFETY: the pointers are to local variables.
    unsafe { cx.driver().cuMemCreate(&mut real, size, &wanted, 0)? };
    owe_clearing(cx, device, len);
    // From this point, the memory stays charged until the driver has released the handle.
    let settled = reserved.settle();
    let properties = Properties { device, handle_types, compression };
    let created = Created { real, len, properties, charged: Charged::Alone };
    let handle = lock(&cx.shared.memory.space).create(created);
    Ok((handle, settled))
}

/// Releases physical memory that nothing uses any more, and its charge. May block.
pub(super) fn give_back(cx: &Cx<'_>, created: Created) {
    let Created { real, len, properties, charged } = created;
    let charged = charged.known(&cx.shared.memory.exporting, real);
    wait_to_free(cx, properties.device);
    charged.withdraw(&cx.shared.session);
    // SAFETY: `create` or an import has returned the handle. `Space` removes the memory once
    // nothing is mapped from it any more, so the handle is released only once.
    match unsafe { cx.driver().cuMemRelease(real) } {
        Ok(()) => charged.release(&cx.shared.session, properties.device, len),
        Err(error) => tracing::warn!(
            session = cx.shared.session.label,
            "{len} bytes of device memory could not be freed: {error}"
        ),
    }
}

pub(in crate::calls) fn cu_mem_release(cx: &Cx<'_>, call: api::CuMemRelease) -> CuResult {
    let unused = lock(&cx.shared.memory.space).release(call.handle)?;
    unused.into_iter().for_each(|created| give_back(cx, created));
    Ok(())
}

pub(in crate::calls) fn vcuda_mem_address_reserve(
    cx: &Cx<'_>,
    call: api::VcudaMemAddressReserve,
) -> CuResult<api::VcudaMemAddressReserveAnswer> {
    let len = call.size as u64;
    let memory = &cx.shared.memory;
    let alignment = {
        let space = lock(&memory.space);
        space.check_len(len)?;
        if !space.has_room_for_reservation() {
            return Err(CuError::OUT_OF_MEMORY);
        }
        space.alignment(call.alignment as u64)?
    };
    let ptr = lock(&memory.plan).reserve(len, alignment, call.hint);
    let ptr = ptr.ok_or(CuError::OUT_OF_MEMORY)?;
    lock(&memory.space).reserve(ptr, len);
    Ok(api::VcudaMemAddressReserveAnswer { ptr })
}

pub(in crate::calls) fn cu_mem_address_free(cx: &Cx<'_>, call: api::CuMemAddressFree) -> CuResult {
    let len = call.size as u64;
    lock(&cx.shared.memory.space).unreserve(call.ptr, len)?;
    lock(&cx.shared.memory.plan).unreserve(call.ptr, len);
    Ok(())
}

pub(in crate::calls) fn vcuda_mem_map(
    cx: &Cx<'_>,
    call: api::VcudaMemMap,
) -> CuResult<api::VcudaMemMapAnswer> {
    cx.enter_any()?;
    let created =
        lock(&cx.shared.memory.space).begin_map(call.ptr, call.size as u64, call.handle)?;
    // SAFETY: the addresses are in the device memory window, in one of the guest's reservations,
    // and nothing else is mapped there. The handle is live, because the mapping that has begun
    // keeps the memory.
    let made = unsafe { cx.driver().cuMemMap(call.ptr, call.size, 0, created.real, 0) };
    let unused = lock(&cx.shared.memory.space).map_ended(call.ptr, made.is_ok());
    unused.into_iter().for_each(|created| give_back(cx, created));
    made.map(|()| api::VcudaMemMapAnswer { device: created.properties.device })
}

/// Unmaps memory once all work that may use it has ended. cuMemFree also waits in this way.
pub(in crate::calls) fn cu_mem_unmap(cx: &Cx<'_>, call: api::CuMemUnmap) -> CuResult {
    let space = &cx.shared.memory.space;
    let starts = lock(space).begin_unmap(call.ptr, call.size as u64)?;
    let contexts: Vec<_> = lock(&cx.shared.tables).contexts.iter().map(|(id, _)| id).collect();
    cx.synchronize_contexts(contexts);
    // SAFETY: the guest's mappings cover the range exactly, and the guest's calls can't use them
    // any more. All work that was queued before has ended, unless its context has failed or is
    // being destroyed. If such work accesses the addresses, the GPU reports a fault in that context
    // only.
    let done = unsafe { cx.driver().cuMemUnmap(call.ptr, call.size) };
    let unused = lock(space).unmap_ended(&starts, done.is_ok());
    unused.into_iter().for_each(|created| give_back(cx, created));
    done
}

pub(in crate::calls) fn vcuda_mem_grant_access(
    cx: &Cx<'_>,
    call: api::VcudaMemGrantAccess,
) -> CuResult {
    set_access(cx, call.ptr, call.size, call.access)
}

pub(in crate::calls) fn vcuda_mem_restrict_access(
    cx: &Cx<'_>,
    call: api::VcudaMemRestrictAccess,
) -> CuResult {
    set_access(cx, call.ptr, call.size, call.access)
}

/// Sets the access to mapped memory. Runs only on the ring reader's thread, as `vcuda_mem_map`
/// does, so nothing can be mapped in the meantime.
fn set_access(cx: &Cx<'_>, ptr: u64, size: usize, access: Array<'_, MemoryAccess>) -> CuResult {
    let (mut descriptions, mut granted) = (Vec::new(), Vec::new());
    for MemoryAccess { device, flags } in access.iter() {
        cx.check_device(device)?;
        let flags = CUmemAccess_flags(flags);
        if !matches!(
            flags,
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE
                | CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ
                | CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        ) {
            return Err(CuError::INVALID_VALUE);
        }
        let type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        let location = CUmemLocation { type_, id: device };
        descriptions.push(CUmemAccessDesc { location, flags });
        granted.push((device, flags));
    }
    if granted.is_empty() {
        return Err(CuError::INVALID_VALUE);
    }
    cx.enter_any()?;
    let Memory { space, peers, .. } = &cx.shared.memory;
    let can_access = |device, holder| peers.can_access(device, holder);
    let starts = lock(space).for_devices(ptr, size as u64, &granted, can_access)?;
    // SAFETY: the guest's mappings covered the range exactly. If another thread unmaps them at the
    // same time, the addresses still belong to the guest's reservation, which only this thread
    // ends. The pointer and the count are those of a vector.
    unsafe { cx.driver().cuMemSetAccess(ptr, size, descriptions.as_ptr(), descriptions.len())? };
    lock(space).set_access(&starts, &granted);
    Ok(())
}

pub(in crate::calls) fn vcuda_mem_get_access(
    cx: &Cx<'_>,
    call: api::VcudaMemGetAccess,
) -> CuResult<api::VcudaMemGetAccessAnswer> {
    cx.check_device(call.device)?;
    let access = lock(&cx.shared.memory.space).access(call.device, call.ptr)?;
    Ok(api::VcudaMemGetAccessAnswer { flags: access.0.into() })
}

pub(in crate::calls) fn vcuda_mem_granularity(
    cx: &Cx<'_>,
    call: api::VcudaMemGranularity,
) -> CuResult<api::VcudaMemGranularityAnswer> {
    cx.check_device(call.device)?;
    let option = CUmemAllocationGranularity_flags(call.option);
    if !matches!(
        option,
        CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM
            | CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_RECOMMENDED
    ) {
        return Err(CuError::INVALID_VALUE);
    }
    let mut granularity = 0;
    let properties = properties(call.device);
    // SAFETY: the pointers are to local variables.
    unsafe { cx.driver().cuMemGetAllocationGranularity(&mut granularity, &properties, option)? };
    let least = lock(&cx.shared.memory.space).granule() as usize;
    Ok(api::VcudaMemGranularityAnswer { granularity: granularity.max(least) })
}

pub(in crate::calls) fn vcuda_mem_properties(
    cx: &Cx<'_>,
    call: api::VcudaMemProperties,
) -> CuResult<api::VcudaMemPropertiesAnswer> {
    let Properties { device, handle_types, compression } =
        lock(&cx.shared.memory.space).properties(call.handle)?;
    Ok(api::VcudaMemPropertiesAnswer { device, handle_types, compression })
}

pub(in crate::calls) fn vcuda_mem_retain_handle(
    cx: &Cx<'_>,
    call: api::VcudaMemRetainHandle,
) -> CuResult<api::VcudaMemRetainHandleAnswer> {
    let handle = lock(&cx.shared.memory.space).retain(call.ptr)?;
    Ok(api::VcudaMemRetainHandleAnswer { handle })
}
