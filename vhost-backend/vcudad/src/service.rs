//! The coordinator, which owns the broker's parts and dispatches events from the event loop to
//! them. It runs on one thread and never blocks: sockets are non-blocking, a process that doesn't
//! read its messages is killed, another thread saves changes, and the spawner starts processes.
//!
//! | module | contents |
//! |---|---|
//! | `requests` | requests and changes through the control API |
//! | `file` | reading the configuration file again |
//! | `pauses` | pauses of VMs |
//! | `senders` | budgets of the broker's time for VMs |
//! | `replacement` | replacement by another vcudad |
//! | `recovery` | continuing after a crash of another vcudad |

mod file;
mod pauses;
mod recovery;
mod replacement;
mod requests;
mod senders;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use control_api::{ConfigInfo, EndReason, EventKind};
use event_manager::{EventOps, Events, MutEventSubscriber};

use crate::config::{Config, Policy};
use crate::continuity::crash::Crash;
use crate::continuity::handover::{HandoverState, Successor};
use crate::continuity::journal::{Handling, Journal};
use crate::continuity::record::Recorded;
use crate::error::BrokerError;
use crate::gpu::audit::{Audit, AuditEffect};
use crate::gpu::compute;
use crate::gpu::driver;
use crate::gpu::driver::JailResult;
use crate::gpu::eviction;
use crate::gpu::gpus::Gpus;
use crate::gpu::scheduler::Scheduler;
use crate::processes::launcher::Launcher;
use crate::processes::output::{Output, Outputs};
use crate::processes::process::describe;
use crate::processes::spawner::{Ending, Spawner};
use crate::processes::supervisor::{Supervisor, SupervisorEffect};
use crate::reporting::event::BrokerEvent;
use crate::reporting::reports::Reports;
use crate::sessions::budgets::{Budgets, thread_time};
use crate::sessions::cause::Cause;
use crate::sessions::session::Session;
use crate::sessions::table::{SessionEffect, Sessions};
use crate::sessions::worker::DeviceEnds;
use crate::settings::changes::Changes;
use crate::settings::chosen::Chosen;
use crate::settings::reload::{FixedSettings, fixed_settings, live_policy};
use crate::settings::reread::{Reader, Rereader};
use crate::settings::roster::Roster;
use crate::settings::state::StateDir;
use crate::settings::validate::{Ground, check_all, check_own_file};
use crate::timer::Timer;
use crate::vm::cgroup::Cgroups;
use crate::vm::device::DeviceEffect;
use crate::vm::placement::Capacity;
use crate::vm::vms::{VmState, Vms};
use crate::watches::{Source, Watches};
use control_server::handle::{About, ControlInbox, now_ms};
use host_ipc::gpu::{Eviction, Probed};
use host_ipc::messages::{BrokerToDevice, DeviceToBroker, WorkerId};
use host_ipc::signals::Signals;
use host_ipc::spawner::{End, Event, ProcessId};
use host_ipc::systemd::Systemd;
use memory_ledger::VmId;

/// Interval of the timer if nothing happens.
const IDLE_TICK: Duration = Duration::from_secs(1);
/// Interval of the timer while sessions are waiting to be started, or the socket of a process that has
/// sent too many messages isn't read.
const QUEUE_TICK: Duration = Duration::from_millis(25);

