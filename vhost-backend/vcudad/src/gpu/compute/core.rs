//! The logic of the scheduler thread: it passes the workers' reports to the scheduler and carries
//! out the resulting actions. This code never sleeps, and gets the current time as an argument.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::evictor::{Evictor, Kernels};
use super::message::{ComputeEvent, GpuStats, Stats};
use super::registry::Registry;
use super::shared::EventSender;
use super::wait_reason::wait_reason;
use super::worker::{BEAT_CHECK, CLOSED, Evicts, GateSetting, Heartbeat, Worker, WorkerEnds};
use control_api::{TraceChange, TraceGate, TraceState};
use control_server::trace_point::TracePoint;
use gpu_scheduler::{
    Action, ActionKind, GpuKey, MS, Nanos, OpenMode, Report, Scheduler, Settings, Share, VmKey,
};
use host_ipc::gate::{GpuGate, Mode, NO_END};
use host_ipc::messages::WorkerId;

/// CUDA_ERROR_LAUNCH_TIMEOUT
const LAUNCH_TIMEOUT: u32 = 702;
/// How long after a session gets an error its worker is killed. In this time, the session reports
/// the error to its guest.
const REPORT_TIME: Nanos = 50 * MS;
/// The gate setting for a VM that is alone on the GPU.
const UNLIMITED: GateSetting = GateSetting { mode: Mode::Unlimited, until: NO_END, depth: NO_END };
/// The gate setting for a VM that is alone on the GPU and has a kernel_timeout. To enforce the
/// timeout, the worker must know when a kernel started. It measures this only if the depth per
/// stream is limited.
const MEASURED: GateSetting = GateSetting { mode: Mode::Shared, until: NO_END, depth: 20 * MS };
/// Maximum number of rounds per call of `settle`. Without a limit, workers that keep changing their
/// pages could keep the thread in that call.
const MAX_ROUNDS: usize = 64;

/// Sums of the workers' counters. The sums wrap on overflow, because a worker can write any value.
#[derive(Clone, Copy, Default)]
struct Counters {
    finished: u64,
    busy_ns: u64,
    begun_ns: u64,
    copied_ns: u64,
    contexts_begun: u64,
}

impl Counters {
    fn add(&mut self, gate: &GpuGate) {
        let add = |sum: &mut u64, word: &AtomicU64| {
            *sum = sum.wrapping_add(word.load(Ordering::Relaxed));
        };
        add(&mut self.finished, &gate.finished);
        add(&mut self.busy_ns, &gate.busy_ns);
        add(&mut self.begun_ns, &gate.begun_ns);
        add(&mut self.copied_ns, &gate.copied_ns);
        add(&mut self.contexts_begun, &gate.contexts_begun);
    }
}

/// Maximum time for which the start of a worker waits for its VM's window.
const START_WITHIN: Nanos = 500 * MS;

/// The start of a warm worker, which replaces one that a session of `vm` has taken. The new worker
/// creates a context on the GPU, which can disturb latency VMs.
struct Start {
    vm: VmKey,
    gpu: GpuKey,
    /// The worker isn't started before the VM's next window begins or this time passes. `None` once
    /// the worker is being started.
    waits_until: Option<Nanos>,
}

impl Start {
    fn waits(&self) -> bool {
        self.waits_until.is_some()
    }
}

/// A VM's state on one GPU.
struct VmGpu {
    share: Share,
    gate: GateSetting,
    /// How much copy work the VM may have in flight per stream while its gates are closed.
    copies: Nanos,
    /// Sums of the counters of workers that have exited. Each [`Start`] also counts as a context
    /// that was begun.
    past: Counters,
    /// True if the VM's kernels should have short time slices.
    short_slices: bool,
    /// The VM's state, as reported in traces.
    state: TraceState,
}

/// The state of the scheduler thread.
pub(super) struct Core {
    pub scheduler: Scheduler,
    vm_gpus: BTreeMap<(VmKey, GpuKey), VmGpu>,
    pub workers: BTreeMap<WorkerId, Worker>,
    events: EventSender,
    evictor: Arc<Evictor>,
    actions: Vec<Action>,
    start: Option<Start>,
    beats_at: Nanos,
    beats_checked: Nanos,
}

