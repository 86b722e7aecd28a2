//! The sessions of all VMs, from a device process's request until the worker has ended. This
//! module owns the start queue, the workers, the ledger, and the scheduler.
//!
//! [`Sessions`] doesn't access the event loop, the device processes, or the control API. Instead,
//! it emits [`SessionEffect`]s, which the coordinator carries out.

mod refill;
mod workers;

use std::io;
use std::os::fd::RawFd;
use std::time::Instant;

use control_api::{EventKind, Sharing, SwapState};

use crate::continuity::crash::Crash;
use crate::gpu::compute::{ComputeEvent, Evicts, WorkerTraits};
use crate::gpu::gpus::Gpus;
use crate::gpu::leftovers::{Leftovers, LeftoversRecord, OfVm};
use crate::gpu::scheduler::Scheduler;
use crate::processes::launcher::Launcher;
use crate::processes::process::ChildRecord;
use crate::processes::spawner::Processes;
use crate::processes::supervisor::{Supervisor, SupervisorEffect};
use crate::reporting::event::BrokerEvent;
use crate::sessions::accounts::{Accounts, LedgerChange, Residency};
use crate::sessions::cause::Cause;
use crate::sessions::session::{QueueChange, Session, StartQueue};
use crate::sessions::slots::Slots;
use crate::sessions::worker::{
    DeviceEnds, FirstContext, SchedulerEnds, Worker, WorkerChange, WorkerCounts, Workers,
    WorkersRecord,
};
use crate::usage::counters::Counters;
use crate::vm::cgroup::limits_cpu;
use crate::vm::guest_facts::{self, Serving};
use crate::vm::vms::{VmState, Vms};
use host_ipc::gate;
use host_ipc::gpu::Probed;
use host_ipc::messages::{
    Assignment, BrokerToDevice, Charge, DriverObject, Ending, FromSupervisor, Refusal, SessionOfVm,
    VmFacts, WorkerId,
};
use host_ipc::printable::printable;
use host_ipc::residency::Place;
use host_ipc::spawner::Call;
use memory_ledger::{GpuId, Ledger, Quota, VmId};
use rm_control::Objects;
use serde::{Deserialize, Serialize};

/// An action that [`Sessions`] asks the coordinator to carry out.
pub(crate) enum SessionEffect {
    /// Watch a new worker's socket.
    Watch { worker: WorkerId, socket: RawFd },
    /// Stop watching a worker's socket.
    Unwatch(RawFd),
    /// A worker has ended. Stop watching its socket before dropping it.
    Ended(Worker),
    /// Send a message to a VM's device process. `ends` are sent with it: the device process's ends
    /// of the channels to a worker.
    Send { vm: VmId, message: BrokerToDevice, ends: Option<DeviceEnds> },
    /// Publish an event.
    Publish(BrokerEvent),
    /// The start queue is no longer empty, so set the timer.
    Queued,
    /// Watch or stop watching the supervisor.
    Supervisor(SupervisorEffect),
    /// A VM's worker has ended. If the VM is being removed, its removal may be complete.
    WorkerGone(VmId),
    /// The scheduler permits the start of the next warm worker.
    MayRefill,
}

/// A warm worker that is started because a session has taken one.
struct Refill {
    /// The VM of the session that took the worker. The new worker is started in a window of this
    /// VM, which is charged for the time.
    vm: VmId,
    gpus: Vec<GpuId>,
    /// `None` until the scheduler lets the worker start.
    worker: Option<WorkerId>,
}

/// All sessions and workers, with the accounts of GPU memory and GPU time.
pub(crate) struct Sessions {
    start_queue: StartQueue,
    workers: Workers,
    accounts: Accounts,
    leftovers: Leftovers,
    scheduler: Scheduler,
    launcher: Launcher,
    supervisor: Supervisor,
    /// Whether kernels run on softgpu.
    simulates: bool,
    effects: Vec<SessionEffect>,
    /// The warm worker that is being started, if they are started one at a time.
    refill: Option<Refill>,
    /// Changes of workers' driver objects since the last call of [`Self::take_changes`].
    objects: Vec<SessionChange>,
}

