//! What is done when a GPU fails: it is told of and counted, no VM is placed there any more, and a
//! GPU that is lost takes its workers with it. What the sessions see of it is the driver's to say.
//! What a program does to itself is told of, and leaves the GPU as it was.

use std::time::Instant;

use control_api::EventKind;

use super::gpus::Gpus;
use super::rate::printable;
use super::service::Service;
use super::witness::{Fault, FaultKind};
use memory_ledger::GpuId;

/// What a fault says of its GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// A program did something wrong, and the GPU is as good as before: any guest can cause that.
    Program,
    /// The GPU is not to be trusted with more VMs.
    Faulty,
    /// It is gone.
    Lost,
    /// It was known to be gone: the driver tells it in more than one way.
    Known,
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

/// Notes a fault with its GPU, if that is one of ours and to blame.
fn note(gpus: &mut Gpus, fault: &Fault) -> (Option<GpuId>, Verdict) {
    let verdict = judge(fault.kind);
    let gpu = fault.uuid.as_deref().and_then(|uuid| gpus.by_uuid(uuid));
    if verdict != Verdict::Program
        && let Some(found) = gpu.and_then(|gpu| gpus.get_mut(gpu))
    {
        if verdict == Verdict::Lost && std::mem::replace(&mut found.lost, true) {
            return (gpu, Verdict::Known);
        }
        found.faults += 1;
        found.last_fault = Some(fault.kind.to_string());
    }
    (gpu, verdict)
}

impl Service {
    pub(super) fn gpu_fault(&mut self, fault: &Fault) {
        let says = fault.kind.to_string();
        let (gpu, verdict) = note(&mut self.gpus, fault);
        let Some(gpu) = gpu else {
            if verdict == Verdict::Program {
                return;
            }
            // One that no VM can have, or the driver does not say which.
            let of = printable(fault.uuid.as_deref().unwrap_or("a GPU"));
            tracing::warn!("{of}: {says}");
            return self.publish(EventKind::GpuFault, None, None, format!("{of}: {says}"));
        };
        match verdict {
            Verdict::Program => return self.program_fault(gpu, &says),
            Verdict::Known => return,
            Verdict::Faulty | Verdict::Lost => {}
        }
        tracing::error!(gpu = gpu.0, "{says}; the GPU takes no new VMs until vcudad is restarted");
        self.publish_gpu(EventKind::GpuFault, None, None, Some(gpu), says.clone());
        if verdict == Verdict::Lost {
            for worker in self.workers.with_gpu(gpu) {
                self.kill_worker(worker, &says);
            }
        }
    }

    fn program_fault(&mut self, gpu: GpuId, says: &str) {
        let Some(found) = self.gpus.get_mut(gpu) else { return };
        let Some(before) = found.program_faults.say(Instant::now()) else { return };
        let mut says = format!("{says}, caused by a program");
        if before > 0 {
            says += &format!(" ({before} more since the last event)");
        }
        tracing::info!(gpu = gpu.0, "{says}");
        self.publish_gpu(EventKind::ProgramFault, None, None, Some(gpu), says);
    }

    /// Whether a GPU is to get more VMs and workers.
    pub(super) fn is_healthy(&self, gpu: GpuId) -> bool {
        self.gpus.get(gpu).is_some_and(|gpu| gpu.last_fault.is_none())
    }
}

#[cfg(test)]
mod tests {
    use control_api::GpuRequest;

    use super::super::placement::PlacementError;
    use super::super::vms::{Vms, place_vm};
    use super::super::witness::{Faults, WitnessError};
    use super::*;
    use crate::config::{Policy, Vm};
    use host_ipc::gpu::{GpuFacts, Probed};

    /// A source that has some faults to tell.
    struct Fake(Vec<Fault>);

    impl Faults for Fake {
        fn next(&mut self) -> Result<Option<Fault>, WitnessError> {
            Ok(self.0.pop())
        }
    }

    #[test]
    fn no_vm_is_placed_on_a_gpu_that_failed() {
        let facts = |byte| GpuFacts { uuid: [byte; 16], memory: 100, ..GpuFacts::default() };
        let mut gpus = Gpus::new(
            &Probed {
                library: "libcuda.so.1".into(),
                cuda_version: 13000,
                driver: "1".into(),
                gpus: vec![facts(1), facts(2)],
            },
            Vec::new(),
        );
        let uuid = |byte| Some(facts(byte).uuid_text());
        let mut source = Fake(vec![
            Fault { uuid: uuid(1), kind: FaultKind::Xid(31) },
            Fault { uuid: uuid(2), kind: FaultKind::Ecc },
            Fault { uuid: uuid(9), kind: FaultKind::Lost },
        ]);
        let mut noted = Vec::new();
        while let Ok(Some(fault)) = source.next() {
            noted.push(note(&mut gpus, &fault));
        }
        let second = Some(GpuId(1));
        let expected =
            [(None, Verdict::Lost), (second, Verdict::Faulty), (Some(GpuId(0)), Verdict::Program)];
        assert_eq!(noted, expected);
        let rooms = Vms::default().rooms(&gpus, &Policy::default(), |_| 0, None);
        let mut vm = Vm::new(control_api::VmSpec::new("a", 50)).unwrap();
        assert_eq!(place_vm(&rooms, &mut vm, false), Ok(vec![GpuId(0)]));
        vm.spec.gpus = vec![GpuRequest::Index(1)];
        let refused = place_vm(&rooms, &mut vm, false);
        assert_eq!(refused, Err(PlacementError::Faulty { gpu: GpuId(1) }));
    }

    #[test]
    fn a_gpu_is_lost_once() {
        let probed = Probed {
            library: "libcuda.so.1".into(),
            cuda_version: 13000,
            driver: "1".into(),
            gpus: vec![GpuFacts::default()],
        };
        let mut gpus = Gpus::new(&probed, Vec::new());
        let uuid = gpus.get(GpuId(0)).map(|gpu| gpu.uuid.clone());
        let mut verdict = |kind| note(&mut gpus, &Fault { uuid: uuid.clone(), kind }).1;
        let verdicts = [FaultKind::Xid(79), FaultKind::Lost, FaultKind::Lost].map(&mut verdict);
        assert_eq!(verdicts, [Verdict::Lost, Verdict::Known, Verdict::Known]);
        assert_eq!(gpus.get(GpuId(0)).map(|gpu| gpu.faults), Some(1));
    }

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
