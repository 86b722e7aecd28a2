//! Lets latency VMs begin work before they have a turn.
//!
//! A latency VM's request takes the GPU from batch VMs at once. If its worker had to wait until the
//! scheduler has opened its gate, two threads would have to wake up first. Instead, the worker
//! launches the work and wakes the scheduler, which gives the VM a turn. Until the other VM's work
//! is off the GPU, the driver time-slices in either case.

use super::Scheduler;
use super::presence::Gate;
use super::types::{Action, ActionKind, GpuKey, VmKey};

impl Scheduler {
    /// Updates which VMs' gates are on standby: those of latency VMs that would get a turn at once.
    pub(super) fn judge_standby(&mut self, gpu: GpuKey, out: &mut Vec<Action>) {
        let Some(state) = self.gpus.get(&gpu) else { return };
        let leaves = |vm: &VmKey| {
            let evictable = self.member(*vm, gpu).is_some_and(|member| member.evictable);
            evictable && !self.preempts(*vm, gpu)
        };
        let free = state.reserved.is_none() && state.running.iter().all(leaves);
        for vm in state.latency.clone() {
            let may = free && !self.has_several_gpus(vm);
            let Some(member) = self.member_mut(vm, gpu) else { continue };
            if !may || !member.may_stand_by() {
                self.close_if(Gate::Standby, vm, gpu, out);
            } else if !member.last.active && member.presence.set_gate(Gate::Closed, Gate::Standby) {
                out.push(Action {
                    vm,
                    gpu,
                    kind: ActionKind::StandBy { depth: self.settings.depth },
                });
            }
        }
    }
}
