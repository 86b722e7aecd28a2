//! The existing VMs and workers, with which a failed scheduler's thread is restarted.

use std::collections::BTreeMap;

use super::worker::WorkerEnds;
use gpu_scheduler::{GpuKey, Share, VmKey};
use host_ipc::messages::WorkerId;

/// All VMs and workers that the service has added.
#[derive(Default)]
pub(super) struct Registry {
    pub vms: BTreeMap<VmKey, BTreeMap<GpuKey, Share>>,
    pub workers: BTreeMap<WorkerId, WorkerEnds>,
}
