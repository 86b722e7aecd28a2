//! Ends turns. After a turn's gates are closed, its work in flight must finish, which is called
//! draining, or is evicted. If it can't be evicted, the scheduler stops waiting for it after a
//! while. This module also evicts work that runs without a turn.

use super::Scheduler;
use super::presence::Gate;
use super::settings::Settings;
use super::types::{Action, ActionKind, GpuKey, Nanos, VmKey};

impl Scheduler {
    /// Advances a draining turn. Ends it if all its GPUs have drained, its work is evicted, or its
    /// time limit has passed.
    pub(super) fn drain(&mut self, vm: VmKey, now: Nanos) {
        let Some(turn) = self.turn(vm) else { return };
        let gpus = turn.gpus.clone();
        let mut undrained = gpus.clone();
        undrained.retain(|gpu| !self.member(vm, *gpu).presence.has_drained());
        if undrained.is_empty() {
            for gpu in &gpus {
                self.member_mut(vm, *gpu).outlasts = false;
            }
        } else if self.drains_until(vm, now).is_some_and(|end| now < end) {
            return;
        } else if undrained.iter().all(|gpu| self.member(vm, *gpu).last.evictable) {
            // Don't wait for the evictions: the next VM's window begins while they're carried out.
            for gpu in undrained {
                self.evict_from(vm, gpu, now);
            }
        } else {
            // The drain has taken too long, and the running work can't be interrupted. Stop waiting
            // for it, and let other VMs run beside it, time-sliced by the driver.
            for gpu in &gpus {
                let member = self.member_mut(vm, *gpu);
                member.overran = !member.presence.has_drained();
            }
        }
        self.end(vm, gpus, now);
    }

    /// Returns the time at which a draining turn ends even if its work hasn't finished. If
    /// possible, the work is evicted at that time; otherwise, the scheduler stops waiting for it.
    pub(super) fn drains_until(&self, vm: VmKey, now: Nanos) -> Option<Nanos> {
        let (turn, since, settings) = (self.turn(vm)?, self.closed_at(vm)?, &self.settings);
        let members = || turn.gpus.iter().map(|gpu| self.member(vm, *gpu));
        let undrained = || members().filter(|member| !member.presence.has_drained());
        let wait = if undrained().all(|member| member.last.evictable) {
            // A worker's claim about the end of its work isn't trusted, but it can't delay the
            // eviction much, because it counts only up to a limit.
            let ends_at = undrained().map(|member| member.last.ends_at).max();
            let expected = ends_at.filter(|at| *at != 0).map(|at| at.saturating_sub(since));
            let soon = |limit| {
                let soon = expected.filter(|soon| (1..=limit).contains(soon));
                soon.map_or(0, |soon| soon + settings.drain_slack)
            };
            if !self.preempted(vm, &turn.gpus, now) {
                let others = turn.drains_beside as Nanos * settings.drain_wait_other;
                settings.drain_wait.max(soon(settings.drain_wait + settings.eviction)) + others
            } else if expected.is_none() {
                settings.drain_slack
            } else {
                soon(settings.eviction)
            }
        } else if members().any(|member| member.overran) {
            settings.max_window
        } else {
            // Wait at least for the kernel timeout, so that a session whose kernel exceeds it is
            // ended before the scheduler stops waiting for the drain.
            let timeout = members().filter_map(|member| member.share.kernel_timeout).max();
            settings.drain_limit.saturating_add(timeout.unwrap_or(0))
        };
        Some(since.saturating_add(wait))
    }

    /// Takes a VM's work off a GPU.
    fn evict_from(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos) {
        self.close_if(Gate::Standby, vm, gpu);
        self.book(gpu, now);
        let settings = self.settings;
        let takes = self.member_mut(vm, gpu).evict(&settings, now);
        let until = &mut self.gpu_mut(gpu).evicting_until;
        *until = now.max(*until) + takes;
        self.out.push(Action { vm, gpu, kind: ActionKind::Evict });
    }

    /// Evicts the work of VMs that have no turn on a GPU. Such work was waiting for the host when
    /// the turn ended, has been running since the scheduler stopped waiting for a drain, or is from
    /// before this scheduler knew of the VM.
    pub(super) fn evict_strays(&mut self, gpu: GpuKey, now: Nanos) {
        let is_due = |vm: &VmKey| self.strays_until(*vm, gpu).is_some_and(|at| now >= at);
        let vms: Vec<_> = self.recent(gpu).map(|(vm, _)| vm).filter(is_due).collect();
        for vm in vms {
            self.evict_from(vm, gpu, now);
        }
    }

    /// Returns the time at which the work of a VM without a turn is evicted, or `None` if it won't
    /// be evicted.
    pub(super) fn strays_until(&self, vm: VmKey, gpu: GpuKey) -> Option<Nanos> {
        let member = self.member(vm, gpu);
        if member.paused {
            // If all of the VM's work waits for the host, evict it too: it would continue as soon
            // as the host function returns.
            let remains = !member.presence.has_turn() && member.on_gpu() && member.last.evictable;
            return remains.then_some(0);
        }
        let since = member.presence.stray_since().filter(|_| member.strays())?;
        let running = self.running(gpu);
        if !self.preempts(vm, gpu) && running.iter().any(|other| self.preempts(*other, gpu)) {
            return Some(since);
        }
        // If another VM has a turn, wait for as long as a period: a VM that hasn't used more than
        // its share gets a turn within that time, so that its work needn't be evicted.
        let Settings { drain_wait, period, .. } = self.settings;
        Some(since.saturating_add(if running.is_empty() { drain_wait } else { period }))
    }

    /// Ends a turn that has drained or for whose drain the scheduler has stopped waiting.
    fn end(&mut self, vm: VmKey, gpus: Vec<GpuKey>, now: Nanos) {
        let took = self.closed_at(vm).map_or(0, |since| now.saturating_sub(since));
        for gpu in &gpus {
            self.book(*gpu, now);
        }
        self.vm_mut(vm).turn = None;
        for gpu in gpus {
            let settings = self.settings;
            let others = self.clock_of_others(vm, gpu);
            let wants = |other| other != vm && self.unwanted(other, gpu).is_none();
            let waiting = self.recent(gpu).filter(|(other, _)| wants(*other));
            let weights = waiting.map(|(_, member)| u64::from(member.share.weight)).sum();
            let state = self.gpu_mut(gpu);
            state.running.retain(|other| *other != vm);
            state.turns += 1;
            let ran = state.turns;
            let member = self.member_mut(vm, gpu);
            member.rest(&settings, now);
            member.presence.end();
            member.note_strays(now);
            member.time.limit_debt(others, settings.debt_limit, weights);
            member.ran = ran;
            member.stats.handovers += 1;
            member.stats.handover_ns = member.stats.handover_ns.saturating_add(took);
            member.stats.handover_max_ns = member.stats.handover_max_ns.max(took);
            self.sleep_or_wake(vm, gpu, now);
            self.dirty.push(gpu);
        }
    }

    /// Returns when the gates of a VM's turn were closed. Returns `None` if they're open or the VM
    /// has no turn. All gates of a turn are closed at the same time.
    pub(super) fn closed_at(&self, vm: VmKey) -> Option<Nanos> {
        let gpu = self.turn(vm)?.gpus.first()?;
        self.member(vm, *gpu).presence.closed_at()
    }
}