/// The record of all sessions, for a broker that replaces this one.
#[derive(Serialize, Deserialize)]
pub(crate) struct SessionsRecord {
    waiting: StartQueue,
    workers: WorkersRecord,
    ledger: Ledger,
    #[serde(default)]
    leftovers: LeftoversRecord,
}

/// A change of the sessions, which is added to the record.
#[derive(Serialize, Deserialize)]
pub(crate) enum SessionChange {
    Queue(QueueChange),
    Worker(WorkerChange),
    Ledger(LedgerChange),
    /// A worker has created an object of the driver.
    Object(WorkerId, DriverObject),
    /// A worker has freed the object with this client and handle.
    Freed(WorkerId, u32, u32),
    /// The current ended workers of a VM.
    Leftovers(VmId, OfVm),
}

impl SessionsRecord {
    /// Applies a change that the broker recorded after it had written this record.
    pub(crate) fn change(&mut self, change: SessionChange) -> Result<(), String> {
        match change {
            SessionChange::Queue(change) => self.waiting.repeat(change),
            SessionChange::Worker(change) => self.workers.change(change),
            SessionChange::Ledger(change) => {
                change.repeat(&mut self.ledger).map_err(|error| error.to_string())?;
            }
            SessionChange::Object(worker, object) => {
                let added = self.workers.change_objects(worker, |objects| objects.add(object));
                added.map_err(|error| error.to_string())?;
            }
            SessionChange::Freed(worker, client, handle) => {
                let free = |objects: &mut Objects| {
                    objects.free(client, handle);
                    Ok(())
                };
                self.workers.change_objects(worker, free).map_err(|error| error.to_string())?;
            }
            SessionChange::Leftovers(vm, now) => self.leftovers.change(vm, now),
        }
        Ok(())
    }

    pub(crate) fn set_counts(&mut self, counts: WorkerCounts) {
        self.workers.set_counts(counts);
    }
}

/// Replacement of the broker.
impl Sessions {
    /// Returns the record from which a broker that replaces this one continues.
    pub(crate) fn record(&self) -> SessionsRecord {
        SessionsRecord {
            waiting: self.start_queue.clone(),
            workers: self.workers.record(),
            ledger: self.accounts.ledger().clone(),
            leftovers: self.leftovers.record(),
        }
    }

    /// Takes the changes since the last call.
    pub(crate) fn take_changes(&mut self) -> Vec<SessionChange> {
        // Put the workers before their objects, because an object can only be added to a worker
        // that exists in the record.
        let queue = self.start_queue.take_changes().into_iter().map(SessionChange::Queue);
        let workers = self.workers.take_changes().into_iter().map(SessionChange::Worker);
        let ledger = self.accounts.take_changes().into_iter().map(SessionChange::Ledger);
        let objects = std::mem::take(&mut self.objects);
        let left = self.leftovers.take_changes().into_iter();
        let left = left.map(|(vm, now)| SessionChange::Leftovers(vm, now));
        queue.chain(workers).chain(ledger).chain(objects).chain(left).collect()
    }

    /// Puts all evicted kernels back on their GPUs, and stops the scheduler.
    pub(crate) fn stop_scheduler(&mut self) -> io::Result<()> {
        self.scheduler.stop()
    }

    /// Returns the supervisor's record, from which a broker that replaces this one continues.
    pub(crate) fn record_supervisor(&self) -> Option<ChildRecord> {
        self.supervisor.record()
    }

    /// Kills the supervisor of workers. Another supervisor is started with the next worker.
    pub(crate) fn end_supervisor(&self) {
        self.supervisor.kill();
    }

