//! Calls that register host memory with the GPU.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cuda_api::sys::CU_MEMHOSTREGISTER_READ_ONLY;
use protocol::calls as api;
use protocol::ids::ContextId;

use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::lock;
use crate::calls::memory::allocations::Foreign;
use crate::calls::memory::registered::{REGISTER_FLAGS, Registration, populate};
use crate::calls::tables::uses::Object;
use crate::driver::{CuError, CuResult};
use crate::region::Region;

/// The driver's error, if it has failed to unregister pages. Kernels may still access such pages.
struct Refused(CuError);

/// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED. Errors with this number or a higher one don't mean that a
/// kernel has failed.
const CAPTURE: u32 = 900;
/// The time between attempts to unregister pages while contexts are being destroyed.
const LOOK: Duration = Duration::from_millis(1);

pub(in crate::calls) fn vcuda_host_register(
    cx: &Cx<'_>,
    call: api::VcudaHostRegister,
) -> CuResult<api::VcudaHostRegisterAnswer> {
    cx.enter()?;
    // Take this lock before looking up the region, because the region could otherwise get a
    // registration while it's being detached.
    let mut registered = lock(&cx.shared.registered);
    let region = cx.shared.session.regions.find(call.vaddr, call.len);
    let region = region.ok_or(CuError::INVALID_VALUE)?;
    let at = region.at(call.vaddr, call.len).ok_or(CuError::INVALID_VALUE)?;
    if call.len == 0 {
        return Err(CuError::INVALID_VALUE);
    }
    if registered.by_vaddr.contains_key(&call.vaddr) {
        return Err(CuError::HOST_MEMORY_ALREADY_REGISTERED);
    }
    populate(at, call.len);
    let mut dptr = 0;
    let flags = REGISTER_FLAGS | call.flags & CU_MEMHOSTREGISTER_READ_ONLY;
    // SAFETY: the pages stay mapped until they are unregistered, because the registration holds
    // the region.
    unsafe {
        cx.driver().cuMemHostRegister(at.cast(), call.len, flags)?;
        let told = cx.driver().cuMemHostGetDevicePointer(&mut dptr, at.cast(), 0);
        let listed = told.and_then(|()| {
            let mut foreign = lock(&cx.shared.memory.foreign);
            let new = foreign.insert(dptr, call.len as u64, Foreign::Host);
            if new { Ok(()) } else { Err(CuError::HOST_MEMORY_ALREADY_REGISTERED) }
        });
        if let Err(error) = listed {
            let _ = cx.driver().cuMemHostUnregister(at.cast());
            return Err(error);
        }
    }
    let ctx = cx.ctx;
    registered.by_vaddr.insert(call.vaddr, Registration { region, at: at as u64, dptr, ctx });
    Ok(api::VcudaHostRegisterAnswer { dptr })
}

pub(in crate::calls) fn vcuda_host_unregister(
    cx: &Cx<'_>,
    call: api::VcudaHostUnregister,
) -> CuResult {
    cx.enter_any()?;
    let found = lock(&cx.shared.registered).by_vaddr.remove(&call.vaddr);
    let registration = found.ok_or(CuError::HOST_MEMORY_NOT_REGISTERED)?;
    let listed = lock(&cx.shared.memory.foreign).remove(registration.dptr);
    match unregister(cx, &registration) {
        Ok(result) => result,
        Err(Refused(error)) => {
            let mut registered = lock(&cx.shared.registered);
            if cx.shared.session.regions.get(registration.region.id()).is_none() {
                let shared = cx.shared.clone();
                cx.shared.session.mirrors.run_always(None, move || {
                    let cx = Cx { shared: &shared, thread: 0, ctx: ContextId::NONE };
                    let_go(&cx, vec![registration]);
                });
                return Err(error);
            }
            // The driver has refused to unregister the memory, so it stays registered for the
            // guest, too, as it would on bare metal.
            if let Some((len, kind)) = listed {
                lock(&cx.shared.memory.foreign).insert(registration.dptr, len, kind);
            }
            registered.by_vaddr.insert(call.vaddr, registration);
            Err(error)
        }
    }
}

