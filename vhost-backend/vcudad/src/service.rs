//! The coordinator, which owns the broker's parts and dispatches events from the event loop to
//! them. It runs on one thread and never blocks: sockets are non-blocking, a process that doesn't
//! read its messages is killed, another thread saves changes, and the spawner starts processes.
//!
//! | module | contents |
//! |---|---|
//! | `start` | the start of the broker |
//! | `requests` | requests and changes through the control API |
//! | `file` | reading the configuration file again |
//! | `pauses` | pauses of VMs |
//! | `swaps` | memory that leaves the GPUs and returns |
//! | `usage` | the usage of VMs |
//! | `senders` | budgets of the broker's time for VMs |
//! | `replacement` | replacement by another vcudad |
//! | `recovery` | continuing after a crash of another vcudad |

mod file;
mod pauses;
mod recovery;
mod replacement;
mod requests;
mod senders;
mod start;
mod swaps;
mod usage;

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use control_api::{ConfigInfo, EndReason, EventKind};
use event_manager::{EventOps, Events, MutEventSubscriber};

pub(crate) use start::{Inputs, Prepared};

use crate::config::{Config, Policy, Ratio};
use crate::continuity::handover::Successor;
use crate::continuity::journal::{Handling, Journal};
use crate::continuity::record::Recorded;
use crate::error::BrokerError;
use crate::gpu::audit::{Audit, AuditEffect};
use crate::gpu::gpus::Gpus;
use crate::processes::launcher::Launcher;
use crate::processes::output::Output;
use crate::processes::process::describe;
use crate::processes::spawner::{Ending, Spawner};
use crate::processes::supervisor::SupervisorEffect;
use crate::reporting::event::BrokerEvent;
use crate::reporting::reports::Reports;
use crate::sessions::budgets::{Budgets, thread_time};
use crate::sessions::cause::Cause;
use crate::sessions::session::{Session, program};
use crate::sessions::table::{SessionEffect, Sessions};
use crate::sessions::worker::DeviceEnds;
use crate::settings::changes::Changes;
use crate::settings::reload::FixedSettings;
use crate::settings::reread::Rereader;
use crate::settings::roster::Roster;
use crate::settings::validate::Ground;
use crate::timer::Timer;
use crate::usage::collector::Usage;
use crate::usage::scrapes::Scrapes;
use crate::vm::cgroup::Cgroups;
use crate::vm::device::DeviceEffect;
use crate::vm::placement::Capacity;
use crate::vm::vms::{VmState, Vms};
use crate::watches::{Source, Watches};
use control_server::handle::{About, ControlInbox};
use host_ipc::gpu::Probed;
use host_ipc::messages::{BrokerToDevice, DeviceToBroker, WorkerId, user};
use host_ipc::signals::Signals;
use host_ipc::spawner::{End, Event, ProcessId};
use host_ipc::systemd::Systemd;
use memory_ledger::VmId;

/// Interval of the timer if there is nothing to wait for.
const IDLE_TICK: Duration = Duration::from_secs(1);
/// Interval of the timer while sessions are waiting to be started, or while the socket of a process
/// isn't read because it has sent too many messages.
const QUEUE_TICK: Duration = Duration::from_millis(25);