    /// Takes over the sessions of the broker that this one replaces. If that broker ended without a
    /// handover, `crash` describes how it ended.
    pub(crate) fn restore(
        &mut self,
        record: SessionsRecord,
        processes: &mut Processes,
        vms: &mut Vms,
        crash: Option<&Crash<'_>>,
    ) -> io::Result<()> {
        let SessionsRecord { mut waiting, mut workers, mut ledger, leftovers } = record;
        self.leftovers = Leftovers::restore(leftovers);
        if let Some(crash) = crash {
            // The workers whose sessions haven't begun may have missed messages. Drop these
            // workers, and start their sessions again with other workers.
            for (worker, session) in workers.take_unbegun(crash.sender()) {
                ledger.close(worker);
                if let Some(session) = session {
                    waiting.push(session);
                }
            }
        }
        let name = |vm| vms.name(vm).to_owned();
        let warm = self.workers.warm_target();
        self.start_queue = waiting;
        self.accounts = Accounts::restore(ledger, self.accounts.keeps());
        self.workers = Workers::restore(workers, &self.launcher, processes, name, warm)?;
        let mut doubts = crash.map(|crash| crash.clear(&self.workers)).unwrap_or_default();
        for (id, state) in vms.iter() {
            self.set_quotas(id, state);
            self.set_paused(id, state.pause.is_paused());
        }
        for (id, page) in vms.take_spending() {
            // Without the spending page, sessions get no more credit.
            match Slots::with(page) {
                Ok(slots) => self.accounts.restore_slots(id, slots),
                Err(error) => tracing::error!("cannot map the page of a VM's spending: {error}"),
            }
        }
        let mut scheduled = Vec::new();
        for (id, worker) in self.workers.iter() {
            self.effects.push(SessionEffect::Watch { worker: id, socket: worker.socket_fd() });
            let Some(session) = worker.session() else { continue };
            let (vm, user, slot) = (session.vm, session.user, worker.slot());
            self.accounts.reopen(id, vm, user, slot, worker.gate().cloned());
            match worker.scheduler_ends()? {
                Some(ends) => scheduled.push((id, vm, ends)),
                // The worker's GPU work would wait forever, because the scheduler needs these
                // descriptors to open the worker's gate.
                None if worker.has_account() => {
                    doubts.push((id, "the descriptors that it shares with vcudad are missing"));
                }
                None => {}
            }
        }
        self.accounts.publish_all();
        for id in vms.ids() {
            let is_ordered_away = self.accounts.reconcile(id);
            if let Some(state) = vms.get_mut(id).filter(|state| !state.swap.is_off())
                && is_ordered_away
            {
                // The previous broker ended before it recorded the order.
                state.swap.set(SwapState::Leaving, Instant::now());
            }
        }
        for (id, vm, ends) in scheduled {
            self.schedule(id, vm, ends, vms);
        }
        for (id, why) in doubts {
            self.kill_worker(id, Cause::broker_ended(why), vms);
        }
        Ok(())
    }
}

/// Creation, access for reports, and effects.
impl Sessions {
    /// Starts without sessions. `simulates` says whether kernels are softgpu's, `warm_workers` is
    /// the number of workers kept ready per set of GPUs, and `keeps` says whether workers may keep
    /// memory that their programs have freed.
    pub(crate) fn new(
        scheduler: Scheduler,
        launcher: Launcher,
        supervisor: Supervisor,
        simulates: bool,
        warm_workers: usize,
        keeps: bool,
    ) -> Self {
        Self {
            start_queue: StartQueue::default(),
            workers: Workers::new(warm_workers),
            accounts: Accounts::restore(Ledger::default(), keeps),
            leftovers: Leftovers::default(),
            scheduler,
            launcher,
            supervisor,
            simulates,
            effects: Vec::new(),
            refill: None,
            objects: Vec::new(),
        }
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Returns the ledger without the workers' credit, which no program uses.
    pub(crate) fn used(&self) -> Ledger {
        self.accounts.used()
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        self.accounts.ledger()
    }

    pub(crate) fn leftovers(&self) -> &Leftovers {
        &self.leftovers
    }

    pub(crate) fn leftovers_mut(&mut self) -> &mut Leftovers {
        &mut self.leftovers
    }

    /// Begins an interval of the audit on a GPU.
    pub(crate) fn begin_interval(&mut self, gpu: GpuId) {
        self.accounts.begin_interval(gpu);
    }

    /// Withdraws the credit of sessions that have made no calls for a while. `keeps` says whether
    /// workers may keep memory that their programs have freed.
    pub(crate) fn recall_idle_credit(&mut self, keeps: bool) {
        self.accounts.set_keeping(keeps);
        self.accounts.recall_idle(gate::now());
    }

    pub(crate) fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Returns true if sessions are waiting to be started.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.start_queue.is_empty()
    }

