//! Lets latency VMs begin work before they have a turn.
//!
//! A latency VM's request takes the GPU from batch VMs at once. If its worker had to wait until the
//! scheduler has opened its gate, two threads would have to wake up first. Instead, the worker
//! launches the work and wakes the scheduler, which gives the VM a turn. Until the other VM's work
//! is off the GPU, the driver time-slices in either case.

use super::Scheduler;
use super::member::Gate;
use super::types::{Action, GpuKey, VmKey};

impl Scheduler {
    /// Updates which VMs' gates are on standby: those of latency VMs that would get a turn at once.
    pub(super) fn judge_standby(&mut self, gpu: GpuKey, out: &mut Vec<Action>) {
        let Some(state) = self.gpus.get(&gpu) else { return };
        let leaves = |vm: &VmKey| {
            let evictable = self.member(*vm, gpu).is_some_and(|member| member.evictable);
            evictable && !self.preempts(*vm, gpu)
        };
        let free = state.reserved.is_none() && state.running.iter().all(leaves);
        let vms: Vec<_> = state.latency.union(&state.standby).copied().collect();
        for vm in vms {
            let may = free && self.turn(vm).is_none() && !self.has_several_gpus(vm);
            let Some(member) = self.member_mut(vm, gpu) else { continue };
            if !may || !member.may_stand_by() {
                self.end_standby(vm, gpu, out);
            } else if member.gate == Gate::Closed && !member.last.active {
                member.gate = Gate::Standby;
                out.push(Action::StandBy { vm, gpu, depth: self.settings.depth });
                if let Some(state) = self.gpus.get_mut(&gpu) {
                    state.standby.insert(vm);
                }
            }
        }
    }

    /// Closes a VM's gate if it's on standby.
    pub(super) fn end_standby(&mut self, vm: VmKey, gpu: GpuKey, out: &mut Vec<Action>) {
        if !self.gpus.get_mut(&gpu).is_some_and(|gpu| gpu.standby.remove(&vm)) {
            return;
        }
        if let Some(member) = self.member_mut(vm, gpu)
            && member.gate == Gate::Standby
        {
            member.gate = Gate::Closed;
            out.push(Action::Close { vm, gpu });
        }
    }
}
