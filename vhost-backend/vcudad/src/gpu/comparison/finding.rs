//! The amounts that are compared, and the findings.

use crate::gpu::nvml::MemorySample;
use host_ipc::messages::WorkerId;
use memory_ledger::VmId;

/// A worker's account on the sampled GPU. Warm workers, which have no VM, are included with the
/// size of one context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Booked {
    /// The worker's ID.
    pub(crate) worker: WorkerId,
    pub(crate) pid: u32,
    /// Bytes that the ledger has booked for the worker.
    pub(crate) bytes: u64,
    /// Bytes in this account that no other worker shares.
    pub(crate) alone: u64,
    /// The VM whose account on this GPU includes these bytes. If the GPU isn't one of the worker's,
    /// this is the VM of the worker's session.
    pub(crate) vm: Option<VmId>,
    /// True if the GPU is one of the worker's. On any other GPU, the worker may not use any memory.
    pub(crate) is_own: bool,
}

/// The VM or, for a worker without a VM, the worker to which memory is attributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Holder {
    Vm(VmId),
    /// A worker whose account belongs to no VM.
    Worker(WorkerId),
}

impl Booked {
    pub(super) fn holder(&self) -> Holder {
        self.vm.map_or(Holder::Worker(self.worker), Holder::Vm)
    }
}

/// A worker that has ended, and that the driver still reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leftover {
    pub(crate) vm: VmId,
    pub(crate) pid: u32,
}

/// Returns the bytes that the driver reports for a VM's workers that have ended.
pub(super) fn left_bytes(vm: VmId, left: &[Leftover], sample: &MemorySample) -> u64 {
    let bytes = left.iter().filter(|one| one.vm == vm).map(|one| sample.process_bytes(one.pid));
    bytes.flatten().fold(0, u64::saturating_add)
}

/// A change that a comparison has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// A worker uses more memory than the ledger has booked for it, by more than the slack.
    Excess {
        worker: WorkerId,
        /// Bytes that the driver reports for the worker.
        seen: u64,
        /// Bytes that the ledger has booked for the worker.
        booked: u64,
    },
    /// A worker uses memory on a GPU that wasn't given to it.
    NotOwn {
        worker: WorkerId,
        /// Bytes that the driver reports for the worker.
        seen: u64,
    },
    /// A worker whose excess was reported is back within the slack.
    Settled { worker: WorkerId },
    /// The workers of a VM together use more memory than the VM is charged for, by more than the
    /// slack.
    VmExcess {
        vm: VmId,
        /// Bytes that the driver reports for all workers of the VM, except those in other findings.
        seen: u64,
        /// Bytes that are charged to the VM for these workers.
        charged: u64,
        /// The workers that must end, so that the others are within the charge.
        workers: Vec<WorkerId>,
    },
    /// A VM whose excess was reported is back within the slack.
    VmSettled { vm: VmId },
    /// Memory is in use that the driver reports for no process, and that no VM is charged for.
    Unreported {
        bytes: u64,
        /// The VMs with workers on the GPU.
        vms: Vec<VmId>,
        /// The VM that is responsible. `None` unless all processes on the GPU belong to this
        /// broker's VMs, and only one VM can be responsible.
        guilty: Option<VmId>,
    },
    /// Memory is in use that isn't in the ledger, and it's unknown which process uses it.
    ///
    /// This can be reported only if the driver lists none of this broker's processes, because a pid
    /// namespace hides them. Then only the GPU's total can be checked. The difference between the
    /// total and the booked bytes is compared with the lowest such difference so far. The total
    /// slack is the slack per worker times the number of workers.
    Unexplained {
        /// Unbooked bytes beyond the lowest number of unbooked bytes so far.
        bytes: u64,
    },
    /// The GPU's total is back within the slack.
    Explained,
}
