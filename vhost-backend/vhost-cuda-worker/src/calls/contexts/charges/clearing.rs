//! Estimates the GPU time in which the driver clears memory.

use crate::calls::commands::cx::Cx;
use crate::calls::lock;

/// The number of bytes that the GPU clears in a ns, when the driver clears memory that it takes or
/// frees. On an H200, changing the stack size by 7 KiB and back, which is 3.8 GB, took 0.8 ms of
/// another VM's time. Allocating and freeing 456 GB each second took 9 to 11% of the memory
/// bandwidth.
const CLEARED_PER_NS: u64 = 4_000;
/// The estimated time, in ns, for each change of a context's local memory, in addition to the time
/// for clearing the memory.
const CHANGE: u64 = 50_000;

/// Adds the time in which the driver clears `bytes` bytes of new memory to the GPU time that the
/// session owes. Each byte counts once, because the driver clears memory once, before it's used or
/// after it's freed. The session pays when it waits in [`wait_to_free`]. Until then, the VM's quota
/// limits the memory that it can have without paying.
pub(in crate::calls) fn owe_clearing(cx: &Cx<'_>, device: i32, bytes: u64) {
    if let Ok(device) = usize::try_from(device) {
        cx.shared.turns.owe(device, bytes / CLEARED_PER_NS);
    }
}

/// Waits until the VM may use the GPU before the driver frees memory, if the session owes enough
/// GPU time. Doesn't wait on the ring reader's thread, which must not block.
pub(in crate::calls) fn wait_to_free(cx: &Cx<'_>, device: i32) {
    if let Ok(device) = usize::try_from(device) {
        cx.shared.turns.wait_if_due(device, 0);
    }
}

/// Waits until the VM may use the GPU before the local memory of the current context changes by
/// `per_thread` bytes per thread, if the session owes enough GPU time for this and earlier
/// operations.
pub(super) fn wait_to_resize(cx: &Cx<'_>, per_thread: u64) {
    let device = lock(&cx.shared.tables).device_of(cx.ctx).unwrap_or(0);
    let devices = cx.shared.charges.devices(cx.driver(), cx.shared.devices);
    let threads = devices.get(device).map_or(0, |device| device.threads);
    let ns = CHANGE + per_thread.saturating_mul(threads) / CLEARED_PER_NS;
    cx.shared.turns.wait_if_due(device, ns);
}
