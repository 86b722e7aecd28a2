//! The course of a turn: open, close, drain, end; and what is booked for it.

use super::Scheduler;
use super::choose::Tier;
use super::gpu::{Phase, Turn};
use super::member::Gate;
use super::types::{Action, Class, GpuKey, Nanos, OpenMode, VmKey};

impl Scheduler {
    /// Looks at all GPUs on which something may have changed.
    pub(super) fn settle_all(&mut self, now: Nanos, ticks: bool, out: &mut Vec<Action>) {
        let mut seen = Vec::new();
        // A turn that ends makes its other GPUs dirty; that settles after a few rounds. The bound is
        // for what was not thought of: the rest is looked at in the next tick.
        for _ in 0..4 * self.gpus.len() + 4 {
            // In order, since a VM of several GPUs has to have the lower ones first.
            let Some(gpu) = self.dirty.iter().min().copied() else { break };
            self.dirty.retain(|other| *other != gpu);
            self.settle(gpu, now, ticks, out);
            if !seen.contains(&gpu) {
                seen.push(gpu);
            }
        }
        let rest = std::mem::take(&mut self.dirty);
        for gpu in seen {
            self.plan_wake(gpu, now);
        }
        for gpu in rest {
            if let Some(gpu) = self.gpus.get_mut(&gpu) {
                gpu.wake = Some(now);
            }
        }
    }

    fn settle(&mut self, gpu: GpuKey, now: Nanos, ticks: bool, out: &mut Vec<Action>) {
        self.book(gpu, now);
        self.forget(gpu, now);
        let running = self.gpus.get(&gpu).map(|gpu| gpu.running.clone()).unwrap_or_default();
        for vm in running {
            self.advance(vm, now, out);
        }
        self.share(gpu, now, ticks, out);
        if self.dirty.iter().any(|other| *other < gpu) {
            // A turn has ended on several: they are given away in order.
            self.dirty.push(gpu);
        } else {
            self.fill(gpu, now, out);
        }
    }

    /// Books the time that has passed on a GPU.
    pub(super) fn book(&mut self, gpu: GpuKey, now: Nanos) {
        let Some(state) = self.gpus.get(&gpu) else { return };
        let (alone, shared) = (state.running.len() == 1, state.shared);
        for vm in state.recent.clone() {
            let need = self.need();
            let settings = self.settings;
            let Some(state) = self.vms.get_mut(&vm) else { continue };
            let Some(member) = state.members.get_mut(&gpu) else { continue };
            let works = member.last.held || member.last.active;
            member.guarantee.pass(works, now);
            member.watch_throttling(now);
            match &state.turn {
                Some(turn) if shared && turn.mode == OpenMode::Shared => {}
                Some(turn)
                    if alone && turn.mode != OpenMode::Unlimited && turn.gpus.contains(&gpu) =>
                {
                    let grace = member.grace(&settings);
                    member.charge_window(grace, settings.load_horizon, now);
                }
                _ => member.charge_busy(now),
            }
            member.held_back |= member.last.held && !member.may_run(need, now);
            self.judge_latency(vm, gpu);
        }
        self.advance_clock(gpu);
    }

    /// Notes that a VM without a turn has work again, or none any more.
    pub(super) fn sleep_or_wake(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos) {
        let others = self.clock_of_others(vm, gpu);
        let pause = self.settings.recent;
        let Some(member) = self.member_mut(vm, gpu) else { return };
        match (member.last.held, member.time.sleeps()) {
            (true, true) => member.time.wake(others, pause, now),
            (false, false) => member.time.sleep(others, now),
            _ => {}
        }
    }

    /// Drops VMs that have been idle for long from those that are looked at.
    fn forget(&mut self, gpu: GpuKey, now: Nanos) {
        let span = self.settings.latency_awake.max(self.settings.alone_most);
        let Some(state) = self.gpus.get(&gpu) else { return };
        let stays = |vm: &VmKey| {
            state.running.contains(vm)
                || self.member(*vm, gpu).is_some_and(|m| m.awake(span, now) || m.last.active)
        };
        if state.recent.iter().all(stays) {
            return;
        }
        let recent = state.recent.iter().copied().filter(|vm| stays(vm)).collect();
        if let Some(state) = self.gpus.get_mut(&gpu) {
            state.recent = recent;
        }
    }