/// The coordinator and the broker's parts.
pub(crate) struct Service {
    watches: Watches,
    signals: Signals,
    /// `None` if there is no configuration file.
    rereader: Option<Rereader>,
    /// The program that takes over on SIGUSR2. `None` if there is no configuration file.
    successor: Option<Successor>,
    /// True if the successor must take over as soon as no change is being saved.
    is_replaced: bool,
    /// True if the broker must exit as soon as no change is being saved, and leave the VMs'
    /// processes to a broker that is started later.
    is_leaving: bool,
    fixed: FixedSettings,
    journal: Journal,
    /// Whether the event that is being handled makes a change that can't be added to the journal,
    /// so that the whole record must be written again.
    must_rewrite: bool,
    /// Whether NVML has reported something since the GPUs were last recorded.
    has_sampled: bool,
    recorded: Recorded,
    /// Whether the broker takes kernels off GPUs.
    evicts: bool,
    /// The processes whose ends have been handled, but may not be in the journal yet.
    handled: Vec<ProcessId>,
    /// The time at which this program began to take over from another one. `None` once that has
    /// been reported, and if this program hasn't taken over.
    took_over: Option<Instant>,
    timer: Timer,
    systemd: Systemd,
    inbox: ControlInbox,
    changes: Changes,
    vms: Vms,
    gpus: Gpus,
    sessions: Sessions,
    usage: Usage,
    scrapes: Scrapes,
    budgets: Budgets,
    audit: Audit,
    launcher: Launcher,
    /// `None` once the spawner has been asked to end.
    ending: Option<Ending>,
    /// The spawner's output, which is logged until this is dropped.
    _spawner_output: Option<Output>,
    /// The driver library and the GPUs that it found.
    driver: Probed,
    policy: Policy,
    /// The configuration with which the broker was started.
    started: Config,
    /// The text of the configuration file that was applied last.
    applied: String,
    /// The configuration file as it was last read. `None` if there is none.
    file: Option<ConfigInfo>,
    /// New VMs that are served once all removed VMs have ended, because the removed VMs' memory has
    /// been promised to them.
    starting: Vec<VmId>,
    /// When the broker started, in milliseconds since 1970.
    started_ms: u64,
    ended: bool,
    /// Why the broker must end, if it can't continue.
    failure: Option<BrokerError>,
    cgroups: Cgroups,
    /// The roster must be dropped last: dropping it waits for the disk, and unlocks the saved state
    /// for another broker.
    roster: Roster,
}

/// Startup and shutdown.
impl Service {
    /// Adds a VM, and creates its accounts. The caller must then start the VM's device process.
    fn enroll(&mut self, state: VmState) -> VmId {
        let id = self.vms.add(state);
        if let Some(state) = self.vms.get(id) {
            self.sessions.set_quotas(id, state);
        }
        self.begin_usage(id);
        id
    }

    pub(crate) fn metrics_address(&self) -> Option<SocketAddr> {
        self.started.metrics_address
    }

    pub(crate) fn spawner(&self) -> &Spawner {
        self.launcher.spawner()
    }

    /// Returns true if the broker must exit.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes the reason why the broker can't continue, if it can't.
    pub(crate) fn take_failure(&mut self) -> Option<BrokerError> {
        self.failure.take()
    }

    fn handle_signal(&mut self) {
        let Some(signal) = self.signals.take() else { return };
        if signal == libc::SIGUSR2 {
            self.ask_successor();
        } else if let (libc::SIGHUP, Some(rereader)) = (signal, &self.rereader) {
            tracing::info!("reading the configuration file again");
            self.systemd.reloading();
            rereader.request();
        } else {
            tracing::info!("shutting down");
            self.systemd.stopping();
            self.save_last_usage();
            if self.spawner().outlives_broker() {
                self.is_leaving = true;
            } else {
                self.ended = true;
                self.refuse_requests();
            }
        }
    }
}

/// Event loop, reports and timer.
impl Service {
    fn publish(&self, event: BrokerEvent) {
        let BrokerEvent { kind, vm, session, gpu, uid, reason, message } = event;
        let vm = vm.map(|vm| self.vms.name(vm));
        let about = About { vm, session, gpu: gpu.map(|gpu| gpu.0), uid, reason };
        self.inbox.events().publish(kind, about, message);
    }

