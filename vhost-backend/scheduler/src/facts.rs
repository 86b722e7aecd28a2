//! Gathers the facts about a GPU that many rules depend on. The facts stay the same during a whole
//! decision, so they're gathered once, before the decision.

use super::Scheduler;
use super::gpu::Facts;
use super::types::{Class, GpuKey, Nanos, VmKey};

impl Scheduler {
    /// Gathers the facts about all GPUs. Reports and changes of VMs invalidate them.
    pub(super) fn gather_facts(&mut self, now: Nanos) {
        for gpu in self.gpus.keys().copied().collect::<Vec<_>>() {
            let awake: Vec<_> = self.awake(gpu, now).collect();
            let is_recent = |since: Nanos| now.saturating_sub(since) < self.settings.contexts_limit;
            let creators = self.recent(gpu).filter(|(vm, member)| {
                let creates = member.contexts_since.is_some_and(is_recent);
                creates && awake.iter().any(|other| other != vm)
            });
            let creators = creators.map(|(vm, _)| vm).collect();
            self.gpu_mut(gpu).facts = Facts { awake, creators };
        }
    }

    /// Returns the latency VMs that had work recently.
    fn awake(&self, gpu: GpuKey, now: Nanos) -> impl Iterator<Item = VmKey> {
        let latency = self.gpus.get(&gpu).into_iter().flat_map(|gpu| gpu.latency.iter().copied());
        latency.filter(move |vm| {
            let member = self.member(*vm, gpu);
            member.share.class == Class::Latency && member.awake(self.settings.latency_awake, now)
        })
    }

    /// Returns true if a latency VM other than `vm` had work recently.
    pub fn latency_awake(&self, gpu: GpuKey, vm: VmKey, now: Nanos) -> bool {
        self.awake(gpu, now).any(|other| other != vm)
    }

    /// Returns the VMs whose contexts keep another VM waiting now, so that they're charged for this
    /// time. Returns none while a VM works on the GPU, because that VM is charged for the time
    /// instead.
    pub(super) fn waited_for(&self, gpu: GpuKey, now: Nanos) -> Vec<VmKey> {
        if self.running(gpu).iter().any(|vm| self.member(*vm, gpu).last.active) {
            return Vec::new();
        }
        let waits = |creator: VmKey| {
            let mut others = self.waiting(gpu, now).filter(|vm| *vm != creator);
            others.any(|vm| self.makes_way(vm, gpu).is_some())
        };
        self.gpus[&gpu].facts.creators.iter().copied().filter(|vm| waits(*vm)).collect()
    }
}
