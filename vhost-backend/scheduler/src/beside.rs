//! Work of VMs beside other VMs' turns: copies, standby, preparation, and time slices.

use super::Scheduler;
use super::presence::Gate;
use super::types::{Action, ActionKind, Class, GpuKey, Nanos, VmKey};

impl Scheduler {
    /// Returns the limit on copies in flight per stream while the VM's gate is closed, in ns of
    /// copy time. 0 allows no copies. The caller uses this as the initial value, and updates it
    /// with each [`ActionKind::Copies`].
    pub fn copies(&self, vm: VmKey, gpu: GpuKey) -> Nanos {
        self.find(vm, gpu).map_or(0, |member| member.copies)
    }

    /// Updates which VMs on a GPU may copy during other VMs' windows.
    ///
    /// A copy between host and device uses a copy engine but not the units that run kernels, so it
    /// doesn't slow down another VM's kernels. A VM without a window may therefore copy. Copies are
    /// charged as other GPU time is, and the VM must stop copying when it's ahead of its share by
    /// one window.
    pub(super) fn judge_copies(&mut self, gpu: GpuKey, now: Nanos) {
        let (settings, state) = (self.settings, &self.gpus[&gpu]);
        let (clock, latency) = (state.clock, state.facts.latency());
        // A VM is compared with the competing VM, other than itself, that has the least virtual
        // time. So find the two VMs with the least virtual time.
        let times = self.recent(gpu).filter(|(_, member)| member.contends());
        let mut times: Vec<_> = times.map(|(vm, member)| (member.time.get(), vm)).collect();
        times.sort_unstable();
        for vm in state.recent.clone() {
            let others = times.iter().find(|(_, other)| *other != vm);
            let others = others.map_or(clock, |(time, _)| *time);
            let member = self.member_mut(vm, gpu);
            let most = settings.copies_ahead / if member.copies > 0 { 1 } else { 2 };
            let within = member.time.ahead(others, member.share.weight) <= most;
            let depth = match member.share.class {
                _ if !within || member.barred(1, now).is_some() => 0,
                Class::Batch if latency => settings.latency_depth,
                _ => settings.depth,
            };
            if depth != member.copies {
                member.copies = depth;
                self.out.push(Action { vm, gpu, kind: ActionKind::Copies { depth } });
            }
        }
    }

    /// Updates which VMs' gates are on standby: those of latency VMs that would get a turn at once.
    ///
    /// A latency VM's request takes the GPU from batch VMs at once. If the worker had to wait until
    /// its gate is opened, the scheduler thread and then the worker's thread would have to wake up
    /// first. Instead, the worker launches the work and wakes the scheduler, which gives the VM a
    /// turn. Either way, the driver time-slices between the VMs until the batch VM's work is off
    /// the GPU.
    pub(super) fn judge_standby(&mut self, gpu: GpuKey) {
        let (state, depth) = (&self.gpus[&gpu], self.settings.depth);
        let leaves = |vm: &VmKey| self.member(*vm, gpu).evictable && !self.preempts(*vm, gpu);
        let free = state.reserved.is_none() && state.running.iter().all(leaves);
        for vm in state.latency.clone() {
            let single = !self.has_several_gpus(vm);
            let member = self.member_mut(vm, gpu);
            let precedes = member.share.class == Class::Latency && !member.over;
            // Standby requires that the VM's work can be evicted, in case the VM gets no turn after
            // all.
            let returns = member.evictable && !member.paused && !member.presence.is_off();
            if !(free && single && precedes && returns && member.bucket.is_none()) {
                self.close_if(Gate::Standby, vm, gpu);
            } else if !member.last.active && member.presence.set_gate(Gate::Closed, Gate::Standby) {
                self.out.push(Action { vm, gpu, kind: ActionKind::StandBy { depth } });
            }
        }
    }

    /// Decides about the time slices of a VM whose turn begins or changes.
    ///
    /// A latency VM's request begins while another VM's kernels are being evicted. If these kernels
    /// have short slices, the request runs between them and needn't wait for the end of the
    /// eviction. But short slices waste time when several sessions of the VM, or several VMs in
    /// shared mode, take turns on the GPU. In these cases, the VM keeps the driver's usual slices.
    pub(super) fn set_slices(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos) {
        let apart_for = self.settings.slices_apart;
        let awake = self.gpus[&gpu].facts.latency_beside(vm);
        let member = self.member_mut(vm, gpu);
        let crowded = member.crowded_at.is_some_and(|at| now.saturating_sub(at) < apart_for);
        let short = awake && !crowded && member.share.class == Class::Batch;
        if member.short_slices != short {
            member.short_slices = short;
            self.out.push(Action { vm, gpu, kind: ActionKind::Slices { short } });
        }
    }

    /// Wakes the workers of the VM that will probably be next after `vm`, so that they can launch
    /// work immediately.
    pub(super) fn prepare(&mut self, gpus: &[GpuKey], vm: VmKey, now: Nanos) {
        for gpu in gpus.iter().copied() {
            let next = self.queue(gpu, now).into_iter().find(|next| *next != vm);
            let Some(next) = next.filter(|_| self.gpus[&gpu].prepared != next) else { continue };
            if let Some(before) = self.gpu_mut(gpu).prepared.replace(next) {
                self.close_if(Gate::Prepared, before, gpu);
            }
            if self.member_mut(next, gpu).presence.set_gate(Gate::Closed, Gate::Prepared) {
                self.out.push(Action { vm: next, gpu, kind: ActionKind::Prepare });
            }
        }
    }

    /// Closes the gate of a VM without a turn if the gate is in the state `gate`.
    pub(super) fn close_if(&mut self, gate: Gate, vm: VmKey, gpu: GpuKey) {
        if self.member_mut(vm, gpu).presence.set_gate(gate, Gate::Closed) {
            self.out.push(Action { vm, gpu, kind: ActionKind::Close });
        }
    }
}
