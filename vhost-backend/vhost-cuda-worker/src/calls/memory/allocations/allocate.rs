//! Allocates and frees device memory.

use protocol::calls as api;
use protocol::codec::{Answer, Writer};
use protocol::ids::{ContextId, PoolId};

use super::access::grant;
use super::charged::Charged;
use super::peers::Accessors;
use super::physical::properties;
use super::plan::Mapping;
use crate::calls::ReplyTo;
use crate::calls::commands::cx::Cx;
use crate::calls::contexts::charges::{
    Reservation, Settled, kind, owe_clearing, reserve_memory, wait_to_free,
};
use crate::calls::lock;
use crate::driver::{CuError, CuResult};

/// The source from which device memory is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calls) enum Source {
    /// The GPU of the current context.
    Device,
    /// A memory pool.
    Pool(PoolId),
}

/// Allocates device memory, for use in the current context.
pub(in crate::calls) fn allocate(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Memory>,
    bytes: u64,
    source: Source,
) -> CuResult<(u64, Settled<kind::Memory>)> {
    let device = cx.enter()?.device;
    if bytes == 0 {
        return Err(CuError::INVALID_VALUE);
    }
    refuse_after_fault(cx)?;
    match source {
        Source::Device => allocate_on(cx, reservation, bytes, device),
        Source::Pool(pool) => allocate_from(cx, reservation, bytes, pool),
    }
}

fn allocate_on(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Memory>,
    bytes: u64,
    device: i32,
) -> CuResult<(u64, Settled<kind::Memory>)> {
    let (memory, ledger) = (&cx.shared.memory, &cx.shared.session.ledger);
    let physical = {
        let mut plan = lock(&memory.plan);
        if !plan.has_room() {
            return Err(CuError::OUT_OF_MEMORY);
        }
        if plan.is_small(bytes)
            && let Some(addr) = plan.piece(cx.ctx, bytes)
        {
            return Ok((addr, reservation.part_of_slab()));
        }
        let physical = plan.physical(bytes).ok_or(CuError::OUT_OF_MEMORY)?;
        if ledger.may_keep(device)
            && let Some(addr) = plan.reuse_kept(cx.ctx, bytes, physical)
        {
            ledger.use_kept(device, physical);
            return Ok((addr, reservation.still_charged()));
        }
        physical
    };
    let accessors = memory.peers.accessors();
    let (mapping, settled) = map_anywhere(cx, reservation, physical, device, &accessors)?;
    Ok((lock(&memory.plan).mapped(cx.ctx, bytes, mapping), settled))
}

fn allocate_from(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Memory>,
    bytes: u64,
    pool: PoolId,
) -> CuResult<(u64, Settled<kind::Memory>)> {
    let memory = &cx.shared.memory;
    let (device, physical) = {
        let mut plan = lock(&memory.plan);
        if !plan.has_room() {
            return Err(CuError::OUT_OF_MEMORY);
        }
        let (device, physical) = plan.pool_needs((pool, cx.shared.devices), bytes)?;
        if let Some(addr) = plan.pooled(cx.ctx, pool, bytes) {
            return Ok((addr, reservation.part_of_slab()));
        }
        (device, physical.ok_or(CuError::OUT_OF_MEMORY)?)
    };
    let accessors = memory.peers.accessors();
    let (mapping, settled) = map_anywhere(cx, reservation, physical, device, &accessors)?;
    // The pool still exists, because only this thread destroys pools.
    let addr = lock(&memory.plan).mapped_for_pool(cx.ctx, pool, bytes, mapping);
    Ok((addr.ok_or(CuError::INVALID_HANDLE)?, settled))
}

/// Creates device memory, and maps it at free addresses in the device memory window.
fn map_anywhere(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Memory>,
    physical: u64,
    device: i32,
    accessors: &Accessors<'_>,
) -> CuResult<(Mapping, Settled<kind::Memory>)> {
    let plan = &cx.shared.memory.plan;
    let addr = lock(plan).addresses(physical).ok_or(CuError::OUT_OF_MEMORY)?;
    map(cx, reservation, addr, physical, device, accessors)
        .inspect_err(|_| lock(plan).give_addresses(addr, physical))
}

/// Fails if a kernel has failed in the current context. The driver then refuses allocations in the
/// context. So the worker must also refuse allocations that it could make without the driver.
pub(super) fn refuse_after_fault(cx: &Cx<'_>) -> CuResult {
    /// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED. Errors with this number or a higher one don't mean
    /// that a kernel has failed.
    const CAPTURE: u32 = 900;
    // SAFETY: a null stream is valid, and means the legacy stream.
    match unsafe { cx.driver().cuStreamQuery(std::ptr::null_mut()) } {
        Err(error) if error != CuError::NOT_READY && error.0 < CAPTURE => Err(error),
        _ => Ok(()),
    }
}

