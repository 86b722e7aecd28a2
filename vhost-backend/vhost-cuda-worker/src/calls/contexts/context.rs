//! Calls that create, destroy and query contexts.

use std::sync::atomic::Ordering;

use cuda_api::sys::{CUcontext, CUdevice};
use protocol::calls as api;
use protocol::ids::ContextId;

use crate::calls::ReplyTo;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::commands::result::number;
use crate::calls::contexts::charges::{
    Reservation, Settled, adopt_charges, begin_context, end_charges, give_back_context, kind,
    reserve_context,
};
use crate::calls::contexts::green::destroy_all_of;
use crate::calls::contexts::leftovers;
use crate::calls::lock;
use crate::calls::memory::allocations::{add_accessor, free_all_of, give_back};
use crate::calls::memory::host::forget_registrations_of;
use crate::calls::tables::claims::{CONTEXTS, claim};
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::handles::Context;
use crate::calls::tables::uses::Object;
use crate::driver::{CuError, CuResult};

/// The context flags that the worker passes on to the driver if the guest requests them:
/// LMEM_RESIZE_TO_MAX and SYNC_MEMOPS. It ignores the flags for how a thread waits, because they
/// concern only the guest's library, and those for core dumps, because they must not take effect on
/// the host.
const CONTEXT_FLAGS: u32 = 0x10 | 0x80;

pub(in crate::calls) fn vcuda_primary_ctx_retain(
    cx: &Cx<'_>,
    call: api::VcudaPrimaryCtxRetain,
    reservation: Reservation<kind::Context>,
) -> CuResult<Settled<kind::Context>> {
    cx.check_device(call.dev)?;
    // Wait until the VM may use the GPU before locking `primaries`, because calls on other threads
    // need that lock.
    let is_new = lock(&cx.shared.primaries)[call.dev as usize].is_none();
    let _work = is_new.then(|| cx.shared.turns.wait_for_context(call.dev as usize));
    let mut primaries = lock(&cx.shared.primaries);
    let id = claim(cx, CONTEXTS, call.ctx)?;
    let is_its = |context: &Context| context.primary && context.device == call.dev;
    if lock(&cx.shared.tables).contexts.iter().any(|(_, context)| is_its(context)) {
        return Err(CuError::INVALID_VALUE);
    }
    let slot = &mut primaries[call.dev as usize];
    let (real, settled) = match *slot {
        Some(real) => {
            if !adopt_charges(cx, ContextId::NONE, call.ctx) {
                return Err(CuError::UNKNOWN);
            }
            (real, reservation.retained_before())
        }
        None => {
            let (real, settled) = retain_primary(cx, reservation, call.ctx, call.dev)?;
            (*slot.insert(real), settled)
        }
    };
    add_accessor(cx, call.dev);
    let context =
        Context { real, device: call.dev, primary: true, legacy_used: false, ending: false };
    id.list(context);
    Ok(settled)
}

/// Retains a device's primary context, which the worker hasn't retained yet, if the VM's quota has
/// room.
fn retain_primary(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Context>,
    id: ContextId,
    device: CUdevice,
) -> CuResult<(DriverHandle<CUcontext>, Settled<kind::Context>)> {
    let reserved = reserve_context(cx, reservation, device)?;
    let mut context = std::ptr::null_mut();
    // SAFETY: the pointer is to a local variable.
    let create = || unsafe { cx.driver().cuDevicePrimaryCtxRetain(&mut context, device) };
    begin_context(cx, id, device, create)?;
    Ok((DriverHandle(context), reserved.settle()))
}

