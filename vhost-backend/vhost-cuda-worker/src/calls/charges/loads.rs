//! Charges for the modules and libraries that a session loads.
//!
//! A module takes memory for its variables when it is loaded. A library takes that memory
//! separately in each context, when any part of the library is first used there. Code is loaded at
//! the same time or, with lazy loading, kernel by kernel.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_api::sys::CUmoduleLoadingMode;
use protocol::ids::ContextId;

use super::footprint;
use super::load::{Load, Part};
use super::reserve::{add_heap_user, add_part, change_terms, remove_parts};
use super::settle::{Reservation, Reserved, Settled, kind};
use super::taken::Footprint;
use crate::calls::cx::Cx;
use crate::calls::lock;
use crate::driver::{CuError, CuResult};
use host_ipc::messages::Charge;

/// Computes an upper bound for the device memory that an image takes, before the driver gets the
/// image.
fn bound(cx: &Cx<'_>, image: &[u8]) -> CuResult<Footprint> {
    let charges = &cx.shared.charges;
    let devices = charges.devices(cx.driver(), cx.shared.devices);
    let capabilities: Vec<u32> = devices.iter().map(|device| device.capability).collect();
    let mut footprint = footprint::footprint(image, &capabilities).map_err(|error| {
        tracing::warn!(session = cx.shared.session.label, "refusing to load an image: {error}");
        CuError::NOT_SUPPORTED
    })?;
    if !loads_lazily(cx) {
        footprint.code = footprint.all_code();
        footprint.kernels = vec![];
    }
    Ok(footprint)
}

fn loads_lazily(cx: &Cx<'_>) -> bool {
    *cx.shared.charges.loads.lazy.get_or_init(|| {
        let mut mode = CUmoduleLoadingMode(0);
        // SAFETY: the pointer is to a local variable.
        let known = unsafe { cx.driver().cuModuleGetLoadingMode(&mut mode) };
        known.is_ok() && mode == CUmoduleLoadingMode::CU_MODULE_LAZY_LOADING
    })
}

/// Describes an image that is about to be loaded, so that it can be charged. Nothing is charged
/// yet.
pub(in crate::calls) fn new_load(cx: &Cx<'_>, image: &[u8]) -> CuResult<Load> {
    let takes = Arc::new(bound(cx, image)?);
    let number = cx.shared.charges.loads.last.fetch_add(1, Ordering::Relaxed) + 1;
    Ok(Load { number, takes })
}

/// Charges the current context for a module, before the driver loads it.
pub(in crate::calls) fn reserve_module(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Module>,
    load: &Load,
) -> CuResult<Reserved<kind::Module, impl FnOnce() -> CuResult>> {
    add_load(cx, load)?;
    Ok(reservation.reserved(|| {
        give_back_failed(cx, load);
        Ok(())
    }))
}

/// Charges the current context for a library's variables and for the code that is loaded with them,
/// before any part of the library is used there. The charge is released when the library is
/// unloaded or the context is destroyed.
pub(in crate::calls) fn reserve_load(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Module>,
    load: &Load,
) -> CuResult<Settled<kind::Module>> {
    add_load(cx, load)?;
    Ok(reservation.charged())
}

pub(super) fn add_load(cx: &Cx<'_>, load: &Load) -> CuResult {
    let uses_heap = load.takes.uses_heap && add_heap_user(cx, cx.ctx, load.number)?;
    let reserved = add_part(cx, cx.ctx, Part::Image(load.number), load.image_bytes());
    reserved.inspect_err(|_| {
        if uses_heap {
            remove_heap_user(cx);
        }
    })
}

/// Releases the current context's charge for a module that the driver has failed to load. The
/// malloc heap stays charged if other modules have started to use it.
fn give_back_failed(cx: &Cx<'_>, load: &Load) {
    give_back_module(cx, cx.ctx, load);
    if load.takes.uses_heap {
        remove_heap_user(cx);
    }
}

fn remove_heap_user(cx: &Cx<'_>) {
    let _ = change_terms(cx, cx.ctx, Charge::Heap, |terms| {
        terms.heap_users = terms.heap_users.saturating_sub(1);
    });
}

/// Releases a context's charge for a module, after the module was unloaded.
pub(in crate::calls) fn give_back_module(cx: &Cx<'_>, ctx: ContextId, load: &Load) {
    // This fails only if the context has been destroyed meanwhile. Then all its charges are already
    // released.
    let _ = remove_parts(cx, ctx, load.number);
}

/// Releases the charges for a library in all contexts, after the library was unloaded.
pub(in crate::calls) fn give_back_library(cx: &Cx<'_>, load: &Load) {
    let all: Vec<ContextId> = lock(&cx.shared.charges.contexts).keys().copied().collect();
    for ctx in all {
        give_back_module(cx, ctx, load);
    }
}
