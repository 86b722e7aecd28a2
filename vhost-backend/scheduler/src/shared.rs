//! Shared mode: VMs that leave parts of their windows unused run together, and the driver
//! time-slices between them.
//!
//! In separate windows, GPU time between a VM's kernels is lost. When VMs run together, each VM's
//! kernels fill the gaps that the others leave. VMs share as long as none of them could fill the
//! GPU alone, and each gets its promised share or its demand, whichever is less. Demand can be
//! measured only in windows, so the VMs return to windows from time to time.

use super::Scheduler;
use super::gpu::Phase;
use super::load::even;
use super::member::Member;
use super::types::{Action, GpuKey, Nanos, OpenMode, VmKey, WHOLE};

impl Scheduler {
    /// Decides whether a GPU enters, stays in, or leaves shared mode, and carries that out.
    pub(super) fn share(&mut self, gpu: GpuKey, now: Nanos, ticks: bool, out: &mut Vec<Action>) {
        let Some(state) = self.gpus.get(&gpu) else { return };
        if !state.shared {
            if now >= state.apart_until && self.could_share(gpu, now) {
                self.enter(gpu, now, out);
            }
            return;
        }
        if ticks {
            self.split(gpu, now);
        }
        let sharers = self.gpus.get(&gpu).map(|gpu| gpu.running.clone()).unwrap_or_default();
        let failed = self.must_separate(gpu, &sharers);
        if failed || self.must_measure(gpu, now) {
            self.split(gpu, now);
            if failed {
                self.separate(gpu, now);
            } else {
                self.measure(gpu, &sharers, now);
            }
            for vm in sharers {
                if self.turn(vm).is_some_and(|turn| turn.phase == Phase::Open) {
                    self.close(vm, now, out);
                }
            }
            return;
        }
        for vm in sharers {
            let Some(member) = self.member(vm, gpu) else { continue };
            let quiet = !member.last.active && !member.awake(self.settings.alone_after, now);
            let open = self.turn(vm).is_some_and(|turn| turn.phase == Phase::Open);
            if open && (quiet || member.barred(1, now).is_some()) {
                self.close(vm, now, out);
            }
        }
        self.open_shared(gpu, now, out);
        if let Some(state) = self.gpus.get_mut(&gpu)
            && state.running.len() < 2
        {
            // At most one VM is left, so sharing ends.
            state.shared = false;
        }
    }

    /// Returns the VM's demand if the VM can share: its demand is known, it leaves enough of its
    /// windows unused, and it has only one GPU.
    fn gaps(&self, vm: VmKey, gpu: GpuKey) -> Option<f64> {
        if self.has_several_gpus(vm) {
            return None;
        }
        let ended = self.turn(vm).is_none();
        let demand = self.member(vm, gpu)?.load.demand(self.settings.load_least, ended)?;
        (demand <= 1.0 - self.settings.share_gap).then_some(demand)
    }

    /// Returns true if all VMs with work on the GPU can run together, and each would get the time
    /// that it should.
    fn could_share(&self, gpu: GpuKey, now: Nanos) -> bool {
        let Some(state) = self.gpus.get(&gpu) else { return false };
        // The work of a VM that waits may have been evicted long ago.
        let takes_part = |(vm, member): &(VmKey, &Member)| {
            let works = member.last.active || member.awake(self.settings.recent, now);
            works || member.presence.has_turn() || self.wants(*vm, gpu)
        };
        let vms: Vec<_> = self.recent(gpu).filter(takes_part).map(|(vm, _)| vm).collect();
        // Sharing needs at least one waiting VM, and at least two VMs in total. Drains must have
        // finished, which is checked below.
        let wait = self.waiting(gpu, now).count();
        if wait == 0 || wait + state.running.len() < 2 || state.reserved.is_some() {
            return false;
        }
        let open = |vm: &VmKey| {
            self.turn(*vm).is_some_and(|turn| turn.phase == Phase::Open && turn.gpus.len() == 1)
        };
        if !state.running.iter().all(open) || state.facts.latency() {
            return false;
        }
        let demands: Option<Vec<_>> = vms.iter().map(|vm| self.gaps(*vm, gpu)).collect();
        let Some(demands) = demands else { return false };
        let gets = even(&demands);
        vms.iter().zip(demands.iter().zip(gets)).all(|(vm, (demand, gets))| {
            gets >= self.settings.share_least * demand.min(self.promise(*vm, gpu, &vms))
        })
    }

    /// Returns the fraction of the GPU's time that the VM was promised if only `vms` compete.
    fn promise(&self, vm: VmKey, gpu: GpuKey, vms: &[VmKey]) -> f64 {
        let weight = |vm: &VmKey| self.member(*vm, gpu).map_or(0, |member| member.share.weight);
        let all: u32 = vms.iter().map(weight).sum();
        let min = self.member(vm, gpu).map_or(0, |member| member.share.min);
        let by_weight = f64::from(weight(&vm)) / f64::from(all.max(1));
        by_weight.max(f64::from(min) / f64::from(WHOLE))
    }

    /// Returns true if sharing must be interrupted to measure demand in windows: a measurement is
    /// due, a latency VM is awake, or a waiting VM can't share or has unknown demand.
    fn must_measure(&self, gpu: GpuKey, now: Nanos) -> bool {
        self.gpus.get(&gpu).is_some_and(|gpu| now >= gpu.measure_at || gpu.facts.latency())
            || self.waiting(gpu, now).any(|vm| self.gaps(vm, gpu).is_none())
    }

