//! Selects the next VM for a GPU, and calculates the length of its window.

use super::types::{Class, GpuKey, Nanos, VmKey, WHOLE};
use super::{Scheduler, member::Member};

/// A VM's rank in the queue. The lowest rank goes first. Ties go to the VM that hasn't run for the
/// longest time, and then to the lower key, so that the same reports always give the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    tier: Tier,
    /// Orders VMs within the tiers `Urgent` and `Guaranteed`: the further a VM is behind its
    /// guarantee, the lower this value. 0 in the other tiers.
    owed: u64,
    /// The VM's virtual time.
    time: u128,
    ran: u64,
    vm: VmKey,
}

/// Tiers of precedence, highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    /// The VM is far behind its guarantee.
    Urgent,
    /// The VM has class latency and is within its share.
    Latency,
    /// The VM is behind its guarantee.
    Guaranteed,
    /// All other VMs. Their order depends only on virtual time, and thus on weight.
    Weight,
}

impl Scheduler {
    /// Returns the GPUs that a VM needs at the same time: those on which it has held work, or had
    /// work shortly before its latest work on any GPU.
    pub(super) fn gang(&self, vm: VmKey) -> impl Iterator<Item = GpuKey> {
        let members = &self.vms[&vm].members;
        let last = members.values().filter_map(|member| member.worked_at).max().unwrap_or(0);
        let is_recent = move |at: Nanos| last.saturating_sub(at) <= self.settings.recent;
        let used = move |member: &Member| {
            member.unasked().is_none() || member.worked_at.is_some_and(is_recent)
        };
        members.iter().filter(move |(_, member)| used(member)).map(|(key, _)| *key)
    }

