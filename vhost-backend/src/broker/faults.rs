//! What is done when a GPU fails: it is told of and counted, no VM is placed there any more, and a
//! GPU that is lost takes its workers with it. What the sessions see of it is the driver's to say.

use control_api::EventKind;

use super::rate::printable;
use super::service::Service;
use super::witness::{Fault, FaultKind};
use crate::ledger::GpuId;

/// What a fault says of its GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// A program did something wrong, and the GPU is as good as before: any guest can cause that.
    Program,
    /// The GPU is not to be trusted with more VMs.
    Faulty,
    /// It is gone.
    Lost,
}

/// Xids that NVIDIA's list gives a program as the cause of: 13 and 31 (exceptions and page faults of
/// kernels), 43, 45 (a channel that was reset or torn down), 68 (video), 109 (a context's timeout).
const OF_PROGRAMS: [u64; 6] = [13, 31, 43, 45, 68, 109];
/// The GPU has fallen off the bus.
const OFF_THE_BUS: u64 = 79;

fn judge(kind: FaultKind) -> Verdict {
    match kind {
        FaultKind::Xid(number) if OF_PROGRAMS.contains(&number) => Verdict::Program,
        FaultKind::Xid(OFF_THE_BUS) | FaultKind::Lost => Verdict::Lost,
        FaultKind::Xid(_) | FaultKind::Ecc => Verdict::Faulty,
    }
}

impl Service {
    pub(super) fn gpu_fault(&mut self, fault: &Fault) {
        let verdict = judge(fault.kind);
        let says = fault.kind.to_string();
        let Some(gpu) = fault.uuid.as_deref().and_then(|uuid| self.gpus.by_uuid(uuid)) else {
            // One that no VM can have, or the driver does not say which.
            let of = printable(fault.uuid.as_deref().unwrap_or("a GPU"));
            tracing::warn!("{of}: {says}");
            return self.publish(EventKind::GpuFault, None, None, format!("{of}: {says}"));
        };
        if verdict == Verdict::Program {
            tracing::debug!(gpu = gpu.0, "{says}, which a program causes");
            return;
        }
        if let Some(found) = self.gpus.get_mut(gpu) {
            found.faults += 1;
            found.last_fault = Some(says.clone());
        }
        tracing::error!(gpu = gpu.0, "{says}; no VM is placed there any more");
        self.publish_gpu(EventKind::GpuFault, None, None, Some(gpu), says.clone());
        if verdict == Verdict::Lost {
            for worker in self.workers.with_gpu(gpu) {
                self.kill_worker(worker, &says);
            }
        }
    }

    /// Whether a GPU is to get more VMs and workers.
    pub(super) fn is_healthy(&self, gpu: GpuId) -> bool {
        self.gpus.get(gpu).is_some_and(|gpu| gpu.last_fault.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_guest_can_cause_does_not_condemn_a_gpu() {
        for number in OF_PROGRAMS {
            assert_eq!(judge(FaultKind::Xid(number)), Verdict::Program, "Xid {number}");
        }
        for kind in [FaultKind::Xid(48), FaultKind::Xid(62), FaultKind::Xid(999), FaultKind::Ecc] {
            assert_eq!(judge(kind), Verdict::Faulty, "{kind}");
        }
        assert_eq!(judge(FaultKind::Xid(79)), Verdict::Lost);
        assert_eq!(judge(FaultKind::Lost), Verdict::Lost);
    }
}
