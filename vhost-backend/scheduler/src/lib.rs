//! Decides which VM may use a GPU, and for how long. Pure logic: no clock, no I/O, no threads.
//!
//! A VM's sessions submit work through gates. The I/O layer reports which work is waiting at the
//! gates and which is running ([`Report`]), and carries out the scheduler's decisions ([`Action`]).
//! `docs/design/scheduler.md` describes the guarantees and the reasons behind them.
//!
//! | module | contents |
//! |---|---|
//! | `types`, `settings` | inputs and outputs; constants |
//! | `gpu`, `member` | a GPU and its turn; a VM on one GPU |
//! | `presence`, `obstacle` | whether a VM has a GPU; what keeps it from running |
//! | `facts` | facts that all rules share |
//! | `choose`, `assign` | selects the next VM and its window; assigns GPUs |
//! | `turn`, `drain`, `wake` | runs a turn; ends it; plans the next check |
//! | `fair`, `bucket`, `account` | track virtual time; cap and guarantee; charged time |
//! | `load`, `shared` | measures unused time; runs VMs together |
//! | `beside` | lets VMs work beside others' turns: copies, standby, time slices |
//! | `stats` | collects statistics for the operator |
//! | `simulator` | simulates VMs in virtual time, for tests and `examples/schedule/` |
//!
//! Rules for the caller:
//! * Carry out all actions, in order, before reading or reporting anything else.
//! * After an [`ActionKind::Close`], read and report the gate's state immediately, and again
//!   whenever it changes.
//! * Before [`Scheduler::tick`], report all VMs in [`Scheduler::watched`], since an open gate sends
//!   no notifications.
//! * The clock must be monotonic. It may return the same time repeatedly.

mod account;
mod assign;
mod beside;
mod bucket;
mod choose;
mod drain;
mod facts;
mod fair;
mod gpu;
mod load;
mod member;
mod obstacle;
mod presence;
mod settings;
mod shared;
mod stats;
mod turn;
mod types;
mod wake;

#[cfg(test)]
#[allow(dead_code, reason = "the example uses more of it")]
mod simulator;
#[cfg(test)]
#[path = "simulator/tests.rs"]
mod simulator_tests;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use choose::pseudorandom;
pub use presence::Presence;
pub use settings::Settings;
pub use stats::{Ring, Slowed, VmStats};
pub use types::{
    Action, ActionKind, Class, GpuKey, MS, Nanos, Obstacle, OpenMode, Report, SEC, Share, US,
    VmKey, WHOLE,
};

use gpu::{Gpu, Turn};
use member::Member;
use presence::{Gate, Work};

/// A VM's state on each of its GPUs, and its current turn, if it has one.
#[derive(Debug, Default)]
struct Vm {
    members: BTreeMap<GpuKey, Member>,
    turn: Option<Turn>,
}

impl Vm {
    /// Returns true if the VM is paused, which it is on all of its GPUs or on none.
    fn is_paused(&self) -> bool {
        self.members.values().any(|member| member.paused)
    }
}

/// The scheduler for all GPUs on a host.
#[derive(Debug, Default)]
pub struct Scheduler {
    settings: Settings,
    gpus: BTreeMap<GpuKey, Gpu>,
    vms: BTreeMap<VmKey, Vm>,
    /// GPUs on which something may have changed. They must be processed before the current call
    /// returns.
    dirty: Vec<GpuKey>,
    /// Actions for the caller, which the current call returns.
    out: Vec<Action>,
}

impl Scheduler {
    /// Creates a scheduler without GPUs and VMs.
    pub fn new(settings: Settings) -> Self {
        Scheduler { settings, ..Scheduler::default() }
    }

    /// Sets a VM's share of each GPU. A new VM's gates are closed. Unknown GPUs are added.
    pub fn set_vm(&mut self, vm: VmKey, gpus: &[(GpuKey, Share)], now: Nanos) {
        for (gpu, share) in gpus {
            if self.find(vm, *gpu).is_some() {
                self.set_share(vm, *gpu, *share, now);
                continue;
            }
            let mut member = Member::new(*share, &self.settings, now);
            let state = self.vms.entry(vm).or_default();
            member.paused = state.is_paused();
            state.members.insert(*gpu, member);
            self.gpus.entry(*gpu).or_default().note_class(vm, share.class);
        }
    }

