//! Assigns GPUs: starts the next turn, and reserves GPUs for VMs that need several at once.

use std::mem::take;

use super::Scheduler;
use super::gpu::Turn;
use super::presence::Gate;
use super::types::{Action, ActionKind, GpuKey, Nanos, OpenMode, VmKey};

impl Scheduler {
    /// Assigns a free GPU to the VM that is next in its queue.
    pub(super) fn fill(&mut self, gpu: GpuKey, now: Nanos) {
        // Keep a reservation only while its VM still needs this GPU and holds all GPUs with lower
        // keys that it needs. A VM that has begun to need a lower one must get that one first.
        let stays = |vm| self.own_obstacle(vm, gpu, now).is_none() && self.holds(vm, Some(gpu));
        self.gpu_mut(gpu).reserved = self.gpus[&gpu].reserved.filter(|vm| stays(*vm));
        if !self.running(gpu).is_empty() {
            return;
        }
        for vm in self.queue(gpu, now) {
            if self.makes_way(vm, gpu).is_some() {
                continue;
            }
            let gang: Vec<_> = self.gang(vm).collect();
            let has_turn = self.turn(vm).is_some();
            // If a VM needs several GPUs, they're reserved in key order, so that no two VMs can
            // each hold a GPU that the other one needs.
            if !has_turn && self.gpus[&gpu].reserved.is_none() && self.holds(vm, Some(gpu)) {
                self.gpu_mut(gpu).reserved = Some(vm);
                // The next GPU in order may be free and can now be reserved. If another VM has a
                // turn on it, that turn must now end early.
                self.dirty.extend(gang.iter().filter(|other| **other != gpu));
            }
            if self.obstacle(vm, gpu, None, now).is_some() {
                continue;
            }
            if has_turn {
                // The VM has a turn on another GPU and now wants this GPU, too.
                self.join(vm, gpu, now);
            } else {
                self.open(vm, gang, now);
            }
            return;
        }
    }

    /// Adds a free GPU to a running turn.
    fn join(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos) {
        let depth = self.settings.depth;
        let Some(turn) = self.turn_mut(vm) else { return };
        turn.gpus.push(gpu);
        turn.gpus.sort_unstable();
        if turn.mode == OpenMode::Unlimited {
            // Use a limited mode for now. The code below removes the limits again if the VM is
            // alone on the new GPU, too.
            turn.mode = OpenMode::Window;
        }
        turn.depth = depth;
        let (mode, until, gpus) = (turn.mode, turn.until, turn.gpus.clone());
        self.start(vm, gpu, now);
        self.out.push(Action { vm, gpu, kind: ActionKind::Open { mode, until, depth } });
        if !self.wanted(vm, &gpus, now) {
            self.relax(vm, &gpus, now);
        }
        self.dirty.extend(gpus.into_iter().filter(|other| *other != gpu));
    }

    /// Starts a turn on free GPUs.
    fn open(&mut self, vm: VmKey, gpus: Vec<GpuKey>, now: Nanos) {
        for gpu in &gpus {
            self.book(*gpu, now);
            self.start(vm, *gpu, now);
            self.gpu_mut(*gpu).reserved.take_if(|other| *other == vm);
            self.dirty.push(*gpu);
        }
        self.give_turn(vm, gpus.clone(), now);
        let capped = gpus.iter().any(|gpu| self.member(vm, *gpu).bucket.is_some());
        if capped || self.wanted(vm, &gpus, now) {
            // The VM has the GPUs to itself once the evictions of other VMs' kernels are over.
            let begins = gpus.iter().map(|gpu| self.gpus[gpu].evicting_until).max();
            let end = begins.unwrap_or(now).max(now).saturating_add(self.length(vm, &gpus, now));
            self.reopen(vm, OpenMode::Window, end, now);
        } else {
            self.relax(vm, &gpus, now);
        }
    }

    /// Gives a VM a turn with a depth of 0, which says that its gates aren't open yet. `reopen`
    /// opens them.
    pub(super) fn give_turn(&mut self, vm: VmKey, gpus: Vec<GpuKey>, now: Nanos) {
        let (mode, until) = (OpenMode::Window, Nanos::MAX);
        let turn = Turn { gpus, mode, opened: now, until, depth: 0, drains_beside: 0 };
        self.vm_mut(vm).turn = Some(turn);
    }

    /// Updates a VM's accounts and state on a GPU when its gate opens there.
    pub(super) fn start(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos) {
        if let Some(before) = self.gpu_mut(gpu).prepared.take_if(|before| *before != vm) {
            self.close_if(Gate::Prepared, before, gpu);
        }
        let state = self.gpu_mut(gpu);
        state.prepared = None;
        state.running.push(vm);
        let others = self.clock_of_others(vm, gpu);
        let (most, pause) = (2 * self.settings.max_window, self.settings.recent);
        let several = self.has_several_gpus(vm);
        let begins = self.gpus[&gpu].evicting_until.max(now);
        let settings = self.settings;
        let member = self.member_mut(vm, gpu);
        // A VM with several GPUs may get this GPU without having work on it.
        member.time.wake(others, pause, now);
        if take(&mut member.held_back) || several {
            member.time.limit_credit(others, most, member.share.weight);
        }
        // The VM can't use the GPU until the context switch is over and its worker has launched
        // something. Counting the VM as idle limits the charge for that time to the grace.
        member.account.open(begins);
        member.stats.windows += 1;
        let returns = member.open(now);
        member.watch_throttling(&settings, now);
        if returns {
            self.out.push(Action { vm, gpu, kind: ActionKind::Restore });
        }
    }
}
