//! The time slices that the driver gives VMs' kernels while those of two VMs are on a GPU at once.

use super::Scheduler;
use super::types::{Action, ActionKind, Class, GpuKey, Nanos, VmKey};

impl Scheduler {
    /// Decides about the time slices of a VM whose turn begins or changes.
    ///
    /// A latency VM's request begins while another VM's kernels are being evicted. If those have
    /// short slices, it doesn't wait until they're off the GPU. But a VM's sessions also share the
    /// GPU in slices, as do VMs in shared mode, and then short ones take a lot of time.
    pub(super) fn set_slices(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos, out: &mut Vec<Action>) {
        let apart_for = self.settings.slices_apart;
        let awake = self.gpus.get(&gpu).is_some_and(|gpu| gpu.facts.latency_beside(vm));
        let Some(member) = self.member_mut(vm, gpu) else { return };
        let crowded = member.crowded_at.is_some_and(|at| now.saturating_sub(at) < apart_for);
        let short = awake && !crowded && member.share.class == Class::Batch;
        if member.short_slices != short {
            member.short_slices = short;
            out.push(Action { vm, gpu, kind: ActionKind::Slices { short } });
        }
    }
}