    /// Takes the effects emitted since the last call, in order.
    pub(crate) fn take_effects(&mut self) -> Vec<SessionEffect> {
        self.effects
            .extend(self.supervisor.take_effects().into_iter().map(SessionEffect::Supervisor));
        std::mem::take(&mut self.effects)
    }

    fn publish(&mut self, event: BrokerEvent) {
        self.effects.push(SessionEffect::Publish(event));
    }

    /// Tells a VM's device process that a session has ended or can't be started.
    fn send_ended(&mut self, vm: VmId, request: u64, how: Ending) {
        let message = BrokerToDevice::Ended { request, how };
        self.effects.push(SessionEffect::Send { vm, message, ends: None });
    }
}

/// Quotas, removal and facts of VMs.
impl Sessions {
    /// Sets a VM's limits on GPU memory and its share of GPU time.
    pub(crate) fn set_quotas(&mut self, id: VmId, state: &VmState) {
        let memory = &state.vm.spec.memory;
        let quota = Quota { max: memory.max, session_max: memory.session_max };
        self.accounts.set(id, &state.gpus, quota);
        self.scheduler.set_vm(id, &state.gpus, &state.vm);
    }

    /// Returns a VM's usage of a GPU since this broker has had the VM.
    pub(crate) fn counters(&self, id: VmId, gpu: GpuId) -> Counters {
        let memory_byte_seconds = self.accounts.byte_seconds(id, gpu);
        Counters { memory_byte_seconds, ..self.scheduler.counters(id, gpu) }
    }

    /// Takes a VM off its GPUs, or lets it continue. Its sessions stay.
    pub(crate) fn set_paused(&mut self, id: VmId, paused: bool) {
        let workers = self.workers.of(id).map(|(worker, _)| worker);
        self.scheduler.set_paused(id, paused, workers);
    }

    /// Orders a VM's workers to take their memory off the GPUs, or to put it back.
    pub(crate) fn order(&mut self, id: VmId, place: Place) {
        self.accounts.order(id, place);
    }

    /// Takes the reports of a VM's workers about such an order.
    pub(crate) fn take_reports(&mut self, id: VmId) -> Residency {
        self.accounts.take_reports(id)
    }

    /// Kills all of a VM's workers, and drops its sessions that are waiting for a worker.
    pub(crate) fn end_vm(&mut self, id: VmId, cause: &Cause) {
        self.start_queue.remove_vm(id);
        self.workers.end_vm(id, cause);
    }

    /// Removes the accounts of a VM whose last worker has ended.
    pub(crate) fn remove_vm(&mut self, id: VmId) {
        self.accounts.remove(id);
        self.scheduler.remove_vm(id);
    }

    /// Stops the MPS daemons for all sets of GPUs except `sets`.
    pub(crate) fn retain_mps(&self, sets: &[Vec<GpuId>], gpus: &Gpus) {
        let visible = sets.iter().map(|set| gpus.visible(set)).collect();
        if let Err(reason) = self.launcher.spawner().request(Call::RetainMps { visible }) {
            tracing::error!("cannot stop MPS daemons: {reason}");
        }
    }

