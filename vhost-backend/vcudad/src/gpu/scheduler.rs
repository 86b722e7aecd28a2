//! The coordinator's interface to the scheduler thread. It translates the broker's IDs into the
//! scheduler's keys. All VMs that use MPS on the same GPUs have the same key.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use control_api::{Class as Urgency, Sharing, VmGpuStats, Wait};

use crate::config::Vm;
use crate::gpu::compute::{
    ComputeEvent, ComputeHandle, Eviction, WorkerTraits, wait_reason, waits_for_vm,
};
use crate::gpu::fair_share::fair_shares;
use crate::gpu::mps_group::{GroupShare, MpsGroups};
use crate::gpu::time_account::TimeCharge;
use crate::sessions::worker::SchedulerEnds;
use crate::usage::counters::Counters;
use crate::vm::vms::Vms;
use control_server::trace_point::{TraceNames, Traces};
use gpu_scheduler::{Class, GpuKey, Obstacle, Share, Slowed, VmKey, WHOLE};
use host_ipc::messages::{VmSlowed, WorkerId};
use memory_ledger::{GpuId, VmId};

fn gpu_key(id: GpuId) -> GpuKey {
    GpuKey(id.0)
}

/// Converts a VM's settings to the scheduler's form. The share applies to each of the VM's GPUs.
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

/// The scheduler thread, and the groups of VMs that share a key.
pub(crate) struct Scheduler {
    compute: ComputeHandle,
    groups: MpsGroups,
    enabled: bool,
}

impl Scheduler {
    /// Starts the scheduler thread if the scheduler is enabled.
    pub(crate) fn start(
        enabled: bool,
        eviction: Option<&Eviction>,
        traces: Traces,
    ) -> io::Result<Self> {
        let compute = match enabled {
            true => ComputeHandle::start(eviction, traces),
            false => ComputeHandle::off(),
        };
        Ok(Self { compute: compute?, groups: MpsGroups::default(), enabled })
    }