    fn reports(&self) -> Reports<'_> {
        Reports {
            no_jail: self.launcher.no_jail(),
            vms: &self.vms,
            gpus: &self.gpus,
            workers: self.sessions.workers(),
            charged: self.sessions.ledger(),
            used: self.sessions.used(),
            leftovers: self.sessions.leftovers(),
            scheduler: self.sessions.scheduler(),
            audit: &self.audit,
            policy: &self.policy,
            roster: &self.roster,
            usage: &self.usage,
            file: self.file.as_ref(),
            started_ms: self.started_ms,
        }
    }

    fn ground(&self) -> Ground<'_> {
        Ground { gpus: &self.gpus, cgroups: &self.cgroups }
    }

    fn capacities(&self, except: Option<VmId>) -> Vec<Capacity> {
        self.reports().capacities(except)
    }

    /// Sets the time at which the timer expires next. This must not be called for every event,
    /// because frequent events would postpone the timer forever.
    fn set_timer(&self) {
        let is_soon = self.sessions.has_waiting()
            || self.budgets.is_holding()
            || self.vms.iter().any(|(_, vm)| vm.device.is_paused() || vm.swap.is_moving());
        let mut after = if is_soon { QUEUE_TICK } else { IDLE_TICK };
        if let Some(interval) = self.systemd.interval() {
            after = after.min(interval);
        }
        self.timer.set(after);
    }

    fn tick(&mut self, ops: &mut EventOps) {
        self.timer.acknowledge();
        self.resume_held(ops);
        for vm in self.vms.ids() {
            if let Some(socket) = self.vms.unrecorded(vm).and_then(|state| state.device.resume()) {
                self.watches.add(ops, socket, Source::DeviceSocket(vm));
            }
            // A pause by the VMM may not be in effect yet, because the VMM has paused the VM too
            // often.
            if self.vms.get(vm).is_some_and(|state| state.pause.is_pending()) {
                self.apply_vmm_pause(vm);
            }
        }
        if self.systemd.take_ping_due() {
            if self.sessions.scheduler().is_alive() {
                self.systemd.ping_watchdog();
            } else {
                tracing::error!("scheduler thread is stuck; skipping the systemd watchdog ping");
            }
        }
        self.sessions.end_late(&self.vms);
        self.sessions.recall_idle_credit(self.policy.memory_overcommit == Ratio::ONE);
        self.sample_usage(false);
        self.save_usage(false);
        self.scrapes.send_late(Instant::now());
        self.advance_swaps();
        if self.sessions.has_waiting() && !self.ended {
            self.sessions.start_waiting(&mut self.vms, &self.gpus);
        }
        self.set_timer();
    }
}

/// Handling of device processes.
impl Service {
    fn start_device(&mut self, ops: &mut EventOps, id: VmId) {
        let Some(state) = self.vms.get_mut(id) else { return };
        match state.start_device(&self.launcher) {
            Ok(Some(socket)) => self.watches.add(ops, socket, Source::DeviceSocket(id)),
            Ok(None) => {}
            Err(reason) => self.fail_vm(id, reason),
        }
    }

    fn send_to_device(&mut self, id: VmId, message: &BrokerToDevice, fds: &[BorrowedFd]) {
        let Some(state) = self.vms.get(id) else { return };
        state.device.send(&state.vm.name, message, fds);
    }

    fn device_ended(&mut self, ops: &mut EventOps, id: VmId, how: &str) {
        let Some(state) = self.vms.get_mut(id) else { return };
        let Some(process) = state.device.take_ended() else { return };
        self.watches.remove(ops, process.socket_fd());
        drop(process);
        self.sessions.end_vm(id, &Cause::device_ended());
        if state.is_leaving() {
            return self.forget_vm(id);
        }
        self.set_front_ends(id, 0);
        let Some(state) = self.vms.get_mut(id) else { return };
        // If the VMM has paused the VM, that pause ends: the device and the VM's sessions are gone.
        state.pause.set_by_vmm(false);
        self.apply_vmm_pause(id);
        let Some(state) = self.vms.get_mut(id) else { return };
        tracing::warn!(vm = state.vm.name, "device process: {how}");
        if !self.ended {
            state.device.count_restart();
            let message = format!("device process: {how}");
            self.publish(BrokerEvent::of_vm(EventKind::DeviceEnded, id, message));
            self.restart_device(ops, id);
        }
    }

    /// Starts the VM's device process again if there is none. Doesn't start it until all of the
    /// VM's workers have ended: the guest's driver takes the new process's first response as a
    /// confirmation that nothing uses the guest's pages.
    fn restart_device(&mut self, ops: &mut EventOps, id: VmId) {
        let ended = |state: &VmState| !state.is_leaving() && !state.device.has_process();
        if !self.ended
            && self.vms.get(id).is_some_and(ended)
            && self.sessions.workers().count_of_vm(id) == 0
        {
            self.start_device(ops, id);
        }
    }

