//! Who has the GPU, and for how long. Pure: no clock, no I/O, no threads.
//!
//! A VM's sessions submit through gates. The I/O layer reports what waits at them and what runs
//! ([`Report`]), and carries out what is answered ([`Action`]). `docs/design/scheduler.md` says what
//! is promised and why.
//!
//! | module | what |
//! |---|---|
//! | `types`, `settings` | what is told and answered; the constants |
//! | `gpu`, `member` | a GPU and its turn; a VM on one GPU |
//! | `choose`, `assign` | who is next, and for how long; giving GPUs away |
//! | `turn`, `drain`, `wake` | the course of a turn; its end; when to look again |
//! | `fair`, `bucket`, `account` | virtual time; cap and guarantee; what is booked |
//! | `load`, `shared` | what a VM leaves unused; running together |
//! | `beside` | copies beside another VM's window |
//! | `stats` | for the operator |
//! | `simulator` | VMs in virtual time: for tests and `examples/schedule/` |
//!
//! What the caller keeps to:
//! * Actions are carried out, in order, before anything else is read or reported.
//! * After a [`Action::Close`] the gate's state is read and reported, at once and whenever it changes.
//! * Before [`Scheduler::tick`] all VMs in [`Scheduler::watched`] are reported, since an open gate
//!   says nothing by itself.
//! * The clock is monotonic. One that stands still is tolerated.

mod account;
mod assign;
mod beside;
mod bucket;
mod choose;
mod drain;
mod fair;
mod gpu;
mod load;
mod member;
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

pub use settings::Settings;
pub use stats::VmStats;
pub use types::{Action, Class, GpuKey, MS, Nanos, OpenMode, Report, SEC, Share, US, VmKey, WHOLE};

use gpu::{Gpu, Turn};
use member::{Gate, Member};

/// A VM: its standing on each of its GPUs, and its turn if it has one.
#[derive(Debug, Default)]
struct Vm {
    members: BTreeMap<GpuKey, Member>,
    turn: Option<Turn>,
}

/// The scheduler of all GPUs of a host.
#[derive(Debug)]
pub struct Scheduler {
    settings: Settings,
    gpus: BTreeMap<GpuKey, Gpu>,
    vms: BTreeMap<VmKey, Vm>,
    /// GPUs to be looked at before the present call returns.
    dirty: Vec<GpuKey>,
}

impl Scheduler {
    /// One without GPUs and VMs.
    pub fn new(settings: Settings) -> Self {
        Scheduler { settings, gpus: BTreeMap::new(), vms: BTreeMap::new(), dirty: Vec::new() }
    }

    /// Adds a GPU. One that is known stays as it is.
    pub fn add_gpu(&mut self, gpu: GpuKey) {
        let alone_after = self.settings.alone_after;
        self.gpus.entry(gpu).or_insert_with(|| Gpu { alone_after, ..Gpu::default() });
    }

    /// Sets what a VM was promised of each GPU. A new VM has its gates closed. GPUs that are not known
    /// are added.
    pub fn set_vm(&mut self, vm: VmKey, gpus: &[(GpuKey, Share)], now: Nanos) {
        for (gpu, share) in gpus {
            if self.member(vm, *gpu).is_some() {
                self.set_share(vm, *gpu, *share, now);
                continue;
            }
            self.add_gpu(*gpu);
            let member = Member::new(*share, &self.settings, now);
            self.vms.entry(vm).or_default().members.insert(*gpu, member);
            self.note_class(vm, *gpu, share.class);
        }
    }

    /// Changes a promise. It is acted upon at the next tick, which is asked for at once.
    pub fn set_share(&mut self, vm: VmKey, gpu: GpuKey, share: Share, now: Nanos) {
        let settings = &self.settings;
        let Some(member) = self.vms.get_mut(&vm).and_then(|vm| vm.members.get_mut(&gpu)) else {
            return;
        };
        member.set_share(share, settings, now);
        self.note_class(vm, gpu, share.class);
        if let Some(gpu) = self.gpus.get_mut(&gpu) {
            gpu.wake = Some(now);
        }
    }

    fn note_class(&mut self, vm: VmKey, gpu: GpuKey, class: Class) {
        let Some(gpu) = self.gpus.get_mut(&gpu) else { return };
        match class {
            Class::Latency => gpu.latency.insert(vm),
            Class::Batch => gpu.latency.remove(&vm),
        };
    }

