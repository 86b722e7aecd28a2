//! Assigns GPUs: starts the next turn, and reserves GPUs for VMs that need several at once.

use super::Scheduler;
use super::gpu::{Phase, Turn};
use super::presence::Gate;
use super::types::{Action, ActionKind, GpuKey, Nanos, OpenMode, VmKey};

impl Scheduler {
    /// Assigns a free GPU to the VM that is next in its queue.
    pub(super) fn fill(&mut self, gpu: GpuKey, now: Nanos, out: &mut Vec<Action>) {
        let Some(state) = self.gpus.get(&gpu) else { return };
        // A VM that has begun to need a lower GPU must have that one first.
        let stays = |vm| {
            self.own_obstacle(vm, gpu, now).is_none() && self.may_take(vm, gpu, &self.gang(vm))
        };
        let reserved = state.reserved.filter(|vm| stays(*vm));
        let Some(state) = self.gpus.get_mut(&gpu) else { return };
        state.reserved = reserved;
        if !state.running.is_empty() {
            return;
        }
        for vm in self.queue(gpu, now) {
            if self.makes_way(vm, gpu).is_some() {
                continue;
            }
            let gang = self.gang(vm);
            let has_turn = self.turn(vm).is_some();
            if !has_turn {
                self.reserve(vm, gpu, &gang);
            }
            if self.other_obstacle(vm, gpu, None).is_some() {
                continue;
            }
            if has_turn {
                // The VM has a turn on another GPU and now wants this GPU, too.
                self.join(vm, gpu, now, out);
            } else {
                self.open(vm, gang, now, out);
            }
            return;
        }
    }

    /// Reserves a GPU for a VM. If the VM needs several, they're reserved in key order, so that no
    /// two VMs can each hold a GPU that the other one needs.
    pub(super) fn reserve(&mut self, vm: VmKey, gpu: GpuKey, gang: &[GpuKey]) {
        if !self.may_take(vm, gpu, gang) {
            return;
        }
        if let Some(state) = self.gpus.get_mut(&gpu)
            && state.reserved.is_none()
        {
            state.reserved = Some(vm);
            // The next GPU in order may be free and can now be reserved. If another VM has a turn
            // on it, that turn must now end early.
            self.dirty.extend(gang.iter().filter(|other| **other != gpu));
        }
    }

    /// Returns the GPUs that VMs waiting for this GPU need at the same time.
    pub(super) fn needed_with(&self, gpu: GpuKey, now: Nanos) -> Vec<GpuKey> {
        let gangs = self
            .waiting(gpu, now)
            .filter(|vm| self.has_several_gpus(*vm) && self.turn(*vm).is_none());
        gangs.flat_map(|vm| self.gang(vm)).collect()
    }

    /// Adds a free GPU to a running turn.
    pub(super) fn join(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos, out: &mut Vec<Action>) {
        let Some(turn) = self.vms.get_mut(&vm).and_then(|vm| vm.turn.as_mut()) else { return };
        turn.gpus.push(gpu);
        turn.gpus.sort_unstable();
        if turn.mode == OpenMode::Unlimited {
            // Use a limited mode for now. The code below removes the limits again if the VM is
            // alone on the new GPU, too.
            turn.mode = OpenMode::Window;
        }
        turn.depth = self.settings.depth;
        let (mode, until, depth) = (turn.mode, turn.until, turn.depth);
        if let Some(state) = self.gpus.get_mut(&gpu) {
            state.running.push(vm);
        }
        self.start(vm, gpu, now, out);
        out.push(Action { vm, gpu, kind: ActionKind::Open { mode, until, depth } });
        let gpus = self.turn(vm).map(|turn| turn.gpus.clone()).unwrap_or_default();
        if !gpus.iter().any(|gpu| self.wanted(*gpu, vm, now)) {
            self.relax(vm, &gpus, now, out);
        }
        self.dirty.extend(gpus.into_iter().filter(|other| *other != gpu));
    }

    /// Starts a turn on free GPUs.
    pub(super) fn open(&mut self, vm: VmKey, gpus: Vec<GpuKey>, now: Nanos, out: &mut Vec<Action>) {
        for gpu in &gpus {
            self.book(*gpu, now);
            self.start(vm, *gpu, now, out);
            if let Some(state) = self.gpus.get_mut(gpu) {
                state.running.push(vm);
                state.reserved.take_if(|other| *other == vm);
                self.dirty.push(*gpu);
            }
        }
        self.give_turn(vm, gpus.clone(), now);
        let capped =
            gpus.iter().any(|gpu| self.member(vm, *gpu).is_some_and(|m| m.bucket.is_some()));
        if capped || gpus.iter().any(|gpu| self.wanted(*gpu, vm, now)) {
            let begins = gpus.iter().map(|gpu| self.begins(*gpu, now)).max().unwrap_or(now);
            let end = begins.saturating_add(self.length(vm, &gpus, now));
            self.reopen(vm, OpenMode::Window, end, now, out);
        } else {
            self.relax(vm, &gpus, now, out);
        }
    }

    /// Gives a VM a turn, whose gates aren't open yet. They're opened by `reopen`, because no open
    /// gate has a depth of 0.
    pub(super) fn give_turn(&mut self, vm: VmKey, gpus: Vec<GpuKey>, now: Nanos) {
        let (mode, until, phase) = (OpenMode::Window, Nanos::MAX, Phase::Open);
        let turn = Turn { gpus, mode, opened: now, until, depth: 0, phase, drains_beside: 0 };
        if let Some(state) = self.vms.get_mut(&vm) {
            state.turn = Some(turn);
        }
    }

    /// Returns the time from which a VM whose gate opens now has the GPU to itself: the end of another
    /// VM's eviction.
    fn begins(&self, gpu: GpuKey, now: Nanos) -> Nanos {
        self.gpus.get(&gpu).map_or(now, |gpu| gpu.evicting_until.max(now))
    }

    /// Updates a VM's accounts and state on a GPU when its gate opens there.
    pub(super) fn start(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos, out: &mut Vec<Action>) {
        let before = self.gpus.get_mut(&gpu).and_then(|gpu| gpu.prepared.take());
        if let Some(before) = before.filter(|before| *before != vm) {
            self.close_if(Gate::Prepared, before, gpu, out);
        }
        let others = self.clock_of_others(vm, gpu);
        let (most, pause) = (2 * self.settings.max_window, self.settings.recent);
        let several = self.has_several_gpus(vm);
        let begins = self.begins(gpu, now);
        let Some(member) = self.member_mut(vm, gpu) else { return };
        // A VM with several GPUs may get this GPU without having work on it.
        member.time.wake(others, pause, now);
        if std::mem::take(&mut member.held_back) || several {
            member.time.limit_credit(others, most, member.share.weight);
        }
        if member.open(now) {
            out.push(Action { vm, gpu, kind: ActionKind::Restore });
        }
        // The VM can't use the GPU until the context switch is over and its worker has launched
        // something. Counting the VM as idle limits the charge for that time to the grace.
        member.idle_since = Some(begins);
        member.account.open(begins);
        member.stats.windows += 1;
        member.watch_throttling(now);
    }
}
