//! Reports in, actions out: what the thread does each time that it is awake. It does not sleep and
//! reads no clock.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::message::{ComputeEvent, GpuStats};
use super::registry::Registry;
use super::shared::EventSender;
use super::worker::{BEAT_LOOK, Beating, CLOSED, Stand, Worker, WorkerEnds};
use gpu_scheduler::{
    Action, GpuKey, MS, Nanos, OpenMode, Report, Scheduler, Settings, Share, VmKey,
};
use host_ipc::gate::{GpuGate, Mode, NO_END};
use host_ipc::messages::WorkerId;

/// `CUDA_ERROR_LAUNCH_TIMEOUT`.
const LAUNCH_TIMEOUT: u32 = 702;
/// How long a session whose kernel ran too long has to tell its guest, before its worker is ended.
const REPORT_TIME: Nanos = 50 * MS;
/// How the gate of a VM that is alone stands.
const UNLIMITED: Stand = Stand { mode: Mode::Unlimited, until: NO_END, depth: NO_END };
/// The same of one with a kernel_timeout: since when a kernel runs is known only where work is
/// measured, which takes a depth for each stream.
const MEASURED: Stand = Stand { mode: Mode::Shared, until: NO_END, depth: 20 * MS };
/// Rounds of reports and actions in one go: a bound, should a VM's workers change what they say
/// with each look.
const MAX_ROUNDS: usize = 64;

/// What workers count. It wraps, since they may have made it up.
#[derive(Clone, Copy, Default)]
struct Sums {
    finished: u64,
    busy_ns: u64,
    begun_ns: u64,
    copied_ns: u64,
}

impl Sums {
    fn add(&mut self, gate: &GpuGate) {
        let add = |sum: &mut u64, word: &AtomicU64| {
            *sum = sum.wrapping_add(word.load(Ordering::Relaxed));
        };
        add(&mut self.finished, &gate.finished);
        add(&mut self.busy_ns, &gate.busy_ns);
        add(&mut self.begun_ns, &gate.begun_ns);
        add(&mut self.copied_ns, &gate.copied_ns);
    }
}

/// A VM on one GPU.
struct Place {
    share: Share,
    stand: Stand,
    /// What it may copy while its gates are closed.
    copies: Nanos,
    /// Of workers that have ended.
    sums: Sums,
    /// Closed, and not known to be drained.
    draining: bool,
}

/// The thread's state.
pub(super) struct Core {
    pub scheduler: Scheduler,
    places: BTreeMap<(VmKey, GpuKey), Place>,
    pub workers: BTreeMap<WorkerId, Worker>,
    events: EventSender,
    actions: Vec<Action>,
    beats_at: Nanos,
    beats_looked: Nanos,
}

impl Core {
    /// With all VMs and workers that exist.
    pub(super) fn new(registry: &Registry, events: EventSender, now: Nanos) -> Self {
        let mut core = Self {
            scheduler: Scheduler::new(Settings::default()),
            places: BTreeMap::new(),
            workers: BTreeMap::new(),
            events,
            actions: Vec::new(),
            beats_at: now,
            beats_looked: now,
        };
        for (vm, gpus) in &registry.vms {
            core.set_vm(
                *vm,
                &gpus.iter().map(|(gpu, share)| (*gpu, *share)).collect::<Vec<_>>(),
                now,
            );
        }
        for (id, parts) in &registry.workers {
            core.add_worker(*id, parts.clone(), now);
        }
        core
    }

    pub(super) fn set_vm(&mut self, vm: VmKey, gpus: &[(GpuKey, Share)], now: Nanos) {
        for (gpu, share) in gpus {
            if self.places.contains_key(&(vm, *gpu)) {
                self.scheduler.set_share(vm, *gpu, *share, now);
            } else {
                self.scheduler.set_vm(vm, &[(*gpu, *share)], now);
            }
            let copies = self.scheduler.copies(vm, *gpu);
            let place = self.places.entry((vm, *gpu)).or_insert_with(|| Place {
                share: *share,
                stand: CLOSED,
                copies,
                sums: Sums::default(),
                draining: false,
            });
            let timed = |share: &Share| share.kernel_timeout.is_some();
            let changed = timed(&place.share) != timed(share);
            place.share = *share;
            // Since when a kernel runs is to be known from now on, or need not be any more.
            if changed && [UNLIMITED, MEASURED].contains(&place.stand) {
                self.act(
                    Action::Open {
                        vm,
                        gpu: *gpu,
                        mode: OpenMode::Unlimited,
                        until: NO_END,
                        depth: NO_END,
                    },
                    now,
                );
            }
        }
    }

    pub(super) fn remove_vm(&mut self, vm: VmKey, now: Nanos) {
        self.scheduler.remove_vm(vm, now, &mut self.actions);
        for worker in self.workers.values_mut().filter(|worker| worker.parts.vm == vm) {
            for gpu in worker.parts.gpus.clone().iter() {
                worker.set(*gpu, CLOSED);
                worker.set_copies(*gpu, 0);
            }
        }
        self.places.retain(|(of, _), _| *of != vm);
        self.settle(now);
    }