    /// Returns the facts about a VM's GPUs and processes that its guest may know.
    pub(crate) fn guest_facts(
        &self,
        driver: &Probed,
        all: &Gpus,
        id: VmId,
        sharing: Sharing,
        gpus: &[GpuId],
    ) -> VmFacts {
        let sessions = self.workers.sessions_of(id).map(|(worker, session)| Serving {
            worker,
            session: session.id,
            pid: session.pid,
            shares: gpus.iter().map(|gpu| self.scheduler.worker_share(worker, *gpu)).collect(),
        });
        let time = |gpu| (self.scheduler.utilization(id, gpu), self.scheduler.slowed(id, gpu));
        let mut facts =
            guest_facts::collect(driver, &self.accounts.used(), id, gpus, sessions, time, |gpu| {
                (all.links(gpu), all.nvlinks(gpu).cloned().unwrap_or_default())
            });
        facts.attributes = guest_facts::attributes_of(driver, &facts.gpus, sharing);
        facts
    }
}

/// Start and end of sessions.
impl Sessions {
    /// Starts a session on a warm worker or on a new one. If no worker can serve it now, queues or
    /// refuses the session.
    pub(crate) fn start(&mut self, session: Session, vms: &mut Vms, gpus: &Gpus) {
        if let Some(session) = self.try_start(session, vms, gpus)
            && self.start_queue.push(session)
        {
            self.effects.push(SessionEffect::Queued);
        }
    }

    /// Starts or refuses a session. If it must wait, returns it.
    fn try_start(&mut self, session: Session, vms: &mut Vms, gpus: &Gpus) -> Option<Session> {
        let (id, request, number) = (session.vm, session.request, session.number());
        let state = vms.unrecorded(id)?;
        let max = state.vm.limits.max_sessions as usize;
        if self.workers.find(id, request).is_some() {
            tracing::error!(vm = state.vm.name, "the device process used a session number twice");
            return None;
        }
        let full = self.workers.count_of_vm(id) >= max;
        let waits = if full { self.workers.is_vm_ending(id) } else { !state.take_session_start() };
        if waits && self.start_queue.has_room(id, max) {
            return Some(session);
        }
        if full || waits {
            let refusal = if full { Refusal::SessionsMax } else { Refusal::StartRate };
            let state = vms.get_mut(id)?;
            if let Some(event) = state.count_refusal(id, Some(number), refusal) {
                self.publish(event);
            }
            self.send_ended(id, request, Ending::Limit);
            return None;
        }
        let set = state.gpus.clone();
        let is_exclusive = state.vm.spec.sharing == Sharing::Exclusive;
        let shares_workers = session.env.is_empty() && is_exclusive;
        let free = shares_workers.then(|| self.workers.first_free(&set)).flatten();
        let charged = free.and_then(|worker| {
            Some((worker, self.charge_context(worker, id, session.user, &set, gpus)?))
        });
        match charged {
            Some((worker, bytes)) => {
                self.workers.give(worker, session, bytes);
                if self.workers.get(worker).is_some_and(|worker| worker.is_warm()) {
                    self.assign(worker, vms, gpus);
                }
            }
            None => {
                self.start_worker(set, Some(session), vms, gpus);
            }
        }
        self.refill_after(id, vms, gpus);
        None
    }

    /// Tries again to start the sessions in the start queue, in order. If one must still wait, the
    /// VM's later sessions wait, too. They aren't checked, because there can be thousands of them.
    pub(crate) fn start_waiting(&mut self, vms: &mut Vms, gpus: &Gpus) {
        for vm in self.start_queue.vms() {
            while let Some(session) = self.start_queue.take_first(vm) {
                let request = session.request;
                if let Some(session) = self.try_start(session, vms, gpus) {
                    self.start_queue.put_back(session);
                    break;
                }
                self.start_queue.set_started(vm, request);
            }
        }
    }

    /// Ends a session at the request of its device process, whether it has a worker or is still in
    /// the start queue.
    pub(crate) fn end(&mut self, vm: VmId, request: u64, cause: Cause) {
        let worker = self.workers.find(vm, request);
        if let Some(worker) = worker.and_then(|worker| self.workers.get_mut(worker)) {
            match cause.is_failure() {
                true => worker.end_because(cause),
                // Let the worker exit by itself. The driver destroys the worker's contexts at its
                // exit, so the worker can first wait for a window of its VM, in which that doesn't
                // disturb other VMs.
                false => worker.leave(cause),
            }
        } else if self.start_queue.remove(vm, request) {
            let how = Ending::NoWorker("the session ended before its worker started".into());
            self.send_ended(vm, request, how);
        }
    }

