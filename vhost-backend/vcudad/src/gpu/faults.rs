//! Classifies GPU faults by cause and consequence. A fault that a program caused leaves the GPU
//! usable.

use crate::gpu::nvml::FaultKind;

/// The consequence of a fault for its GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A program caused the fault, which any guest can do. The GPU is still usable.
    Program,
    /// No more VMs may be placed on the GPU.
    Faulty,
    /// The driver can't reach the GPU any more.
    Lost,
    /// The loss of this GPU has been reported before. The driver reports a loss in more than one
    /// way.
    Known,
}

/// Xids that NVIDIA's documentation attributes to programs: 13 and 31 (exceptions and page faults
/// in kernels), 43 and 45 (a channel was reset or torn down), 68 (video), 109 (context timeout).
const OF_PROGRAMS: [u64; 6] = [13, 31, 43, 45, 68, 109];
/// The Xid of a GPU that has fallen off the bus.
const OFF_THE_BUS: u64 = 79;

/// Returns the verdict for a kind of fault.
pub(crate) fn judge(kind: FaultKind) -> Verdict {
    match kind {
        FaultKind::Xid(number) if OF_PROGRAMS.contains(&number) => Verdict::Program,
        FaultKind::Xid(OFF_THE_BUS) | FaultKind::Lost => Verdict::Lost,
        FaultKind::Xid(_) | FaultKind::Ecc => Verdict::Faulty,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_that_guests_can_cause_leave_a_gpu_healthy() {
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
