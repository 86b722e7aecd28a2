//! Opens, changes, and closes turns, and charges VMs for GPU time.

use super::Scheduler;
use super::member::Member;
use super::types::{Action, ActionKind, Class, GpuKey, Nanos, OpenMode, VmKey};

impl Scheduler {
    /// Processes all GPUs on which something may have changed.
    pub(super) fn settle_all(&mut self, now: Nanos, ticks: bool, out: &mut Vec<Action>) {
        self.gather_facts(now);
        let mut seen = Vec::new();
        // The end of a turn can affect the VM's other GPUs, so this may take a few rounds. GPUs
        // that are left when the limit is reached are processed at the next tick.
        for _ in 0..4 * self.gpus.len() + 4 {
            // Process GPUs in order, since a VM with several GPUs must get the GPUs with lower keys
            // first.
            let Some(gpu) = self.dirty.iter().min().copied() else { break };
            self.dirty.retain(|other| *other != gpu);
            if !seen.contains(&gpu) {
                seen.push(gpu);
                let vms = self.waiting(gpu, now).filter(|vm| self.turn(*vm).is_none());
                let gangs: Vec<_> = vms.flat_map(|vm| self.gang(vm)).collect();
                self.dirty.extend(gangs.iter().filter(|other| !seen.contains(other)));
            }
            self.settle(gpu, now, ticks);
        }
        let rest = std::mem::take(&mut self.dirty);
        for gpu in seen {
            self.plan_wake(gpu, now, ticks);
        }
        for gpu in rest {
            self.gpu_mut(gpu).wake = Some(now);
        }
        out.append(&mut self.out);
    }

    fn settle(&mut self, gpu: GpuKey, now: Nanos, ticks: bool) {
        self.book(gpu, now);
        self.judge_copies(gpu, now);
        self.forget(gpu, now);
        for vm in self.running(gpu).to_vec() {
            self.advance(vm, now);
        }
        self.share(gpu, now, ticks);
        if self.dirty.iter().any(|other| *other < gpu) {
            // A turn on several GPUs has ended. GPUs must be assigned in key order, so process this
            // GPU again after those with lower keys.
            self.dirty.push(gpu);
        } else {
            self.fill(gpu, now);
            // Evict work without a turn only after the GPU has been assigned, because a VM whose
            // turn begins keeps its work on the GPU.
            self.evict_strays(gpu, now);
        }
        self.judge_standby(gpu);
    }

    /// Charges VMs for the time that has passed on a GPU.
    pub(super) fn book(&mut self, gpu: GpuKey, now: Nanos) {
        let (settings, state) = (self.settings, &self.gpus[&gpu]);
        let (alone, shared) = (state.running.len() == 1, state.sharing.shared);
        let wanted = alone && self.wanted(state.running[0], &[gpu], now);
        let waited_for = self.waited_for(gpu, now);
        for vm in state.recent.clone() {
            let mode = self.turn(vm).map(|turn| turn.mode);
            let member = self.member_mut(vm, gpu);
            let works = member.last.held || member.last.active;
            member.guarantee.pass(works, now);
            member.rests_until = member.rests_until.filter(|until| *until > now);
            member.watch_throttling(&settings, now);
            member.charge_copies(now);
            member.charge_contexts(waited_for.contains(&vm), now);
            let has_window = alone && member.presence.has_turn();
            match mode {
                Some(OpenMode::Shared) if shared => {}
                Some(OpenMode::Window | OpenMode::Shared) if has_window => {
                    member.charge_window(&settings, wanted, now);
                }
                _ => member.charge_busy(now),
            }
            let barred = member.barred(member.need(&settings), now);
            member.held_back |= barred.is_some() && member.unasked().is_none();
            self.judge_latency(vm, gpu);
        }
        self.advance_clock(gpu);
    }