    /// Changes a VM's share of a GPU. The change takes effect at the next tick, which becomes due
    /// immediately.
    pub fn set_share(&mut self, vm: VmKey, gpu: GpuKey, share: Share, now: Nanos) {
        let settings = self.settings;
        if self.find(vm, gpu).is_some() {
            self.member_mut(vm, gpu).set_share(share, &settings, now);
            self.gpu_mut(gpu).note_class(vm, share.class);
            self.gpu_mut(gpu).wake = Some(now);
        }
    }

    /// Removes a VM whose sessions have ended, and gives its windows to others.
    pub fn remove_vm(&mut self, vm: VmKey, now: Nanos, out: &mut Vec<Action>) {
        let Some(gone) = self.vms.remove(&vm) else { return };
        for (key, member) in &gone.members {
            let gpu = self.gpu_mut(*key);
            gpu.latency.remove(&vm);
            gpu.running.retain(|other| *other != vm);
            gpu.recent.retain(|other| *other != vm);
            gpu.reserved.take_if(|other| *other == vm);
            gpu.prepared.take_if(|other| *other == vm);
            let presence = member.presence;
            if presence.is_running() || presence.gate().is_some_and(|gate| gate != Gate::Closed) {
                self.out.push(Action { vm, gpu: *key, kind: ActionKind::Close });
            }
            self.dirty.push(*key);
        }
        self.settle_all(now, false, out);
    }

    /// Pauses a VM, or lets it continue. A paused VM gets no windows, may not copy outside of them,
    /// and isn't charged. Work that waits at its gates is kept. Work in flight is evicted or, if
    /// that isn't possible, runs to its end. For decisions about other VMs, it counts as a VM
    /// without work. After the VM continues, report it, so that its waiting work is considered
    /// again.
    pub fn set_paused(&mut self, vm: VmKey, paused: bool, now: Nanos, out: &mut Vec<Action>) {
        let Some(state) = self.vms.get(&vm) else { return };
        if state.is_paused() == paused {
            return;
        }
        let gpus: Vec<_> = state.members.keys().copied().collect();
        self.gather_facts(now);
        for gpu in &gpus {
            self.book(*gpu, now);
        }
        for gpu in gpus {
            let member = self.member_mut(vm, gpu);
            member.paused = paused;
            member.last = member.considered(member.last);
            self.gpu_mut(gpu).note_recent(vm);
            if self.gpu_mut(gpu).prepared.take_if(|other| *other == vm).is_some() {
                self.close_if(Gate::Prepared, vm, gpu);
            }
            if self.turn(vm).is_none() {
                self.sleep_or_wake(vm, gpu, now);
            }
            self.dirty.push(gpu);
        }
        self.settle_all(now, false, out);
    }

    /// Processes the latest report for a VM's sessions on a GPU. Unknown VMs are ignored.
    pub fn report(
        &mut self,
        vm: VmKey,
        gpu: GpuKey,
        report: Report,
        now: Nanos,
        out: &mut Vec<Action>,
    ) {
        let Some(state) = self.vms.get_mut(&vm) else { return };
        let Some(member) = state.members.get_mut(&gpu) else { return };
        let report = member.considered(report);
        let finished = member.take(report, &self.settings, now);
        let (off_for, timeout) = (member.off_for(now), member.share.kernel_timeout);
        let exceeds = timeout.is_some_and(|most| report.oldest_for.saturating_sub(off_for) > most);
        if exceeds && report.active && !member.timed_out {
            member.timed_out = true;
            self.out.push(Action { vm, gpu, kind: ActionKind::Timeout { off_for } });
        }
        let has_turn = member.presence.has_turn();
        if report.held || report.active || report.copying || finished {
            self.gpu_mut(gpu).note_recent(vm);
        }
        if !has_turn {
            self.sleep_or_wake(vm, gpu, now);
        }
        self.dirty.push(gpu);
        self.settle_all(now, false, out);
    }

    /// Processes due checks. Call this at the time that [`Scheduler::wake_at`] returns.
    pub fn tick(&mut self, now: Nanos, out: &mut Vec<Action>) {
        let due = self.gpus.iter().filter(|(_, gpu)| gpu.wake.is_some_and(|at| at <= now));
        self.dirty.extend(due.map(|(key, _)| *key));
        self.settle_all(now, true, out);
    }

    /// Returns the time at which [`Scheduler::tick`] must be called. A time in the past means
    /// immediately.
    pub fn wake_at(&self) -> Option<Nanos> {
        self.gpus.values().filter_map(|gpu| gpu.wake).min()
    }