    /// Lets all evicted kernels continue, and stops the threads. The gates stay as they are.
    pub(crate) fn stop(&mut self) -> io::Result<()> {
        self.compute.stop()
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Returns how often the thread was restarted.
    pub(crate) fn restarts(&self) -> u64 {
        self.compute.restarts()
    }

    /// Returns true if the thread has run its loop since the last call.
    pub(crate) fn is_alive(&self) -> bool {
        self.compute.is_alive()
    }

    /// Returns an eventfd that is readable while events are queued.
    pub(crate) fn events_fd(&self) -> RawFd {
        self.compute.events_fd()
    }

    /// Takes the events that were queued since the last call.
    pub(crate) fn events(&mut self) -> Vec<ComputeEvent> {
        self.compute.events()
    }

    /// Adds a VM, or changes its share. A changed share applies starting with the next window.
    pub(crate) fn set_vm(&mut self, id: VmId, gpus: &[GpuId], vm: &Vm) {
        let share = share(vm);
        let group = match vm.spec.sharing {
            Sharing::Mps => self.groups.set(id, gpus, share),
            Sharing::Exclusive => {
                GroupShare { key: VmKey(id.0), gpus: gpus.to_vec(), share: Some(share) }
            }
        };
        self.set_group(&group);
    }

    /// Removes a VM. Its workers must have been removed.
    pub(crate) fn remove_vm(&mut self, id: VmId) {
        match self.groups.remove(id) {
            Some(group) => self.set_group(&group),
            None => self.compute.remove_vm(VmKey(id.0)),
        }
    }

    /// Pauses a VM, which takes it off its GPUs, or lets it continue. `workers` are the VM's
    /// workers. If the scheduler is off, this has no effect.
    pub(crate) fn set_paused(
        &mut self,
        id: VmId,
        paused: bool,
        workers: impl Iterator<Item = WorkerId>,
    ) {
        match self.is_in_group(id) {
            // Pause only this VM's workers, so that the other VMs in the group continue.
            true => workers.for_each(|worker| self.compute.set_worker_paused(worker, paused)),
            false => self.compute.set_paused(VmKey(id.0), paused),
        }
    }

    fn is_in_group(&self, id: VmId) -> bool {
        self.groups.key_of(id) != VmKey(id.0)
    }

    fn set_group(&mut self, group: &GroupShare) {
        match group.share {
            Some(share) => {
                let gpus = group.gpus.iter().map(|gpu| (gpu_key(*gpu), share)).collect();
                self.compute.set_vm(group.key, gpus);
            }
            None => self.compute.remove_vm(group.key),
        }
    }

    /// Adds a worker that is about to serve a VM. `gpus` is in the order of the worker's device
    /// ordinals. In `traits`, `is_paused` says whether the VM is paused.
    pub(crate) fn add_worker(
        &mut self,
        worker: WorkerId,
        vm: VmId,
        gpus: &[GpuId],
        ends: SchedulerEnds,
        mut traits: WorkerTraits,
    ) {
        let gpus = gpus.iter().copied().map(gpu_key).collect();
        let key = self.groups.key_of(vm);
        // Pausing a VM that has its own key closes the gates of all its workers. Only in a group
        // must each worker be paused separately.
        traits.is_paused &= self.is_in_group(vm);
        self.compute.add_worker(worker, key, gpus, ends, traits);
    }

    /// Removes a worker that has exited.
    pub(crate) fn remove_worker(&mut self, worker: WorkerId) {
        self.compute.remove_worker(worker);
    }

    /// See [`ComputeHandle::begin_start`].
    pub(crate) fn begin_start(&self, vm: VmId, gpu: GpuId) {
        self.compute.begin_start(self.groups.key_of(vm), gpu_key(gpu));
    }

    /// See [`ComputeHandle::end_start`].
    pub(crate) fn end_start(&self) {
        self.compute.end_start();
    }

    /// Publishes the current state of all VMs as trace points. Returns the VMs' names by the keys
    /// that the trace points contain.
    pub(crate) fn trace_all(&self, vms: &Vms) -> TraceNames {
        self.compute.trace_all();
        self.names(vms)
    }

    /// Returns the names of the VMs that have each key.
    fn names(&self, vms: &Vms) -> TraceNames {
        let mut names = TraceNames::new();
        for (id, _) in vms.iter() {
            let name = names.entry(self.groups.key_of(id).0).or_default();
            if !name.is_empty() {
                name.push('+');
            }
            name.push_str(vms.name(id));
        }
        names
    }

    /// Returns a VM's share of a GPU's time over the last second, in units of 0.01%. Returns `None`
    /// if the scheduler is off. Also returns `None` if the VM is in a group, because a guest must
    /// not learn about other VMs.
    pub(crate) fn utilization(&self, id: VmId, gpu: GpuId) -> Option<u32> {
        if !self.enabled || self.is_in_group(id) {
            return None;
        }
        // If there are no statistics, the VM has just been added.
        let stats = self.compute.stats_of(VmKey(id.0), gpu_key(gpu));
        Some(stats.map_or(0, |stats| stats.share_1s.min(WHOLE)))
    }

    /// Returns the fraction of the last second for which a worker had work on a GPU, in units of
    /// 0.01%, as counted by the worker. The worker counts its kernels as work even while they're
    /// evicted.
    pub(crate) fn worker_share(&self, worker: WorkerId, gpu: GpuId) -> u32 {
        self.compute.worker_share(worker, gpu_key(gpu))
    }

    /// Returns the reasons for which a VM is slowed down on a GPU. Returns `None` in the same cases
    /// as [`Self::utilization`].
    pub(crate) fn slowed(&self, id: VmId, gpu: GpuId) -> Option<VmSlowed> {
        if !self.enabled || self.is_in_group(id) {
            return None;
        }
        let stats = self.compute.stats_of(VmKey(id.0), gpu_key(gpu)).unwrap_or_default();
        let Slowed { by_cap, by_turns } = stats.slowed;
        Some(VmSlowed { by_cap, by_turns, by_pause: stats.waits_for == Some(Obstacle::Paused) })
    }

    /// Returns a VM's key and its charge on a GPU. VMs in a group have the same key and the same
    /// charge. Returns `None` if the scheduler is off.
    pub(crate) fn charge(&self, id: VmId, gpu: GpuId) -> Option<(VmKey, TimeCharge)> {
        let key = self.groups.key_of(id);
        let stats = self.compute.stats_of(key, gpu_key(gpu))?;
        let total = Duration::from_nanos(stats.charged_ns.saturating_sub(stats.copied_ns));
        Some((key, TimeCharge { total, is_late: stats.overran }))
    }

    /// Calculates the fraction of a GPU's time that each of its VMs gets if all of them have work.
    /// The VMs in a group are treated as one, and each of them is listed with the group's fraction.
    pub(crate) fn promised_shares(&self, vms: &Vms, gpu: GpuId) -> PromisedShares {
        let mut keys = BTreeMap::new();
        let mut shares = BTreeMap::new();
        for (id, state) in vms.iter().filter(|(_, state)| state.gpus.contains(&gpu)) {
            let key = self.groups.key_of(id);
            keys.insert(id, key);
            shares
                .entry(key)
                .or_insert_with(|| self.groups.share_of(key).unwrap_or_else(|| share(&state.vm)));
        }
        let parts = fair_shares(&shares.values().copied().collect::<Vec<Share>>());
        let parts: BTreeMap<VmKey, f64> = shares.into_keys().zip(parts).collect();
        let part = |(id, key)| Some((id, *parts.get(&key)?));
        PromisedShares(keys.into_iter().filter_map(part).collect())
    }

    /// Returns a VM's usage of a GPU as counted by the scheduler since it was started or the VM was
    /// added. If the VM is in a group, returns the usage of the whole group since the group was
    /// created.
    pub(crate) fn counters(&self, id: VmId, gpu: GpuId) -> Counters {
        let stats = self.compute.stats_of(self.groups.key_of(id), gpu_key(gpu));
        stats.map_or(Counters::default(), |stats| Counters {
            gpu_ns: stats.charged_ns,
            copied_ns: stats.copied_ns,
            throttled_ns: stats.throttled_ns,
            windows: stats.windows,
            handovers: stats.handovers,
            handover_ns: stats.handover_ns,
            evictions: stats.evictions,
            memory_byte_seconds: 0,
        })
    }

    /// Fills in the scheduler's statistics for a VM on a GPU, except for those of
    /// [`Self::counters`]. If the VM is in a group, these are the group's statistics, which can't
    /// be split by VM.
    pub(crate) fn fill_stats(&self, id: VmId, gpu: GpuId, vms: &Vms, to: &mut VmGpuStats) {
        let key = self.groups.key_of(id);
        let Some(stats) = self.compute.stats_of(key, gpu_key(gpu)) else { return };
        to.handover_max_ns = stats.handover_max_ns;
        to.evicted = stats.evicted;
        to.waits_for = stats.waits_for.and_then(|obstacle| {
            let vm = waits_for_vm(obstacle).and_then(|key| self.names(vms).remove(&key.0));
            Some(Wait { reason: wait_reason(obstacle)?, vm })
        });
        to.debt_ns = stats.debt_ns;
        to.share_1s = f64::from(stats.share_1s) / f64::from(WHOLE);
        to.share_10s = f64::from(stats.share_10s) / f64::from(WHOLE);
    }
}

/// The fraction of a GPU's time that is promised to each VM.
pub(crate) struct PromisedShares(BTreeMap<VmId, f64>);

impl PromisedShares {
    /// Returns the fraction promised to a VM, 0.0 to 1.0.
    pub(crate) fn of(&self, vm: VmId) -> f64 {
        self.0.get(&vm).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vm_has_a_utilization_as_soon_as_it_exists() {
        let (vm, gpu) = (VmId(3), GpuId(0));
        let start = |enabled| Scheduler::start(enabled, None, Traces::default()).unwrap();
        let mut scheduler = start(true);
        assert_eq!(scheduler.utilization(vm, gpu), Some(0));
        scheduler.stop().unwrap();
        assert_eq!(start(false).utilization(vm, gpu), None);
    }
}