    /// Decides how a turn goes on.
    fn advance(&mut self, vm: VmKey, now: Nanos, out: &mut Vec<Action>) {
        let Some(phase) = self.turn(vm).map(|turn| turn.phase) else { return };
        if let Phase::Draining { .. } = phase {
            self.drain(vm, now, out);
        } else if self.shares(vm) {
            // All who share are looked at together.
        } else if self.must_close(vm, now, out) {
            self.close(vm, now, out);
        }
    }

    fn shares(&self, vm: VmKey) -> bool {
        self.turn(vm).is_some_and(|turn| {
            turn.mode == OpenMode::Shared
                && turn.gpus.iter().any(|gpu| self.gpus.get(gpu).is_some_and(|gpu| gpu.shared))
        })
    }

    /// Whether an open turn is over now. If not, it gets the mode and the end that it should have.
    fn must_close(&mut self, vm: VmKey, now: Nanos, out: &mut Vec<Action>) -> bool {
        let Some(turn) = self.turn(vm) else { return false };
        let (mode, phase, until, opened) = (turn.mode, turn.phase, turn.until, turn.opened);
        let (gpus, progress_at) = (turn.gpus.clone(), turn.progress_at);
        if gpus.iter().any(|gpu| self.member(vm, *gpu).is_some_and(|m| !m.may_run(1, now))) {
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
        if let Phase::Reopened { since, end } = phase {
            return now >= end || progress_at > since;
        }
        let reserved = gpus.iter().any(|gpu| {
            self.gpus.get(gpu).is_some_and(|gpu| gpu.reserved.is_some_and(|other| other != vm))
        });
        let end = match until {
            _ if reserved => {
                let end = opened.saturating_add(self.settings.min_window);
                until.map_or(end, |until| until.min(end))
            }
            Some(until) => until,
            None => opened.saturating_add(self.length(vm, &gpus, now)),
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
                let end = end.saturating_add(self.length(vm, &gpus, now));
                self.reopen(vm, OpenMode::Window, Some(end), now, out);
                return false;
            }
            self.prepare(&gpus, vm, now, out);
        }
        self.reopen(vm, OpenMode::Window, Some(end), now, out);
        false
    }

    /// Nobody waits: no end, and no bound once the VM is alone.
    fn relax(&mut self, vm: VmKey, gpus: &[GpuKey], now: Nanos, out: &mut Vec<Action>) {
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
        // A capped VM's tokens are an end, though nobody waits.
        let lasts = gpus.iter().filter_map(|gpu| {
            let bucket = self.member(vm, *gpu)?.bucket.as_ref()?;
            Some(now.saturating_add(bucket.lasts(now)))
        });
        let until = lasts.min();
        if let Some(turn) = self.vms.get_mut(&vm).and_then(|vm| vm.turn.as_mut())
            && turn.phase != Phase::Open
        {
            turn.phase = Phase::Open;
        }
        self.reopen(vm, mode, until, now, out);
    }

    /// Nothing runs on any of the GPUs for longer than is granted.
    fn idle(&self, vm: VmKey, gpus: &[GpuKey], now: Nanos) -> bool {
        gpus.iter().filter_map(|gpu| self.member(vm, *gpu)).all(|member| {
            let grace = member.grace(&self.settings);
            member.idle_since.is_some_and(|since| now.saturating_sub(since) >= grace)
        })
    }

    /// A latency VM within its share waits, and this one is not.
    fn preempted(&self, vm: VmKey, gpus: &[GpuKey], now: Nanos) -> bool {
        gpus.iter().any(|gpu| {
            self.rank(vm, *gpu, 0).is_some_and(|own| own.tier > Tier::Latency)
                && self.best_other(*gpu, vm, now).is_some_and(|other| other.tier <= Tier::Latency)
        })
    }

