//! Changes the time slices of this worker's kernels when the scheduler asks for it.
//!
//! NVIDIA's kernel driver accepts this change only through a file descriptor of the process that
//! has created the context. If a compromised worker doesn't change them, its time slices stay as
//! usual, so requests of latency VMs wait longer for its kernels.

use std::io;
use std::sync::Arc;

use host_ipc::gate::GateMap;

use super::driver::recorder;

/// A short time slice, in microseconds. With even shorter ones, requests of latency VMs would
/// hardly begin sooner.
const SHORT: u64 = 100;

/// Starts a thread that sets the time slices of this worker's kernels as the gate page requests.
pub fn start(page: Arc<GateMap>) -> io::Result<()> {
    let follow = move || {
        let mut known = 0;
        loop {
            let gpus = page.worker.changed_short_slices(known);
            let is_in = |bits: u32, number: u32| bits >> number & 1 == 1;
            for number in (0..u32::BITS).filter(|number| is_in(gpus ^ known, *number)) {
                recorder::limit_timeslices(number, is_in(gpus, number).then_some(SHORT));
            }
            known = gpus;
        }
    };
    std::thread::Builder::new().name("timeslices".into()).spawn(follow)?;
    Ok(())
}
