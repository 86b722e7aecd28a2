//! The registry of existing VMs and workers, from which a restarted scheduler thread gets its
//! state.

use std::collections::{BTreeMap, BTreeSet};

use super::worker::WorkerEnds;
use gpu_scheduler::{GpuKey, Share, VmKey};
use host_ipc::messages::WorkerId;

/// All VMs and workers that the service has added and not removed.
#[derive(Default)]
pub(super) struct Registry {
    pub vms: BTreeMap<VmKey, BTreeMap<GpuKey, Share>>,
    pub workers: BTreeMap<WorkerId, WorkerEnds>,
    pub paused: BTreeSet<VmKey>,
}