    /// Returns the VMs that want this GPU and whose cap allows a turn.
    pub(super) fn waiting(&self, gpu: GpuKey, now: Nanos) -> impl Iterator<Item = VmKey> + '_ {
        let vms = self.recent(gpu).map(|(vm, _)| vm);
        vms.filter(move |vm| self.own_obstacle(*vm, gpu, now).is_none())
    }

    /// Returns true if any VM other than `vm` is waiting for one of these GPUs.
    pub(super) fn wanted(&self, vm: VmKey, gpus: &[GpuKey], now: Nanos) -> bool {
        gpus.iter().any(|gpu| self.waiting(*gpu, now).any(|other| other != vm))
    }

    /// Returns the least virtual time among the other VMs with work on this GPU, or the GPU's clock
    /// if no other VM has work.
    pub(super) fn clock_of_others(&self, vm: VmKey, gpu: GpuKey) -> u128 {
        let others = self.recent(gpu).filter(|(other, member)| *other != vm && member.contends());
        others.map(|(_, member)| member.time.get()).min().unwrap_or(self.gpus[&gpu].clock)
    }

    /// Advances the GPU's clock to the least virtual time among the VMs with work.
    pub(super) fn advance_clock(&mut self, gpu: GpuKey) {
        let contending = self.recent(gpu).filter(|(_, member)| member.contends());
        let least = contending.map(|(_, member)| member.time.get()).min().unwrap_or(0);
        let clock = &mut self.gpu_mut(gpu).clock;
        *clock = least.max(*clock);
    }

    /// Returns the rank that a VM would have in a GPU's queue after using `more` GPU time. A VM
    /// that needs several GPUs has the highest of its tiers on all of them. Otherwise, a VM could
    /// get the GPUs because it's first in the queue of one of them, and lose them at once because
    /// another VM that needs the same GPUs is first in the queue of a different one.
    pub(super) fn rank(&self, vm: VmKey, gpu: GpuKey, more: Nanos) -> Rank {
        let member = self.member(vm, gpu);
        let turn = self.turn(vm).map(|turn| turn.gpus.iter().copied());
        let gang = turn.is_none().then(|| self.gang(vm));
        let others = turn.into_iter().flatten().chain(gang.into_iter().flatten());
        let tiers = others.map(|gpu| self.tier(self.member(vm, gpu), more));
        let (tier, owed) = tiers.fold(self.tier(member, more), Ord::min);
        let time = member.time.after(more, member.share.weight);
        Rank { tier, owed, time, ran: member.ran, vm }
    }

    /// Returns true if a VM takes the GPU from batch VMs at once: it's a latency VM within its
    /// share, or far behind its guarantee.
    pub(super) fn preempts(&self, vm: VmKey, gpu: GpuKey) -> bool {
        self.rank(vm, gpu, 0).tier <= Tier::Latency
    }

    /// Returns true if a VM is waiting that takes the GPU from this VM at once.
    pub(super) fn preempted(&self, vm: VmKey, gpus: &[GpuKey], now: Nanos) -> bool {
        let preempts = |rank: Rank| rank.tier <= Tier::Latency;
        let mut gpus = gpus.iter().filter(|gpu| !self.preempts(vm, **gpu));
        gpus.any(|gpu| self.best_other(*gpu, vm, now).is_some_and(preempts))
    }

    /// Returns a VM's tier on one GPU after using `more` GPU time, and [`Rank::owed`].
    fn tier(&self, member: &Member, more: Nanos) -> (Tier, u64) {
        let mut guarantee = member.guarantee;
        guarantee.pay(more);
        let behind = guarantee.behind();
        if behind >= self.settings.min_urgent {
            (Tier::Urgent, u64::MAX - behind)
        } else if member.share.class == Class::Latency && !member.over {
            (Tier::Latency, 0)
        } else if behind > 0 {
            (Tier::Guaranteed, u64::MAX - behind)
        } else {
            (Tier::Weight, 0)
        }
    }

    /// Returns the waiting VMs in order of rank, except that a VM for which the GPU is reserved
    /// comes first.
    pub(super) fn queue(&self, gpu: GpuKey, now: Nanos) -> Vec<VmKey> {
        let reserved = self.gpus[&gpu].reserved;
        let mut queue: Vec<_> = self.waiting(gpu, now).map(|vm| self.rank(vm, gpu, 0)).collect();
        queue.sort_unstable_by_key(|rank| (Some(rank.vm) != reserved, *rank));
        queue.into_iter().map(|rank| rank.vm).collect()
    }

    /// Returns the best rank among the waiting VMs that could have the GPU after `vm`.
    pub(super) fn best_other(&self, gpu: GpuKey, vm: VmKey, now: Nanos) -> Option<Rank> {
        let others = self.recent(gpu).map(|(other, _)| other).filter(|other| *other != vm);
        let may = others.filter(|other| self.obstacle(*other, gpu, Some(vm), now).is_none());
        may.map(|other| self.rank(other, gpu, 0)).min()
    }

    /// Updates whether a latency VM has used up its share. If it has, it loses precedence until
    /// it's ahead of its share by less than half the threshold. With only one threshold, the VM
    /// would lose and regain precedence every millisecond.
    pub(super) fn judge_latency(&mut self, vm: VmKey, gpu: GpuKey) {
        let burst = self.settings.latency_burst;
        if self.member(vm, gpu).share.class == Class::Latency {
            let others = self.clock_of_others(vm, gpu);
            let member = self.member_mut(vm, gpu);
            let ahead = member.time.ahead(others, member.share.weight);
            member.over = ahead > if member.over { burst / 2 } else { burst };
        }
    }

    /// Returns the time at which a VM counts as alone on a GPU, so that its work in flight needs no
    /// limit. This is some time after the last work of any other VM. Returns `None` if the VM can't
    /// count as alone: it has a cap, another VM has class latency, or another VM is using or
    /// waiting for the GPU.
    pub(super) fn alone_at(&self, gpu: GpuKey, vm: VmKey) -> Option<Nanos> {
        let state = &self.gpus[&gpu];
        if self.member(vm, gpu).share.capped() || state.is_kept_from(vm) {
            return None;
        }
        // If a latency VM got a request, it would have to wait until the unlimited work in flight
        // has drained.
        let counts = |member: &Member| member.share.class == Class::Latency && !member.paused;
        let mut others = state.latency.iter().filter(|other| **other != vm);
        if others.any(|other| counts(self.member(*other, gpu))) {
            return None;
        }
        let quiet = state.alone_after.max(self.settings.alone_after);
        let mut at = 0;
        for (_, member) in self.recent(gpu).filter(|(other, _)| *other != vm) {
            if member.has_work() || member.presence.has_turn() {
                return None;
            }
            at = at.max(member.worked_at.map_or(0, |worked| worked.saturating_add(quiet)));
        }
        Some(at)
    }

    /// Returns the length of a window on several GPUs, which is the shortest of their windows.
    pub(super) fn length(&self, vm: VmKey, gpus: &[GpuKey], now: Nanos) -> Nanos {
        let lengths = gpus.iter().map(|gpu| self.window(vm, *gpu, now));
        lengths.min().unwrap_or(self.settings.min_window)
    }

    /// Returns the length of a VM's window. It is proportional to the VM's weight among the
    /// competing VMs, so that each of them gets a turn within the period.
    fn window(&self, vm: VmKey, gpu: GpuKey, now: Nanos) -> Nanos {
        let (settings, state, member) = (&self.settings, &self.gpus[&gpu], self.member(vm, gpu));
        let competing = self.recent(gpu).filter(|(other, member)| {
            *other != vm && (member.contends() || self.unwanted(*other, gpu).is_none())
        });
        let weights = competing.map(|(_, member)| u64::from(member.share.weight)).sum::<u64>();
        let weights = weights + u64::from(member.share.weight);
        let mut period = settings.period;
        if state.facts.latency_beside(vm) {
            period /= 2;
        }
        let part = u128::from(period) * u128::from(member.share.weight) / u128::from(weights);
        let part = part.max(u128::from(period) * u128::from(member.share.min) / u128::from(WHOLE));
        let length = (part as u64).clamp(member.need(settings), settings.max_window);
        let length = vary(length, state.turns);
        match &member.bucket {
            Some(bucket) => length.min(bucket.lasts(now)),
            None => length,
        }
    }
}

/// Makes a window up to a quarter longer or shorter, depending on the number of turns before it.
/// The driver samples at fixed intervals which process uses the GPU. If all windows had the same
/// length, its samples could find the same VM many times in a row.
fn vary(length: Nanos, turns: u64) -> Nanos {
    // Use pseudorandom numbers. If the numbers were evenly spread instead, the sum of several
    // consecutive windows would still be constant.
    length - length / 4 + length * (pseudorandom(0, turns) >> 54) / 2048
}

/// Returns a number from the pseudorandom sequence that begins with `seed` (SplitMix64).
pub fn pseudorandom(seed: u64, at: u64) -> u64 {
    let mut mixed = seed.wrapping_add(at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