/// The coordinator and the broker's parts.
pub(crate) struct Service {
    watches: Watches,
    signals: Signals,
    /// `None` if there is no configuration file.
    rereader: Option<Rereader>,
    /// The program that will take over when it's asked for. `None` if there is no configuration
    /// file.
    successor: Option<Successor>,
    /// True if it must take over as soon as no change is being saved.
    is_replaced: bool,
    /// True if the broker must exit as soon as no change is being saved, and leave everything to one
    /// that is started later.
    is_leaving: bool,
    fixed: FixedSettings,
    journal: Journal,
    /// Whether the event that is being handled changes what only the whole record contains.
    must_rewrite: bool,
    /// Whether NVML has reported something since the GPUs were recorded.
    has_sampled: bool,
    recorded: Recorded,
    /// Whether kernels are taken off GPUs.
    evicts: bool,
    /// The processes whose end has been handled, but may not be in the journal yet.
    handled: Vec<ProcessId>,
    /// When this program began to take over from another one, until that has been reported.
    took_over: Option<Instant>,
    timer: Timer,
    systemd: Systemd,
    inbox: ControlInbox,
    changes: Changes,
    vms: Vms,
    gpus: Gpus,
    sessions: Sessions,
    budgets: Budgets,
    audit: Audit,
    launcher: Launcher,
    /// `None` once the spawner has been told to end.
    ending: Option<Ending>,
    /// Keeps the spawner's output in the log.
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
    /// New VMs that are served once all removed ones have ended, because their memory was promised
    /// to these.
    starting: Vec<VmId>,
    /// When the broker started, in milliseconds since 1970.
    started_ms: u64,
    ended: bool,
    /// Why the broker can't continue, if it can't.
    failure: Option<BrokerError>,
    cgroups: Cgroups,
    /// Dropped last, because that waits for the disk, and lets another broker use the saved state.
    roster: Roster,
}

/// What the broker has set up while it had privileges.
pub(crate) struct Prepared {
    pub(crate) spawner: Spawner,
    pub(crate) ending: Ending,
    pub(crate) state: Option<StateDir>,
    /// The driver library and the GPUs that it found.
    pub(crate) driver: Probed,
    /// The jail of workers.
    pub(crate) jail: JailResult,
}

/// What a broker has before it knows its VMs.
struct Foundation {
    spawner: Spawner,
    ending: Ending,
    driver: Probed,
    jail: JailResult,
    gpus: Gpus,
    cgroups: Cgroups,
    roster: Roster,
}

/// The service's connections to the outside. No thread has been started for them, because the broker
/// may still have privileges.
pub(crate) struct Inputs {
    pub(crate) signals: Signals,
    pub(crate) inbox: ControlInbox,
    /// `None` if there is no configuration file.
    pub(crate) reader: Option<Reader>,
    /// `None` if there is no configuration file.
    pub(crate) successor: Option<Successor>,
}

/// Startup and shutdown.
impl Service {
    /// Reads the saved changes, and places the VMs.
    pub(crate) fn new(
        config: Config,
        prepared: Prepared,
        inputs: Inputs,
    ) -> Result<Self, BrokerError> {
        let Prepared { spawner, ending, state, mut driver, jail } = prepared;
        let mut roster = Roster::open(state)?;
        let all = roster.vms(config.vms.clone()).map_err(|error| config.locate(error))?;
        let requests = all.iter().flat_map(|(spec, _)| &spec.gpus);
        let gpus = driver::add_slices(&config, &spawner, &mut driver, requests);
        if !spawner.is_root() {
            tracing::warn!("not running as root: all VMs' processes run as this user");
        }
        let cgroups = Cgroups::set_up(&spawner);
        let ground = Ground { gpus: &gpus, cgroups: &cgroups };
        let vms = check_all(&config, all, &roster, ground);
        let vms = vms.map_err(|error| config.locate(error))?;
        let found = Foundation { spawner, ending, driver, jail, gpus, cgroups, roster };
        let (mut service, _) = Self::with(config, found, inputs, Supervisor::start)?;
        for candidate in vms {
            let state = candidate.create(service.launcher.spawner(), &service.cgroups);
            let state = state.map_err(|error| service.started.locate(error))?;
            let failure = state.device.failure().map(str::to_owned);
            let id = service.enroll(state);
            service.pause_saved(id);
            if let Some(reason) = failure {
                service.publish(BrokerEvent::of_vm(EventKind::VmFailed, id, reason));
            }
        }
        service.roster.start_saving()?;
        service.start_audit();
        if let Err(error) = check_own_file(&service.started) {
            tracing::error!("{error}");
            service.set_refused(error.to_string());
        }
        Ok(service)
    }

