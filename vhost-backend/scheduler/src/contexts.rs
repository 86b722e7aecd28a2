//! Keeps batch VMs off a GPU while a VM creates or destroys a context there and a latency VM is
//! awake.
//!
//! Meanwhile, the driver performs other operations late, so an eviction can take 20 ms. If the GPU
//! is free, a request of the latency VM needs no eviction. The VM with the context is charged for
//! that time as if it had used the GPU.

use super::Scheduler;
use super::types::{Class, GpuKey, Nanos, VmKey};

impl Scheduler {
    /// Returns true if a VM may not run on a GPU now because some VM, which may be itself, is
    /// creating or destroying a context there.
    pub(super) fn makes_way(&self, vm: VmKey, gpu: GpuKey, now: Nanos) -> bool {
        self.member(vm, gpu).is_some_and(|member| member.share.class == Class::Batch)
            && self.with_contexts(gpu, now).next().is_some()
    }

    /// Returns the VMs that are creating or destroying contexts on a GPU, for which batch VMs make
    /// way.
    fn with_contexts(&self, gpu: GpuKey, now: Nanos) -> impl Iterator<Item = VmKey> + '_ {
        let limit = self.settings.contexts_limit;
        let creating = self.recent(gpu).filter(move |(vm, member)| {
            member.contexts_since.is_some_and(|since| now.saturating_sub(since) < limit)
                && self.latency_awake(gpu, *vm, now)
        });
        creating.map(|(vm, _)| vm)
    }

    /// Returns the VMs to charge for the time for which another VM waits because of their contexts.
    /// While a VM works on the GPU, that VM is charged instead.
    pub(super) fn waited_for(&self, gpu: GpuKey, now: Nanos) -> Vec<VmKey> {
        let runs = |vm: &VmKey| self.member(*vm, gpu).is_some_and(|member| member.last.active);
        let waits = |creator: VmKey| {
            let mut others = self.waiting(gpu, now).filter(|vm| *vm != creator);
            others.any(|vm| self.makes_way(vm, gpu, now))
        };
        let free = || !self.running(gpu).iter().any(runs);
        self.with_contexts(gpu, now).filter(|vm| free() && waits(*vm)).collect()
    }
}
