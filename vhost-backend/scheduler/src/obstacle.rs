//! Says what keeps a VM from running on a GPU. All rules ask here.

use super::Scheduler;
use super::gpu::{Gpu, Phase};
use super::member::Member;
use super::types::{Class, GpuKey, Nanos, VmKey};

/// The reasons for which a VM doesn't run, in the order in which they're checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The operator paused the VM.
    Paused,
    /// The VM needs no turn, or has one.
    Idle,
    /// All of the VM's work in flight waits for the host, and its last turn showed that its held work
    /// does, too.
    Rests,
    /// The VM has used up the time that its cap allows.
    Cap,
    /// A VM creates or destroys a context while a latency VM is awake.
    Contexts,
    /// The VM's turn on other GPUs is ending. It queues for all of its GPUs afterwards.
    Drains,
    /// The GPU, or another one that the VM needs at the same time, is kept free for another VM.
    Reserved,
    /// It's another VM's turn.
    Turn,
}

impl Member {
    /// Returns what keeps the VM from running whether or not it has work: a pause, or a cap if the VM
    /// has fewer than `need` tokens.
    pub fn barred(&self, need: Nanos, now: Nanos) -> Option<Obstacle> {
        if self.paused {
            return Some(Obstacle::Paused);
        }
        let lacks = self.bucket.as_ref().is_some_and(|bucket| bucket.tokens(now) < need as i64);
        lacks.then_some(Obstacle::Cap)
    }

    /// Returns what keeps the VM from asking for a turn. It needs one for held work, evicted work, and
    /// work that runs without a turn.
    pub fn unasked(&self) -> Option<Obstacle> {
        if self.paused {
            Some(Obstacle::Paused)
        } else if self.presence.is_off() || self.strays() {
            None
        } else if !self.last.held {
            Some(Obstacle::Idle)
        } else {
            self.rests_until.map(|_| Obstacle::Rests)
        }
    }

    /// Returns true if the VM needs a turn.
    pub fn asks(&self) -> bool {
        self.unasked().is_none()
    }
}

impl Scheduler {
    /// Returns what keeps a VM from running on a GPU, or `None` if it may begin now. With `leaves`,
    /// returns what would keep it from that once `leaves` has left the GPU, which may be before the
    /// VM's other GPUs are ready.
    pub(super) fn obstacle(
        &self,
        vm: VmKey,
        gpu: GpuKey,
        leaves: Option<VmKey>,
        now: Nanos,
    ) -> Option<Obstacle> {
        self.own_obstacle(vm, gpu, now).or_else(|| self.other_obstacle(vm, gpu, leaves))
    }

    /// Returns the obstacle that doesn't depend on other VMs. A VM that has none is waiting for the
    /// GPU.
    pub(super) fn own_obstacle(&self, vm: VmKey, gpu: GpuKey, now: Nanos) -> Option<Obstacle> {
        let barred = |member: &Member| member.barred(member.need(&self.settings), now);
        self.unwanted(vm, gpu).or_else(|| {
            if !self.has_several_gpus(vm) {
                return self.member(vm, gpu).and_then(barred);
            }
            let gang = self.gang(vm);
            let gpus = std::iter::once(gpu).chain(gang);
            gpus.filter_map(|gpu| self.member(vm, gpu)).find_map(barred)
        })
    }

    /// Returns why a VM doesn't want a turn on this GPU. It wants one if it asks for one here, or if
    /// it has none and needs the GPU together with one on which it asks.
    pub(super) fn unwanted(&self, vm: VmKey, gpu: GpuKey) -> Option<Obstacle> {
        let Some(state) = self.vms.get(&vm) else { return Some(Obstacle::Idle) };
        let Some(member) = state.members.get(&gpu) else { return Some(Obstacle::Idle) };
        let Some(unasked) = member.unasked() else {
            return member.presence.has_turn().then_some(Obstacle::Idle);
        };
        let asks = state.turn.is_none() && state.members.values().any(Member::asks);
        (!asks || !self.gang(vm).contains(&gpu)).then_some(unasked)
    }

    /// Returns true if a VM has no turn on this GPU but wants one.
    pub(super) fn wants(&self, vm: VmKey, gpu: GpuKey) -> bool {
        self.unwanted(vm, gpu).is_none()
    }

    /// Returns the obstacle that other VMs are to a waiting VM. See [`Scheduler::obstacle`].
    pub(super) fn other_obstacle(
        &self,
        vm: VmKey,
        gpu: GpuKey,
        leaves: Option<VmKey>,
    ) -> Option<Obstacle> {
        if self.makes_way(vm, gpu) {
            return Some(Obstacle::Contexts);
        }
        if let Some(turn) = self.turn(vm) {
            return (turn.phase != Phase::Open).then_some(Obstacle::Drains);
        }
        if leaves.is_none() && !self.running(gpu).is_empty() {
            return Some(Obstacle::Turn);
        }
        let gang = self.gang(vm);
        match self.gpus.get(&gpu).and_then(|gpu| gpu.reserved) {
            Some(holder) if holder != vm => {
                // A VM that needs only this GPU may use it until the other VM has all of its GPUs.
                let backfills = gang.len() == 1 && (leaves.is_some() || self.gathers(holder));
                return (!backfills).then_some(Obstacle::Reserved);
            }
            // The VM gets this GPU first, and the others later.
            None if leaves.is_some() => {
                let may_take = self.may_take(vm, gpu, &gang);
                return (!may_take).then_some(Obstacle::Reserved);
            }
            _ => {}
        }
        let leaves_here = |other: GpuKey| other == gpu && leaves.is_some();
        let busy = |other: GpuKey| {
            !leaves_here(other) && self.running(other).iter().any(|vm| Some(*vm) != leaves)
        };
        if !gang.iter().all(|other| self.is_reserved(*other, vm)) {
            return Some(Obstacle::Reserved);
        }
        gang.into_iter().any(busy).then_some(Obstacle::Turn)
    }

    /// Returns true if a VM may not run on a GPU now because some VM, which may be itself, is creating
    /// or destroying a context there.
    pub(super) fn makes_way(&self, vm: VmKey, gpu: GpuKey) -> bool {
        let creates = |gpu: &Gpu| !gpu.facts.creators.is_empty();
        self.gpus.get(&gpu).is_some_and(creates)
            && self.member(vm, gpu).is_some_and(|member| member.share.class == Class::Batch)
    }

    /// Returns true if a VM is still waiting for more GPUs to be reserved for it.
    fn gathers(&self, vm: VmKey) -> bool {
        self.gang(vm).into_iter().any(|gpu| !self.is_reserved(gpu, vm))
    }

    /// Returns true if the GPUs that a VM must have before this one are reserved for it.
    pub(super) fn may_take(&self, vm: VmKey, gpu: GpuKey, gang: &[GpuKey]) -> bool {
        gang.iter().filter(|other| **other < gpu).all(|other| self.is_reserved(*other, vm))
    }

    fn is_reserved(&self, gpu: GpuKey, vm: VmKey) -> bool {
        self.gpus.get(&gpu).is_some_and(|gpu| gpu.reserved == Some(vm))
    }
}
