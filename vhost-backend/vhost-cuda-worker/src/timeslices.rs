//! Changes the time slices of this worker's kernels when the scheduler asks for it.
//!
//! Only the process that has created a channel group can change its time slice. A worker that doesn't
//! obey keeps the driver's usual one, so latency VMs' requests wait longer for its kernels.

use std::io;
use std::sync::Arc;

use host_ipc::gate::GateMap;
use rm_control::timeslices::Group;

/// A short time slice, in microseconds. Shorter ones hardly let requests begin sooner.
const SHORT: u64 = 100;

/// Starts a thread that keeps the time slices of these channel groups as the gate page says. Groups
/// that the worker creates later have the usual ones.
pub fn start(page: Arc<GateMap>, groups: Vec<Group>) -> io::Result<()> {
    if groups.is_empty() {
        return Ok(());
    }
    let set = move |gpus: u32, changed: u32| {
        let is_in = |bits: u32, number: u32| bits.checked_shr(number).unwrap_or(0) & 1 == 1;
        for group in groups.iter().filter(|group| is_in(changed, group.gpu_number)) {
            let limit = if is_in(gpus, group.gpu_number) { SHORT } else { u64::MAX };
            // The group may have been freed with its context.
            if let Err(error) = group.limit_timeslice(limit) {
                tracing::debug!(gpu = group.gpu_number, "cannot change a time slice: {error}");
            }
        }
    };
    let follow = move || {
        let mut known = 0;
        loop {
            let gpus = page.worker.changed_short_slices(known);
            set(gpus, gpus ^ known);
            known = gpus;
        }
    };
    std::thread::Builder::new().name("timeslices".into()).spawn(follow)?;
    Ok(())
}