    /// The length of a window on several GPUs: the shortest.
    fn length(&self, vm: VmKey, gpus: &[GpuKey], now: Nanos) -> Nanos {
        let lengths = gpus.iter().map(|gpu| self.window(vm, *gpu, now));
        lengths.min().unwrap_or(self.settings.min_window)
    }

    fn depth(&self, vm: VmKey, gpus: &[GpuKey], now: Nanos) -> Nanos {
        let batch = |gpu: &GpuKey| {
            self.member(vm, *gpu).is_some_and(|member| member.share.class == Class::Batch)
                && self.latency_awake(*gpu, vm, now)
        };
        if gpus.iter().any(batch) { self.settings.latency_depth } else { self.settings.depth }
    }

    /// Gives an open turn another mode, end or depth, if they differ.
    pub(super) fn reopen(
        &mut self,
        vm: VmKey,
        mode: OpenMode,
        until: Option<Nanos>,
        now: Nanos,
        out: &mut Vec<Action>,
    ) {
        let Some(turn) = self.turn(vm) else { return };
        let gpus = turn.gpus.clone();
        let depth = match mode {
            OpenMode::Unlimited => Nanos::MAX,
            _ => self.depth(vm, &gpus, now),
        };
        // The end of a capped VM's tokens moves a little with each look: that is not told.
        let moved = match (turn.until, until) {
            (Some(old), Some(new)) => old.abs_diff(new) > self.settings.min_window / 8,
            (old, new) => old != new,
        };
        if turn.mode == mode && turn.depth == depth && !moved {
            return;
        }
        let Some(turn) = self.vms.get_mut(&vm).and_then(|vm| vm.turn.as_mut()) else { return };
        (turn.mode, turn.until, turn.depth) = (mode, until, depth);
        let until = until.unwrap_or(Nanos::MAX);
        for gpu in gpus {
            if let Some(member) = self.member_mut(vm, gpu) {
                member.gate = Gate::Open;
            }
            out.push(Action::Open { vm, gpu, mode, until, depth });
        }
    }

    /// Tells the VM that is probably next to wake up.
    fn prepare(&mut self, gpus: &[GpuKey], vm: VmKey, now: Nanos, out: &mut Vec<Action>) {
        for gpu in gpus {
            let next = self.queue(*gpu, now).into_iter().find(|next| *next != vm);
            let Some(state) = self.gpus.get_mut(gpu) else { continue };
            let Some(next) = next else { continue };
            if state.prepared == Some(next) {
                continue;
            }
            let before = state.prepared.replace(next);
            self.unprepare(before, *gpu, out);
            if let Some(member) = self.member_mut(next, *gpu)
                && member.gate == Gate::Closed
            {
                member.gate = Gate::Prepared;
                out.push(Action::Prepare { vm: next, gpu: *gpu });
            }
        }
    }

    fn unprepare(&mut self, vm: Option<VmKey>, gpu: GpuKey, out: &mut Vec<Action>) {
        let Some(vm) = vm else { return };
        let Some(member) = self.member_mut(vm, gpu) else { return };
        if member.gate == Gate::Prepared {
            member.gate = Gate::Closed;
            out.push(Action::Close { vm, gpu });
        }
    }