    /// Handles one message of a device process. Returns true if there was one.
    fn handle_device_message(&mut self, ops: &mut EventOps, id: VmId) -> bool {
        self.journal.mark(Handling::Device(id));
        let Some(state) = self.vms.unrecorded(id) else { return false };
        match state.device.receive() {
            DeviceEffect::None => return false,
            DeviceEffect::Closed(fd) => {
                self.watches.remove(ops, fd);
                return false;
            }
            DeviceEffect::Paused(fd) => {
                self.watches.remove(ops, fd);
                self.set_timer();
                return false;
            }
            DeviceEffect::Message(DeviceToBroker::Start { request, session, pid, mut env }) => {
                // Check the environment variables again, because the device process isn't trusted.
                let Some(state) = self.vms.get(id) else { return false };
                let (program, user) = (program(&env), user(&env));
                env.retain(|(name, value)| {
                    state.vm.env_allow.contains(name) && !value.contains('\0')
                });
                let session = Session { vm: id, request, id: session, pid, program, user, env };
                self.sessions.start(session, &mut self.vms, &self.gpus);
            }
            DeviceEffect::Message(DeviceToBroker::End { request }) => {
                self.sessions.end(id, request, Cause::exited());
            }
            DeviceEffect::Message(DeviceToBroker::Abort { request, why }) => {
                self.sessions.end(id, request, why.into());
            }
            DeviceEffect::Message(DeviceToBroker::Refused(refusal)) => {
                let state = self.vms.get_mut(id);
                let event = state.and_then(|state| state.count_refusal(id, None, refusal));
                if let Some(event) = event {
                    self.publish(event);
                }
            }
            DeviceEffect::Message(DeviceToBroker::Stopped(stopped)) => {
                // Without the scheduler, the VM can't be taken off its GPUs, so ignore its pauses.
                let is_enabled = self.sessions.scheduler().is_enabled();
                let state = self.vms.get_mut(id).filter(|_| is_enabled);
                if state.is_some_and(|state| state.pause.set_by_vmm(stopped)) {
                    self.apply_vmm_pause(id);
                }
            }
            DeviceEffect::Message(DeviceToBroker::FrontEnds(count)) => {
                self.set_front_ends(id, count);
            }
            DeviceEffect::Message(DeviceToBroker::Query { request }) => {
                self.send_facts(id, request);
            }
        }
        true
    }

    /// Records the number of a VM's front ends.
    fn set_front_ends(&mut self, id: VmId, count: u32) {
        let Some(state) = self.vms.get_mut(id) else { return };
        if let Some(event) = state.front_ends.set(id, count, Instant::now()) {
            self.publish(event);
        }
    }

    /// Replies to a guest's query about its GPUs.
    fn send_facts(&mut self, id: VmId, request: u64) {
        let Some(state) = self.vms.get(id) else { return };
        let mut facts = self.sessions.guest_facts(
            &self.driver,
            &self.gpus,
            id,
            state.vm.spec.sharing,
            &state.gpus,
        );
        facts.limits = state.limits();
        self.send_to_device(id, &BrokerToDevice::Facts { request, facts }, &[]);
    }
}

/// Handling of sessions and their workers.
impl Service {
    /// Carries out the pending effects of [`Sessions`], including further effects that these cause.
    fn carry_out(&mut self, ops: &mut EventOps) {
        loop {
            let effects = self.sessions.take_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                self.carry_out_one(ops, effect);
            }
        }
    }

    fn carry_out_one(&mut self, ops: &mut EventOps, effect: SessionEffect) {
        match effect {
            SessionEffect::Watch { worker, socket } => {
                self.watches.add(ops, socket, Source::WorkerSocket(worker));
            }
            SessionEffect::Unwatch(fd) => self.watches.remove(ops, fd),
            SessionEffect::Ended(worker) => self.watches.remove(ops, worker.socket_fd()),
            SessionEffect::Send { vm, message, ends } => {
                let fds = ends.as_ref().map(DeviceEnds::fds);
                self.send_to_device(vm, &message, fds.as_ref().map_or(&[], |fds| fds));
            }
            SessionEffect::Publish(event) => self.publish(event),
            SessionEffect::Supervisor(SupervisorEffect::Watch(fd)) => {
                self.watches.add(ops, fd, Source::Supervisor);
            }
            SessionEffect::Supervisor(SupervisorEffect::Unwatch(fd)) => {
                self.watches.remove(ops, fd);
            }
            SessionEffect::Supervisor(SupervisorEffect::Ended(process)) => {
                self.watches.remove(ops, process.socket_fd());
            }
            SessionEffect::Queued => self.set_timer(),
            SessionEffect::MayRefill => {
                if !self.ended {
                    self.sessions.continue_refill(&self.vms, &self.gpus);
                }
            }
            SessionEffect::WorkerGone(vm) => {
                self.forget_vm(vm);
                self.restart_device(ops, vm);
            }
        }
    }

    fn worker_ended(&mut self, ops: &mut EventOps, id: WorkerId) {
        // When the device process closes a session's connection, the worker exits. Before that, the
        // device process sends a message that contains the reason. Handle the device process's
        // messages first, so that the reason is known. `Device::receive` limits their number.
        while let Some(vm) = self.sessions.vm_of_unexplained(id)
            && self.handle_device_message(ops, vm)
        {}
        if !self.sessions.reap(id, &mut self.vms) {
            return;
        }
        self.carry_out(ops);
        if !self.ended {
            self.sessions.start_waiting(&mut self.vms, &self.gpus);
            self.sessions.refill(&self.vms, &self.gpus);
        }
    }
}

