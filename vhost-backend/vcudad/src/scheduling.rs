//! What the service and the scheduler's thread have to do with one another.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use control_api::{Class as Urgency, EventKind, Sharing, VmGpuStats};

use super::compute::ComputeEvent;
use super::promises;
use super::service::Service;
use super::together::Party;
use crate::config::Vm;
use gpu_scheduler::{Class, GpuKey, Share, VmKey, WHOLE};
use host_ipc::gate::GateMap;
use host_ipc::messages::WorkerId;
use memory_ledger::{GpuId, VmId};

/// What is told of a session whose kernel ran too long.
const TIMED_OUT: &str = "a kernel ran longer than compute.kernel_timeout";

fn gpu_key(id: GpuId) -> GpuKey {
    GpuKey(id.0)
}

/// What a VM is promised of each of its GPUs.
fn share(vm: &Vm) -> Share {
    let compute = &vm.spec.compute;
    Share {
        weight: compute.weight,
        max: compute.max.basis_points(),
        min: compute.min.basis_points(),
        class: match vm.spec.class {
            Urgency::Batch => Class::Batch,
            Urgency::Latency => Class::Latency,
        },
        kernel_timeout: compute.kernel_timeout.map(|timeout| timeout.nanos()),
    }
}

impl Service {
    /// Tells the scheduler what a VM was promised. It counts from the next window on.
    pub(super) fn set_shares(&mut self, id: VmId) {
        let Some(state) = self.vms.get(id) else { return };
        let share = share(&state.vm);
        let party = match state.vm.spec.sharing {
            Sharing::Mps => self.together.set(id, &state.gpus, share),
            Sharing::Exclusive => {
                Party { key: VmKey(id.0), gpus: state.gpus.clone(), share: Some(share) }
            }
        };
        self.tell_party(&party);
    }

    /// A VM is gone, and so are its workers.
    pub(super) fn forget_shares(&mut self, id: VmId) {
        match self.together.remove(id) {
            Some(party) => self.tell_party(&party),
            None => self.compute.remove_vm(VmKey(id.0)),
        }
    }

    fn tell_party(&mut self, party: &Party) {
        match party.share {
            Some(share) => {
                let gpus = party.gpus.iter().map(|gpu| (gpu_key(*gpu), share)).collect();
                self.compute.set_vm(party.key, gpus);
            }
            None => self.compute.remove_vm(party.key),
        }
    }

    /// A worker is about to serve a VM.
    pub(super) fn schedule(
        &mut self,
        worker: WorkerId,
        vm: VmId,
        gpus: &[GpuId],
        page: GateMap,
        doorbell: OwnedFd,
        bell: OwnedFd,
    ) {
        let gpus = gpus.iter().copied().map(gpu_key).collect();
        let key = self.together.key_of(vm);
        self.compute.add_worker(worker, key, gpus, page, doorbell, bell);
    }

    /// The scheduler's thread has something to say.
    pub(super) fn scheduler_spoke(&mut self) {
        for event in self.compute.events() {
            match event {
                ComputeEvent::KernelTimeout(worker, gpu) => {
                    let Some(worker) = self.workers.get_mut(worker) else { continue };
                    // However it ends now, it is for this.
                    worker.failure.get_or_insert_with(|| TIMED_OUT.to_owned());
                    let vm = worker.session.as_ref().map(|session| session.vm);
                    if let Some(state) = vm.and_then(|vm| self.vms.get_mut(vm)) {
                        *state.kernel_timeouts.entry(GpuId(gpu.0)).or_default() += 1;
                    }
                }
                ComputeEvent::LastWordsOver(worker) => self.kill_worker(worker, TIMED_OUT),
                ComputeEvent::HeartbeatLost(worker) => {
                    self.kill_worker(worker, "its heartbeat stopped while it had the GPU");
                }
                ComputeEvent::Restarted => {
                    tracing::error!("the scheduler was restarted; no VM ran in the meantime");
                    let says = "the scheduler's thread failed and was restarted";
                    self.publish(EventKind::SchedulerRestarted, None, None, says);
                }
            }
        }
    }

    /// A VM's part of a GPU's time over the last second, in 0.01%; `None` if nothing is scheduled,
    /// or if it is counted together with other VMs', of which its guest is not to learn.
    pub(super) fn utilization(&self, id: VmId, gpu: GpuId) -> Option<u32> {
        let key = self.together.key_of(id);
        if key != VmKey(id.0) {
            return None;
        }
        let stats = self.compute.stats_of(key, gpu_key(gpu))?;
        Some(stats.share_1s.min(WHOLE))
    }

    /// What a VM gets of a GPU if all others there have work, too. VMs that have their windows together
    /// are counted together here, too.
    pub(super) fn share_promised(&self, id: VmId, gpu: GpuId) -> f64 {
        let here = self.vms.iter().filter(|(_, state)| state.gpus.contains(&gpu));
        let parties: BTreeMap<VmKey, Share> = here
            .map(|(id, state)| {
                let key = self.together.key_of(id);
                (key, self.together.share_of(key).unwrap_or_else(|| share(&state.vm)))
            })
            .collect();
        let shares: Vec<Share> = parties.values().copied().collect();
        let own = self.together.key_of(id);
        let part = parties.keys().zip(promises::parts(&shares)).find(|(key, _)| **key == own);
        part.map_or(0.0, |(_, part)| part)
    }

    /// Fills in what the scheduler counts of a VM on one GPU. VMs that have their windows together
    /// are counted together: each shows what all of them had.
    pub(super) fn add_shares(&self, id: VmId, gpu: GpuId, to: &mut VmGpuStats) {
        let key = self.together.key_of(id);
        let Some(stats) = self.compute.stats_of(key, gpu_key(gpu)) else { return };
        to.gpu_ns = stats.charged_ns;
        to.copied_ns = stats.copied_ns;
        to.throttled_ns = stats.throttled_ns;
        to.windows = stats.windows;
        to.handovers = stats.handovers;
        to.handover_ns = stats.handover_ns;
        to.handover_max_ns = stats.handover_max_ns;
        to.debt_ns = stats.debt_ns;
        to.share_1s = f64::from(stats.share_1s) / f64::from(WHOLE);
        to.share_10s = f64::from(stats.share_10s) / f64::from(WHOLE);
    }
}