    /// Continues with everything of the broker that this one replaces. `handling` says how it ended.
    pub(crate) fn take_over(
        chosen: Chosen,
        spawner: Spawner,
        state: Option<StateDir>,
        (handed, handling): (HandoverState, Handling),
        inputs: Inputs,
    ) -> Result<Self, BrokerError> {
        let began = Instant::now();
        let failed = BrokerError::Handover;
        let HandoverState {
            last_process, driver, has_jail, no_jail, evicts, gpus, cgroups, ..
        } = handed;
        let HandoverState { supervisor, vms, sessions, fixed, config: applied, .. } = handed;
        let mut processes = spawner.processes(last_process).map_err(failed)?;
        let mut roster = Roster::open(state)?;
        let ground = Ground { gpus: &gpus, cgroups: &cgroups };
        let applied = inputs.reader.as_ref().zip(applied);
        let applied = applied.and_then(|(read, text)| read(Some(&text)).ok());
        let (config, refused) = chosen.checked(applied.as_ref(), &roster, ground);
        // Later changes in the file are applied once it has been read again.
        let applied = applied.unwrap_or_else(|| config.clone());
        let policy = live_policy(&config, &applied);
        let all = roster.vms(applied.vms)?;
        let ending = spawner.ending();
        let jail = match has_jail {
            true => Ok(()),
            false => Err(no_jail.unwrap_or_else(|| "an earlier vcudad did without it".into())),
        };
        let found = Foundation { spawner, ending, driver, jail, gpus, cgroups, roster };
        let restore = |launcher: &_| Supervisor::restore(supervisor, launcher, &mut processes);
        let (mut service, eviction) = Self::with(config, found, inputs, restore)?;
        let eviction = eviction.as_ref();
        let crash = Crash { handling, evicted: evicts, eviction };
        let crash = Some(crash).filter(|crash| crash.handling != Handling::Done);
        service.fixed = fixed;
        (service.policy, service.applied) = (policy, applied.text);
        if let Some(file) = service.file.as_mut().filter(|_| refused.is_some()) {
            *file = ConfigInfo { applied_ms: None, refused, ..file.clone() };
        }
        let (launcher, cgroups) = (&service.launcher, &service.cgroups);
        service.vms = Vms::restore(vms, launcher, &mut processes, cgroups).map_err(failed)?;
        let Self { sessions: restored, vms, .. } = &mut service;
        let restored = restored.restore(sessions, &mut processes, vms, crash.as_ref());
        restored.map_err(failed)?;
        processes.end(service.launcher.spawner());
        if let Some(crash) = crash {
            service.recover(crash.handling, all)?;
        }
        service.warn_about_fixed();
        service.roster.start_saving()?;
        service.start_audit();
        service.took_over = Some(began);
        Ok(service)
    }

