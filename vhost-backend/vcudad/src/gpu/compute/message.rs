//! Messages between the service and the scheduler thread.

use std::collections::BTreeMap;
use std::sync::mpsc;

use super::worker::WorkerEnds;
use gpu_scheduler::{GpuKey, Share, VmKey, VmStats};
use host_ipc::messages::WorkerId;

/// A command to the scheduler thread.
pub(super) enum Command {
    SetVm(VmKey, Vec<(GpuKey, Share)>),
    RemoveVm(VmKey),
    PauseVm(VmKey, bool),
    AddWorker(WorkerId, WorkerEnds),
    RemoveWorker(WorkerId),
    PauseWorker(WorkerId, bool),
    BeginStart(VmKey, GpuKey),
    EndStart,
    Stats(mpsc::Sender<Stats>),
    /// Publishes the current state of all VMs as trace points.
    Trace,
    /// Makes the scheduler thread panic.
    #[cfg(test)]
    Panic,
    /// Stalls the thread until the sender is dropped.
    #[cfg(test)]
    Stall(mpsc::Receiver<()>),
}

/// An event from the scheduler thread to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComputeEvent {
    /// A kernel of this worker ran longer than its VM's kernel_timeout on this GPU. This event is
    /// sent before the session gets the error, so it always arrives before the session ends.
    KernelTimeout(WorkerId, GpuKey),
    /// This worker's session has had time to report the timeout to its guest. The service must kill
    /// the worker.
    TimeoutReported(WorkerId),
    /// This worker's heartbeat stopped while it had work on a GPU. The service must kill the
    /// worker. Its window has already passed to another VM.
    HeartbeatLost(WorkerId),
    /// It's unknown whether this worker's kernels are on the GPU, because an eviction or a return
    /// failed. The service must kill the worker, unless it exits by itself.
    EvictionFailed(WorkerId),
    /// The worker whose start was requested with [`Command::BeginStart`] may be started now.
    MayStart,
    /// The thread failed and was restarted.
    Restarted,
}

/// Statistics at one point in time.
#[derive(Default)]
pub(super) struct Stats {
    /// The statistics of each VM on each of its GPUs, sorted.
    pub(super) vms: Vec<GpuStats>,
    /// The fraction of the last second for which each worker had work on each of its GPUs, in basis
    /// points, as counted by the worker. The worker counts its kernels as work even while they're
    /// evicted.
    pub(super) workers: BTreeMap<(WorkerId, GpuKey), u32>,
}

/// The statistics of a VM on one GPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuStats {
    pub(crate) vm: VmKey,
    pub(crate) gpu: GpuKey,
    pub(crate) stats: VmStats,
}
