//! Shared mode: VMs that leave parts of their windows unused run together, and the driver
//! time-slices between them.
//!
//! In separate windows, GPU time between a VM's kernels is lost. When VMs run together, each VM's
//! kernels fill the gaps that the others leave. VMs share as long as none of them could fill the
//! GPU alone, and each gets its promised share or its demand, whichever is less. Demand can be
//! measured only in windows, so the VMs return to windows from time to time.

use super::Scheduler;
use super::load::even;
use super::member::Member;
use super::types::{GpuKey, Nanos, OpenMode, VmKey, WHOLE};

impl Scheduler {
    /// Decides whether a GPU enters, stays in, or leaves shared mode, and carries that out.
    pub(super) fn share(&mut self, gpu: GpuKey, now: Nanos, ticks: bool) {
        let sharing = &self.gpus[&gpu].sharing;
        if !sharing.shared {
            if now >= sharing.apart_until && self.could_share(gpu, now) {
                self.enter(gpu, now);
            }
            return;
        }
        if ticks {
            self.split(gpu, now);
        }
        let sharers = self.running(gpu).to_vec();
        let failed = self.must_separate(gpu, &sharers);
        // A waiting VM that can't share, or whose demand is unknown, needs a window.
        let needs_window = |vm| self.gaps(vm, gpu).is_none();
        let state = &self.gpus[&gpu];
        let due = now >= state.sharing.measure_at || state.facts.latency();
        let ends = failed || due || self.waiting(gpu, now).any(needs_window);
        if ends {
            self.split(gpu, now);
        }
        if failed {
            self.separate(gpu, now);
        } else if ends {
            self.measure(gpu, &sharers, now);
        }
        for vm in sharers {
            let member = self.member(vm, gpu);
            let quiet = !member.last.active && !member.awake(self.settings.alone_after, now);
            let leaves = ends || quiet || member.barred(1, now).is_some();
            if leaves && member.presence.is_running() {
                self.close(vm, now);
            }
        }
        if !ends {
            self.open_shared(gpu, now);
            // If at most one VM is left, sharing ends.
            let state = self.gpu_mut(gpu);
            state.sharing.shared = state.running.len() >= 2;
        }
    }

    /// Returns the VM's demand if the VM can share: its demand is known, it leaves enough of its
    /// windows unused, and it has only one GPU.
    fn gaps(&self, vm: VmKey, gpu: GpuKey) -> Option<f64> {
        if self.has_several_gpus(vm) {
            return None;
        }
        let ended = self.turn(vm).is_none();
        let demand = self.member(vm, gpu).load.demand(self.settings.load_least, ended)?;
        (demand <= 1.0 - self.settings.share_gap).then_some(demand)
    }