    /// Ends a session because an operator asked for it. Returns false if there is no such session.
    pub(crate) fn end_by_operator(&mut self, vm: VmId, number: u32, uid: Option<u32>) -> bool {
        let mut sessions = self.workers.sessions_of(vm);
        let found = sessions.find(|(_, session)| session.number() == number);
        let worker = found.map(|(worker, _)| worker);
        drop(sessions);
        let Some(worker) = worker.and_then(|worker| self.workers.get_mut(worker)) else {
            return false;
        };
        worker.end_because(Cause::operator(uid));
        true
    }

    /// Opens the accounts of a worker for a session of this VM, and charges the VM for the context
    /// that the worker creates in advance on its first GPU. Returns the charged bytes, or `None`
    /// and opens no accounts if the VM has no memory for the context.
    ///
    /// The context is charged before the worker creates it. Otherwise, a VM could use more than
    /// memory.max for as long as its workers start.
    pub(super) fn charge_context(
        &mut self,
        worker: WorkerId,
        vm: VmId,
        user: Option<u32>,
        set: &[GpuId],
        gpus: &Gpus,
    ) -> Option<u64> {
        let bytes = set.first().map_or(0, |gpu| gpus.context_bytes(*gpu));
        self.accounts.open(worker, vm, user, set);
        // If other sessions keep memory that the context needs, this makes them free it. It doesn't
        // wait until they have done so.
        self.accounts.must_wait(worker, 0, bytes, false, gate::now());
        if bytes == 0 || self.accounts.reserve_if_room(worker, 0, bytes, Charge::Context) {
            return Some(bytes);
        }
        self.accounts.close(worker);
        None
    }

    /// Sends a worker its assignment to the session that it was given.
    fn assign(&mut self, id: WorkerId, vms: &Vms, gpus: &Gpus) {
        if let Err(reason) = self.try_assign(id, vms, gpus) {
            tracing::error!("cannot assign a worker: {reason}");
            if let Some(worker) = self.workers.get_mut(id) {
                worker.end_because(Cause::worker_failed(reason));
            }
        }
    }

    fn try_assign(&mut self, id: WorkerId, vms: &Vms, gpus: &Gpus) -> Result<(), String> {
        let Some(worker) = self.workers.get(id) else { return Ok(()) };
        let Some(Session { vm, user, .. }) = worker.session() else { return Ok(()) };
        let (vm, user) = (*vm, *user);
        let Some(state) = vms.get(vm) else { return Ok(()) };
        state.take_process(worker.process())?;
        let charged = match worker.context() {
            FirstContext::Charged(bytes) => Some(bytes),
            FirstContext::Free => self.charge_context(id, vm, user, &state.gpus, gpus),
            FirstContext::Missing => None,
        };
        self.accounts.open(id, vm, user, &state.gpus);
        let Some(worker) = self.workers.get_mut(id) else { return Ok(()) };
        let Some(session) = worker.session() else { return Ok(()) };
        let mut contexts: Vec<u64> =
            state.gpus.iter().map(|gpu| gpus.context_bytes(*gpu)).collect();
        // The size may have been measured since the VM was charged. The worker must release what
        // was charged.
        if let (Some(charged), Some(first)) = (charged, contexts.first_mut()) {
            *first = charged;
        }
        let label = format!("{}/{}", state.vm.name, session.number());
        let has_jail = self.launcher.has_jail_of(&state.vm);
        let pidfd = worker.pidfd().filter(|_| has_jail);
        let supervisor = pidfd.map(|pidfd| {
            let session = SessionOfVm { vm: vm.0, number: session.number() };
            let added =
                self.supervisor.add(&self.launcher, &label, session, worker.known_objects(), pidfd);
            added.map_err(|error| format!("cannot add it to its supervisor: {error}"))
        });
        let assignment = Assignment {
            label,
            pid: session.pid,
            uid: self.launcher.uid(&state.vm),
            env: session.env.clone(),
            spin_us: state.vm.spin_us,
            context_bytes: contexts,
            context_charged: charged.is_some(),
        };
        let supervisor = supervisor.transpose()?;
        let spending = match worker.shows_spending() {
            true => self.accounts.give_slot(id, vm).map_err(|error| error.to_string())?,
            false => None,
        };
        if let Some((page, _)) = spending {
            state.device.keep_spending(page).map_err(|error| error.to_string())?;
        }
        let ends = worker.assign(assignment, &state.vm.name, supervisor, spending);
        let ends = ends.map_err(|error| error.to_string())?;
        if let Some(page) = worker.gate() {
            self.accounts.show(id, page.clone());
        }
        self.schedule(id, vm, ends, vms);
        Ok(())
    }

