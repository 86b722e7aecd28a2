//! Opens, changes, and closes turns, and charges VMs for GPU time.

use super::Scheduler;
use super::gpu::Phase;
use super::member::Member;
use super::presence::Gate;
use super::types::{Action, ActionKind, Class, GpuKey, Nanos, OpenMode, VmKey};

impl Scheduler {
    /// Processes all GPUs on which something may have changed.
    pub(super) fn settle_all(&mut self, now: Nanos, ticks: bool, out: &mut Vec<Action>) {
        self.gather_facts(now);
        let mut seen = Vec::new();
        // The end of a turn can affect the VM's other GPUs, so this may take a few rounds. GPUs that are
        // left when the limit is reached are processed at the next tick.
        for _ in 0..4 * self.gpus.len() + 4 {
            // Process GPUs in order, since a VM with several GPUs must get the lower ones first.
            let Some(gpu) = self.dirty.iter().min().copied() else { break };
            self.dirty.retain(|other| *other != gpu);
            if !seen.contains(&gpu) {
                seen.push(gpu);
                let gangs = self.needed_with(gpu, now).into_iter();
                self.dirty.extend(gangs.filter(|other| !seen.contains(other)));
            }
            self.settle(gpu, now, ticks, out);
        }
        let rest = std::mem::take(&mut self.dirty);
        for gpu in seen {
            self.plan_wake(gpu, now, ticks);
        }
        for gpu in rest {
            if let Some(gpu) = self.gpus.get_mut(&gpu) {
                gpu.wake = Some(now);
            }
        }
    }

    pub(super) fn settle(&mut self, gpu: GpuKey, now: Nanos, ticks: bool, out: &mut Vec<Action>) {
        self.book(gpu, now);
        self.judge_copies(gpu, now, out);
        self.forget(gpu, now);
        for vm in self.running(gpu).to_vec() {
            self.advance(vm, now, out);
        }
        self.share(gpu, now, ticks, out);
        if self.dirty.iter().any(|other| *other < gpu) {
            // The turn has ended on several GPUs. They must be assigned in order, so process them
            // all again.
            self.dirty.push(gpu);
        } else {
            self.fill(gpu, now, out);
            // Only now, because a VM whose turn begins keeps its work.
            self.evict_strays(gpu, now, out);
        }
        self.judge_standby(gpu, out);
    }

    /// Charges VMs for the time that has passed on a GPU.
    pub(super) fn book(&mut self, gpu: GpuKey, now: Nanos) {
        let Some(state) = self.gpus.get(&gpu) else { return };
        let (alone, shared) = (state.running.len() == 1, state.shared);
        let wanted = alone && self.wanted(gpu, state.running[0], now);
        let waited_for = self.waited_for(gpu, now);
        for vm in state.recent.clone() {
            let settings = self.settings;
            let Some(state) = self.vms.get_mut(&vm) else { continue };
            let Some(member) = state.members.get_mut(&gpu) else { continue };
            let works = member.last.held || member.last.active;
            member.guarantee.pass(works, now);
            member.rests_until = member.rests_until.filter(|until| *until > now);
            member.watch_throttling(now);
            member.charge_copies(now);
            member.charge_contexts(waited_for.contains(&vm), now);
            match &state.turn {
                Some(turn) if shared && turn.mode == OpenMode::Shared => {}
                Some(turn)
                    if alone && member.presence.has_turn() && turn.mode != OpenMode::Unlimited =>
                {
                    member.charge_window(&settings, wanted, now);
                }
                _ => member.charge_busy(now),
            }
            member.held_back |=
                member.asks() && member.barred(member.need(&settings), now).is_some();
            self.judge_latency(vm, gpu);
        }
        self.advance_clock(gpu);
    }

    /// Records whether a VM has run out of work on a GPU, or has work there again.
    pub(super) fn sleep_or_wake(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos) {
        let others = self.clock_of_others(vm, gpu);
        let (pause, gap) = (self.settings.recent, self.settings.longest_gap);
        let Some(member) = self.member_mut(vm, gpu) else { return };
        match (member.has_work(), member.time.slept(now)) {
            (true, Some(slept)) => {
                member.load.pause(if slept <= gap { slept } else { 0 });
                member.time.wake(others, pause, now);
            }
            (false, None) => member.time.sleep(others, now),
            _ => {}
        }
    }

    /// Removes VMs that have been idle for a long time from the GPU's list of recent VMs.
    pub(super) fn forget(&mut self, gpu: GpuKey, now: Nanos) {
        let span = self.settings.latency_awake.max(self.settings.alone_most);
        let stays = |member: &Member| {
            let works = member.awake(span, now) || member.contends() || member.last.active;
            works || member.presence.has_turn()
        };
        if self.recent(gpu).all(|(_, member)| stays(member)) {
            return;
        }
        let recent = self.recent(gpu).filter(|(_, member)| stays(member)).map(|(vm, _)| vm);
        let recent = recent.collect();
        if let Some(state) = self.gpus.get_mut(&gpu) {
            state.recent = recent;
            state.facts.creators.retain(|vm| state.recent.contains(vm));
        }
    }

