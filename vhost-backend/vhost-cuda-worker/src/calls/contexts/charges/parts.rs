//! The charges for a module or library in one context.

use protocol::ids::ContextId;

use super::load::{Load, Part};
use super::reserve::{add_part, add_users, remove_parts, remove_users};
use crate::calls::commands::cx::Cx;
use crate::calls::lock;
use crate::driver::CuResult;
use crate::reply::UNDECIDED;

/// The driver uses the GPU when it loads an image. On an H200, loading and unloading an image with
/// 1 MiB of data took 0.7 ms of another VM's time, and filling 256 MiB with zeros half a millisecond.
const NS_PER_KIB: u64 = 700;
const COPIED_AT_MOST: u64 = 1 << 20;
const FILLED_PER_NS: u64 = 500;

/// Charges the current context for a module or library, unless it's charged there already. Then
/// waits until its variables may be filled.
pub(super) fn add_load(cx: &Cx<'_>, load: &Load) -> CuResult {
    if charge_load(cx, load)? {
        wait_to_fill(cx, load);
    }
    Ok(())
}

/// Charges the current context for a module or library, unless it's charged there already. Returns
/// true if this call has charged it.
pub(super) fn charge_load(cx: &Cx<'_>, load: &Load) -> CuResult<bool> {
    let counted = load.users() != (0, 0) && add_users(cx, cx.ctx, load)?;
    let reserved = add_part(cx, cx.ctx, Part::Image(load.number), load.image_bytes());
    reserved.inspect_err(|error| {
        // A command that runs again doesn't count them again.
        if counted && error.0 != UNDECIDED {
            remove_users(cx, load);
        }
    })
}

/// Waits until the VM may use the GPU, but only if the GPU time for filling this module or library,
/// added to that of earlier operations that haven't waited, reaches the threshold of `wait_if_due`.
/// On the ring reader's thread, this doesn't wait.
pub(super) fn wait_to_fill(cx: &Cx<'_>, load: &Load) {
    let copied = load.image_bytes().min(COPIED_AT_MOST);
    let ns = copied / 1024 * NS_PER_KIB + load.takes.data / FILLED_PER_NS;
    let device = lock(&cx.shared.tables).device_of(cx.ctx).unwrap_or(0);
    cx.shared.turns.wait_if_due(device, ns);
}

/// Releases the current context's charge for a module or library that the driver hasn't got.
pub(super) fn give_back_unused(cx: &Cx<'_>, load: &Load) {
    remove_users(cx, load);
    give_back_module(cx, cx.ctx, load);
}

/// Releases a context's charge for a module, after the module was unloaded or the driver has failed
/// to load it. The malloc heap and the memory for printing and launching stay charged: on an H200,
/// the driver kept 140 MiB after a failed load.
pub(in crate::calls) fn give_back_module(cx: &Cx<'_>, ctx: ContextId, load: &Load) {
    // Removing the charges fails only if the context has been destroyed meanwhile. Then all its
    // charges are already released.
    let _ = remove_parts(cx, ctx, load.number);
}
