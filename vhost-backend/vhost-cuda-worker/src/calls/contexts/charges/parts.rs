//! The charges for a module or library in one context.

use protocol::ids::ContextId;

use super::load::{Load, Part};
use super::reserve::{add_part, add_users, remove_parts, remove_users};
use crate::calls::commands::cx::Cx;
use crate::calls::lock;
use crate::driver::CuResult;
use crate::reply::UNDECIDED;

/// The estimated GPU time, in ns per KiB, for loading an image. On an H200, loading and unloading
/// an image with 1 MiB of data took 0.7 ms of another VM's time, and filling 256 MiB with zeros
/// took half a millisecond.
const NS_PER_KIB: u64 = 700;
const COPIED_AT_MOST: u64 = 1 << 20;
const FILLED_PER_NS: u64 = 500;

/// Charges the current context for a module or library, unless the context is already charged for
/// it. If the charge is new, waits until the driver may use the GPU to fill the variables.
pub(super) fn add_load(cx: &Cx<'_>, load: &Load) -> CuResult {
    if charge_load(cx, load)? {
        wait_to_fill(cx, load);
    }
    Ok(())
}

/// Charges the current context for a module or library, unless the context is already charged for
/// it. Returns true if the charge is new.
pub(super) fn charge_load(cx: &Cx<'_>, load: &Load) -> CuResult<bool> {
    let counted = load.users() != (0, 0) && add_users(cx, cx.ctx, load)?;
    let reserved = add_part(cx, cx.ctx, Part::Image(load.number), load.image_bytes());
    reserved.inspect_err(|error| {
        // Keep the count if the command will run again after the broker's answer (`UNDECIDED`),
        // because it won't count the users a second time then.
        if counted && error.0 != UNDECIDED {
            remove_users(cx, load);
        }
    })
}

/// Waits until the VM may use the GPU, if the session owes enough GPU time for filling this module
/// or library and for earlier operations. Doesn't wait on the ring reader's thread, which must not
/// block.
pub(super) fn wait_to_fill(cx: &Cx<'_>, load: &Load) {
    let copied = load.image_bytes().min(COPIED_AT_MOST);
    let ns = copied / 1024 * NS_PER_KIB + load.takes.data / FILLED_PER_NS;
    let device = lock(&cx.shared.tables).device_of(cx.ctx).unwrap_or(0);
    cx.shared.turns.wait_if_due(device, ns);
}

/// Releases the current context's charge for a module or library that wasn't passed to the driver.
pub(super) fn give_back_unused(cx: &Cx<'_>, load: &Load) {
    remove_users(cx, load);
    give_back_module(cx, cx.ctx, load);
}

/// Releases a context's charge for a module, after the module was unloaded or the driver has failed
/// to load it. The malloc heap and the memory for printing and launching stay charged, because the
/// driver keeps them: on an H200, it kept 140 MiB after a failed load.
pub(in crate::calls) fn give_back_module(cx: &Cx<'_>, ctx: ContextId, load: &Load) {
    // Removing the charges fails only if the context has been destroyed in the meantime. All its
    // charges were released at that time.
    let _ = remove_parts(cx, ctx, load.number);
}