impl Core {
    /// Creates the state from the registry of existing VMs and workers.
    pub(super) fn new(
        registry: &Registry,
        events: EventSender,
        evictor: Arc<Evictor>,
        now: Nanos,
    ) -> Self {
        let mut core = Self {
            scheduler: Scheduler::new(Settings::default()),
            vm_gpus: BTreeMap::new(),
            workers: BTreeMap::new(),
            events,
            evictor,
            actions: Vec::new(),
            start: None,
            beats_at: now,
            beats_checked: now,
        };
        for (vm, gpus) in &registry.vms {
            core.set_vm(
                *vm,
                &gpus.iter().map(|(gpu, share)| (*gpu, *share)).collect::<Vec<_>>(),
                now,
            );
        }
        for vm in &registry.paused {
            core.set_paused(*vm, true, now);
        }
        for (id, ends) in &registry.workers {
            core.insert_worker(*id, ends.clone(), now);
        }
        // Report the workers' state only after all of them have been inserted: if the scheduler
        // evicts a VM's work, that must include all of the VM's workers.
        for ends in registry.workers.values() {
            core.report_all_of(ends.vm, &ends.gpus, now);
        }
        core
    }

    pub(super) fn set_vm(&mut self, vm: VmKey, gpus: &[(GpuKey, Share)], now: Nanos) {
        for (gpu, share) in gpus {
            self.scheduler.set_vm(vm, &[(*gpu, *share)], now);
            let copies = self.scheduler.copies(vm, *gpu);
            let vm_gpu = self.vm_gpus.entry((vm, *gpu)).or_insert_with(|| VmGpu {
                share: *share,
                gate: CLOSED,
                copies,
                past: Counters::default(),
                short_slices: false,
                state: TraceState::default(),
            });
            let timed = |share: &Share| share.kernel_timeout.is_some();
            let changed = timed(&vm_gpu.share) != timed(share);
            vm_gpu.share = *share;
            // The gate of a VM that is alone depends on whether the VM has a kernel_timeout:
            // `MEASURED` or `UNLIMITED`. This has changed, so set the gate again.
            if changed && [UNLIMITED, MEASURED].contains(&vm_gpu.gate) {
                self.act(
                    Action {
                        vm,
                        gpu: *gpu,
                        kind: ActionKind::Open {
                            mode: OpenMode::Unlimited,
                            until: NO_END,
                            depth: NO_END,
                        },
                    },
                    now,
                );
            }
        }
    }

    pub(super) fn remove_vm(&mut self, vm: VmKey, now: Nanos) {
        self.scheduler.remove_vm(vm, now, &mut self.actions);
        for worker in self.workers.values_mut().filter(|worker| worker.ends.vm == vm) {
            for gpu in worker.ends.gpus.clone().iter() {
                worker.set(*gpu, CLOSED);
                worker.set_copies(*gpu, 0);
            }
        }
        self.vm_gpus.retain(|(of, _), _| *of != vm);
        if self.start.take_if(|start| start.vm == vm).is_some_and(|start| start.waits()) {
            self.events.send(ComputeEvent::MayStart);
        }
        self.settle(now);
    }

    /// Sends [`ComputeEvent::MayStart`] when a worker may be started for a VM. It may be started at
    /// once if no latency VM could be disturbed, or else in the VM's window.
    pub(super) fn begin_start(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos) {
        if !self.vm_gpus.contains_key(&(vm, gpu)) || !self.scheduler.latency_awake(gpu, vm, now) {
            return self.events.send(ComputeEvent::MayStart);
        }
        self.start = Some(Start { vm, gpu, waits_until: Some(now + START_WITHIN) });
        self.report_all_of(vm, &[gpu], now);
    }

    /// Records that the worker that was started for a VM is ready, or has ended.
    pub(super) fn end_start(&mut self, now: Nanos) {
        if let Some(Start { vm, gpu, .. }) = self.start.take() {
            self.report_all_of(vm, &[gpu], now);
        }
    }