    /// Creates a service without VMs.
    fn with(
        config: Config,
        found: Foundation,
        inputs: Inputs,
        supervisor: impl FnOnce(&Launcher) -> io::Result<Supervisor>,
    ) -> Result<(Self, Option<compute::Eviction>), BrokerError> {
        let Foundation { spawner, ending, driver, jail, mut gpus, cgroups, roster } = found;
        let Inputs { signals, inbox, reader, successor } = inputs;
        let now = now_ms();
        let file = reader.as_ref().map(|_| ConfigInfo {
            read_ms: now,
            applied_ms: Some(now),
            refused: None,
        });
        let rereader = reader.map(Rereader::start).transpose();
        let rereader =
            rereader.map_err(BrokerError::os("cannot start a thread to read the file"))?;
        let eviction = eviction::prepare(&config.policy, &driver, &mut gpus, jail.is_ok());
        let scheduler =
            Scheduler::start(config.policy.scheduler, eviction.as_ref(), inbox.traces().clone());
        let scheduler = scheduler.map_err(BrokerError::os("cannot start the scheduler"))?;
        let outputs = Outputs::start()
            .map_err(BrokerError::os("cannot start a thread for the output of processes"))?;
        let spawner_output = spawner.log(&outputs);
        let journal = Journal::new(&spawner);
        let launcher = Launcher::new(spawner, jail, outputs);
        let supervisor = supervisor(&launcher)
            .map_err(BrokerError::os("cannot start the supervisor of workers"))?;
        let warm_workers = config.warm_workers as usize;
        let service = Self {
            watches: Watches::default(),
            signals,
            rereader,
            successor,
            is_replaced: false,
            is_leaving: false,
            fixed: fixed_settings(&config),
            journal,
            must_rewrite: false,
            has_sampled: false,
            recorded: Recorded::default(),
            evicts: eviction.is_some(),
            handled: Vec::new(),
            took_over: None,
            timer: Timer::new().map_err(BrokerError::os("cannot create a timer"))?,
            systemd: Systemd::from_env(),
            inbox,
            changes: Changes::default(),
            vms: Vms::default(),
            gpus,
            sessions: Sessions::new(
                scheduler,
                launcher.clone(),
                supervisor,
                driver.eviction == Eviction::Simulated,
                warm_workers,
            ),
            budgets: Budgets::default(),
            audit: Audit::default(),
            launcher,
            ending: Some(ending),
            _spawner_output: spawner_output,
            driver,
            policy: config.policy,
            starting: Vec::new(),
            applied: config.text.clone(),
            file,
            started: config,
            started_ms: now,
            ended: false,
            failure: None,
            cgroups,
            roster,
        };
        Ok((service, eviction))
    }

    /// Adds a VM, and creates its accounts. The caller must then start the VM's device process.
    fn enroll(&mut self, state: VmState) -> VmId {
        let id = self.vms.add(state);
        if let Some(state) = self.vms.get(id) {
            self.sessions.set_quotas(id, state);
        }
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
            ledger: self.sessions.ledger(),
            leftovers: self.sessions.leftovers(),
            scheduler: self.sessions.scheduler(),
            audit: &self.audit,
            policy: &self.policy,
            roster: &self.roster,
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
            || self.vms.iter().any(|(_, vm)| vm.device.is_paused());
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
            // A pause by the VMM may have been over the limit.
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
        // A VMM that has paused the VM has lost its device, and the VM its sessions.
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

    /// Starts the VM's device process again if there is none. Waits until all of its workers have
    /// ended: the guest's driver takes the new process's first response as a confirmation that
    /// nothing uses the guest's pages.
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
                // The device process checks these entries too, but it isn't trusted.
                let Some(state) = self.vms.get(id) else { return false };
                env.retain(|(name, value)| {
                    state.vm.env_allow.contains(name) && !value.contains('\0')
                });
                let session = Session { vm: id, request, id: session, pid, env };
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
                // Without the scheduler, the VM can't be taken off its GPUs.
                let is_enabled = self.sessions.scheduler().is_enabled();
                let state = self.vms.get_mut(id).filter(|_| is_enabled);
                if state.is_some_and(|state| state.pause.set_by_vmm(stopped)) {
                    self.apply_vmm_pause(id);
                }
            }
            DeviceEffect::Message(DeviceToBroker::Query { request }) => {
                self.send_facts(id, request);
            }
        }
        true
    }

    /// Replies to a guest's query about its GPUs.
    fn send_facts(&mut self, id: VmId, request: u64) {
        let Some(state) = self.vms.get(id) else { return };
        let facts = self.sessions.guest_facts(&self.driver, &self.gpus, id, &state.gpus);
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
        // A worker exits when the device process closes its connection, after it has said why.
        // Messages are limited by `Device::receive`.
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

    /// Ends a VM's device process and its sessions.
    fn end_for_excess(&mut self, vm: VmId, why: String) {
        if let Some(state) = self.vms.get(vm) {
            state.device.kill();
            self.sessions.end_vm(vm, &Cause::new(EndReason::Limit, why));
        }
    }

    /// Stops serving a VM.
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
        // A process may have ended before this broker took over.
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
