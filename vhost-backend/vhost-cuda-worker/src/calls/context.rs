//! Contexts.

use std::sync::atomic::Ordering;

use cuda_api::sys::{CUcontext, CUdevice};
use protocol::calls as api;
use protocol::ids::ContextId;

use super::charges::{Reservation, Settled, kind};
use super::claims::CONTEXTS;
use super::cx::Cx;
use super::deferred::Deferred;
use super::driver_handle::DriverHandle;
use super::handles::Context;
use super::result::number;
use super::{ReplyTo, lock};
use crate::driver::{CuError, CuResult};

/// The context flags that are passed to the driver: LMEM_RESIZE_TO_MAX and SYNC_MEMOPS. The guest's
/// library decides how a thread waits, and a guest must not cause core dumps on the host.
const CONTEXT_FLAGS: u32 = 0x10 | 0x80;

impl Cx<'_> {
    fn check_device(&self, device: CUdevice) -> CuResult {
        if (0..self.shared.devices).contains(&device) {
            Ok(())
        } else {
            Err(CuError::INVALID_DEVICE)
        }
    }

    pub(super) fn vcuda_primary_ctx_retain(
        &self,
        call: api::VcudaPrimaryCtxRetain,
        reservation: Reservation<kind::Context>,
    ) -> CuResult<Settled<kind::Context>> {
        self.check_device(call.dev)?;
        let mut primaries = lock(&self.shared.primaries);
        let id = self.claim(CONTEXTS, call.ctx)?;
        let is_its = |context: &Context| context.primary && context.device == call.dev;
        if lock(&self.shared.tables).contexts.iter().any(|(_, context)| is_its(context)) {
            return Err(CuError::INVALID_VALUE);
        }
        let slot = &mut primaries[call.dev as usize];
        let (real, settled) = match *slot {
            Some(real) => (real, reservation.retained_before()),
            None => {
                let (real, settled) = self.retain_primary(reservation, call.dev)?;
                (*slot.insert(real), settled)
            }
        };
        let context =
            Context { real, device: call.dev, primary: true, legacy_used: false, ending: false };
        self.begin_charges(call.ctx, call.dev);
        id.list(context);
        Ok(settled)
    }

    /// Retains a primary context that the worker doesn't have yet, within the VM's quota.
    pub(super) fn retain_primary(
        &self,
        reservation: Reservation<kind::Context>,
        device: CUdevice,
    ) -> CuResult<(DriverHandle<CUcontext>, Settled<kind::Context>)> {
        let reserved = self.reserve_context(reservation, device)?;
        let mut context = std::ptr::null_mut();
        // SAFETY: the pointer is to a local variable.
        unsafe { self.driver().cuDevicePrimaryCtxRetain(&mut context, device)? };
        Ok((DriverHandle(context), reserved.settle()))
    }

    pub(super) fn vcuda_primary_ctx_set_flags(
        &self,
        call: api::VcudaPrimaryCtxSetFlags,
    ) -> CuResult {
        self.check_device(call.dev)?;
        let flags = call.flags & CONTEXT_FLAGS;
        // SAFETY: the function takes no pointers.
        unsafe { self.driver().cuDevicePrimaryCtxSetFlags(call.dev, flags) }
    }

    pub(super) fn vcuda_ctx_create(
        &self,
        call: api::VcudaCtxCreate,
        reservation: Reservation<kind::Context>,
    ) -> CuResult<Settled<kind::Context>> {
        self.check_device(call.dev)?;
        let id = self.claim(CONTEXTS, call.ctx)?;
        let reserved = self.reserve_context(reservation, call.dev)?;
        let mut context = std::ptr::null_mut();
        // SAFETY: the pointer is to a local variable.
        unsafe { self.driver().cuCtxCreate(&mut context, call.flags & CONTEXT_FLAGS, call.dev)? };
        let settled = reserved.settle();
        let context = Context {
            real: DriverHandle(context),
            device: call.dev,
            primary: false,
            legacy_used: false,
            ending: false,
        };
        self.begin_charges(call.ctx, call.dev);
        id.list(context);
        // The driver has made the new context current on this thread, so `CURRENT` is no longer
        // right.
        self.shared.generation.fetch_add(1, Ordering::AcqRel);
        Ok(settled)
    }

    /// Destroys a context, after the calls in it have finished.
    fn end_context(&self, id: ContextId) -> CuResult {
        // This comes before `primaries` is locked, because such a call may wait for that lock.
        self.shared.uses.wait_for_none(id);
        // The lock is held until this function returns, so that no other thread gets a primary
        // context that is being destroyed.
        let mut primaries = lock(&self.shared.primaries);
        let context = lock(&self.shared.tables).forget_context(id)?;
        self.shared.generation.fetch_add(1, Ordering::AcqRel);
        let ended = if context.primary {
            primaries[context.device as usize] = None;
            // SAFETY: the worker has retained this primary context once.
            unsafe { self.driver().cuDevicePrimaryCtxRelease(context.device) }
        } else {
            drop(primaries);
            // SAFETY: the context was live, and is no longer listed.
            unsafe { self.driver().cuCtxDestroy(context.real.0) }
        };
        self.free_all_of(id);
        self.forget_globals_of_context(id);
        // If the driver failed to destroy the context, the context stays charged until the worker
        // exits.
        if ended.is_ok() {
            self.end_charges(id);
            self.give_back_context(context.device);
            lock(&self.shared.tables).free_ids_of(id);
        }
        ended
    }
}

pub(super) fn vcuda_primary_ctx_release(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaPrimaryCtxRelease,
    reply: ReplyTo,
) {
    end(deferred, cx, call.ctx, |context| context.primary && context.device == call.dev, reply);
}

pub(super) fn vcuda_primary_ctx_reset(
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

pub(super) fn vcuda_ctx_destroy(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaCtxDestroy,
    reply: ReplyTo,
) {
    end(deferred, cx, call.ctx, |context| !context.primary, reply);
}

/// Destroys a context with everything in it.
fn end(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    id: ContextId,
    is_meant: impl FnOnce(&Context) -> bool,
    reply: ReplyTo,
) {
    cx.shared.ending.fetch_add(1, Ordering::AcqRel);
    {
        let mut tables = lock(&cx.shared.tables);
        let found = tables.contexts.get(id).is_ok_and(|c| !c.ending && is_meant(c));
        if !found || tables.begin_end_of_context(id).is_err() {
            drop(tables);
            cx.shared.ending.fetch_sub(1, Ordering::AcqRel);
            reply.finish(CuError::INVALID_CONTEXT.0, &[]);
            return;
        }
    }
    // From now on nothing can be queued in the context, so no new wait can begin there.
    cx.shared.generation.fetch_add(1, Ordering::AcqRel);
    let over = cx.shared.flight.begin_end_of(id);
    let freeing = deferred.end_of_context(id);
    deferred.own_job(Some(cx.thread), ContextId::NONE, move |cx| {
        let ended = cx.end_context(id);
        over.store(true, Ordering::Release);
        cx.shared.ending.fetch_sub(1, Ordering::AcqRel);
        for (freeing, waiting) in freeing {
            if let Some(mapping) = cx.freed(freeing) {
                cx.give_back(mapping);
            }
            if let Some(waiting) = waiting {
                waiting.finish(0, &[]);
            }
        }
        cx.shared.report_output(reply).finish(number(ended), &[]);
    });
}
