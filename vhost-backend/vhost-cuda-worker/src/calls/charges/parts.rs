//! The charges for a module or library in one context.

use protocol::ids::ContextId;

use super::load::{Load, Part};
use super::reserve::{add_heap_user, add_part, change_terms, remove_parts};
use crate::calls::cx::Cx;
use crate::driver::CuResult;
use host_ipc::messages::Charge;

/// Charges the current context for a module or library, unless it's charged there already.
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
pub(super) fn give_back_failed(cx: &Cx<'_>, load: &Load) {
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
