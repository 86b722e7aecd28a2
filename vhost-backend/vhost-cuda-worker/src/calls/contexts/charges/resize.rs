//! The GPU time that changes of a context's local memory take.

use crate::calls::commands::cx::Cx;
use crate::calls::lock;

/// The driver clears local memory that it takes or frees. It clears this many bytes in a ns: on an
/// H200, changing the stack size by 7 KiB and back, which is 3.8 GB, took 0.8 ms of another VM's time.
const CLEARED_PER_NS: u64 = 4_000;
/// The time for each change besides that, in ns.
const CHANGE: u64 = 50_000;

/// Before the local memory of the current context changes by this many bytes per thread, waits until
/// the VM may use the GPU, if this and similar changes take long enough.
pub(super) fn wait_to_resize(cx: &Cx<'_>, per_thread: u64) {
    let device = lock(&cx.shared.tables).device_of(cx.ctx).unwrap_or(0);
    let devices = cx.shared.charges.devices(cx.driver(), cx.shared.devices);
    let threads = devices.get(device).map_or(0, |device| device.threads);
    let ns = CHANGE + per_thread.saturating_mul(threads) / CLEARED_PER_NS;
    cx.shared.turns.wait_if_due(device, ns);
}
