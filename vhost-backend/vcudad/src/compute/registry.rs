//! The VMs and workers that exist: what the scheduler's thread is started anew with.

use std::collections::BTreeMap;

use super::worker::Parts;
use gpu_scheduler::{GpuKey, Share, VmKey};
use host_ipc::messages::WorkerId;

/// All that the service has told.
#[derive(Default)]
pub(super) struct Registry {
    pub vms: BTreeMap<VmKey, BTreeMap<GpuKey, Share>>,
    pub workers: BTreeMap<WorkerId, Parts>,
}