/// Calls `query` in the guest's current context. If the guest thread has none, calls it in the
/// primary context of the first device: the driver answers some queries about kernels only in a
/// context, although a guest may make them without one. `query` gets an environment whose current
/// context is the one that is charged.
pub(in crate::calls) fn with_any_context<T>(
    cx: &Cx<'_>,
    query: impl FnOnce(&Cx<'_>) -> CuResult<T>,
) -> CuResult<T> {
    if cx.ctx != ContextId::NONE {
        cx.enter()?;
        return query(cx);
    }
    // If the worker must create the context, wait until the VM may use the GPU before locking
    // `primaries`, because calls on other threads need that lock.
    let is_new = lock(&cx.shared.primaries)[0].is_none();
    let work = is_new.then(|| cx.shared.turns.wait_for_context(0));
    let mut primaries = lock(&cx.shared.primaries);
    let context = match primaries[0] {
        Some(context) => context,
        None => {
            let retained = retain_primary(cx, Reservation::of_worker(), ContextId::NONE, 0)?;
            *primaries[0].insert(retained.0)
        }
    };
    // Drop `work`, so that the context work ends before the query, which may itself wait for a
    // window.
    drop(work);
    let is_its = |context: &Context| context.primary && context.device == 0;
    let listed = lock(&cx.shared.tables)
        .contexts
        .iter()
        .find_map(|(id, context)| is_its(context).then_some(id));
    let charged = cx.within(listed.unwrap_or(ContextId::NONE));
    // SAFETY: the worker has retained the context, and it isn't released while `primaries` is
    // locked.
    unsafe { cx.within_real(context.0, || query(&charged)) }
}

pub(in crate::calls) fn vcuda_primary_ctx_set_flags(
    cx: &Cx<'_>,
    call: api::VcudaPrimaryCtxSetFlags,
) -> CuResult {
    cx.check_device(call.dev)?;
    let flags = call.flags & CONTEXT_FLAGS;
    // SAFETY: the call takes no pointers.
    unsafe { cx.driver().cuDevicePrimaryCtxSetFlags(call.dev, flags) }
}

pub(in crate::calls) fn vcuda_ctx_create(
    cx: &Cx<'_>,
    call: api::VcudaCtxCreate,
    reservation: Reservation<kind::Context>,
) -> CuResult<Settled<kind::Context>> {
    cx.check_device(call.dev)?;
    let id = claim(cx, CONTEXTS, call.ctx)?;
    let reserved = reserve_context(cx, reservation, call.dev)?;
    let _work = cx.shared.turns.wait_for_context(call.dev as usize);
    let mut context = std::ptr::null_mut();
    let flags = call.flags & CONTEXT_FLAGS;
    // SAFETY: the pointer is to a local variable.
    let create = || unsafe { cx.driver().cuCtxCreate(&mut context, flags, call.dev) };
    begin_context(cx, call.ctx, call.dev, create)?;
    add_accessor(cx, call.dev);
    let settled = reserved.settle();
    let context = Context {
        real: DriverHandle(context),
        device: call.dev,
        primary: false,
        legacy_used: false,
        ending: false,
    };
    id.list(context);
    // Increment the generation, so that every thread sets its context again. `CURRENT` is out of
    // date, because the driver has made the new context current on this thread.
    cx.shared.generation.fetch_add(1, Ordering::AcqRel);
    Ok(settled)
}

/// Does nothing. No data persists in the L2 cache, because a guest can't set any of the cache aside
/// (CU_LIMIT_PERSISTING_L2_CACHE_SIZE), and the driver would stop the GPU for this call.
pub(in crate::calls) fn cu_ctx_reset_persisting_l2_cache(
    cx: &Cx<'_>,
    _: api::CuCtxResetPersistingL2Cache,
) -> CuResult {
    cx.enter().map(drop)
}

pub(in crate::calls) fn vcuda_ctx_peer_access(
    cx: &Cx<'_>,
    call: api::VcudaCtxPeerAccess,
) -> CuResult {
    cx.enter()?;
    let peer = {
        let tables = lock(&cx.shared.tables);
        let peer = tables.contexts.get(call.peer).map_err(|_| CuError::INVALID_CONTEXT)?;
        if peer.ending {
            return Err(CuError::INVALID_CONTEXT);
        }
        peer.real.0
    };
    // SAFETY: the peer context was live when it was looked up, and a context isn't destroyed before
    // all calls that use it have ended.
    unsafe {
        match call.enable {
            0 => cx.driver().cuCtxDisablePeerAccess(peer),
            _ => cx.driver().cuCtxEnablePeerAccess(peer, 0),
        }
    }
}

/// Destroys a context after all calls in progress in the context have finished.
fn end_context(cx: &Cx<'_>, id: ContextId) -> CuResult {
    // Wait for the calls in progress before locking `primaries`, because they may need that lock.
    cx.shared.uses.wait_for_none(Object::Context(id));
    let ending = {
        let tables = lock(&cx.shared.tables);
        tables.contexts.get(id).ok().map(|context| (context.real, context.device as usize))
    };
    let _work = ending.map(|(real, device)| {
        // Destroying the context makes the driver wait for the context's kernels. Wait for them
        // before the context work begins, because other VMs wait while the result of
        // `wait_for_context` exists.
        // SAFETY: the context is live, because only this thread destroys it.
        let _ = unsafe { cx.within_real(real.0, || cx.driver().cuCtxSynchronize()) };
        cx.shared.turns.wait_for_context(device)
    });
    // Hold the lock until this context is destroyed, if it's a primary context, so that no other
    // thread gets a primary context that is being destroyed.
    let mut primaries = lock(&cx.shared.primaries);
    let (context, left) = lock(&cx.shared.tables).forget_context(id)?;
    cx.shared.generation.fetch_add(1, Ordering::AcqRel);
    // SAFETY: the context is live, because only this thread destroys it.
    let _ = unsafe {
        cx.within_real(context.real.0, || {
            leftovers::destroy(cx, left);
            Ok(())
        })
    };
    // Destroy the green contexts first, because the driver keeps a primary context as long as it
    // has green contexts.
    let greens_ended = destroy_all_of(cx, id);
    let ended = if context.primary {
        primaries[context.device as usize] = None;
        // SAFETY: the worker has retained this primary context once, and releases it once, because
        // it has just been removed from `primaries`.
        unsafe { cx.driver().cuDevicePrimaryCtxRelease(context.device) }
    } else {
        drop(primaries);
        // SAFETY: the context was live, and it was removed from the tables, so it's destroyed only
        // once.
        unsafe { cx.driver().cuCtxDestroy(context.real.0) }
    };
    let ended = greens_ended.and(ended);
    free_all_of(cx, id);
    cx.shared.memory.forget_globals_of_context(id);
    // A context that the driver couldn't destroy stays charged until the worker exits.
    if ended.is_ok() {
        end_charges(cx, id);
        give_back_context(cx, context.device);
        lock(&cx.shared.tables).free_ids_of(id);
        forget_registrations_of(cx, id);
    }
    ended
}

pub(in crate::calls) fn vcuda_primary_ctx_release(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaPrimaryCtxRelease,
    reply: ReplyTo,
) {
    end(deferred, cx, call.ctx, |context| context.primary && context.device == call.dev, reply);
}

pub(in crate::calls) fn vcuda_primary_ctx_reset(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaPrimaryCtxReset,
    reply: ReplyTo,
) {
    let of_device = |context: &Context| context.primary && context.device == call.dev;
    let id = lock(&cx.shared.tables)
        .contexts
        .iter()
        .find_map(|(id, context)| of_device(context).then_some(id));
    match id {
        Some(id) => end(deferred, cx, id, of_device, reply),
        None => reply.finish(number(cx.check_device(call.dev)), &[]),
    }
}

pub(in crate::calls) fn vcuda_ctx_destroy(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaCtxDestroy,
    reply: ReplyTo,
) {
    end(deferred, cx, call.ctx, |context| !context.primary, reply);
}

/// Destroys a context and everything in it, on the guest thread's mirror, and then replies. Fails
/// if `is_meant` returns false for the context.
fn end(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    id: ContextId,
    is_meant: impl Fn(&Context) -> bool,
    reply: ReplyTo,
) {
    cx.shared.ending.fetch_add(1, Ordering::AcqRel);
    let is_there = |context: &Context| !context.ending && is_meant(context);
    {
        let mut tables = lock(&cx.shared.tables);
        let found = tables.contexts.get(id).is_ok_and(is_there);
        if !found || tables.begin_end_of_context(id).is_err() {
            drop(tables);
            cx.shared.ending.fetch_sub(1, Ordering::AcqRel);
            reply.finish(CuError::INVALID_CONTEXT.0, &[]);
            return;
        }
    }
    // From this point, nothing can be queued in the context, so no new wait can begin in it.
    cx.shared.generation.fetch_add(1, Ordering::AcqRel);
    let over = cx.shared.flight.begin_end_of(id);
    let freeing = deferred.end_of_context(id);
    deferred.own_job(Some(cx.thread), ContextId::NONE, move |cx| {
        let ended = end_context(cx, id);
        over.store(true, Ordering::Release);
        cx.shared.ending.fetch_sub(1, Ordering::AcqRel);
        for (freeing, waiting) in freeing {
            if let Some(mapping) = cx.shared.memory.freed(freeing) {
                give_back(cx, mapping);
            }
            if let Some(waiting) = waiting {
                waiting.finish(0, &[]);
            }
        }
        cx.shared.report_output(reply).finish(number(ended), &[]);
    });
}
