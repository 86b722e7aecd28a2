//! Copies beside another VM's window.
//!
//! A copy between host and device keeps a copy engine busy and none of what kernels run on: a
//! kernel of another VM takes no longer for it. So a VM without the GPU may copy, and is charged for
//! it as for any other time, until it is ahead of its share by a window.

use super::Scheduler;
use super::types::{Action, Class, GpuKey, Nanos, VmKey};

impl Scheduler {
    /// What a VM may have in flight of copies, in time, for each stream of it, while its gate is
    /// closed; 0: nothing. From the beginning, and until [`Action::Copies`] says otherwise.
    pub fn copies(&self, vm: VmKey, gpu: GpuKey) -> Nanos {
        self.member(vm, gpu).map_or(0, |member| member.copies)
    }

    /// Lets VMs copy that are within their share, and others no longer.
    pub(super) fn judge_copies(&mut self, gpu: GpuKey, now: Nanos, out: &mut Vec<Action>) {
        let Some(state) = self.gpus.get(&gpu) else { return };
        let (settings, clock) = (self.settings, state.clock);
        // For each VM the others' clock is the least virtual time of those who compete, or the next.
        let times = state.recent.iter().filter_map(|vm| Some((*vm, self.member(*vm, gpu)?)));
        let times = times.filter(|(_, member)| member.contends());
        let mut least: [Option<(u128, VmKey)>; 2] = [None; 2];
        for (vm, member) in times {
            let time = Some((member.time.get(), vm));
            if least[0].is_none() || time < least[0] {
                least = [time, least[0]];
            } else if least[1].is_none() || time < least[1] {
                least[1] = time;
            }
        }
        let latency = self.latency_awake(gpu, VmKey(u64::MAX), now);
        for vm in state.recent.clone() {
            let others = least.iter().flatten().find(|(_, other)| *other != vm);
            let others = others.map_or(clock, |(time, _)| *time);
            let Some(member) = self.member_mut(vm, gpu) else { continue };
            let most = settings.copies_ahead / if member.copies > 0 { 1 } else { 2 };
            let within = member.time.ahead(others, member.share.weight) <= most;
            let depth = match member.share.class {
                _ if !within || !member.may_run(1, now) => 0,
                Class::Batch if latency => settings.latency_depth,
                _ => settings.depth,
            };
            if depth != member.copies {
                member.copies = depth;
                out.push(Action::Copies { vm, gpu, depth });
            }
        }
    }
}