    /// Returns true if all VMs with work on the GPU can run together, and each would get the time
    /// that it should.
    fn could_share(&self, gpu: GpuKey, now: Nanos) -> bool {
        let state = &self.gpus[&gpu];
        // Include VMs that want a turn, even if they had no work recently: their work may have been
        // evicted long ago.
        let takes_part = |(vm, member): &(VmKey, &Member)| {
            let works = member.last.active || member.awake(self.settings.recent, now);
            works || member.presence.has_turn() || self.unwanted(*vm, gpu).is_none()
        };
        let vms: Vec<_> = self.recent(gpu).filter(takes_part).map(|(vm, _)| vm).collect();
        // Sharing needs at least one waiting VM, and at least two VMs in total. All drains must
        // have finished; `open` checks that below.
        let wait = self.waiting(gpu, now).count();
        if wait == 0 || wait + state.running.len() < 2 || state.reserved.is_some() {
            return false;
        }
        let open = |vm: &VmKey| {
            let single = self.turn(*vm).is_some_and(|turn| turn.gpus.len() == 1);
            single && self.member(*vm, gpu).presence.is_running()
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
        let share = |vm: VmKey| self.member(vm, gpu).share;
        let all: u32 = vms.iter().map(|vm| share(*vm).weight).sum();
        let by_weight = f64::from(share(vm).weight) / f64::from(all.max(1));
        by_weight.max(f64::from(share(vm).min) / f64::from(WHOLE))
    }

    /// Returns true if sharing doesn't work well, so that the VMs must go back to windows.
    fn must_separate(&self, gpu: GpuKey, sharers: &[VmKey]) -> bool {
        let settings = &self.settings;
        // The VMs get time slices in turn, so with more VMs, each waits longer for its slice. Work
        // that is held back during that wait doesn't mean that the VM could fill the GPU, so a
        // higher limit applies.
        let count = sharers.len().max(1) as f64;
        let known = settings.share_round * sharers.len() as Nanos / 2;
        let most = 1.0 - settings.part_free * 2.0 / count;
        let measured = sharers.iter().filter_map(|vm| {
            let load = &self.member(*vm, gpu).load;
            Some((*vm, load, load.shared(known)?))
        });
        let measured: Vec<_> = measured.collect();
        if measured.iter().any(|(.., shared)| shared.held >= most) {
            return true;
        }
        if measured.iter().map(|(.., shared)| shared.got).sum::<f64>() < settings.share_least {
            // The GPU is idle part of the time, so sharing slows down none of the VMs.
            return false;
        }
        // A VM that was promised more than an even slice shares only if its demand is lower than an
        // even slice. In windows, it would leave a part of its promised time unused. If it leaves
        // less time unused now, its work takes longer, so sharing slows it down.
        measured.iter().any(|(vm, load, shared)| {
            let should = settings.share_least * self.promise(*vm, gpu, sharers);
            should > 1.0 / count && 1.0 - shared.busy < should * load.gaps()
        })
    }

    fn enter(&mut self, gpu: GpuKey, now: Nanos) {
        let settings = self.settings;
        let sharing = &mut self.gpu_mut(gpu).sharing;
        (sharing.shared, sharing.split_at) = (true, now);
        let since = sharing.measuring_since.take();
        if since.is_some_and(|since| now.saturating_sub(since) < settings.measure_limit) {
            sharing.share_for = (2 * sharing.share_for).min(settings.share_most);
        } else {
            (sharing.share_for, sharing.since) = (settings.share_for, now);
        }
        sharing.measure_at = now.saturating_add(sharing.share_for);
        for vm in self.running(gpu).to_vec() {
            self.member_mut(vm, gpu).begin_shared(now);
            self.reopen(vm, OpenMode::Shared, Nanos::MAX, now);
        }
        self.open_shared(gpu, now);
    }

    /// Lets the waiting VMs join shared mode.
    fn open_shared(&mut self, gpu: GpuKey, now: Nanos) {
        let joins: Vec<_> = self.waiting(gpu, now).collect();
        for vm in joins {
            self.start(vm, gpu, now);
            self.member_mut(vm, gpu).begin_shared(now);
            self.give_turn(vm, vec![gpu], now);
            self.reopen(vm, OpenMode::Shared, Nanos::MAX, now);
        }
    }

    /// Ends shared mode for a while. If sharing has ended soon after it began, this time doubles.
    fn separate(&mut self, gpu: GpuKey, now: Nanos) {
        let (least, most) = (self.settings.apart_least, self.settings.apart_most);
        let sharing = &mut self.gpu_mut(gpu).sharing;
        sharing.shared = false;
        let brief = now.saturating_sub(sharing.since) < 2 * sharing.apart_for.max(least);
        sharing.apart_for = if brief { (2 * sharing.apart_for).clamp(least, most) } else { least };
        sharing.apart_until = now.saturating_add(sharing.apart_for);
    }

    /// Interrupts shared mode until the demand of each VM has been measured in windows. It can't be
    /// measured in shared mode, where a VM has fewer gaps, because work launched during another
    /// VM's slice is in flight longer.
    fn measure(&mut self, gpu: GpuKey, sharers: &[VmKey], now: Nanos) {
        let (least, counts) = (self.settings.load_least, self.settings.min_window);
        let sharing = &mut self.gpu_mut(gpu).sharing;
        (sharing.shared, sharing.measuring_since) = (false, Some(now));
        for vm in sharers {
            self.member_mut(*vm, gpu).load.restart(least, counts);
        }
    }

    /// Charges the sharing VMs for the time since they were last charged, by the busy time that
    /// their workers report. If busy times overlap, so that the sum exceeds the wall time, the
    /// charges are reduced in proportion.
    fn split(&mut self, gpu: GpuKey, now: Nanos) {
        let round = self.settings.share_round;
        let split_at = &mut self.gpu_mut(gpu).sharing.split_at;
        let wall = now.saturating_sub(*split_at);
        *split_at = now.max(*split_at);
        let sharers = self.running(gpu).to_vec();
        let horizon = round * sharers.len() as Nanos;
        let busy = sharers.iter().map(|vm| self.member_mut(*vm, gpu).account.book_busy(now));
        let busy: Vec<_> = busy.collect();
        let sum: u128 = busy.iter().map(|busy| u128::from(*busy)).sum();
        for (vm, busy) in sharers.iter().zip(busy) {
            // The result is at most `busy`, so the cast doesn't truncate it.
            let scaled = u128::from(busy) * u128::from(wall) / sum.max(u128::from(wall)).max(1);
            let scaled = scaled as Nanos;
            let member = self.member_mut(*vm, gpu);
            member.charge(scaled, now);
            member.load.add_shared(scaled, busy, member.last.held, wall, horizon);
        }
        // A VM that got less than its share didn't want more, because otherwise sharing would have
        // ended. So it's owed at most one window.
        let most = self.settings.max_window;
        for vm in &sharers {
            let others = self.clock_of_others(*vm, gpu);
            let member = self.member_mut(*vm, gpu);
            member.time.limit_credit(others, most, member.share.weight);
        }
        self.advance_clock(gpu);
    }
}