/// Starts and ends of processes, which the spawner reports.
impl Service {
    fn handle_spawner(&mut self, ops: &mut EventOps) {
        loop {
            match self.launcher.spawner().event() {
                Ok(None) => return,
                Ok(Some((Event::Started { id, pid }, pidfd))) => {
                    pidfd.into_iter().for_each(|pidfd| self.process_started(id, pid, pidfd));
                }
                Ok(Some((Event::Ended { id, how }, _))) => self.process_ended(ops, id, &how),
                Err(error) => {
                    tracing::error!("shutting down, because all processes have ended: {error}");
                    self.watches.remove(ops, self.launcher.spawner().events_fd());
                    self.save_last_usage();
                    self.failure = Some(BrokerError::Spawner(error.to_string()));
                    self.ended = true;
                    return self.refuse_requests();
                }
            }
            self.carry_out(ops);
        }
    }

    fn process_started(&mut self, process: ProcessId, pid: u32, pidfd: OwnedFd) {
        let (vms, gpus) = (&self.vms, &self.gpus);
        let Some(pidfd) = self.sessions.set_started(process, pid, pidfd, vms, gpus) else { return };
        let new = |state: &VmState| state.device.is(process) && state.device.pid().is_none();
        let vm = self.vms.iter().find(|(_, state)| new(state)).map(|(vm, _)| vm);
        if let Some(state) = vm.and_then(|vm| self.vms.get_mut(vm)) {
            state.set_device_started(pid, pidfd);
        }
    }

    fn process_ended(&mut self, ops: &mut EventOps, process: ProcessId, how: &End) {
        self.handled.push(process);
        if let Some(worker) = self.sessions.set_ended(process, how) {
            return self.worker_ended(ops, worker);
        }
        let device = self.vms.iter().find(|(_, state)| state.device.is(process));
        if let Some((vm, _)) = device {
            self.device_ended(ops, vm, &describe(how));
        }
    }
}

/// Messages of the supervisor of workers.
impl Service {
    fn handle_supervisor(&mut self) {
        let Some((message, worker)) = self.sessions.supervisor_message() else { return };
        self.journal.mark(worker.map_or(Handling::Nothing, Handling::Worker));
        self.sessions.handle_supervisor_message(message, &mut self.vms);
    }
}

/// NVML: the ledger audit and GPU faults.
impl Service {
    fn handle_nvml(&mut self, ops: &mut EventOps) {
        self.has_sampled = true;
        for event in self.audit.take() {
            let Self { audit, gpus, sessions, vms, policy, .. } = self;
            for effect in audit.handle(&event, gpus, sessions, vms, policy) {
                match effect {
                    AuditEffect::Publish(event) => self.publish(event),
                    AuditEffect::KillWorker { worker, why } => {
                        let cause = Cause::new(EndReason::Limit, why);
                        self.sessions.kill_worker(worker, cause, &self.vms);
                    }
                    AuditEffect::EndVm { vm, why } => self.end_for_excess(vm, why),
                    AuditEffect::FailVm { vm, why } => {
                        self.end_for_excess(vm, why.clone());
                        self.fail_vm(vm, why);
                    }
                    AuditEffect::KillWorkersOfGpu { gpu, why } => {
                        self.sessions.kill_workers_of_gpu(gpu, &why, &self.vms);
                    }
                }
                self.carry_out(ops);
            }
        }
    }