    /// Returns true if sharing doesn't work well, so that the VMs must go back to windows.
    fn must_separate(&self, gpu: GpuKey, sharers: &[VmKey]) -> bool {
        let settings = &self.settings;
        let members = || sharers.iter().filter_map(|vm| Some((*vm, self.member(*vm, gpu)?)));
        // The VMs get time slices in turn. With more VMs, each waits longer for its slice. Work
        // that is held back during that wait doesn't mean that the VM could fill the GPU.
        let count = sharers.len().max(1) as f64;
        let known = settings.share_round * sharers.len() as Nanos / 2;
        let most = 1.0 - settings.part_free * 2.0 / count;
        if members().any(|(_, member)| member.load.held(known).is_some_and(|held| held >= most)) {
            return true;
        }
        let used: f64 = members().filter_map(|(_, m)| m.load.got(known)).sum();
        if used < settings.share_least {
            // The GPU is idle part of the time, so sharing slows down none of the VMs.
            return false;
        }
        // A VM that was promised more than an even slice shares only if its demand is lower than an
        // even slice. In windows, it would have gaps in its promised fraction of the time. If it
        // has fewer gaps than that now, sharing makes it slower.
        members().any(|(vm, member)| {
            let should = settings.share_least * self.promise(vm, gpu, sharers);
            let gaps = member.load.gaps_shared(known);
            should > 1.0 / count && gaps.is_some_and(|gaps| gaps < should * member.load.gaps())
        })
    }

    fn enter(&mut self, gpu: GpuKey, now: Nanos, out: &mut Vec<Action>) {
        let settings = self.settings;
        let Some(state) = self.gpus.get_mut(&gpu) else { return };
        (state.shared, state.split_at) = (true, now);
        let measuring_since = state.measuring_since.take();
        if measuring_since.is_some_and(|since| now.saturating_sub(since) < settings.measure_limit) {
            state.share_for = (2 * state.share_for).min(settings.share_most);
        } else {
            (state.share_for, state.shared_since) = (settings.share_for, now);
        }
        state.measure_at = now.saturating_add(state.share_for);
        for vm in state.running.clone() {
            if let Some(member) = self.member_mut(vm, gpu) {
                member.begin_shared(now);
            }
            self.reopen(vm, OpenMode::Shared, Nanos::MAX, now, out);
        }
        self.open_shared(gpu, now, out);
    }

    /// Lets the waiting VMs join shared mode.
    fn open_shared(&mut self, gpu: GpuKey, now: Nanos, out: &mut Vec<Action>) {
        let joins: Vec<_> = self.waiting(gpu, now).collect();
        for vm in joins {
            self.start(vm, gpu, now, out);
            if let Some(member) = self.member_mut(vm, gpu) {
                member.begin_shared(now);
            }
            if let Some(state) = self.gpus.get_mut(&gpu) {
                state.running.push(vm);
            }
            self.give_turn(vm, vec![gpu], now);
            self.reopen(vm, OpenMode::Shared, Nanos::MAX, now, out);
        }
    }

    /// Ends shared mode for a while. If sharing has ended soon after it began, this time doubles.
    fn separate(&mut self, gpu: GpuKey, now: Nanos) {
        let (least, most) = (self.settings.apart_least, self.settings.apart_most);
        let Some(state) = self.gpus.get_mut(&gpu) else { return };
        state.shared = false;
        let brief = now.saturating_sub(state.shared_since) < 2 * state.apart_for.max(least);
        state.apart_for = if brief { (2 * state.apart_for).clamp(least, most) } else { least };
        state.apart_until = now.saturating_add(state.apart_for);
    }

    /// Interrupts shared mode until the demand of each VM has been measured in windows. It can't be
    /// measured in shared mode, where a VM has fewer gaps, because work launched during another
    /// VM's slice is in flight longer.
    fn measure(&mut self, gpu: GpuKey, sharers: &[VmKey], now: Nanos) {
        let (least, counts) = (self.settings.load_least, self.settings.min_window);
        if let Some(state) = self.gpus.get_mut(&gpu) {
            (state.shared, state.measuring_since) = (false, Some(now));
        }
        for vm in sharers {
            if let Some(member) = self.member_mut(*vm, gpu) {
                member.load.restart(least, counts);
            }
        }
    }

    /// Charges the sharing VMs for the time since they were last charged, by the busy time that
    /// their workers report. If busy times overlap, so that the sum exceeds the wall time, the
    /// charges are reduced in proportion.
    fn split(&mut self, gpu: GpuKey, now: Nanos) {
        let round = self.settings.share_round;
        let Some(state) = self.gpus.get_mut(&gpu) else { return };
        let wall = now.saturating_sub(state.split_at);
        state.split_at = now.max(state.split_at);
        let sharers = state.running.clone();
        let horizon = round * sharers.len() as Nanos;
        let busy: Vec<Nanos> = sharers
            .iter()
            .map(|vm| {
                self.member_mut(*vm, gpu)
                    .map_or(0, |member| member.account.book_busy(member.idle_since, now))
            })
            .collect();
        let sum: u128 = busy.iter().map(|busy| u128::from(*busy)).sum();
        for (vm, busy) in sharers.iter().zip(busy) {
            let scaled = if sum > u128::from(wall) {
                (u128::from(busy) * u128::from(wall) / sum) as Nanos
            } else {
                busy
            };
            let Some(member) = self.member_mut(*vm, gpu) else { continue };
            member.charge(scaled, now);
            member.load.add_shared(scaled, busy, member.last.held, wall, horizon);
        }
        // A VM that got less than its share didn't want more, because otherwise sharing would have
        // ended. So it's owed at most one window.
        let most = self.settings.max_window;
        for vm in &sharers {
            let others = self.clock_of_others(*vm, gpu);
            if let Some(member) = self.member_mut(*vm, gpu) {
                member.time.limit_credit(others, most, member.share.weight);
            }
        }
        self.advance_clock(gpu);
    }
}