    /// Adds a worker that has been assigned to a VM to the scheduler.
    fn schedule(&mut self, id: WorkerId, vm: VmId, ends: SchedulerEnds, vms: &Vms) {
        let (Some(worker), Some(state)) = (self.workers.get(id), vms.get(vm)) else { return };
        let evicts = match self.simulates {
            true => Some(Evicts::GatePage),
            // The kernels of MPS clients can't be evicted: their channels are the MPS server's, and
            // without a jail, nothing reports these workers' objects.
            false => (self.launcher.has_jail_of(&state.vm))
                .then(|| Evicts::Channels(worker.objects().clone())),
        };
        let (is_throttled, is_paused) = (limits_cpu(&state.vm), state.pause.is_paused());
        let traits = WorkerTraits { is_throttled, evicts, is_paused };
        self.scheduler.add_worker(id, vm, &state.gpus, ends, traits);
    }

    /// Handles that a worker has begun to serve its session: sends the ends of its channels to the
    /// VM's device process.
    fn announce(&mut self, id: WorkerId, vms: &mut Vms) {
        let Some(worker) = self.workers.get_mut(id) else { return };
        let (ends, pid) = (worker.begin_serving(), worker.pid());
        let (Some(session), Some(ends)) = (worker.session(), ends) else { return };
        let (vm, number) = (session.vm, session.number());
        let program = session.program.as_ref().map(|name| format!(" ({name})"));
        let program = program.unwrap_or_default();
        let text = format!("guest process {}{program}, worker {pid}", session.pid);
        // tests/gpu/evictions.sh reads this line.
        tracing::trace!(worker = id, guest_pid = session.pid, "session begins");
        // Record the objects that the worker created before its session began. They weren't
        // recorded earlier, because a broker that continues after a crash drops workers whose
        // sessions haven't begun.
        let objects = worker.known_objects();
        self.objects.extend(objects.into_iter().map(|object| SessionChange::Object(id, object)));
        let message = BrokerToDevice::Started { request: session.request, pid };
        if let Some(state) = vms.get_mut(vm) {
            state.count_session();
        }
        self.effects.push(SessionEffect::Send { vm, message, ends: Some(ends) });
        self.publish(BrokerEvent::of_session(EventKind::SessionStarted, vm, number, text));
    }

    /// Reports that an allocation was refused because it didn't fit.
    fn report_refused_memory(
        &mut self,
        id: WorkerId,
        device: u32,
        kind: Charge,
        reason: &str,
        vms: &mut Vms,
    ) {
        tracing::debug!("{reason}");
        let Some(session) = self.workers.get(id).and_then(|worker| worker.session()) else {
            return;
        };
        let (vm, number) = (session.vm, session.number());
        let Some(state) = vms.unrecorded(vm) else { return };
        let Some(gpu) = state.gpus.get(device as usize).copied() else { return };
        let Some(before) = state.report_memory_refusal(gpu) else { return };
        let kind = kind.name();
        let message = match before {
            0 => format!("{kind}: {reason}"),
            _ => format!("{kind}: {reason} ({before} more since the last event)"),
        };
        let event = BrokerEvent::of_session(EventKind::MemoryRefused, vm, number, message);
        self.publish(BrokerEvent { gpu: Some(gpu), ..event });
    }
}