    /// Advances a VM's turn: continues its drain, closes its gates, or leaves it open.
    pub(super) fn advance(&mut self, vm: VmKey, now: Nanos, out: &mut Vec<Action>) {
        let Some(turn) = self.turn(vm) else { return };
        let is_shared = |gpu: &GpuKey| self.gpus.get(gpu).is_some_and(|gpu| gpu.shared);
        // `share` handles all VMs in shared mode together.
        let shares = turn.mode == OpenMode::Shared && turn.gpus.iter().any(is_shared);
        if turn.phase != Phase::Open {
            self.drain(vm, now, out);
        } else if !shares && self.must_close(vm, now, out) {
            self.close(vm, now, out);
        }
    }

    /// Returns true if an open turn must end now. Otherwise, updates the turn's mode and end.
    pub(super) fn must_close(&mut self, vm: VmKey, now: Nanos, out: &mut Vec<Action>) -> bool {
        let Some(turn) = self.turn(vm) else { return false };
        let (mode, until, opened) = (turn.mode, turn.until, turn.opened);
        let gpus = turn.gpus.clone();
        if gpus.iter().any(|gpu| self.member(vm, *gpu).is_some_and(|m| m.barred(1, now).is_some()))
        {
            return true;
        }
        if gpus.iter().any(|gpu| self.makes_way(vm, *gpu).is_some()) {
            return true;
        }
        if !gpus.iter().any(|gpu| self.wanted(*gpu, vm, now)) {
            self.relax(vm, &gpus, now, out);
            return false;
        }
        if mode == OpenMode::Unlimited
            || self.idle(vm, &gpus, now)
            || self.preempted(vm, &gpus, now)
        {
            return true;
        }
        let reserved = gpus.iter().any(|gpu| {
            self.gpus.get(gpu).is_some_and(|gpu| gpu.reserved.is_some_and(|other| other != vm))
        });
        // An end further away isn't that of a window, but the time at which the tokens of a capped
        // VM would have run out if no other VM had been waiting.
        let longest = 2 * self.settings.max_window;
        let mut end = if reserved {
            until.min(opened.saturating_add(self.settings.min_window))
        } else if until <= now.saturating_add(longest) {
            until
        } else {
            opened.saturating_add(self.length(vm, &gpus, now))
        };
        if now >= end {
            return true;
        }
        if !reserved && end.saturating_sub(now) <= self.settings.lead {
            let rest = end - now;
            let best = |gpu: &GpuKey| match self.best_other(*gpu, vm, now) {
                Some(other) => self.rank(vm, *gpu, rest).is_some_and(|own| own < other),
                None => true,
            };
            if gpus.iter().all(best) {
                end = end.saturating_add(self.length(vm, &gpus, now));
            } else {
                self.prepare(&gpus, vm, now, out);
            }
        }
        self.reopen(vm, OpenMode::Window, end, now, out);
        false
    }

    /// Removes the turn's end, because no other VM is waiting. If the VM counts as alone, also
    /// removes the limit on work in flight.
    pub(super) fn relax(&mut self, vm: VmKey, gpus: &[GpuKey], now: Nanos, out: &mut Vec<Action>) {
        let alone = |gpu: &GpuKey| self.alone_at(*gpu, vm).is_some_and(|at| at <= now);
        let mode = if gpus.iter().all(alone) { OpenMode::Unlimited } else { OpenMode::Window };
        let was = self.turn(vm).map(|turn| turn.mode);
        if mode == OpenMode::Unlimited && was != Some(mode) {
            for gpu in gpus {
                if let Some(state) = self.gpus.get_mut(gpu) {
                    state.alone_since = Some(now);
                }
            }
        }
        // A capped VM's turn ends when its tokens run out, even if no other VM is waiting.
        let lasts = gpus.iter().filter_map(|gpu| {
            let bucket = self.member(vm, *gpu)?.bucket.as_ref()?;
            Some(now.saturating_add(bucket.lasts(now)))
        });
        let until = lasts.min().unwrap_or(Nanos::MAX);
        self.reopen(vm, mode, until, now, out);
    }

    /// Returns true if the VM has had nothing running on any of the GPUs for longer than its grace.
    pub(super) fn idle(&self, vm: VmKey, gpus: &[GpuKey], now: Nanos) -> bool {
        gpus.iter().filter_map(|gpu| self.member(vm, *gpu)).all(|member| {
            let grace = member.grace(&self.settings);
            member.idle_since.is_some_and(|since| now.saturating_sub(since) >= grace)
        })
    }

    /// Returns true if a latency VM that takes precedence over this VM is waiting.
    pub(super) fn preempted(&self, vm: VmKey, gpus: &[GpuKey], now: Nanos) -> bool {
        gpus.iter().any(|gpu| {
            !self.preempts(vm, *gpu)
                && self.best_other(*gpu, vm, now).is_some_and(|other| other.preempts())
        })
    }

