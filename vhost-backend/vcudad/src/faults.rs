//! Which faults a GPU is to blame for. A fault that a program causes leaves the GPU as it was.

use super::witness::FaultKind;

/// What a fault says about its GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A program did something wrong, which any guest can. The GPU is as good as before.
    Program,
    /// No more VMs may be placed on the GPU.
    Faulty,
    /// The GPU is gone.
    Lost,
    /// The GPU was known to be gone: the driver reports it in more than one way.
    Known,
}

/// Xids for which NVIDIA's list gives a program as the cause: 13 and 31 (exceptions and page faults
/// of kernels), 43, 45 (a channel that was reset or torn down), 68 (video), 109 (a context's
/// timeout).
const OF_PROGRAMS: [u64; 6] = [13, 31, 43, 45, 68, 109];
/// The GPU has fallen off the bus.
const OFF_THE_BUS: u64 = 79;

/// What a kind of fault says about its GPU.
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
