//! Changes the time slices of this worker's kernels when the scheduler asks for it.
//!
//! The driver takes such a change only through a file of the process that has created the context. A
//! worker that doesn't obey keeps the usual time slices, so latency VMs' requests wait longer for its
//! kernels.

use std::io;
use std::sync::Arc;

use host_ipc::gate::GateMap;

use super::driver::recorder;

/// A short time slice, in microseconds. Shorter ones hardly let requests begin sooner.
const SHORT: u64 = 100;

/// Starts a thread that keeps the time slices of this worker's kernels as the gate page says.
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
