//! Says what keeps a VM from running on a GPU. No other module decides that.

use super::Scheduler;
use super::member::Member;
use super::presence::Presence;
use super::types::{Class, GpuKey, Nanos, Obstacle, VmKey};

impl Member {
    /// Returns the obstacle that keeps the VM from running whether or not it has work: a pause, or
    /// the cap if the VM has fewer than `need` tokens.
    pub fn barred(&self, need: Nanos, now: Nanos) -> Option<Obstacle> {
        if self.paused {
            return Some(Obstacle::Paused);
        }
        let lacks = self.bucket.as_ref().is_some_and(|bucket| bucket.tokens(now) < need as i64);
        lacks.then_some(Obstacle::Cap)
    }

    /// Returns what keeps the VM from asking for a turn. It needs one for held work, evicted work,
    /// and work that runs without a turn.
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
}

impl Scheduler {
    /// Returns why the VM's work on a GPU waits, if some does. A paused VM always waits.
    pub fn waits_for(&self, vm: VmKey, gpu: GpuKey, now: Nanos) -> Option<Obstacle> {
        let member = self.find(vm, gpu)?;
        let waits = member.paused || member.last.held || member.presence.is_off();
        let obstacle = self.obstacle(vm, gpu, None, now).filter(|_| waits)?;
        (obstacle != Obstacle::Idle).then_some(obstacle)
    }

    /// Returns the obstacle, if any, that the VM itself causes and that doesn't depend on other
    /// VMs. A VM without such an obstacle is waiting for the GPU.
    pub(super) fn own_obstacle(&self, vm: VmKey, gpu: GpuKey, now: Nanos) -> Option<Obstacle> {
        let mut gpus = std::iter::once(gpu).chain(self.gang(vm));
        let barred = |member: &Member| member.barred(member.need(&self.settings), now);
        self.unwanted(vm, gpu).or_else(|| gpus.find_map(|gpu| barred(self.member(vm, gpu))))
    }

    /// Returns why a VM doesn't want a turn on this GPU. It wants a turn if its work on this GPU
    /// needs one. If it has no turn on any GPU, it also wants one if its work on another GPU needs
    /// a turn and the VM needs both GPUs at the same time.
    pub(super) fn unwanted(&self, vm: VmKey, gpu: GpuKey) -> Option<Obstacle> {
        let member = self.member(vm, gpu);
        let Some(unasked) = member.unasked() else {
            return match member.presence {
                Presence::Running { .. } => Some(Obstacle::Idle),
                Presence::Draining { .. } => Some(Obstacle::Drains),
                _ => None,
            };
        };
        let mut members = self.vms[&vm].members.values();
        let needs = self.turn(vm).is_none() && members.any(|member| member.unasked().is_none());
        (!needs || self.gang(vm).all(|other| other != gpu)).then_some(unasked)
    }

    /// Returns what keeps a VM from running on a GPU, or `None` if it may begin now. If `leaves` is
    /// given, returns what would still keep the VM off this GPU after the VM `leaves` has left it.
    /// In that case, it doesn't matter whether the VM's other GPUs are free.
    pub(super) fn obstacle(
        &self,
        vm: VmKey,
        gpu: GpuKey,
        leaves: Option<VmKey>,
        now: Nanos,
    ) -> Option<Obstacle> {
        let contexts = || self.makes_way(vm, gpu).map(Obstacle::Contexts);
        let obstacle = self.own_obstacle(vm, gpu, now).or_else(contexts);
        if obstacle.is_some() {
            return obstacle;
        }
        if self.turn(vm).is_some() {
            return self.closed_at(vm).map(|_| Obstacle::Drains);
        }
        if leaves.is_none()
            && let Some(runs) = self.running(gpu).first()
        {
            return Some(Obstacle::Turn(*runs));
        }
        match self.gpus[&gpu].reserved {
            Some(holder) if holder != vm => {
                // A VM that needs only this GPU may use it until the VM that has reserved it has
                // all of its GPUs.
                let free = leaves.is_some() || !self.holds(holder, None);
                let backfills = free && self.gang(vm).count() == 1;
                return (!backfills).then_some(Obstacle::Reserved(Some(holder)));
            }
            // No VM has reserved this GPU. Once `leaves` has left it, the VM may reserve it if it
            // already holds all GPUs with lower keys that it needs.
            None if leaves.is_some() => {
                let first = self.holds(vm, Some(gpu));
                return (!first).then_some(Obstacle::Reserved(None));
            }
            _ => {}
        }
        let runs = |other: GpuKey| {
            let mut all = self.running(other).iter().filter(|_| other != gpu || leaves.is_none());
            all.find(|vm| Some(**vm) != leaves).map(|vm| Obstacle::Turn(*vm))
        };
        let lacks = |other: GpuKey| match self.gpus[&other].reserved {
            Some(holder) if holder == vm => None,
            None => runs(other).or(Some(Obstacle::Reserved(None))),
            holder => Some(Obstacle::Reserved(holder)),
        };
        self.gang(vm).find_map(lacks).or_else(|| self.gang(vm).find_map(runs))
    }

    /// Returns the VM that creates or destroys a context and thereby keeps this VM off a GPU now.
    /// It may be this VM itself.
    pub(super) fn makes_way(&self, vm: VmKey, gpu: GpuKey) -> Option<VmKey> {
        let creator = self.gpus[&gpu].facts.creators.first().copied();
        creator.filter(|_| self.member(vm, gpu).share.class == Class::Batch)
    }

    /// Returns true if all GPUs that a VM needs are reserved for it. If `before` is given, checks
    /// only the GPUs with keys lower than `before`.
    pub(super) fn holds(&self, vm: VmKey, before: Option<GpuKey>) -> bool {
        let mut gpus = self.gang(vm).filter(|gpu| before.is_none_or(|before| *gpu < before));
        gpus.all(|gpu| self.gpus[&gpu].reserved == Some(vm))
    }
}
