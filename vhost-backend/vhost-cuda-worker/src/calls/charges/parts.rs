//! The charges for a module or library in one context.

use protocol::ids::ContextId;

use super::load::{Load, Part};
use super::reserve::{add_heap_user, add_part, change_terms, remove_parts};
use crate::calls::cx::Cx;
use crate::calls::lock;
use crate::driver::CuResult;
use host_ipc::messages::Charge;

/// The driver fills variables with zeros on the GPU. It fills this many bytes in a ns: on an H200,
/// 256 MiB took half a millisecond of another VM's time.
const FILLED_PER_NS: u64 = 500;
/// Variables of fewer bytes than this are filled in about the time that a launch takes.
const LARGE: u64 = 1 << 20;

/// Charges the current context for a module or library, unless it's charged there already. Then
/// waits until its variables may be filled.
pub(super) fn add_load(cx: &Cx<'_>, load: &Load) -> CuResult {
    if charge_load(cx, load)? {
        wait_to_fill(cx, load);
    }
    Ok(())
}

/// Charges the current context for a module or library, unless it's charged there already. Returns
/// whether it wasn't.
pub(super) fn charge_load(cx: &Cx<'_>, load: &Load) -> CuResult<bool> {
    let uses_heap = load.takes.uses_heap && add_heap_user(cx, cx.ctx, load.number)?;
    let reserved = add_part(cx, cx.ctx, Part::Image(load.number), load.image_bytes());
    reserved.inspect_err(|_| {
        if uses_heap {
            remove_heap_user(cx);
        }
    })
}

/// If the variables of a module or library are large, waits until the VM may use the GPU, because
/// the driver will fill them. On the ring reader's thread, this doesn't wait.
pub(super) fn wait_to_fill(cx: &Cx<'_>, load: &Load) {
    let data = load.takes.data;
    if data >= LARGE {
        let device = lock(&cx.shared.tables).device_of(cx.ctx).unwrap_or(0);
        cx.shared.turns.wait(device, data / FILLED_PER_NS);
    }
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