    /// Closes a turn's gates.
    pub(super) fn close(&mut self, vm: VmKey, now: Nanos, out: &mut Vec<Action>) {
        let most = self.settings.alone_most;
        let Some(turn) = self.vms.get_mut(&vm).and_then(|vm| vm.turn.as_mut()) else { return };
        let unlimited = turn.mode == OpenMode::Unlimited;
        turn.mode = OpenMode::Window;
        turn.phase = Phase::Draining { since: now };
        turn.progress_at = now;
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
            if let Some(member) = self.member_mut(vm, *gpu)
                && member.gate == Gate::Open
            {
                member.gate = Gate::Closed;
                member.drained = false;
                out.push(Action::Close { vm, gpu: *gpu });
            }
        }
        self.prepare(&gpus, vm, now, out);
    }

    /// A closed turn: it ends when all its GPUs are drained, and is opened again if it is stuck.
    fn drain(&mut self, vm: VmKey, now: Nanos, out: &mut Vec<Action>) {
        let Some(turn) = self.turn(vm) else { return };
        let (gpus, progress_at) = (turn.gpus.clone(), turn.progress_at);
        let members = || gpus.iter().filter_map(|gpu| self.member(vm, *gpu));
        if members().all(|member| member.drained) {
            self.end(vm, now);
            return;
        }
        let patience = self.patience(vm, turn);
        let holds = |vm: &super::Vm| vm.members.values().any(|member| member.last.held);
        if now.saturating_sub(progress_at) < patience || !self.vms.get(&vm).is_some_and(holds) {
            return;
        }
        self.extend(vm, now, out);
        self.step(vm, now, out);
    }

    /// GPUs of a turn that have drained and have more to do, while others have not: what runs on
    /// those may wait for it.
    fn lagging(&self, vm: VmKey, turn: &Turn) -> Vec<GpuKey> {
        let lags = |gpu: &&GpuKey| {
            self.member(vm, **gpu).is_some_and(|member| member.drained && member.last.held)
        };
        turn.gpus.iter().filter(lags).copied().collect()
    }

    /// Lets one call through on the GPUs that lag behind, or if none does, on all. The end is now:
    /// so each worker starts one call, and the drain does not begin anew.
    fn step(&mut self, vm: VmKey, now: Nanos, out: &mut Vec<Action>) {
        let Some(turn) = self.turn(vm) else { return };
        let mut gpus = self.lagging(vm, turn);
        let blind = gpus.is_empty();
        if blind {
            gpus = turn.gpus.clone();
        }
        let end = now.saturating_add(self.settings.reopen);
        let Some(turn) = self.vms.get_mut(&vm).and_then(|vm| vm.turn.as_mut()) else { return };
        turn.reopens += u32::from(blind);
        turn.stepped |= !blind;
        (turn.phase, turn.progress_at) = (Phase::Reopened { since: now, end }, now);
        (turn.mode, turn.until, turn.depth) = (OpenMode::Window, Some(now), 0);
        for gpu in gpus {
            if let Some(member) = self.member_mut(vm, gpu) {
                member.gate = Gate::Open;
                member.started = false;
                member.drained = false;
                member.reopened_at = Some(now);
                member.stats.reopened += 1;
            }
            let mode = OpenMode::Window;
            out.push(Action::Open { vm, gpu, mode, until: now, depth: 0 });
        }
    }

    /// How long a drain may stand still before it is taken for stuck. Where one GPU lags behind, the
    /// cause is known, and once seen the next call is let through soon. Else a long call may be all
    /// there is: so it is longer than calls have been, and longer each time, or each look would bring
    /// in one more call, for ever.
    fn patience(&self, vm: VmKey, turn: &Turn) -> Nanos {
        if !self.lagging(vm, turn).is_empty() {
            let least = self.settings.no_progress;
            return if turn.stepped { least / 10 } else { least };
        }
        let members = turn.gpus.iter().filter_map(|gpu| self.member(vm, *gpu));
        let longest = members.map(|member| member.patience(&self.settings)).max();
        longest.unwrap_or(self.settings.no_progress) << turn.reopens.min(10)
    }

    /// What runs waits for work on GPUs that the turn does not have: it gets them, over whoever has
    /// them if need be, for no order of drains could end the waiting of two such VMs for one another.
    fn extend(&mut self, vm: VmKey, now: Nanos, out: &mut Vec<Action>) {
        let Some(state) = self.vms.get(&vm) else { return };
        let Some(turn) = &state.turn else { return };
        let missing: Vec<_> = state
            .members
            .iter()
            .filter(|(key, member)| member.last.held && !turn.gpus.contains(key))
            .map(|(key, _)| *key)
            .collect();
        for gpu in missing {
            let Some(state) = self.gpus.get_mut(&gpu) else { continue };
            state.running.push(vm);
            self.book(gpu, now);
            if let Some(member) = self.member_mut(vm, gpu) {
                member.gate = Gate::Open;
            }
            if let Some(turn) = self.vms.get_mut(&vm).and_then(|vm| vm.turn.as_mut()) {
                turn.gpus.push(gpu);
                turn.gpus.sort_unstable();
            }
            self.unprepare_all(gpu, out);
            self.dirty.push(gpu);
        }
    }

    fn unprepare_all(&mut self, gpu: GpuKey, out: &mut Vec<Action>) {
        let before = self.gpus.get_mut(&gpu).and_then(|gpu| gpu.prepared.take());
        self.unprepare(before, gpu, out);
    }

    /// Ends a drained turn.
    fn end(&mut self, vm: VmKey, now: Nanos) {
        let Some(turn) = self.turn(vm) else { return };
        let Phase::Draining { since } = turn.phase else { return };
        let gpus = turn.gpus.clone();
        for gpu in &gpus {
            self.book(*gpu, now);
        }
        if let Some(state) = self.vms.get_mut(&vm) {
            state.turn = None;
        }
        let took = now.saturating_sub(since);
        for gpu in gpus {
            let limit = self.settings.debt_limit;
            let others = self.clock_of_others(vm, gpu);
            let weights = self.weights_of_others(vm, gpu);
            let ran = self.gpus.get_mut(&gpu).map_or(0, |state| {
                state.turns += 1;
                state.turns
            });
            if let Some(member) = self.member_mut(vm, gpu) {
                member.time.limit_debt(others, limit, weights);
                member.ran = ran;
                member.stats.handovers += 1;
                member.stats.handover_ns = member.stats.handover_ns.saturating_add(took);
                member.stats.handover_max_ns = member.stats.handover_max_ns.max(took);
            }
            self.sleep_or_wake(vm, gpu, now);
            if let Some(state) = self.gpus.get_mut(&gpu) {
                state.running.retain(|other| *other != vm);
            }
            self.dirty.push(gpu);
        }
    }

    fn weights_of_others(&self, vm: VmKey, gpu: GpuKey) -> u64 {
        let waiting = self.gpus.get(&gpu).map_or(&[][..], |gpu| &gpu.recent).iter();
        waiting
            .filter(|other| **other != vm && self.wants(**other, gpu))
            .filter_map(|other| self.member(*other, gpu))
            .map(|member| u64::from(member.share.weight))
            .sum()
    }

    /// Gives a free GPU to whoever is next.
    fn fill(&mut self, gpu: GpuKey, now: Nanos, out: &mut Vec<Action>) {
        let Some(state) = self.gpus.get(&gpu) else { return };
        let gone = |vm| !self.wants(vm, gpu) || !self.eligible(vm, gpu, now);
        let reserved = state.reserved.filter(|vm| !gone(*vm));
        if let Some(state) = self.gpus.get_mut(&gpu) {
            state.reserved = reserved;
        }
        if self.gpus.get(&gpu).is_some_and(|state| !state.running.is_empty()) {
            return;
        }
        for vm in self.queue(gpu, now) {
            if let Some(turn) = self.turn(vm) {
                // It runs elsewhere, and has come to want this one too. If it drains there, it comes
                // back for both.
                if turn.phase == Phase::Open {
                    self.join(vm, gpu, now, out);
                    return;
                }
                continue;
            }
            let gang = self.gang(vm);
            if gang.len() == 1 {
                if self.backfills(gpu, vm) {
                    self.open(vm, gang, now, out);
                    return;
                }
                continue;
            }
            self.reserve(vm, gpu, &gang);
            let ready = |gpu: &GpuKey| {
                self.gpus
                    .get(gpu)
                    .is_some_and(|state| state.running.is_empty() && state.reserved == Some(vm))
            };
            if gang.iter().all(ready) {
                self.open(vm, gang, now, out);
                return;
            }
        }
    }

    /// A VM of one GPU may run on a reserved one while the VM that reserved it waits for others.
    fn backfills(&self, gpu: GpuKey, vm: VmKey) -> bool {
        let Some(other) = self.gpus.get(&gpu).and_then(|gpu| gpu.reserved) else { return true };
        if other == vm {
            return true;
        }
        self.gang(other)
            .iter()
            .any(|gpu| self.gpus.get(gpu).is_some_and(|state| state.reserved != Some(other)))
    }

    /// Reserves a GPU for a VM that needs others too: in order, so that two never wait for one
    /// another.
    fn reserve(&mut self, vm: VmKey, gpu: GpuKey, gang: &[GpuKey]) {
        let lower = gang.iter().take_while(|other| **other < gpu);
        let has = |gpu: &GpuKey| self.gpus.get(gpu).is_some_and(|gpu| gpu.reserved == Some(vm));
        if !lower.into_iter().all(has) {
            return;
        }
        if let Some(state) = self.gpus.get_mut(&gpu)
            && state.reserved.is_none()
        {
            state.reserved = Some(vm);
            // The next in order may be free already, or its VM has to hurry.
            self.dirty.extend(gang.iter().filter(|other| **other != gpu));
        }
    }

    /// A running turn takes one more GPU, which is free.
    fn join(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos, out: &mut Vec<Action>) {
        let Some(turn) = self.vms.get_mut(&vm).and_then(|vm| vm.turn.as_mut()) else { return };
        turn.gpus.push(gpu);
        turn.gpus.sort_unstable();
        if turn.mode == OpenMode::Unlimited {
            // Whether it is alone on this one too is looked at below.
            turn.mode = OpenMode::Window;
            turn.depth = 0;
        }
        let (mode, until, depth) = (turn.mode, turn.until, turn.depth.max(self.settings.depth));
        turn.depth = depth;
        if let Some(state) = self.gpus.get_mut(&gpu) {
            state.running.push(vm);
        }
        self.start(vm, gpu, now, out);
        let until = until.unwrap_or(Nanos::MAX);
        out.push(Action::Open { vm, gpu, mode, until, depth });
        let gpus = self.turn(vm).map(|turn| turn.gpus.clone()).unwrap_or_default();
        if !gpus.iter().any(|gpu| self.wanted(*gpu, vm, now)) {
            self.relax(vm, &gpus, now, out);
        }
        self.dirty.extend(gpus.into_iter().filter(|other| *other != gpu));
    }

    /// Begins a turn on free GPUs.
    fn open(&mut self, vm: VmKey, gpus: Vec<GpuKey>, now: Nanos, out: &mut Vec<Action>) {
        for gpu in &gpus {
            self.book(*gpu, now);
            self.start(vm, *gpu, now, out);
            if let Some(state) = self.gpus.get_mut(gpu) {
                state.running.push(vm);
                state.reserved = state.reserved.filter(|other| *other != vm);
                self.dirty.push(*gpu);
            }
        }
        let capped =
            gpus.iter().any(|gpu| self.member(vm, *gpu).is_some_and(|m| m.bucket.is_some()));
        let waited = capped || gpus.iter().any(|gpu| self.wanted(*gpu, vm, now));
        let alone = |gpu: &GpuKey| self.alone_at(*gpu, vm).is_some_and(|at| at <= now);
        let (mode, until, depth) = if waited {
            let end = now.saturating_add(self.length(vm, &gpus, now));
            (OpenMode::Window, Some(end), self.depth(vm, &gpus, now))
        } else if gpus.iter().all(alone) {
            (OpenMode::Unlimited, None, Nanos::MAX)
        } else {
            (OpenMode::Window, None, self.depth(vm, &gpus, now))
        };
        for gpu in &gpus {
            if let Some(state) = self.gpus.get_mut(gpu)
                && mode == OpenMode::Unlimited
            {
                state.alone_since = Some(now);
            }
            let until = until.unwrap_or(Nanos::MAX);
            out.push(Action::Open { vm, gpu: *gpu, mode, until, depth });
        }
        let phase = Phase::Open;
        let turn = Turn {
            gpus,
            mode,
            opened: now,
            until,
            depth,
            phase,
            progress_at: now,
            reopens: 0,
            stepped: false,
        };
        if let Some(state) = self.vms.get_mut(&vm) {
            state.turn = Some(turn);
        }
    }

    /// What a VM's account on a GPU needs when its gate opens there.
    pub(super) fn start(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos, out: &mut Vec<Action>) {
        let before = self.gpus.get_mut(&gpu).and_then(|gpu| gpu.prepared.take());
        self.unprepare(before.filter(|before| *before != vm), gpu, out);
        let others = self.clock_of_others(vm, gpu);
        let (most, pause) = (2 * self.settings.max_window, self.settings.recent);
        let several = self.vms.get(&vm).is_some_and(|vm| vm.members.len() > 1);
        let Some(member) = self.member_mut(vm, gpu) else { return };
        // Of a VM of several GPUs, one that had no work here may be opened.
        member.time.wake(others, pause, now);
        if std::mem::take(&mut member.held_back) || several {
            member.time.limit_credit(others, most, member.share.weight);
        }
        member.gate = Gate::Open;
        member.started = false;
        member.drained = false;
        member.still = 0;
        member.charged_at = now;
        // With work at hand the window is used from its beginning.
        member.idle_since = if member.last.held { None } else { Some(now) };
        member.idle_at_charge = member.idle_since;
        member.stats.windows += 1;
        member.watch_throttling(now);
    }

    /// When a GPU is to be looked at again.
    fn plan_wake(&mut self, gpu: GpuKey, now: Nanos) {
        let Some(state) = self.gpus.get(&gpu) else { return };
        let mut wake: Option<Nanos> = None;
        let mut at = |time: Nanos| wake = Some(wake.map_or(time, |wake| wake.min(time)));
        for vm in &state.running {
            let Some((turn, member)) = self.turn(*vm).zip(self.member(*vm, gpu)) else { continue };
            match turn.phase {
                Phase::Draining { .. } => at(turn
                    .progress_at
                    .saturating_add(member.patience(&self.settings))
                    .max(now + 1)),
                _ if turn.mode == OpenMode::Unlimited => {}
                _ if turn.mode == OpenMode::Shared => at(now + self.settings.sample),
                _ => {
                    let waited = turn.gpus.iter().any(|gpu| self.wanted(*gpu, *vm, now));
                    if waited {
                        at(now + self.settings.sample);
                        if let Some(since) = member.idle_since {
                            at(since.saturating_add(member.grace(&self.settings)).max(now + 1));
                        }
                        let lead = self.settings.lead;
                        match turn.until {
                            Some(end) if end > now.saturating_add(lead) => at(end - lead),
                            Some(end) => at(end.max(now + 1)),
                            None => {}
                        }
                    } else if member.last.active || member.last.held {
                        at(now + self.settings.sample);
                    }
                    if let Some(alone) = self.alone_at(gpu, *vm)
                        && !waited
                    {
                        at(alone.max(now + 1));
                    }
                    if let Some(bucket) = &member.bucket
                        && (member.last.active || member.last.held)
                    {
                        at(now.saturating_add(bucket.lasts(now)).max(now + 1));
                    }
                }
            }
            if let Some(timeout) = member.share.kernel_timeout
                && !member.timed_out
            {
                let left = timeout.saturating_sub(member.last.oldest_for);
                at(now.saturating_add(left.min(timeout / 4).max(self.settings.sample)));
            }
        }
        for vm in &state.recent {
            let Some(member) = self.member(*vm, gpu) else { continue };
            if let Some(bucket) = &member.bucket
                && self.wants(*vm, gpu)
                && !member.may_run(self.need(), now)
            {
                at(bucket.ready_at(self.need(), now).max(now + 1));
            }
        }
        if let Some(state) = self.gpus.get_mut(&gpu) {
            state.wake = wake;
        }
    }
}