    /// Returns the VMs and GPUs that must be reported before a tick at `now`: on each GPU with a
    /// check due, the VMs that have a turn, are copying, run without a turn, or keep others off the
    /// GPU.
    pub fn watched(&self, now: Nanos) -> impl Iterator<Item = (VmKey, GpuKey)> + '_ {
        let due = self.gpus.iter().filter(move |(_, gpu)| gpu.wake.is_some_and(|at| at <= now));
        due.flat_map(|(key, gpu)| {
            let beside = self.recent(*key).filter(|(_, m)| {
                let runs = m.presence.stray_since().is_some() || m.may_time_out();
                !m.presence.has_turn() && (runs || m.last.copying || m.contexts_since.is_some())
            });
            gpu.running.iter().copied().chain(beside.map(|(vm, _)| vm)).map(|vm| (vm, *key))
        })
    }

    /// Returns the VMs that have a turn on this GPU. Report them before you report another VM's
    /// work on that GPU, so that the other VM is ranked against up-to-date usage.
    pub fn running(&self, gpu: GpuKey) -> &[VmKey] {
        self.gpus.get(&gpu).map_or(&[], |gpu| &gpu.running)
    }

    /// Returns the VMs whose turn on a GPU is ending and whose work may still be running there.
    pub fn draining(&self) -> impl Iterator<Item = (VmKey, GpuKey)> + '_ {
        let all =
            self.gpus.iter().flat_map(|(gpu, state)| state.running.iter().map(|vm| (*vm, *gpu)));
        let drains = |presence| matches!(presence, Presence::Draining { work: Work::Runs, .. });
        all.filter(move |(vm, gpu)| drains(self.member(*vm, *gpu).presence))
    }

    /// Returns a VM's statistics on a GPU.
    pub fn stats(&self, vm: VmKey, gpu: GpuKey, now: Nanos) -> Option<VmStats> {
        let member = self.find(vm, gpu)?;
        let mut stats = member.stats;
        stats.overran = member.overran;
        stats.waits_for = self.waits_for(vm, gpu, now);
        stats.evicted = member.presence.is_off();
        let tokens = member.bucket.as_ref().map_or(0, |bucket| bucket.tokens(now));
        let ahead = member.time.ahead(self.clock_of_others(vm, gpu), member.share.weight);
        stats.debt_ns = ahead.max(tokens.min(0).unsigned_abs());
        if let Some(since) = member.waiting_since {
            stats.throttled_ns = stats.throttled_ns.saturating_add(now.saturating_sub(since));
        }
        (stats.share_1s, stats.share_10s) = member.ring.shares(now);
        stats.slowed = member.waits.slowed(now);
        Some(stats)
    }

    /// Returns whether a VM has a GPU.
    pub fn presence(&self, vm: VmKey, gpu: GpuKey) -> Option<Presence> {
        Some(self.find(vm, gpu)?.presence)
    }

    fn find(&self, vm: VmKey, gpu: GpuKey) -> Option<&Member> {
        self.vms.get(&vm)?.members.get(&gpu)
    }

    fn has_several_gpus(&self, vm: VmKey) -> bool {
        self.vms[&vm].members.len() > 1
    }

    // Looking up a VM or a GPU can't fail here: GPUs are never removed, and `remove_vm` removes
    // every reference to a VM.
    fn member(&self, vm: VmKey, gpu: GpuKey) -> &Member {
        &self.vms[&vm].members[&gpu]
    }

    fn member_mut(&mut self, vm: VmKey, gpu: GpuKey) -> &mut Member {
        self.vm_mut(vm).members.get_mut(&gpu).expect("the VM has this GPU")
    }

    fn vm_mut(&mut self, vm: VmKey) -> &mut Vm {
        self.vms.get_mut(&vm).expect("the VM hasn't been removed")
    }

    fn gpu_mut(&mut self, gpu: GpuKey) -> &mut Gpu {
        self.gpus.get_mut(&gpu).expect("GPUs are never removed")
    }

    /// Returns the VMs that have a turn on a GPU or had work there recently.
    fn recent(&self, gpu: GpuKey) -> impl Iterator<Item = (VmKey, &Member)> {
        self.gpus[&gpu].recent.iter().map(move |vm| (*vm, self.member(*vm, gpu)))
    }

    fn turn(&self, vm: VmKey) -> Option<&Turn> {
        self.vms[&vm].turn.as_ref()
    }

    fn turn_mut(&mut self, vm: VmKey) -> Option<&mut Turn> {
        self.vm_mut(vm).turn.as_mut()
    }
}