    /// Records whether a VM has run out of work on a GPU, or has work there again.
    pub(super) fn sleep_or_wake(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos) {
        let others = self.clock_of_others(vm, gpu);
        let (pause, gap) = (self.settings.recent, self.settings.longest_gap);
        let member = self.member_mut(vm, gpu);
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
    fn forget(&mut self, gpu: GpuKey, now: Nanos) {
        let span = self.settings.latency_awake.max(self.settings.alone_most);
        let stays = |member: &Member| {
            let works = member.awake(span, now) || member.contends() || member.last.active;
            works || member.presence.has_turn()
        };
        let recent = self.recent(gpu).filter(|(_, member)| stays(member)).map(|(vm, _)| vm);
        let recent = recent.collect();
        let state = self.gpu_mut(gpu);
        state.recent = recent;
        state.facts.creators.retain(|vm| state.recent.contains(vm));
    }

    /// Advances a VM's turn: continues its drain, closes its gates, or leaves it open.
    fn advance(&mut self, vm: VmKey, now: Nanos) {
        let Some(turn) = self.turn(vm) else { return };
        let is_shared = |gpu: &GpuKey| self.gpus[gpu].sharing.shared;
        // `share` handles all VMs in shared mode together.
        let shares = turn.mode == OpenMode::Shared && turn.gpus.iter().any(is_shared);
        if self.closed_at(vm).is_some() {
            self.drain(vm, now);
        } else if !shares && self.must_close(vm, now) {
            self.close(vm, now);
        }
    }

    /// Returns true if an open turn must end now. Otherwise, updates the turn's mode and end.
    fn must_close(&mut self, vm: VmKey, now: Nanos) -> bool {
        let Some(turn) = self.turn(vm) else { return false };
        let (mode, until, opened) = (turn.mode, turn.until, turn.opened);
        let gpus = turn.gpus.clone();
        let barred = |gpu: &GpuKey| self.member(vm, *gpu).barred(1, now).is_some();
        if gpus.iter().any(|gpu| barred(gpu) || self.makes_way(vm, *gpu).is_some()) {
            return true;
        }
        if !self.wanted(vm, &gpus, now) {
            self.relax(vm, &gpus, now);
            return false;
        }
        let is_idle = |gpu: &GpuKey| self.member(vm, *gpu).is_idle(&self.settings, now);
        let idle = mode == OpenMode::Unlimited || gpus.iter().all(is_idle);
        if idle || self.preempted(vm, &gpus, now) {
            return true;
        }
        let reserved = gpus.iter().any(|gpu| self.gpus[gpu].is_kept_from(vm));
        // If `until` is further away than this, it isn't the end of a window. No other VM was
        // waiting, so the turn had no end, or would have ended when the tokens of a capped VM ran
        // out.
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
            let best = |gpu: &GpuKey| {
                let other = self.best_other(*gpu, vm, now);
                other.is_none_or(|other| self.rank(vm, *gpu, rest) < other)
            };
            if gpus.iter().all(best) {
                end = end.saturating_add(self.length(vm, &gpus, now));
            } else {
                self.prepare(&gpus, vm, now);
            }
        }
        self.reopen(vm, OpenMode::Window, end, now);
        false
    }

    /// Removes the turn's end, because no other VM is waiting. If the VM counts as alone, also
    /// removes the limit on work in flight.
    pub(super) fn relax(&mut self, vm: VmKey, gpus: &[GpuKey], now: Nanos) {
        let alone = |gpu: &GpuKey| self.alone_at(*gpu, vm).is_some_and(|at| at <= now);
        let mode = if gpus.iter().all(alone) { OpenMode::Unlimited } else { OpenMode::Window };
        let was = self.turn(vm).map(|turn| turn.mode);
        if mode == OpenMode::Unlimited && was != Some(mode) {
            for gpu in gpus {
                self.gpu_mut(*gpu).alone_since = Some(now);
            }
        }
        // A capped VM's turn ends when its tokens run out, even if no other VM is waiting.
        let lasts = gpus.iter().filter_map(|gpu| {
            let bucket = self.member(vm, *gpu).bucket.as_ref()?;
            Some(now.saturating_add(bucket.lasts(now)))
        });
        let until = lasts.min().unwrap_or(Nanos::MAX);
        self.reopen(vm, mode, until, now);
    }

    /// Changes the mode, end or depth of an open turn. Informs the workers if any of them has
    /// changed, or if the turn begins.
    pub(super) fn reopen(&mut self, vm: VmKey, mode: OpenMode, until: Nanos, now: Nanos) {
        let Some(turn) = self.turn(vm) else { return };
        let gpus = turn.gpus.clone();
        let makes_way = |gpu: &GpuKey| {
            let is_batch = self.member(vm, *gpu).share.class == Class::Batch;
            is_batch && self.gpus[gpu].facts.latency_beside(vm)
        };
        let depth = match mode {
            OpenMode::Unlimited => Nanos::MAX,
            _ if gpus.iter().any(makes_way) => self.settings.latency_depth,
            _ => self.settings.depth,
        };
        // For a capped VM, the calculated end moves slightly at each check. Such small changes
        // aren't sent to the workers.
        let moved = turn.until.abs_diff(until) > self.settings.min_window / 8;
        if turn.mode == mode && turn.depth == depth && !moved {
            return;
        }
        let Some(turn) = self.turn_mut(vm) else { return };
        (turn.mode, turn.until, turn.depth) = (mode, until, depth);
        for gpu in gpus {
            self.set_slices(vm, gpu, now);
            self.out.push(Action { vm, gpu, kind: ActionKind::Open { mode, until, depth } });
        }
    }

    /// Closes a turn's gates.
    pub(super) fn close(&mut self, vm: VmKey, now: Nanos) {
        let (base, most) = (self.settings.alone_after, self.settings.alone_most);
        let Some(turn) = self.turn_mut(vm) else { return };
        let unlimited = std::mem::replace(&mut turn.mode, OpenMode::Window) == OpenMode::Unlimited;
        let gpus = turn.gpus.clone();
        let running = gpus.iter().map(|gpu| self.running(*gpu).len()).max().unwrap_or(0);
        if let Some(turn) = self.turn_mut(vm) {
            turn.drains_beside = running.saturating_sub(1);
        }
        for gpu in gpus.iter().copied() {
            if unlimited {
                let state = self.gpu_mut(gpu);
                let since = state.alone_since.take();
                let brief = since.is_some_and(|at| now < at.saturating_add(most));
                let longer = (2 * state.alone_after.max(base)).min(most);
                state.alone_after = if brief { longer } else { base };
            }
            self.member_mut(vm, gpu).presence.close(now);
            self.out.push(Action { vm, gpu, kind: ActionKind::Close });
        }
        self.prepare(&gpus, vm, now);
    }
}