    /// Ends a VM's device process and its sessions, because the VM uses more than it's charged for.
    fn end_for_excess(&mut self, vm: VmId, why: String) {
        if let Some(state) = self.vms.get(vm) {
            state.device.kill();
            self.sessions.end_vm(vm, &Cause::new(EndReason::Limit, why));
        }
    }

    /// Stops serving a VM until an operator restarts it.
    fn fail_vm(&mut self, vm: VmId, why: String) {
        let Some(state) = self.vms.get_mut(vm) else { return };
        if state.device.failure().is_none() && !state.is_leaving() {
            tracing::error!(vm = state.vm.name, "{why}");
            state.device.set_failure(why.clone());
            self.publish(BrokerEvent::of_vm(EventKind::VmFailed, vm, why));
        }
    }

    /// Starts the audit.
    fn start_audit(&mut self) {
        self.audit = Audit::start(&self.gpus);
        self.sessions.leftovers_mut().set_sampled(self.audit.bell().is_some());
    }
}

impl Drop for Service {
    /// Kills all processes. Work in progress is lost, as when a host is switched off.
    fn drop(&mut self) {
        drop(self.ending.take());
    }
}

/// Dispatch of events.
impl Service {
    fn dispatch(&mut self, source: Source, ops: &mut EventOps) {
        match source {
            Source::Signals => self.handle_signal(),
            Source::Timer => self.tick(ops),
            Source::Control => self.handle_requests(ops),
            Source::Saver => self.handle_saved(ops),
            Source::Rereader => self.handle_reread(ops),
            Source::Nvml => self.handle_nvml(ops),
            Source::Spawner => self.handle_spawner(ops),
            Source::Scheduler => self.sessions.handle_scheduler_events(&mut self.vms),
            Source::Supervisor => self.handle_supervisor(),
            Source::DeviceSocket(vm) => {
                self.handle_device_message(ops, vm);
            }
            Source::WorkerSocket(worker) => {
                self.sessions.handle_worker_message(worker, &mut self.vms, &self.gpus);
                self.advance_swap_of(worker);
            }
        }
        self.carry_out(ops);
        self.start_new(ops);
        self.record();
    }
}

impl MutEventSubscriber for Service {
    fn process(&mut self, events: Events, ops: &mut EventOps) {
        let Some(source) = self.watches.source(events.fd()) else { return };
        let sender = self.sender(source);
        if let Some(vm) = sender
            && !self.budgets.admit(vm, source, Instant::now())
        {
            self.watches.remove(ops, events.fd());
            return self.set_timer();
        }
        let before = thread_time();
        self.journal.mark(Handling::of(source));
        self.dispatch(source, ops);
        if let Some(vm) = sender {
            self.budgets.charge(vm, thread_time().saturating_sub(before), Instant::now());
        }
    }

    fn init(&mut self, ops: &mut EventOps) {
        self.watches.add(ops, self.signals.as_raw_fd(), Source::Signals);
        self.watches.add(ops, self.timer.as_raw_fd(), Source::Timer);
        self.watches.add(ops, self.inbox.as_raw_fd(), Source::Control);
        self.watches.add(ops, self.launcher.spawner().events_fd(), Source::Spawner);
        if let Some(bell) = self.roster.bell() {
            self.watches.add(ops, bell, Source::Saver);
        }
        if let Some(bell) = self.rereader.as_ref().map(Rereader::bell) {
            self.watches.add(ops, bell, Source::Rereader);
        }
        if let Some(bell) = self.audit.bell() {
            self.watches.add(ops, bell, Source::Nvml);
        }
        self.watches.add(ops, self.sessions.scheduler().events_fd(), Source::Scheduler);
        for vm in self.vms.ids() {
            self.continue_vm(ops, vm);
        }
        // Handle the spawner's events now, because a process may have ended before this broker took
        // over.
        self.handle_spawner(ops);
        self.sessions.refill(&self.vms, &self.gpus);
        self.carry_out(ops);
        self.report_take_over();
        self.must_rewrite = true;
        self.record();
        self.report_ready();
        self.set_timer();
    }
}