/// Waits for all work that may use the pages, and then unregisters the pages from the GPU.
/// Unregistering works in any context in which no kernel has failed. If there is no such context,
/// no kernel can access the pages, so that also counts as success. The inner `CuResult` is the
/// result of the guest's call.
///
/// During the call, the gate holds launches. While a kernel runs, or has been taken off the GPU,
/// cuMemHostUnregister waits and holds a lock that the ring reader's driver calls need.
fn unregister(cx: &Cx<'_>, registration: &Registration) -> Result<CuResult, Refused> {
    let mut contexts: Vec<ContextId> =
        lock(&cx.shared.tables).contexts.iter().map(|(id, _)| id).collect();
    let _quiet = cx.shared.turns.quiet();
    contexts.sort_by_key(|id| (*id != cx.ctx, *id != registration.ctx));
    let (mut refused, mut failed) = (None, None);
    for id in contexts {
        // Mark the context as in use, so that no other thread destroys it meanwhile.
        let _use = cx.shared.uses.begin(Object::Context(id));
        let cx = cx.within(id);
        if let Err(error) = cx.enter() {
            failed = failed.or(Some(error));
            continue;
        }
        // SAFETY: the first call takes no pointers. The second call takes an address that was
        // registered. Its pages stay mapped, because the registration holds the region.
        let (works, done) = unsafe {
            let works = cx.driver().cuCtxSynchronize();
            (works, cx.driver().cuMemHostUnregister(registration.at as *mut _))
        };
        match (done, works) {
            (Ok(()), _) => return Ok(Ok(())),
            (Err(CuError::HOST_MEMORY_NOT_REGISTERED), _) => {}
            (Err(error), Err(fault)) if fault.0 < CAPTURE => failed = failed.or(Some(error)),
            (Err(error), _) => refused = refused.or(Some(error)),
        }
    }
    match refused {
        Some(error) => Err(Refused(error)),
        // A context that is being destroyed isn't among the contexts above. Until the driver has
        // destroyed it, its kernels may run and access the pages.
        None if contexts_end(cx) => Err(Refused(CuError::INVALID_CONTEXT)),
        // The registration has already ended, because the context in which it was made was
        // destroyed.
        None => Ok(failed.map_or(Ok(()), Err)),
    }
}

/// Removes the registrations that have ended because their context was destroyed.
pub(in crate::calls) fn forget_registrations_of(cx: &Cx<'_>, ctx: ContextId) {
    let mut registered = lock(&cx.shared.registered);
    let mut foreign = lock(&cx.shared.memory.foreign);
    for (_, gone) in registered.by_vaddr.extract_if(|_, registration| registration.ctx == ctx) {
        foreign.remove(gone.dptr);
    }
}

fn contexts_end(cx: &Cx<'_>) -> bool {
    cx.shared.ending.load(Ordering::Acquire) > 0
}

/// Unregisters pages that the guest driver wants back. Tries again while contexts are being
/// destroyed. If unregistering fails otherwise, ends the worker process, because the pages must not
/// stay accessible to the GPU.
fn let_go(cx: &Cx<'_>, gone: Vec<Registration>) {
    for registration in gone {
        while let Err(Refused(error)) = unregister(cx, &registration) {
            if !contexts_end(cx) {
                let what = "host memory cannot be unregistered from the GPU";
                crate::end::end(&format!("{what}: {error}"));
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// Gives a region back to the guest driver, after unregistering its pages from the GPU. `arena` is
/// the registration that the worker itself has made for the region's arena, if any.
pub(in crate::calls) fn detach(
    deferred: &Deferred,
    region: Arc<Region>,
    arena: Option<Registration>,
) {
    let mut gone: Vec<Registration> = {
        let mut registered = lock(&deferred.shared().registered);
        let keys: Vec<u64> = registered
            .by_vaddr
            .iter()
            .filter(|(_, registration)| Arc::ptr_eq(&registration.region, &region))
            .map(|(vaddr, _)| *vaddr)
            .collect();
        keys.iter().filter_map(|vaddr| registered.by_vaddr.remove(vaddr)).collect()
    };
    for registration in &gone {
        lock(&deferred.shared().memory.foreign).remove(registration.dptr);
    }
    gone.extend(arena);
    if gone.is_empty() {
        return;
    }
    let contexts: Vec<ContextId> =
        lock(&deferred.shared().tables).contexts.iter().map(|(id, _)| id).collect();
    deferred.own_job(None, ContextId::NONE, move |cx| {
        cx.synchronize_contexts(contexts);
        let_go(cx, gone);
        drop(region);
    });
}