    /// Returns the length of a window on several GPUs, which is the shortest of their windows.
    pub(super) fn length(&self, vm: VmKey, gpus: &[GpuKey], now: Nanos) -> Nanos {
        let lengths = gpus.iter().map(|gpu| self.window(vm, *gpu, now));
        lengths.min().unwrap_or(self.settings.min_window)
    }

    pub(super) fn depth(&self, vm: VmKey, gpus: &[GpuKey]) -> Nanos {
        let batch = |gpu: &GpuKey| {
            self.member(vm, *gpu).is_some_and(|member| member.share.class == Class::Batch)
                && self.gpus.get(gpu).is_some_and(|gpu| gpu.facts.latency_beside(vm))
        };
        if gpus.iter().any(batch) { self.settings.latency_depth } else { self.settings.depth }
    }

    /// Changes the mode, end or depth of an open turn, and informs the workers of changes, or that
    /// the turn begins.
    pub(super) fn reopen(
        &mut self,
        vm: VmKey,
        mode: OpenMode,
        until: Nanos,
        now: Nanos,
        out: &mut Vec<Action>,
    ) {
        let Some(turn) = self.turn(vm) else { return };
        let gpus = turn.gpus.clone();
        let depth = match mode {
            OpenMode::Unlimited => Nanos::MAX,
            _ => self.depth(vm, &gpus),
        };
        // For a capped VM, the calculated end moves slightly at each check. Such small changes
        // aren't sent to the workers.
        let moved = turn.until.abs_diff(until) > self.settings.min_window / 8;
        if turn.mode == mode && turn.depth == depth && !moved {
            return;
        }
        let Some(turn) = self.vms.get_mut(&vm).and_then(|vm| vm.turn.as_mut()) else { return };
        (turn.mode, turn.until, turn.depth) = (mode, until, depth);
        for gpu in gpus {
            self.set_slices(vm, gpu, now, out);
            out.push(Action { vm, gpu, kind: ActionKind::Open { mode, until, depth } });
        }
    }

    /// Wakes the workers of the VM that will probably be next, so that they can launch work
    /// immediately.
    pub(super) fn prepare(
        &mut self,
        gpus: &[GpuKey],
        vm: VmKey,
        now: Nanos,
        out: &mut Vec<Action>,
    ) {
        for gpu in gpus {
            let next = self.queue(*gpu, now).into_iter().find(|next| *next != vm);
            let Some(state) = self.gpus.get_mut(gpu) else { continue };
            let Some(next) = next else { continue };
            if state.prepared == Some(next) {
                continue;
            }
            if let Some(before) = state.prepared.replace(next) {
                self.close_if(Gate::Prepared, before, *gpu, out);
            }
            if let Some(member) = self.member_mut(next, *gpu)
                && member.presence.set_gate(Gate::Closed, Gate::Prepared)
            {
                out.push(Action { vm: next, gpu: *gpu, kind: ActionKind::Prepare });
            }
        }
    }

    /// Closes the gate of a VM without a turn if the gate is in this state.
    pub(super) fn close_if(&mut self, gate: Gate, vm: VmKey, gpu: GpuKey, out: &mut Vec<Action>) {
        if let Some(member) = self.member_mut(vm, gpu)
            && member.presence.set_gate(gate, Gate::Closed)
        {
            out.push(Action { vm, gpu, kind: ActionKind::Close });
        }
    }

    /// Closes a turn's gates.
    pub(super) fn close(&mut self, vm: VmKey, now: Nanos, out: &mut Vec<Action>) {
        let most = self.settings.alone_most;
        let running = |gpus: &[GpuKey]| gpus.iter().map(|gpu| self.running(*gpu).len()).max();
        let running = self.turn(vm).and_then(|turn| running(&turn.gpus)).unwrap_or(0);
        let Some(turn) = self.vms.get_mut(&vm).and_then(|vm| vm.turn.as_mut()) else { return };
        let unlimited = turn.mode == OpenMode::Unlimited;
        turn.mode = OpenMode::Window;
        turn.phase = Phase::Draining { since: now };
        turn.drains_beside = running.saturating_sub(1);
        let gpus = turn.gpus.clone();
        for gpu in &gpus {
            if let Some(state) = self.gpus.get_mut(gpu)
                && unlimited
            {
                let brief =
                    state.alone_since.take().is_some_and(|at| now < at.saturating_add(most));
                let base = self.settings.alone_after;
                state.alone_after = if brief { (2 * state.alone_after).min(most) } else { base };
            }
            if let Some(member) = self.member_mut(vm, *gpu) {
                member.presence.close();
                out.push(Action { vm, gpu: *gpu, kind: ActionKind::Close });
            }
        }
        self.prepare(&gpus, vm, now, out);
    }
}