    /// Forgets a VM, whose sessions have ended, and passes its windows on.
    pub fn remove_vm(&mut self, vm: VmKey, now: Nanos, out: &mut Vec<Action>) {
        let Some(gone) = self.vms.remove(&vm) else { return };
        for (key, member) in &gone.members {
            let Some(gpu) = self.gpus.get_mut(key) else { continue };
            gpu.latency.remove(&vm);
            gpu.running.retain(|other| *other != vm);
            gpu.recent.retain(|other| *other != vm);
            if gpu.reserved == Some(vm) {
                gpu.reserved = None;
            }
            if gpu.prepared == Some(vm) {
                gpu.prepared = None;
            }
            if member.gate != Gate::Closed {
                out.push(Action::Close { vm, gpu: *key });
            }
            self.dirty.push(*key);
        }
        self.settle_all(now, false, out);
    }

    /// What a VM's sessions on a GPU say now. Unknown VMs are passed over.
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
        let finished = member.take(report, &self.settings, now);
        let works = report.held || report.active || report.copying;
        let timed_out = member.share.kernel_timeout.is_some_and(|timeout| {
            report.active && report.oldest_for > timeout && !member.timed_out
        });
        if timed_out {
            member.timed_out = true;
            out.push(Action::Timeout { vm, gpu });
        }
        let has_turn = match &mut state.turn {
            Some(turn) => {
                if finished {
                    turn.progress_at = now;
                }
                turn.gpus.contains(&gpu)
            }
            None => false,
        };
        if (works || finished)
            && let Some(gpu) = self.gpus.get_mut(&gpu)
            && !gpu.recent.contains(&vm)
        {
            gpu.recent.push(vm);
        }
        if !has_turn {
            self.sleep_or_wake(vm, gpu, now);
        }
        self.dirty.push(gpu);
        self.settle_all(now, false, out);
    }

    /// The time of [`Scheduler::wake_at`] has come.
    pub fn tick(&mut self, now: Nanos, out: &mut Vec<Action>) {
        let due = self.gpus.iter().filter(|(_, gpu)| gpu.wake.is_some_and(|at| at <= now));
        self.dirty.extend(due.map(|(key, _)| *key));
        self.settle_all(now, true, out);
    }

    /// When [`Scheduler::tick`] is wanted; a time in the past means at once.
    pub fn wake_at(&self) -> Option<Nanos> {
        self.gpus.values().filter_map(|gpu| gpu.wake).min()
    }

    /// Whose gates are to be reported before a tick at `now`: those that run, or copy, on GPUs which
    /// are due.
    pub fn watched(&self, now: Nanos) -> impl Iterator<Item = (VmKey, GpuKey)> + '_ {
        let due = self.gpus.iter().filter(move |(_, gpu)| gpu.wake.is_some_and(|at| at <= now));
        due.flat_map(|(key, gpu)| {
            let copies = |vm: &&VmKey| self.member(**vm, *key).is_some_and(|m| m.last.copying);
            let beside = gpu.recent.iter().filter(|vm| !gpu.running.contains(vm)).filter(copies);
            gpu.running.iter().chain(beside).map(|vm| (*vm, *key))
        })
    }

    /// VMs whose turn includes a GPU. They are reported before another VM's work there is, so that
    /// it is measured against all that they have used.
    pub fn running(&self, gpu: GpuKey) -> &[VmKey] {
        self.gpus.get(&gpu).map_or(&[], |gpu| &gpu.running)
    }

    /// How a VM stands on a GPU.
    pub fn stats(&self, vm: VmKey, gpu: GpuKey, now: Nanos) -> Option<VmStats> {
        let member = self.vms.get(&vm)?.members.get(&gpu)?;
        let mut stats = member.stats;
        let tokens = member.bucket.as_ref().map_or(0, |bucket| bucket.tokens(now));
        let ahead = member.time.ahead(self.clock_of_others(vm, gpu), member.share.weight);
        stats.debt_ns = ahead.max(tokens.min(0).unsigned_abs());
        if let Some(since) = member.waiting_since {
            stats.throttled_ns = stats.throttled_ns.saturating_add(now.saturating_sub(since));
        }
        (stats.share_1s, stats.share_10s) = member.ring.shares(now);
        Some(stats)
    }

    fn member(&self, vm: VmKey, gpu: GpuKey) -> Option<&Member> {
        self.vms.get(&vm)?.members.get(&gpu)
    }

    fn member_mut(&mut self, vm: VmKey, gpu: GpuKey) -> Option<&mut Member> {
        self.vms.get_mut(&vm)?.members.get_mut(&gpu)
    }

    fn turn(&self, vm: VmKey) -> Option<&Turn> {
        self.vms.get(&vm)?.turn.as_ref()
    }
}