/// Events of the scheduler and messages of the supervisor.
impl Sessions {
    /// Handles the events that the scheduler thread has sent since the last call.
    pub(crate) fn handle_scheduler_events(&mut self, vms: &mut Vms) {
        for event in self.scheduler.events() {
            match event {
                ComputeEvent::KernelTimeout(worker, gpu) => {
                    let Some(worker) = self.workers.get_mut(worker) else { continue };
                    // Set the timeout as the cause now, so that it's reported even if the worker
                    // exits for another reason first.
                    worker.set_cause(Cause::kernel_timeout());
                    let vm = worker.session().map(|session| session.vm);
                    if let Some(state) = vm.and_then(|vm| vms.get_mut(vm)) {
                        state.count_kernel_timeout(GpuId(gpu.0));
                    }
                }
                ComputeEvent::TimeoutReported(worker) => {
                    self.kill_worker(worker, Cause::kernel_timeout(), vms);
                }
                ComputeEvent::HeartbeatLost(worker) => {
                    let why = "its heartbeat stopped while it had the GPU";
                    self.kill_worker(worker, Cause::worker_failed(why), vms);
                }
                ComputeEvent::EvictionFailed(worker) => {
                    if let Some(worker) = self.workers.get_mut(worker) {
                        worker.set_lost();
                    }
                }
                ComputeEvent::MayStart => self.effects.push(SessionEffect::MayRefill),
                ComputeEvent::Restarted => {
                    self.effects.push(SessionEffect::MayRefill);
                    tracing::error!("the scheduler was restarted; no VM ran in the meantime");
                    let message = "the scheduler's thread failed and was restarted";
                    self.publish(BrokerEvent::new(EventKind::SchedulerRestarted, message));
                }
            }
        }
    }

    /// Reads a message of the supervisor, if there is one. Also returns the worker that the message
    /// is about.
    pub(crate) fn supervisor_message(&mut self) -> Option<(FromSupervisor, Option<WorkerId>)> {
        let message = self.supervisor.receive()?;
        let (FromSupervisor::Refused { session, .. }
        | FromSupervisor::Object { session, .. }
        | FromSupervisor::Freed { session, .. }) = &message;
        let worker = self.workers.of_session(*session).map(|(id, _)| id);
        Some((message, worker))
    }

    /// Handles a message of the supervisor. Counts refused calls of a worker, and follows the
    /// worker's driver objects that lead to its channels.
    pub(crate) fn handle_supervisor_message(&mut self, message: FromSupervisor, vms: &mut Vms) {
        match message {
            FromSupervisor::Refused { session, system_calls, driver_operations, first } => {
                let vm = VmId(session.vm);
                // The VM may have been removed.
                let Some(state) = vms.get_mut(vm) else { return };
                state.count_refused_calls(system_calls, driver_operations);
                if let Some(what) = first {
                    let text = format!("refused {}, which workers may not make", printable(&what));
                    let kind = EventKind::CallRefused;
                    self.publish(BrokerEvent::of_session(kind, vm, session.number, text));
                }
            }
            FromSupervisor::Object { session, object } => {
                let Some((id, worker)) = self.workers.of_session(session) else { return };
                match worker.add_object(object) {
                    Ok(()) => self.objects.push(SessionChange::Object(id, object)),
                    Err(error) => {
                        self.kill_worker(id, Cause::worker_failed(error.to_string()), vms);
                    }
                }
            }
            FromSupervisor::Freed { session, client, handle } => {
                if let Some((id, worker)) = self.workers.of_session(session) {
                    worker.free_object(client, handle);
                    self.objects.push(SessionChange::Freed(id, client, handle));
                }
            }
        }
    }
}
