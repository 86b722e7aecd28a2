//! Says what keeps a VM from running on a GPU. All rules ask here.

use super::Scheduler;
use super::gpu::Phase;
use super::member::Member;
use super::types::{Class, GpuKey, Nanos, Obstacle, VmKey};

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

    /// Returns why the VM's work on a GPU waits, if some does. A paused VM always waits.
    pub fn waits_for(&self, vm: VmKey, gpu: GpuKey, now: Nanos) -> Option<Obstacle> {
        let member = self.member(vm, gpu)?;
        let waits = member.paused || member.last.held || member.presence.is_off();
        let obstacle = self.obstacle(vm, gpu, None, now).filter(|_| waits)?;
        (obstacle != Obstacle::Idle).then_some(obstacle)
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
            let presence = member.presence;
            let ends = !presence.is_running();
            let reason = if ends { Obstacle::Drains } else { Obstacle::Idle };
            return presence.has_turn().then_some(reason);
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
        if let Some(creator) = self.makes_way(vm, gpu) {
            return Some(Obstacle::Contexts(creator));
        }
        if let Some(turn) = self.turn(vm) {
            return (turn.phase != Phase::Open).then_some(Obstacle::Drains);
        }
        if leaves.is_none()
            && let Some(runs) = self.running(gpu).first()
        {
            return Some(Obstacle::Turn(*runs));
        }
        let gang = self.gang(vm);
        match self.gpus.get(&gpu).and_then(|gpu| gpu.reserved) {
            Some(holder) if holder != vm => {
                // A VM that needs only this GPU may use it until the other VM has all of its GPUs.
                let backfills = gang.len() == 1 && (leaves.is_some() || self.gathers(holder));
                return (!backfills).then_some(Obstacle::Reserved(Some(holder)));
            }
            // The VM gets this GPU first, and the others later.
            None if leaves.is_some() => {
                let may_take = self.may_take(vm, gpu, &gang);
                return (!may_take).then_some(Obstacle::Reserved(None));
            }
            _ => {}
        }
        let leaves_here = |other: GpuKey| other == gpu && leaves.is_some();
        let runs = |other: &GpuKey| {
            let mut all = self.running(*other).iter().filter(|_| !leaves_here(*other));
            all.find(|vm| Some(**vm) != leaves).map(|vm| Obstacle::Turn(*vm))
        };
        let lacks = |other: &GpuKey| match self.gpus.get(other)?.reserved {
            Some(holder) if holder == vm => None,
            None => runs(other).or(Some(Obstacle::Reserved(None))),
            holder => Some(Obstacle::Reserved(holder)),
        };
        gang.iter().find_map(lacks).or_else(|| gang.iter().find_map(runs))
    }

    /// Returns a VM, which may be this one, because of whose context this VM may not run on a GPU now.
    pub(super) fn makes_way(&self, vm: VmKey, gpu: GpuKey) -> Option<VmKey> {
        let creator = *self.gpus.get(&gpu)?.facts.creators.first()?;
        (self.member(vm, gpu)?.share.class == Class::Batch).then_some(creator)
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