    pub(super) fn add_worker(&mut self, id: WorkerId, parts: WorkerEnds, now: Nanos) {
        let (vm, gpus) = (parts.vm, parts.gpus.clone());
        let mut worker = Worker::new(parts, now);
        for gpu in gpus.iter() {
            // What its VM has now; a GPU that the VM does not have stays closed.
            let place = self.places.get(&(vm, *gpu));
            let (stand, copies) = place.map_or((CLOSED, 0), |place| (place.stand, place.copies));
            worker.set(*gpu, stand);
            worker.set_copies(*gpu, copies);
        }
        self.workers.insert(id, worker);
        self.beats_at = self.beats_at.min(now + BEAT_LOOK);
        self.report_all_of(vm, &gpus, now);
    }

    pub(super) fn remove_worker(&mut self, id: WorkerId, now: Nanos) -> Option<Worker> {
        let worker = self.workers.remove(&id)?;
        let (vm, gpus) = (worker.parts.vm, worker.parts.gpus.clone());
        for gpu in gpus.iter() {
            if let (Some(place), Some((_, gate))) =
                (self.places.get_mut(&(vm, *gpu)), worker.gate(*gpu))
            {
                place.sums.add(gate);
            }
        }
        self.report_all_of(vm, &gpus, now);
        Some(worker)
    }

    fn report_all_of(&mut self, vm: VmKey, gpus: &[GpuKey], now: Nanos) {
        for gpu in gpus {
            let others = self.scheduler.running(*gpu).to_vec();
            for other in others.into_iter().filter(|other| *other != vm) {
                self.report(other, *gpu, now);
            }
            self.report(vm, *gpu, now);
        }
        self.settle(now);
    }

    /// A worker's bell was rung.
    pub(super) fn worker_rang(&mut self, id: WorkerId, now: Nanos) {
        if let Some(worker) = self.workers.get(&id) {
            let (vm, gpus) = (worker.parts.vm, worker.parts.gpus.clone());
            self.report_all_of(vm, &gpus, now);
        }
    }

    /// What a VM's sessions on a GPU say, joined.
    pub(super) fn join(&self, vm: VmKey, gpu: GpuKey, now: Nanos) -> Option<Report> {
        let place = self.places.get(&(vm, gpu))?;
        let (mut sums, mut report) = (place.sums, Report::default());
        let mut all_stalled = true;
        for worker in self.workers.values().filter(|worker| worker.parts.vm == vm) {
            let Some((_, gate)) = worker.gate(gpu) else { continue };
            let word = |word: &AtomicU64| word.load(Ordering::Relaxed);
            // Of one that is lost, too: a sum that went back would count twice later.
            sums.add(gate);
            if worker.lost {
                continue;
            }
            report.copying |= word(&gate.copying) != 0;
            report.held |= gate.held.load(Ordering::SeqCst) > 0 && worker.condemned.is_none();
            if gate.active.load(Ordering::SeqCst) != 0 {
                report.active = true;
                all_stalled &= gate.stalled.load(Ordering::SeqCst) != 0;
                let oldest = word(&gate.oldest);
                if oldest != 0 {
                    report.oldest_for = report.oldest_for.max(now.saturating_sub(oldest));
                }
            }
        }
        report.stalled = report.active && all_stalled;
        let Sums { finished, busy_ns, begun_ns, copied_ns } = sums;
        Some(Report { finished, busy_ns, begun_ns, copied_ns, ..report })
    }

    fn report(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos) {
        let Some(report) = self.join(vm, gpu, now) else { return };
        if let Some(place) = self.places.get_mut(&(vm, gpu)) {
            place.draining &= report.active && !report.stalled;
        }
        tracing::trace!(now, vm = vm.0, gpu = gpu.0, ?report);
        self.scheduler.report(vm, gpu, report, now, &mut self.actions);
    }

    /// Carries out actions until there are none.
    pub(super) fn settle(&mut self, now: Nanos) {
        for _ in 0..MAX_ROUNDS {
            if self.actions.is_empty() {
                return;
            }
            let mut closed = Vec::new();
            for action in std::mem::take(&mut self.actions) {
                if let Action::Close { vm, gpu } = action {
                    closed.push((vm, gpu));
                }
                self.act(action, now);
            }
            for (vm, gpu) in closed {
                self.report(vm, gpu, now);
            }
        }
        tracing::warn!("the scheduler does not settle; continuing at its next wakeup");
    }

    fn act(&mut self, action: Action, now: Nanos) {
        tracing::trace!(now, ?action);
        match action {
            Action::Prepare { vm, gpu } => {
                self.set(vm, gpu, Stand { mode: Mode::Prepare, until: 0, depth: 0 });
            }
            Action::Close { vm, gpu } => self.set(vm, gpu, CLOSED),
            Action::Open { vm, gpu, mode, until, depth } => {
                let share = self.places.get(&(vm, gpu)).map(|place| place.share);
                let timed = share.is_some_and(|share| share.kernel_timeout.is_some());
                let stand = match mode {
                    OpenMode::Window => Stand { mode: Mode::Window, until, depth },
                    OpenMode::Shared => Stand { mode: Mode::Shared, until, depth },
                    OpenMode::Unlimited if timed => MEASURED,
                    OpenMode::Unlimited => UNLIMITED,
                };
                self.set(vm, gpu, stand);
            }
            Action::Copies { vm, gpu, depth } => self.set_copies(vm, gpu, depth),
            Action::Timeout { vm, gpu } => self.time_out(vm, gpu, now),
        }
    }

