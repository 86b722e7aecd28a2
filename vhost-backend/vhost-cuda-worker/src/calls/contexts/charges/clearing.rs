//! The GPU time that the driver takes to clear memory.

use crate::calls::commands::cx::Cx;
use crate::calls::lock;

/// The driver clears memory that it takes or frees. It clears this many bytes in a ns: on an H200,
/// changing the stack size by 7 KiB and back, which is 3.8 GB, took 0.8 ms of another VM's time, and
/// allocating and freeing 456 GB each second took 9 to 11% of the memory bandwidth.
const CLEARED_PER_NS: u64 = 4_000;
/// The time for each change of a context's local memory besides that, in ns.
const CHANGE: u64 = 50_000;

/// Adds the time in which the driver clears new memory of this size to what the session owes. The
/// driver clears the memory once, before it's used or after it's freed. The session waits in
/// [`wait_to_free`]; before that, the VM's quota limits the memory that it can have.
pub(in crate::calls) fn owe_clearing(cx: &Cx<'_>, device: i32, bytes: u64) {
    if let Ok(device) = usize::try_from(device) {
        cx.shared.turns.owe(device, bytes / CLEARED_PER_NS);
    }
}

/// Before the driver frees memory, waits until the VM may use the GPU, if the session owes enough
/// time. On the ring reader's thread, this doesn't wait.
pub(in crate::calls) fn wait_to_free(cx: &Cx<'_>, device: i32) {
    if let Ok(device) = usize::try_from(device) {
        cx.shared.turns.wait_if_due(device, 0);
    }
}

/// Before the local memory of the current context changes by this many bytes per thread, waits until
/// the VM may use the GPU, if this and similar changes take long enough.
pub(super) fn wait_to_resize(cx: &Cx<'_>, per_thread: u64) {
    let device = lock(&cx.shared.tables).device_of(cx.ctx).unwrap_or(0);
    let devices = cx.shared.charges.devices(cx.driver(), cx.shared.devices);
    let threads = devices.get(device).map_or(0, |device| device.threads);
    let ns = CHANGE + per_thread.saturating_mul(threads) / CLEARED_PER_NS;
    cx.shared.turns.wait_if_due(device, ns);
}
