//! Decides which VMs may copy during other VMs' windows.
//!
//! A copy between host and device uses a copy engine but not the units that run kernels, so it
//! doesn't slow down another VM's kernels. A VM without a window may therefore copy. Copies are
//! charged in the same way as other GPU time, and the VM must stop copying when it's ahead of its
//! share by one window.

use super::Scheduler;
use super::types::{Action, ActionKind, Class, GpuKey, Nanos, VmKey};

impl Scheduler {
    /// Returns the limit on copies in flight per stream while the VM's gate is closed, in ns of
    /// copy time. 0 allows no copies. The caller uses this as the initial value, and updates it
    /// with each [`ActionKind::Copies`].
    pub fn copies(&self, vm: VmKey, gpu: GpuKey) -> Nanos {
        self.member(vm, gpu).map_or(0, |member| member.copies)
    }

    /// Updates which VMs on a GPU may copy during other VMs' windows: those that are within their
    /// share.
    pub(super) fn judge_copies(&mut self, gpu: GpuKey, now: Nanos, out: &mut Vec<Action>) {
        let Some(state) = self.gpus.get(&gpu) else { return };
        let (settings, clock) = (self.settings, state.clock);
        // A VM is compared with the competing VM, other than itself, that has the least virtual
        // time. So find the two VMs with the least virtual time.
        let times = self.recent(gpu).filter(|(_, member)| member.contends());
        let mut least: [Option<(u128, VmKey)>; 2] = [None; 2];
        for (vm, member) in times {
            let time = Some((member.time.get(), vm));
            if least[0].is_none() || time < least[0] {
                least = [time, least[0]];
            } else if least[1].is_none() || time < least[1] {
                least[1] = time;
            }
        }
        let latency = state.facts.latency();
        for vm in state.recent.clone() {
            let others = least.iter().flatten().find(|(_, other)| *other != vm);
            let others = others.map_or(clock, |(time, _)| *time);
            let Some(member) = self.member_mut(vm, gpu) else { continue };
            let most = settings.copies_ahead / if member.copies > 0 { 1 } else { 2 };
            let within = member.time.ahead(others, member.share.weight) <= most;
            let depth = match member.share.class {
                _ if !within || member.barred(1, now).is_some() => 0,
                Class::Batch if latency => settings.latency_depth,
                _ => settings.depth,
            };
            if depth != member.copies {
                member.copies = depth;
                out.push(Action { vm, gpu, kind: ActionKind::Copies { depth } });
            }
        }
    }
}