    /// If a worker's start waits for its VM's window, permits the start once the window is open or
    /// it has waited long enough.
    fn start_waiting(&mut self, now: Nanos) {
        let Some(start) = &mut self.start else { return };
        let Some(vm_gpu) = self.vm_gpus.get_mut(&(start.vm, start.gpu)) else { return };
        if start.waits_until.is_some_and(|until| until <= now || vm_gpu.gate.mode.is_open()) {
            start.waits_until = None;
            vm_gpu.past.contexts_begun = vm_gpu.past.contexts_begun.wrapping_add(1);
            let (vm, gpu) = (start.vm, start.gpu);
            self.events.send(ComputeEvent::MayStart);
            self.report(vm, gpu, now);
        }
    }

    /// Pauses a VM, or lets it continue.
    pub(super) fn set_paused(&mut self, vm: VmKey, paused: bool, now: Nanos) {
        self.scheduler.set_paused(vm, paused, now, &mut self.actions);
        self.settle(now);
        let gpus = self.vm_gpus.keys().filter(|(of, _)| *of == vm).map(|(_, gpu)| *gpu);
        let gpus: Vec<_> = gpus.collect();
        self.report_all_of(vm, &gpus, now);
    }

    /// Pauses one worker of a VM, or lets it continue.
    pub(super) fn set_worker_paused(&mut self, id: WorkerId, paused: bool, now: Nanos) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.ends.is_paused = paused;
        self.show_settings(id);
        if let Some(worker) = self.workers.get(&id) {
            let (vm, gpus) = (worker.ends.vm, worker.ends.gpus.clone());
            self.report_all_of(vm, &gpus, now);
        }
    }

    /// Gives a worker the current settings of its VM. If the VM doesn't have one of the worker's
    /// GPUs, the gate stays closed.
    fn show_settings(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        for gpu in worker.ends.gpus.clone().iter() {
            let vm_gpu = self.vm_gpus.get(&(worker.ends.vm, *gpu));
            let (setting, copies, short_slices) = vm_gpu.map_or((CLOSED, 0, false), |vm_gpu| {
                (vm_gpu.gate, vm_gpu.copies, vm_gpu.short_slices)
            });
            worker.set_copies(*gpu, copies);
            worker.set(*gpu, setting);
            if let Some(number) = self.evictor.number(*gpu) {
                worker.ends.page.worker.set_short_slices(number, short_slices);
            }
        }
    }

    pub(super) fn add_worker(&mut self, id: WorkerId, ends: WorkerEnds, now: Nanos) {
        let (vm, gpus) = (ends.vm, ends.gpus.clone());
        self.insert_worker(id, ends, now);
        self.report_all_of(vm, &gpus, now);
    }

    fn insert_worker(&mut self, id: WorkerId, ends: WorkerEnds, now: Nanos) {
        self.workers.insert(id, Worker::new(ends, now));
        self.show_settings(id);
        self.beats_at = self.beats_at.min(now + BEAT_CHECK);
    }

    pub(super) fn remove_worker(&mut self, id: WorkerId, now: Nanos) -> Option<Worker> {
        let worker = self.workers.remove(&id)?;
        let (vm, gpus) = (worker.ends.vm, worker.ends.gpus.clone());
        for gpu in gpus.iter() {
            if let (Some(vm_gpu), Some((_, gate))) =
                (self.vm_gpus.get_mut(&(vm, *gpu)), worker.gate(*gpu))
            {
                vm_gpu.past.add(gate);
            }
        }
        self.evictor.forget(id);
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

    /// Handles a ring of a worker's bell by reporting the state of its VM.
    pub(super) fn handle_ring(&mut self, id: WorkerId, now: Nanos) {
        if let Some(worker) = self.workers.get(&id) {
            let (vm, gpus) = (worker.ends.vm, worker.ends.gpus.clone());
            self.report_all_of(vm, &gpus, now);
        }
    }

    /// Combines the gate pages of a VM's workers into one report for a GPU.
    pub(super) fn combined_report(&self, vm: VmKey, gpu: GpuKey, now: Nanos) -> Option<Report> {
        let vm_gpu = self.vm_gpus.get(&(vm, gpu))?;
        let (mut sums, mut report) = (vm_gpu.past, Report::default());
        let mut all_stalled = true;
        report.evictable = self.evictor.works(gpu, now);
        if let Some(start) = self.start.as_ref().filter(|start| (start.vm, start.gpu) == (vm, gpu))
        {
            (report.held, report.contexts) = (start.waits(), !start.waits());
        }
        for worker in self.workers.values().filter(|worker| worker.ends.vm == vm) {
            let Some((_, gate)) = worker.gate(gpu) else { continue };
            let word = |word: &AtomicU64| word.load(Ordering::Relaxed);
            // Include the counters of workers without a heartbeat. If they were left out, the sum
            // would decrease, and when the heartbeat resumes, the same work would be counted again.
            sums.add(gate);
            if worker.lost {
                continue;
            }
            report.copying |= word(&gate.copying) != 0;
            report.contexts |= gate.contexts.load(Ordering::SeqCst) != 0;
            report.held |= worker.holds(gate);
            if gate.active.load(Ordering::SeqCst) != 0 {
                report.active = true;
                report.sessions += 1;
                report.evictable &= worker.ends.evicts.is_some();
                all_stalled &= gate.stalled.load(Ordering::SeqCst) != 0;
                report.ends_at = report.ends_at.max(word(&gate.ends));
                let oldest = word(&gate.oldest);
                if oldest != 0 {
                    report.oldest_for = report.oldest_for.max(now.saturating_sub(oldest));
                }
            }
        }
        report.stalled = report.active && all_stalled;
        let Counters { finished, busy_ns, begun_ns, copied_ns, contexts_begun } = sums;
        Some(Report { finished, busy_ns, begun_ns, copied_ns, contexts_begun, ..report })
    }

    fn report(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos) {
        let Some(report) = self.combined_report(vm, gpu, now) else { return };
        tracing::trace!(now, vm = vm.0, gpu = gpu.0, ?report);
        self.trace(vm, gpu, now, |state| {
            state.busy = report.active && !report.stalled;
            state.copying = report.copying;
        });
        self.scheduler.report(vm, gpu, report, now, &mut self.actions);
    }

    /// Carries out the scheduler's pending actions until there are none left.
    pub(super) fn settle(&mut self, now: Nanos) {
        for _ in 0..MAX_ROUNDS {
            self.start_waiting(now);
            if self.actions.is_empty() {
                return self.trace_waits(now);
            }
            let mut closed = Vec::new();
            for action in std::mem::take(&mut self.actions) {
                if let Action { vm, gpu, kind: ActionKind::Close } = action {
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

    /// Changes the state of a VM on a GPU that appears in traces, and publishes the state if it's
    /// different.
    fn trace(&mut self, vm: VmKey, gpu: GpuKey, now: Nanos, change: impl FnOnce(&mut TraceState)) {
        let Some(vm_gpu) = self.vm_gpus.get_mut(&(vm, gpu)) else { return };
        let before = vm_gpu.state;
        change(&mut vm_gpu.state);
        if vm_gpu.state != before {
            let state = vm_gpu.state;
            self.publish(vm, gpu, state, now);
        }
    }

    /// Updates the reasons for which VMs wait, in the states that appear in traces.
    fn trace_waits(&mut self, now: Nanos) {
        if !self.events.shared.traces.are_wanted() {
            return;
        }
        for (vm, gpu) in self.vm_gpus.keys().copied().collect::<Vec<_>>() {
            let waits_for = self.scheduler.waits_for(vm, gpu, now).and_then(wait_reason);
            self.trace(vm, gpu, now, |state| state.waits_for = waits_for);
        }
    }

    /// Publishes the current state of all VMs as trace points.
    pub(super) fn trace_all(&mut self, now: Nanos) {
        self.trace_waits(now);
        for (&(vm, gpu), vm_gpu) in &self.vm_gpus {
            self.publish(vm, gpu, vm_gpu.state, now);
        }
    }

    fn publish(&self, vm: VmKey, gpu: GpuKey, state: TraceState, now: Nanos) {
        let change = TraceChange::State(state);
        let point = TracePoint { time_ns: now, vm: vm.0, gpu: gpu.0, change };
        self.events.shared.traces.publish(point);
    }

    fn act(&mut self, action: Action, now: Nanos) {
        tracing::trace!(now, ?action);
        let Action { vm, gpu, kind } = action;
        match kind {
            ActionKind::StandBy { depth } => {
                let setting = GateSetting { mode: Mode::Standby, until: NO_END, depth };
                self.set(vm, gpu, setting, now);
            }
            ActionKind::Prepare => {
                self.set(vm, gpu, GateSetting { mode: Mode::Prepare, until: 0, depth: 0 }, now);
            }
            ActionKind::Close => self.set(vm, gpu, CLOSED, now),
            ActionKind::Open { mode, until, depth } => {
                let share = self.vm_gpus.get(&(vm, gpu)).map(|vm_gpu| vm_gpu.share);
                let timed = share.is_some_and(|share| share.kernel_timeout.is_some());
                let setting = match mode {
                    OpenMode::Window => GateSetting { mode: Mode::Window, until, depth },
                    OpenMode::Shared => GateSetting { mode: Mode::Shared, until, depth },
                    OpenMode::Unlimited if timed => MEASURED,
                    OpenMode::Unlimited => UNLIMITED,
                };
                self.set(vm, gpu, setting, now);
            }
            ActionKind::Evict => {
                self.trace(vm, gpu, now, |state| state.off = true);
                self.evict(vm, gpu);
            }
            ActionKind::Restore => {
                self.trace(vm, gpu, now, |state| state.off = false);
                self.evictor.restore(vm, gpu);
            }
            ActionKind::Copies { depth } => self.set_copies(vm, gpu, depth),
            ActionKind::Slices { short } => self.set_slices(vm, gpu, short),
            ActionKind::Timeout { off_for } => self.time_out(vm, gpu, off_for, now),
        }
    }

    fn set(&mut self, vm: VmKey, gpu: GpuKey, setting: GateSetting, now: Nanos) {
        self.trace(vm, gpu, now, |state| {
            state.gate = match setting.mode {
                Mode::Closed | Mode::Prepare | Mode::Standby => TraceGate::Closed,
                Mode::Window => TraceGate::Window,
                Mode::Shared => TraceGate::Shared,
                Mode::Unlimited => TraceGate::Unlimited,
            };
        });
        let Some(vm_gpu) = self.vm_gpus.get_mut(&(vm, gpu)) else { return };
        vm_gpu.gate = setting;
        for worker in self.workers.values_mut().filter(|worker| worker.ends.vm == vm) {
            worker.set(gpu, setting);
        }
    }

    /// Takes the kernels of a VM's workers off a GPU. Skips workers without work in flight on that
    /// GPU.
    fn evict(&self, vm: VmKey, gpu: GpuKey) {
        let mut workers = Vec::new();
        for (id, worker) in self.workers.iter().filter(|(_, worker)| worker.ends.vm == vm) {
            let Some((ordinal, gate)) = worker.gate(gpu) else { continue };
            let Some(evicts) = &worker.ends.evicts else { continue };
            if gate.active.load(Ordering::SeqCst) != 0 {
                workers.push((
                    *id,
                    match evicts {
                        Evicts::Channels(objects) => Kernels::Channels(objects.clone()),
                        Evicts::GatePage => Kernels::Gate(worker.ends.page.clone(), ordinal),
                    },
                ));
            }
        }
        self.evictor.evict(vm, gpu, workers);
    }

    fn set_copies(&mut self, vm: VmKey, gpu: GpuKey, depth: Nanos) {
        let Some(vm_gpu) = self.vm_gpus.get_mut(&(vm, gpu)) else { return };
        vm_gpu.copies = depth;
        for worker in self.workers.values().filter(|worker| worker.ends.vm == vm) {
            worker.set_copies(gpu, depth);
        }
    }

    /// Changes the time slices of a VM's kernels. This needs the driver's number of the GPU, as
    /// evictions do.
    fn set_slices(&mut self, vm: VmKey, gpu: GpuKey, short: bool) {
        let Some(vm_gpu) = self.vm_gpus.get_mut(&(vm, gpu)) else { return };
        vm_gpu.short_slices = short;
        let Some(number) = self.evictor.number(gpu) else { return };
        for worker in self.workers.values().filter(|worker| worker.ends.vm == vm) {
            worker.ends.page.worker.set_short_slices(number, short);
        }
    }

    /// Ends the VM's sessions whose oldest running call has exceeded the kernel_timeout.
    fn time_out(&mut self, vm: VmKey, gpu: GpuKey, off_for: Nanos, now: Nanos) {
        let timeout = self.vm_gpus.get(&(vm, gpu)).and_then(|vm_gpu| vm_gpu.share.kernel_timeout);
        let Some(timeout) = timeout else { return };
        for (id, worker) in &mut self.workers {
            if worker.ends.vm != vm || worker.kill_at.is_some() {
                continue;
            }
            let oldest =
                worker.gate(gpu).map_or(0, |(_, gate)| gate.oldest.load(Ordering::Relaxed));
            if oldest != 0 && now.saturating_sub(oldest).saturating_sub(off_for) > timeout {
                // Send the event before the guest gets the error, because the guest process may
                // exit as soon as it gets it.
                self.events.send(ComputeEvent::KernelTimeout(*id, gpu));
                worker.end_session(LAUNCH_TIMEOUT, now + REPORT_TIME);
            }
        }
    }

    /// Handles everything that is due: the scheduler's deadlines, heartbeat checks, and kills.
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
        self.settle(now);
        if self.beats_at <= now {
            self.check_heartbeats(now);
        }
        for (id, worker) in &mut self.workers {
            if worker.kill_at.is_some_and(|at| at <= now) {
                worker.kill_at = Some(Nanos::MAX);
                self.events.send(ComputeEvent::TimeoutReported(*id));
            }
        }
    }

    fn check_heartbeats(&mut self, now: Nanos) {
        let late = now.saturating_sub(self.beats_checked) > 2 * BEAT_CHECK;
        (self.beats_checked, self.beats_at) = (now, now + BEAT_CHECK);
        let mut changed = Vec::new();
        for (id, worker) in &mut self.workers {
            worker.sample(now);
            match worker.check_heartbeat(late, now) {
                Heartbeat::Unchanged => {}
                Heartbeat::Lost | Heartbeat::Resumed => {
                    changed.push((worker.ends.vm, worker.ends.gpus.clone()));
                }
                Heartbeat::Dead => {
                    self.events.send(ComputeEvent::HeartbeatLost(*id));
                    changed.push((worker.ends.vm, worker.ends.gpus.clone()));
                }
            }
        }
        for (vm, gpus) in changed {
            self.report_all_of(vm, &gpus, now);
        }
    }

    /// Polls the gate pages of draining VMs, because the scheduler is waiting for these VMs'
    /// reports. Returns true if any VM is draining.
    pub(super) fn poll_drains(&mut self, now: Nanos) -> bool {
        let draining: Vec<_> = self.scheduler.draining().collect();
        for (vm, gpu) in &draining {
            let Some(report) = self.combined_report(*vm, *gpu, now) else { continue };
            if !report.active || report.stalled {
                self.report(*vm, *gpu, now);
                self.settle(now);
            }
        }
        !draining.is_empty()
    }

    /// Returns the time at which [`Core::tick`] must be called next.
    pub(super) fn wake_at(&self) -> Option<Nanos> {
        let active = self.workers.values().any(|worker| worker.must_beat() || worker.lost);
        let beats = active.then_some(self.beats_at);
        let kills = self.workers.values().filter_map(|worker| worker.kill_at);
        let kills = kills.filter(|at| *at != Nanos::MAX);
        let mutes = self.workers.values().filter_map(|worker| worker.muted);
        let start = self.start.as_ref().and_then(|start| start.waits_until);
        let due = self.scheduler.wake_at().into_iter().chain(beats).chain(kills);
        due.chain(mutes).chain(start).min()
    }

    pub(super) fn stats(&mut self, now: Nanos) -> Stats {
        let of = |&(vm, gpu): &(VmKey, GpuKey)| {
            Some(GpuStats { vm, gpu, stats: self.scheduler.stats(vm, gpu, now)? })
        };
        let vms = self.vm_gpus.keys().filter_map(of).collect();
        self.workers.values_mut().for_each(|worker| worker.sample(now));
        let shares = self.workers.iter().flat_map(|(id, worker)| {
            worker.shares(now).map(move |(gpu, share)| ((*id, gpu), share))
        });
        Stats { vms, workers: shares.collect() }
    }
}
