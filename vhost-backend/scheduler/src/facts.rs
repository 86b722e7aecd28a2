//! Gathers the facts about a GPU that many rules depend on. They hold for a whole decision, so they're
//! gathered once, before it.

use super::Scheduler;
use super::types::{Class, GpuKey, Nanos, VmKey};

impl Scheduler {
    /// Gathers the facts about all GPUs. Reports and changes of VMs invalidate them.
    pub(super) fn gather_facts(&mut self, now: Nanos) {
        let limit = self.settings.contexts_limit;
        for (gpu, state) in &mut self.gpus {
            let member = |vm: VmKey| self.vms.get(&vm).and_then(|vm| vm.members.get(gpu));
            let is_awake = |vm: &VmKey| {
                member(*vm).is_some_and(|member| {
                    member.share.class == Class::Latency
                        && member.awake(self.settings.latency_awake, now)
                })
            };
            let facts = &mut state.facts;
            facts.awake.clear();
            facts.creators.clear();
            facts.awake.extend(state.latency.iter().copied().filter(is_awake));
            if facts.latency() {
                let creates = |vm: &VmKey| {
                    let since = member(*vm).and_then(|member| member.contexts_since);
                    since.is_some_and(|since| now.saturating_sub(since) < limit)
                };
                let creators = state.recent.iter().copied().filter(creates);
                let creators: Vec<_> = creators.filter(|vm| facts.latency_beside(*vm)).collect();
                facts.creators = creators;
            }
        }
    }

    /// Returns true if a latency VM other than `vm` had work recently.
    pub fn latency_awake(&self, gpu: GpuKey, vm: VmKey, now: Nanos) -> bool {
        let Some(state) = self.gpus.get(&gpu) else { return false };
        state.latency.iter().filter(|other| **other != vm).any(|other| {
            self.member(*other, gpu).is_some_and(|member| {
                member.share.class == Class::Latency
                    && member.awake(self.settings.latency_awake, now)
            })
        })
    }

    /// Returns the VMs to charge for the time for which another VM waits because of their contexts.
    /// While a VM works on the GPU, that VM is charged instead.
    pub(super) fn waited_for(&self, gpu: GpuKey, now: Nanos) -> Vec<VmKey> {
        let creators = self.gpus.get(&gpu).map_or(&[][..], |gpu| &gpu.facts.creators);
        let runs = |vm: &VmKey| self.member(*vm, gpu).is_some_and(|member| member.last.active);
        if creators.is_empty() || self.running(gpu).iter().any(runs) {
            return Vec::new();
        }
        let waits = |creator: VmKey| {
            let mut others = self.waiting(gpu, now).filter(|vm| *vm != creator);
            others.any(|vm| self.makes_way(vm, gpu).is_some())
        };
        creators.iter().copied().filter(|vm| waits(*vm)).collect()
    }
}
