//! The messages between the service and the scheduler's thread.

use std::sync::mpsc;

use super::worker::WorkerEnds;
use gpu_scheduler::{GpuKey, Share, VmKey, VmStats};
use host_ipc::messages::WorkerId;

/// A command for the scheduler's thread.
pub(super) enum Command {
    SetVm(VmKey, Vec<(GpuKey, Share)>),
    RemoveVm(VmKey),
    AddWorker(WorkerId, WorkerEnds),
    RemoveWorker(WorkerId),
    Stats(mpsc::Sender<Vec<GpuStats>>),
    /// Makes the thread panic.
    #[cfg(test)]
    Panic,
    /// Stalls the thread until the other end is dropped.
    #[cfg(test)]
    Stall(mpsc::Receiver<()>),
}

/// An event of the scheduler's thread for the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComputeEvent {
    /// A kernel of this worker ran longer than the VM's kernel_timeout. This event is
    /// sent before the session gets the error, so it always precedes the session's end.
    KernelTimeout(WorkerId, GpuKey),
    /// This worker's session has had time to report the timeout to its guest. Kill the worker.
    TimeoutReported(WorkerId),
    /// This worker's heartbeat stopped while it had work on a GPU. Kill the worker. Its window has
    /// passed to another VM.
    HeartbeatLost(WorkerId),
    /// The thread failed and was restarted.
    Restarted,
}

/// The statistics of a VM on one GPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuStats {
    pub(crate) vm: VmKey,
    pub(crate) gpu: GpuKey,
    pub(crate) stats: VmStats,
}