    fn set(&mut self, vm: VmKey, gpu: GpuKey, stand: Stand) {
        let Some(place) = self.places.get_mut(&(vm, gpu)) else { return };
        place.stand = stand;
        place.draining = stand.mode == Mode::Closed;
        for worker in self.workers.values_mut().filter(|worker| worker.parts.vm == vm) {
            worker.set(gpu, stand);
        }
    }

    fn set_copies(&mut self, vm: VmKey, gpu: GpuKey, depth: Nanos) {
        let Some(place) = self.places.get_mut(&(vm, gpu)) else { return };
        place.copies = depth;
        for worker in self.workers.values().filter(|worker| worker.parts.vm == vm) {
            worker.set_copies(gpu, depth);
        }
    }

    /// Ends the sessions whose oldest call is too old.
    fn time_out(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos) {
        let timeout = self.places.get(&(vm, gpu)).and_then(|place| place.share.kernel_timeout);
        let Some(timeout) = timeout else { return };
        for (id, worker) in &mut self.workers {
            if worker.parts.vm != vm || worker.condemned.is_some() {
                continue;
            }
            let oldest =
                worker.gate(gpu).map_or(0, |(_, gate)| gate.oldest.load(Ordering::Relaxed));
            if oldest != 0 && now.saturating_sub(oldest) > timeout {
                // Before the guest learns of it, which may be gone a moment later.
                self.events.send(ComputeEvent::KernelTimeout(*id, gpu));
                worker.condemn(LAUNCH_TIMEOUT, now + REPORT_TIME);
            }
        }
    }

    /// The scheduler's deadlines, heartbeats, and sessions that have had their last words.
    pub(super) fn tick(&mut self, now: Nanos) {
        if self.scheduler.wake_at().is_some_and(|at| at <= now) {
            let watched: Vec<_> = self.scheduler.watched(now).collect();
            for (vm, gpu) in watched {
                self.report(vm, gpu, now);
                self.settle(now);
            }
            self.scheduler.tick(now, &mut self.actions);
            self.settle(now);
        }
        if self.beats_at <= now {
            self.look_at_beats(now);
        }
        for (id, worker) in &mut self.workers {
            if worker.condemned.is_some_and(|at| at <= now) {
                worker.condemned = Some(Nanos::MAX);
                self.events.send(ComputeEvent::TimeoutReported(*id));
            }
        }
    }

    fn look_at_beats(&mut self, now: Nanos) {
        let late = now.saturating_sub(self.beats_looked) > 2 * BEAT_LOOK;
        (self.beats_looked, self.beats_at) = (now, now + BEAT_LOOK);
        let mut changed = Vec::new();
        for (id, worker) in &mut self.workers {
            match worker.look_at_beat(late, now) {
                Beating::Same => {}
                Beating::Lost | Beating::Back => {
                    changed.push((worker.parts.vm, worker.parts.gpus.clone()));
                }
                Beating::Dead => {
                    self.events.send(ComputeEvent::HeartbeatLost(*id));
                    changed.push((worker.parts.vm, worker.parts.gpus.clone()));
                }
            }
        }
        for (vm, gpus) in changed {
            self.report_all_of(vm, &gpus, now);
        }
    }

    /// Looks at VMs that drain: what they say is awaited. Whether there are any.
    pub(super) fn look_at_drains(&mut self, now: Nanos) -> bool {
        let draining: Vec<_> =
            self.places.iter().filter(|(_, place)| place.draining).map(|(key, _)| *key).collect();
        for (vm, gpu) in &draining {
            let Some(report) = self.join(*vm, *gpu, now) else { continue };
            if !report.active || report.stalled {
                self.report(*vm, *gpu, now);
                self.settle(now);
            }
        }
        !draining.is_empty()
    }

    /// When [`Core::tick`] is wanted.
    pub(super) fn wake_at(&self) -> Option<Nanos> {
        let active = self.workers.values().any(|worker| worker.is_to_beat() || worker.lost);
        let beats = active.then_some(self.beats_at);
        let words = self.workers.values().filter_map(|worker| worker.condemned);
        let words = words.filter(|at| *at != Nanos::MAX);
        let mutes = self.workers.values().filter_map(|worker| worker.muted);
        self.scheduler.wake_at().into_iter().chain(beats).chain(words).chain(mutes).min()
    }

    pub(super) fn stats(&self, now: Nanos) -> Vec<GpuStats> {
        let of = |&(vm, gpu): &(VmKey, GpuKey)| {
            Some(GpuStats { vm, gpu, stats: self.scheduler.stats(vm, gpu, now)? })
        };
        self.places.keys().filter_map(of).collect()
    }
}