/// Creates `len` bytes of device memory, and maps them at `addr` in the device memory window, if
/// the VM's quota has room.
fn map(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Memory>,
    addr: u64,
    len: u64,
    device: i32,
    accessors: &Accessors<'_>,
) -> CuResult<(Mapping, Settled<kind::Memory>)> {
    let driver = cx.driver();
    let reserved = reserve_memory(cx, reservation, device, len)?;
    let properties = properties(device);
    let mut handle = 0;
    // SAFETY: the pointers are to local variables.
    unsafe { driver.cuMemCreate(&mut handle, len as usize, &properties, 0)? };
    owe_clearing(cx, device, len);
    // From this point, the memory stays charged until the driver has released the handle.
    let settled = reserved.settle();
    let mapping = Mapping { addr, len, handle, device, charged: Charged::Alone };
    make(cx, mapping, accessors)?;
    Ok((mapping, settled))
}

/// Maps the physical memory of a new handle, with access for its GPU and for `accessors`. If
/// mapping fails, releases the handle and its charge.
pub(super) fn make(cx: &Cx<'_>, mapping: Mapping, accessors: &Accessors<'_>) -> CuResult {
    let Mapping { addr, len, handle, device, .. } = mapping;
    let driver = cx.driver();
    // SAFETY: the addresses are in the device memory window and belong only to this mapping, and
    // nothing has been mapped from the new handle yet.
    unsafe {
        if let Err(error) = driver.cuMemMap(addr, len as usize, 0, handle, 0) {
            released(cx, driver.cuMemRelease(handle), mapping);
            return Err(error);
        }
        if let Err(error) = grant(cx, &mapping, accessors) {
            wait_to_free(cx, device);
            unmap(cx, mapping);
            return Err(error);
        }
    }
    Ok(())
}

/// Unmaps a mapping, frees its memory, and releases its charge. The caller guarantees that nothing
/// uses the memory any more. Returns whether the driver has freed the memory.
fn unmap(cx: &Cx<'_>, mapping: Mapping) -> bool {
    let charged = mapping.charged.known(&cx.shared.memory.exporting, mapping.handle);
    let mapping = Mapping { charged, ..mapping };
    let Mapping { addr, len, handle, .. } = mapping;
    charged.withdraw(&cx.shared.session);
    // SAFETY: `make` created the mapping, and the mapping is unmapped only once. The caller
    // guarantees that nothing uses its memory any more.
    let done = unsafe {
        cx.driver().cuMemUnmap(addr, len as usize).and_then(|()| cx.driver().cuMemRelease(handle))
    };
    released(cx, done, mapping)
}

/// Releases the charge for a mapping if `done` says that the driver has freed its memory. If `done`
/// is an error, logs it, and the memory stays charged. Returns whether the charge was released.
fn released(cx: &Cx<'_>, done: CuResult, mapping: Mapping) -> bool {
    let Mapping { len, device, charged, .. } = mapping;
    match done {
        Ok(()) => charged.release(&cx.shared.session, device, len),
        Err(error) => {
            charged.stay(&cx.shared.session, device, len);
            tracing::warn!(
                session = cx.shared.session.label,
                "{len} bytes of device memory could not be freed: {error}"
            );
        }
    }
    done.is_ok()
}

/// Unmaps a mapping that [`Memory::freed`](super::session::Memory::freed) has returned or that the
/// worker kept. Frees its memory. If the session owes enough GPU time, first waits until the VM may
/// use the GPU.
pub(in crate::calls) fn give_back(cx: &Cx<'_>, mapping: Mapping) {
    wait_to_free(cx, mapping.device);
    give_back_now(cx, mapping);
}

/// Unmaps a mapping and frees its memory, as [`give_back`] does, but doesn't wait until the VM may
/// use the GPU.
pub(super) fn give_back_now(cx: &Cx<'_>, mapping: Mapping) {
    if unmap(cx, mapping) {
        lock(&cx.shared.memory.plan).give_addresses(mapping.addr, mapping.len);
    }
}

/// Frees all allocations in a context that is about to be destroyed or has been destroyed. The
/// calling thread may block.
pub(in crate::calls) fn free_all_of(cx: &Cx<'_>, ctx: ContextId) {
    let plan = &cx.shared.memory.plan;
    let kept = lock(plan).kept.extract(|of, _| of == ctx);
    kept.into_iter().for_each(|mapping| give_back(cx, mapping));
    let all = lock(plan).of_context(ctx);
    for addr in all {
        let freeing = lock(plan).take(addr);
        if let Some(mapping) = freeing.and_then(|freeing| cx.shared.memory.freed(freeing)) {
            give_back(cx, mapping);
        }
    }
}

/// Replies to cuMemGetInfo.
pub(in crate::calls) fn report_free_memory(cx: &Cx<'_>, reply: ReplyTo) {
    match free_memory(cx) {
        Ok(answer) => {
            let mut writer = Writer::new();
            answer.encode(&mut writer);
            reply.finish(0, writer.as_bytes());
        }
        Err(error) => reply.finish(error.0, &[]),
    }
}

fn free_memory(cx: &Cx<'_>) -> CuResult<api::CuMemGetInfoV2Answer> {
    let device = cx.enter()?.device;
    let ledger = &cx.shared.session.ledger;
    let (usage, kept) = (ledger.usage(device), ledger.kept_bytes(device));
    let (free, total) = cx.shared.memory.gpu_free.within(cx.driver(), device, usage, kept)?;
    let total = total.min(usage.max as usize);
    Ok(api::CuMemGetInfoV2Answer { free: free.min(total), total })
}
