//! The VMs and workers that exist: what the scheduler's thread is started anew with.

use std::collections::{BTreeMap, BTreeSet};

use super::worker::{Counts, Parts};
use crate::ipc::messages::WorkerId;
use crate::scheduler::{GpuKey, Share, VmKey};

/// All that the service has told.
#[derive(Default)]
pub(super) struct Registry {
    pub gpus: BTreeSet<GpuKey>,
    pub vms: BTreeMap<VmKey, BTreeMap<GpuKey, Share>>,
    pub workers: BTreeMap<WorkerId, Parts>,
    /// What workers that have ended did, by VM.
    ended: BTreeMap<VmKey, Counts>,
}

impl Registry {
    pub(super) fn remove_worker(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.remove(&id) else { return };
        if self.vms.contains_key(&worker.vm) {
            *self.ended.entry(worker.vm).or_default() += Counts::of(&worker.page);
        }
    }

    pub(super) fn forget_vm(&mut self, vm: VmKey) {
        self.vms.remove(&vm);
        self.ended.remove(&vm);
    }

    /// What each VM's workers did.
    pub(super) fn counts(&self) -> Vec<(VmKey, Counts)> {
        let mut counts: BTreeMap<VmKey, Counts> =
            self.vms.keys().map(|vm| (*vm, Counts::default())).collect();
        for (vm, ended) in &self.ended {
            *counts.entry(*vm).or_default() += *ended;
        }
        for worker in self.workers.values().filter(|w| self.vms.contains_key(&w.vm)) {
            *counts.entry(worker.vm).or_default() += Counts::of(&worker.page);
        }
        counts.into_iter().collect()
    }
}
