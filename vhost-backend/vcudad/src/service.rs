//! The coordinator, which owns the broker's parts and dispatches events from the event loop to
//! them. It runs on one thread and never blocks: sockets are non-blocking, a process that doesn't
//! read its messages is killed, another thread saves changes, and the spawner starts processes.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use control_api::{ApiError, ErrorCode, EventKind, PausedBy, Sharing, VmOrigin, VmPatch, VmSpec};
use event_manager::{EventOps, Events, MutEventSubscriber};

use super::audit::{Audit, AuditEffect};
use super::cgroup::Cgroups;
use super::changes::{Change, ChangeRequest, Changes};
use super::device::DeviceEffect;
use super::differences::change;
use super::driver;
use super::error::BrokerError;
use super::event::BrokerEvent;
use super::eviction;
use super::gpus::Gpus;
use super::handover::{Replacement, State, Successor};
use super::kept_fd::KeptFd;
use super::launcher::Launcher;
use super::mps::check_sharing;
use super::output::{Output, Outputs};
use super::placement::Capacity;
use super::process::describe;
use super::reload::{Host, Plan};
use super::reports::Reports;
use super::reread::{Reread, Rereader};
use super::resources::Resources;
use super::roster::Roster;
use super::scheduler::Scheduler;
use super::session::Session;
use super::sessions::{SessionEffect, Sessions};
use super::signals::Signals;
use super::spawner::{Ending, Spawner};
use super::start;
use super::state::{SavedState, StateDir};
use super::supervisor::{Supervisor, SupervisorEffect};
use super::systemd::Systemd;
use super::timer::Timer;
use super::vms::{VmState, Vms, place_vm};
use super::watches::{Source, Watches};
use super::worker::DeviceEnds;
use crate::config::{Config, ConfigError, Policy, Vm, choose_uids};
use control_server::handle::{About, Answer, ControlInbox, Reply, Request, Response, now_ms};
use host_ipc::gpu::{Eviction, Probed};
use host_ipc::messages::{BrokerToDevice, DeviceToBroker, WorkerId};
use host_ipc::spawner::{End, Event, ProcessId};
use memory_ledger::VmId;

/// Interval of the timer if nothing happens.
const IDLE_TICK: Duration = Duration::from_secs(1);
/// Interval of the timer while sessions are waiting to be started, or a device process that has
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
    /// When this program began to take over from another one, until that has been reported.
    took_over: Option<Instant>,
    timer: Timer,
    systemd: Systemd,
    inbox: ControlInbox,
    changes: Changes,
    vms: Vms,
    gpus: Gpus,
    sessions: Sessions,
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
    /// Whether workers have a jail.
    pub(crate) has_jail: bool,
}

/// What a broker has before it knows its VMs.
struct Foundation {
    spawner: Spawner,
    ending: Ending,
    driver: Probed,
    has_jail: bool,
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
    pub(crate) reread: Option<Reread>,
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
        let Prepared { spawner, ending, state, mut driver, has_jail } = prepared;
        let mut roster = Roster::open(state)?;
        let vms = start::candidates(roster.vms(config.vms.clone())?, &roster)?;
        let requests = vms.iter().flat_map(|candidate| &candidate.vm.spec.gpus);
        let gpus = driver::add_slices(&config, &spawner, &mut driver, requests);
        if !spawner.is_root() {
            tracing::warn!("not running as root: all VMs' processes run as this user");
        }
        let cgroups = Cgroups::set_up(&spawner);
        let found = Foundation { spawner, ending, driver, has_jail, gpus, cgroups, roster };
        let mut service = Self::with(config, found, inputs, Supervisor::start)?;
        for candidate in vms {
            let capacities = service.capacities(None);
            let is_default = service.started.memory_max_is_default;
            let (gpus, spawner) = (&service.gpus, service.launcher.spawner());
            let cgroups = &service.cgroups;
            let state = candidate.place(&capacities, gpus, spawner, cgroups, is_default)?;
            let failure = state.device.failure().map(str::to_owned);
            let id = service.enroll(state);
            service.pause_saved(id);
            if let Some(reason) = failure {
                service.publish(BrokerEvent::of_vm(EventKind::VmFailed, id, reason));
            }
        }
        service.roster.start_saving()?;
        service.audit = Audit::start(&service.gpus);
        Ok(service)
    }

    /// Continues with everything of the broker that this one replaces.
    pub(crate) fn take_over(
        config: Config,
        handed: State,
        inputs: Inputs,
    ) -> Result<Self, BrokerError> {
        let began = Instant::now();
        let failed = BrokerError::Handover;
        let (spawner, ending) = Spawner::restore(&handed.spawner).map_err(failed)?;
        let state = config.state_dir.as_deref();
        let mut roster = Roster::open(state.map(|dir| StateDir::open(dir, None)).transpose()?)?;
        roster.vms(config.vms.clone())?;
        let State { driver, has_jail, gpus, cgroups, supervisor, vms, sessions, .. } = handed;
        let found = Foundation { spawner, ending, driver, has_jail, gpus, cgroups, roster };
        let restore = |launcher: &_| Supervisor::restore(supervisor.as_ref(), launcher);
        let mut service = Self::with(config, found, inputs, restore)?;
        service.vms = Vms::restore(vms, &service.launcher, &service.cgroups).map_err(failed)?;
        service.sessions.restore(sessions, &service.vms).map_err(failed)?;
        service.roster.start_saving()?;
        service.audit = Audit::start(&service.gpus);
        service.took_over = Some(began);
        Ok(service)
    }

    /// Creates a service without VMs.
    fn with(
        config: Config,
        found: Foundation,
        inputs: Inputs,
        supervisor: impl FnOnce(&Launcher) -> io::Result<Supervisor>,
    ) -> Result<Self, BrokerError> {
        let Foundation { spawner, ending, driver, has_jail, mut gpus, cgroups, roster } = found;
        let Inputs { signals, inbox, reread, successor } = inputs;
        let rereader = reread.map(Rereader::start).transpose();
        let rereader =
            rereader.map_err(BrokerError::os("cannot start a thread to read the file"))?;
        let eviction = eviction::prepare(&config.policy, &driver, &mut gpus, has_jail);
        let scheduler = Scheduler::start(config.policy.scheduler, eviction.as_ref())
            .map_err(BrokerError::os("cannot start the scheduler"))?;
        let outputs = Outputs::start()
            .map_err(BrokerError::os("cannot start a thread for the output of processes"))?;
        let spawner_output = spawner.log(&outputs);
        let launcher = Launcher::new(spawner, has_jail, outputs);
        let supervisor = supervisor(&launcher)
            .map_err(BrokerError::os("cannot start the supervisor of workers"))?;
        let warm_workers = config.warm_workers as usize;
        Ok(Self {
            watches: Watches::default(),
            signals,
            rereader,
            successor,
            is_replaced: false,
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
            audit: Audit::default(),
            launcher,
            ending: Some(ending),
            _spawner_output: spawner_output,
            driver,
            policy: config.policy,
            starting: Vec::new(),
            started: config,
            started_ms: now_ms(),
            ended: false,
            failure: None,
            cgroups,
            roster,
        })
    }

    /// Adds a VM, and creates its accounts. The caller must then start the VM's device process.
    fn enroll(&mut self, state: VmState) -> VmId {
        let id = self.vms.add(state);
        if let Some(state) = self.vms.get(id) {
            self.sessions.set_quotas(id, state);
        }
        id
    }

    /// Pauses a VM that was paused when the state was saved. None of its sessions has started yet.
    fn pause_saved(&mut self, id: VmId) {
        let Some(state) = self.vms.get_mut(id) else { return };
        if !self.roster.is_paused(&state.vm.name) {
            return;
        }
        if !self.sessions.scheduler().is_enabled() {
            tracing::warn!(vm = state.vm.name, "the VM is paused, but runs: the scheduler is off");
            return;
        }
        state.pause.set_by_operator(true);
        self.sessions.set_paused(id, true);
        tracing::info!(vm = state.vm.name, "the VM is still paused; resume it with vcudactl");
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
            self.ended = true;
            self.refuse_requests();
        }
    }
}

/// Replacement by another vcudad.
impl Service {
    fn ask_successor(&mut self) {
        let successor = self.successor.as_ref().ok_or("there is no configuration file".to_owned());
        match successor.and_then(Successor::ask) {
            Ok(()) => self.is_replaced = true,
            Err(reason) => {
                let message = format!("continuing without being replaced: {reason}");
                tracing::error!("{message}");
                self.publish(BrokerEvent::new(EventKind::ReplacementRefused, message));
            }
        }
    }

    /// Returns true if another vcudad must take over now.
    pub(crate) fn must_hand_over(&self) -> bool {
        let is_busy = self.ended || self.changes.is_saving() || !self.starting.is_empty();
        self.is_replaced && !is_busy
    }

    /// Hands everything over. If that fails, all sessions end, because the scheduler has stopped.
    pub(crate) fn hand_over(
        mut self,
        control: Option<KeptFd>,
    ) -> Result<Option<Replacement>, BrokerError> {
        let Some(successor) = self.successor.take() else { return Ok(None) };
        tracing::info!("handing over to another vcudad");
        self.refuse_requests();
        let failed = BrokerError::Handover;
        let state = State {
            spawner: self.launcher.spawner().record().map_err(failed)?,
            driver: self.driver.clone(),
            has_jail: self.launcher.has_jail(),
            gpus: self.gpus.clone(),
            cgroups: self.cgroups.clone(),
            supervisor: self.sessions.record_supervisor().map_err(failed)?,
            vms: self.vms.record().map_err(failed)?,
            sessions: self.sessions.record().map_err(failed)?,
            control,
        };
        let replacement = successor.with(state).map_err(failed)?;
        // Dropping it would end all processes, and remove the VMs' sockets.
        std::mem::forget(self);
        Ok(Some(replacement))
    }

    /// Continues where the previous broker has stopped.
    fn continue_vm(&mut self, ops: &mut EventOps, id: VmId) {
        let Some(state) = self.vms.get(id) else { return };
        match state.device.socket_fd() {
            Some(socket) => self.watches.add(ops, socket, Source::DeviceSocket(id)),
            None if state.is_leaving() => self.forget_vm(id),
            None => self.start_device(ops, id),
        }
    }

    fn report_take_over(&mut self) {
        let Some(began) = self.took_over.take() else { return };
        let sessions = self.sessions.workers().count(|worker| worker.session().is_some());
        let message = format!(
            "version {} of vcudad took over {} VMs with {sessions} sessions in {} ms",
            env!("CARGO_PKG_VERSION"),
            self.vms.ids().len(),
            began.elapsed().as_millis()
        );
        tracing::info!("{message}");
        self.publish(BrokerEvent::new(EventKind::BrokerReplaced, message));
        // The file may have changed.
        if let Some(rereader) = &self.rereader {
            rereader.request();
        }
    }
}

/// Event loop, reports and timer.
impl Service {
    fn publish(&self, event: BrokerEvent) {
        let BrokerEvent { kind, vm, session, gpu, message } = event;
        let vm = vm.map(|vm| self.vms.name(vm));
        let about = About { vm, session, gpu: gpu.map(|gpu| gpu.0) };
        self.inbox.events().publish(kind, about, message);
    }

    fn reports(&self) -> Reports<'_> {
        Reports {
            vms: &self.vms,
            gpus: &self.gpus,
            workers: self.sessions.workers(),
            ledger: self.sessions.ledger(),
            scheduler: self.sessions.scheduler(),
            audit: &self.audit,
            policy: &self.policy,
            roster: &self.roster,
            started_ms: self.started_ms,
        }
    }

    fn capacities(&self, except: Option<VmId>) -> Vec<Capacity> {
        self.reports().capacities(except)
    }

    /// Sets the time at which the timer expires next. This must not be called for every event,
    /// because frequent events would postpone the timer forever.
    fn set_timer(&self) {
        let is_soon =
            self.sessions.has_waiting() || self.vms.iter().any(|(_, vm)| vm.device.is_paused());
        let mut after = if is_soon { QUEUE_TICK } else { IDLE_TICK };
        if let Some(interval) = self.systemd.interval() {
            after = after.min(interval);
        }
        self.timer.set(after);
    }

    fn tick(&mut self, ops: &mut EventOps) {
        self.timer.acknowledge();
        for (vm, state) in self.vms.iter_mut() {
            if let Some(socket) = state.device.resume() {
                self.watches.add(ops, socket, Source::DeviceSocket(vm));
            }
        }
        // Pauses by VMMs that were over the limit.
        for vm in self.vms.ids() {
            self.apply_vmm_pause(vm);
        }
        if self.systemd.take_ping_due() {
            if self.sessions.scheduler().is_alive() {
                self.systemd.ping_watchdog();
            } else {
                tracing::error!("scheduler thread is stuck; skipping the systemd watchdog ping");
            }
        }
        self.sessions.end_late_starts(&self.vms);
        if self.sessions.has_waiting() && !self.ended {
            self.sessions.start_waiting(&mut self.vms, &self.gpus);
        }
        self.set_timer();
    }
}

/// Control API. Each change is checked completely, then saved, and only then applied. A refused
/// change has no effect. While a change is being saved, the broker serves everything but other
/// changes, which wait.
impl Service {
    fn handle_requests(&mut self, ops: &mut EventOps) {
        self.inbox.acknowledge();
        while let Some((request, answer)) = self.inbox.next() {
            self.handle_request(ops, request, answer);
            self.carry_out(ops);
        }
    }

    fn handle_request(&mut self, ops: &mut EventOps, request: Request, answer: Answer) {
        if self.ended {
            return answer.give(Err(ApiError::shutting_down()));
        }
        let reports = self.reports();
        let reply = match request {
            Request::AddVm(spec) => {
                return self.request_change(ops, ChangeRequest::Add(spec), answer);
            }
            Request::SetVm(name, patch) => {
                return self.request_change(ops, ChangeRequest::Set(name, patch), answer);
            }
            Request::RestartVm(name) => {
                let reply = self.restart_failed(ops, &name);
                return answer.give(reply);
            }
            Request::ResetVm(name) => {
                return self.request_change(ops, ChangeRequest::Reset(name), answer);
            }
            Request::SetPaused(name, paused) => {
                return self.request_change(ops, ChangeRequest::SetPaused(name, paused), answer);
            }
            Request::RemoveVm(name) => {
                return self.request_change(ops, ChangeRequest::Remove(name), answer);
            }
            Request::ListVms => Ok(Response::Vms(reports.vm_infos())),
            Request::ShowVm(name) => self.vms.find(&name).and_then(|id| self.show(id)),
            Request::ListSessions(None) => Ok(Response::Sessions(reports.session_infos(None))),
            Request::ListSessions(Some(name)) => {
                let id = self.vms.find(&name);
                id.map(|id| Response::Sessions(reports.session_infos(Some(id))))
            }
            Request::KillSession { vm, session } => self.kill_session(&vm, session),
            Request::ListGpus => Ok(Response::Gpus(reports.gpu_infos())),
            Request::Stats => Ok(Response::Stats(Box::new(reports.stats()))),
        };
        answer.give(reply);
    }

    fn show(&self, id: VmId) -> Reply {
        let name = self.vms.name(id);
        let info = self.reports().vm_info(id).ok_or_else(|| ApiError::no_vm(name))?;
        Ok(Response::Vm(Box::new(info)))
    }

    fn kill_session(&mut self, name: &str, number: u32) -> Reply {
        let id = self.vms.find(name)?;
        if !self.sessions.end_by_operator(id, number) {
            return Err(ApiError::no_session(name, number));
        }
        Ok(Response::Done)
    }

    /// Answers all requests when the broker ends.
    fn refuse_requests(&mut self) {
        if self.changes.is_saving() {
            tracing::info!("exiting once the last change has been saved");
        }
        self.changes.shut_down();
        let removals = self.vms.iter_mut().flat_map(|(_, state)| state.take_removals());
        let requests = std::iter::from_fn(|| self.inbox.next()).map(|(_, answer)| answer);
        for answer in removals.chain(requests) {
            answer.give(Err(ApiError::shutting_down()));
        }
    }
}

/// Changes through the control API.
impl Service {
    /// Starts a change, or lets it wait for the one that is being saved.
    fn request_change(&mut self, ops: &mut EventOps, request: ChangeRequest, answer: Answer) {
        match self.changes.is_saving() {
            true => self.changes.wait(request, answer),
            false => self.start_change(ops, request, answer),
        }
    }

    /// Checks a change and starts to save it.
    fn start_change(&mut self, ops: &mut EventOps, request: ChangeRequest, answer: Answer) {
        if let ChangeRequest::Remove(name) = &request
            && let Some(id) = self.vms.named(name).filter(|id| self.is_leaving(*id))
        {
            // The removal has been saved already.
            return self.remove_vm(id, answer);
        }
        if let ChangeRequest::SetPaused(name, paused) = &request
            && let Some(id) = self.vms.named(name).filter(|id| self.is_as_wanted(*id, *paused))
        {
            return answer.give(self.show(id));
        }
        let checked = match request {
            ChangeRequest::Add(spec) => self.check_new_vm(*spec),
            ChangeRequest::Set(name, patch) => self.check_patch(&name, patch),
            ChangeRequest::Reset(name) => self.check_reset(&name),
            ChangeRequest::SetPaused(name, paused) => self.check_pause(&name, paused),
            ChangeRequest::Remove(name) => self.check_removal(&name),
        };
        match checked {
            Err(error) => answer.give(Err(error)),
            Ok((change, next)) => match self.roster.save(next) {
                true => self.changes.set_saving(change, answer),
                false => self.apply(ops, change, answer),
            },
        }
    }

    /// Ends the change that was being saved, and starts those that wait.
    fn handle_saved(&mut self, ops: &mut EventOps) {
        let Some(saved) = self.roster.take_saved() else { return };
        // There is no change if the broker is about to exit.
        let Some((change, answer)) = self.changes.take_saving() else { return };
        match saved {
            Ok(()) => self.apply(ops, change, answer),
            Err(error) => {
                if matches!(change, Change::Reload(_)) {
                    self.refuse_reload(&error.to_string());
                }
                drop(change);
                answer.give(Err(error));
            }
        }
        self.carry_out(ops);
        if let Some(config) = self.changes.take_reload() {
            self.start_reload(ops, config);
        }
        while !self.changes.is_saving()
            && let Some((request, answer)) = self.changes.next_waiting()
        {
            self.start_change(ops, request, answer);
            self.carry_out(ops);
        }
    }

    fn is_leaving(&self, id: VmId) -> bool {
        self.vms.get(id).is_some_and(VmState::is_leaving)
    }

    fn check_new_vm(&self, spec: VmSpec) -> Result<(Change, SavedState), ApiError> {
        start::check_request(&spec, &self.started.socket_folders)?;
        let capacities = self.capacities(None);
        let spawner = self.launcher.spawner();
        let state =
            start::new_vm(spec, &self.vms, &capacities, &self.gpus, spawner, &self.cgroups)?;
        let next = self.roster.added(state.vm.spec.clone());
        Ok((Change::Add(Box::new(state)), next))
    }

    /// Returns a VM that isn't being removed.
    fn find_staying(&self, name: &str) -> Result<(VmId, &VmState), ApiError> {
        let vm = self.vms.find(name)?;
        let state = self.vms.get(vm).filter(|state| !state.is_leaving());
        state.map(|state| (vm, state)).ok_or_else(|| {
            let message = format!("VM '{name}' is being removed; changes are refused");
            ApiError::new(ErrorCode::Conflict, message)
        })
    }

    fn check_patch(&self, name: &str, patch: VmPatch) -> Result<(Change, SavedState), ApiError> {
        let (vm, state) = self.find_staying(name)?;
        let after = state.changed(&patch)?;
        state.check_increase(&after, &self.capacities(Some(vm)))?;
        let next = self.roster.changed(state.origin, &patch, &after.spec);
        Ok((Change::Set { vm, patch, after: Box::new(after) }, next))
    }

    fn check_reset(&self, name: &str) -> Result<(Change, SavedState), ApiError> {
        let (vm, state) = self.find_staying(name)?;
        let file = self.roster.in_file(name).filter(|_| state.origin == VmOrigin::File);
        let Some(file) = file else {
            let message = format!(
                "VM '{name}' is not in the configuration file, so it has no values to return to"
            );
            return Err(ApiError::new(ErrorCode::Conflict, message));
        };
        let (patch, _) = change(&state.vm.spec, file);
        let after = state.changed(&patch)?;
        state.check_increase(&after, &self.capacities(Some(vm)))?;
        Ok((Change::Set { vm, patch, after: Box::new(after) }, self.roster.reset(name)))
    }

    /// Returns true if an operator has already paused the VM, or let it continue, and this has been
    /// saved.
    fn is_as_wanted(&self, id: VmId, paused: bool) -> bool {
        self.vms.get(id).is_some_and(|state| {
            let saved = self.roster.is_paused(&state.vm.name);
            !state.is_leaving() && (state.pause.is_by_operator(), saved) == (paused, paused)
        })
    }

    fn check_pause(&self, name: &str, paused: bool) -> Result<(Change, SavedState), ApiError> {
        let (vm, _) = self.find_staying(name)?;
        if paused && !self.sessions.scheduler().is_enabled() {
            let message = "the scheduler is off, so VMs can't be paused; set scheduler = \"on\" and \
                           restart vcudad";
            return Err(ApiError::new(ErrorCode::Conflict, message));
        }
        Ok((Change::SetPaused(vm, paused), self.roster.with_paused(name, paused)))
    }

    fn check_removal(&self, name: &str) -> Result<(Change, SavedState), ApiError> {
        let vm = self.vms.find(name)?;
        let state = self.vms.get(vm).ok_or_else(|| ApiError::no_vm(name))?;
        Ok((Change::Remove(vm), self.roster.removed(name, state.origin)))
    }

    /// Applies a change that has been saved. Changes are made one at a time, so since the check, no
    /// VM has been added, changed, or removed. But device processes and sessions may have ended,
    /// and others started.
    fn apply(&mut self, ops: &mut EventOps, change: Change, answer: Answer) {
        match change {
            Change::Add(state) => answer.give(self.add_vm(ops, *state)),
            Change::Set { vm, patch, after } => answer.give(self.set_vm(vm, &patch, *after)),
            Change::SetPaused(vm, paused) => answer.give(self.set_paused(vm, paused)),
            Change::Remove(vm) => self.remove_vm(vm, answer),
            Change::Reload(plan) => self.reload(*plan),
        }
    }

    fn add_vm(&mut self, ops: &mut EventOps, state: VmState) -> Reply {
        let id = self.enroll(state);
        self.start_device(ops, id);
        self.sessions.refill(&self.vms, &self.gpus);
        self.publish(BrokerEvent::of_vm(EventKind::VmAdded, id, "added"));
        self.show(id)
    }

    fn set_vm(&mut self, id: VmId, patch: &VmPatch, after: Vm) -> Reply {
        let max = after.limits.max_sessions;
        let Some(state) = self.vms.get_mut(id) else {
            return Err(ApiError::no_vm(&after.name));
        };
        state.vm = after;
        state.raise_limits(&self.cgroups);
        self.sessions.set_quotas(id, state);
        self.send_to_device(id, &BrokerToDevice::SessionsMax { max }, &[]);
        // With a higher sessions.max, there may now be room for waiting sessions.
        self.sessions.start_waiting(&mut self.vms, &self.gpus);
        let message = serde_json::to_string(patch).unwrap_or_default();
        tracing::info!(vm = self.vms.name(id), "changed: {message}");
        self.publish(BrokerEvent::of_vm(EventKind::VmChanged, id, message));
        self.show(id)
    }

    /// Serves a VM again that has failed. Its settings stay, so nothing is saved.
    fn restart_failed(&mut self, ops: &mut EventOps, name: &str) -> Reply {
        let (id, state) = self.find_staying(name)?;
        if state.device.failure().is_none() {
            let message = format!("VM '{name}' has not failed, so there is nothing to restart");
            return Err(ApiError::new(ErrorCode::Conflict, message));
        }
        if state.device.has_process() {
            let message = format!("the last device process of VM '{name}' is still ending");
            return Err(ApiError::new(ErrorCode::Unavailable, message));
        }
        let mut vm = Vm::new(state.vm.spec.clone())?;
        vm.uid = state.vm.uid;
        for (_, other) in self.vms.iter().filter(|(other, _)| *other != id) {
            vm.check_apart(&other.vm)?;
        }
        choose_uids([&mut vm], self.vms.uids())
            .map_err(|error| ApiError::new(ErrorCode::Conflict, error.to_string()).of("uid"))?;
        let set = match state.gpus.is_empty() {
            true => place_vm(&self.capacities(Some(id)), &mut vm, false)?,
            false => state.gpus.clone(),
        };
        check_sharing(&vm.spec, &set, &self.gpus)?;
        let (spawner, cgroups) = (self.launcher.spawner(), &self.cgroups);
        let Some(state) = self.vms.get_mut(id) else { return Err(ApiError::no_vm(name)) };
        state.release();
        let (resources, socket) = Resources::create(spawner, cgroups, &vm, set.len())?;
        state.serve_again(vm, set, socket, resources);
        self.sessions.set_quotas(id, state);
        tracing::info!(vm = name, "restarted after a failure");
        self.publish(BrokerEvent::of_vm(EventKind::VmRestarted, id, "restarted after a failure"));
        self.start_device(ops, id);
        self.sessions.refill(&self.vms, &self.gpus);
        self.show(id)
    }

    /// Pauses a VM for an operator, or lets it continue.
    fn set_paused(&mut self, id: VmId, paused: bool) -> Reply {
        if let Some(state) = self.vms.get_mut(id)
            && state.pause.is_by_operator() != paused
        {
            state.pause.set_by_operator(paused);
            self.pause_changed(id, paused, PausedBy::Api);
        }
        self.show(id)
    }

    /// If the VMM has paused a VM or lets it continue, and this isn't in effect yet, applies it.
    fn apply_vmm_pause(&mut self, id: VmId) {
        let Some(state) = self.vms.get_mut(id) else { return };
        if let Some(paused) = state.pause.take_vmm_change(Instant::now()) {
            self.pause_changed(id, paused, PausedBy::Vmm);
        }
    }

    /// Applies a pause or its end, and reports it.
    fn pause_changed(&mut self, id: VmId, paused: bool, by: PausedBy) {
        let Some(state) = self.vms.get(id) else { return };
        let is_off = state.pause.is_paused();
        self.sessions.set_paused(id, is_off);
        let who = |by| match by {
            PausedBy::Api => "the control API",
            PausedBy::Vmm => "the VMM",
        };
        let (kind, message) = match (paused, state.pause.paused_by().first()) {
            (true, _) => (EventKind::VmPaused, format!("paused by {}", who(by))),
            (false, None) => (EventKind::VmResumed, format!("resumed by {}", who(by))),
            (false, Some(other)) => {
                let message =
                    format!("resumed by {}, but still paused by {}", who(by), who(*other));
                (EventKind::VmResumed, message)
            }
        };
        tracing::info!(vm = state.vm.name, "{message}");
        self.publish(BrokerEvent::of_vm(kind, id, message));
    }

    /// Removes a VM, or adds a requester to those that wait for its removal.
    fn remove_vm(&mut self, id: VmId, answer: Answer) {
        self.begin_removal(id);
        let Some(state) = self.vms.get_mut(id) else { return };
        state.add_removal(answer);
        self.forget_vm(id);
    }

    /// Ends a VM's sessions and its device process.
    fn begin_removal(&mut self, id: VmId) {
        let Some(state) = self.vms.get_mut(id) else { return };
        if !state.is_leaving() {
            state.device.close();
            state.leave();
            self.sessions.end_vm(id);
        }
    }

    /// Removes a VM from all tables, if its removal was requested and its last process has ended.
    fn forget_vm(&mut self, id: VmId) {
        let gone = |state: &VmState| state.is_leaving() && !state.device.has_process();
        if self.sessions.workers().count_of_vm(id) > 0 {
            return;
        }
        self.vms.get(id).inspect(|state| state.clear_shared_memory());
        if !self.vms.get(id).is_some_and(gone) {
            return;
        }
        self.publish(BrokerEvent::of_vm(EventKind::VmRemoved, id, "removed"));
        self.sessions.remove_vm(id);
        let Some(mut state) = self.vms.remove(id) else { return };
        tracing::info!(vm = state.vm.name, "removed");
        if state.vm.spec.sharing == Sharing::Mps {
            self.sessions.retain_mps(&self.vms.mps_sets(), &self.gpus);
        }
        for answer in state.take_removals() {
            answer.give(Ok(Response::Done));
        }
        if !self.ended {
            self.sessions.refill(&self.vms, &self.gpus);
        }
    }
}

/// Reading the configuration file again. The file is handled like a change through the control API:
/// it is checked completely, and then the state is saved, before anything changes.
impl Service {
    fn handle_reread(&mut self, ops: &mut EventOps) {
        match self.rereader.as_ref().and_then(Rereader::take) {
            None => {}
            Some(Err(error)) => self.refuse_reload(&error.to_string()),
            Some(Ok(config)) if self.changes.is_saving() => {
                self.changes.set_reload(Box::new(config));
            }
            Some(Ok(config)) => self.start_reload(ops, Box::new(config)),
        }
    }

    fn refuse_reload(&mut self, reason: &str) {
        tracing::error!("the configuration file was not applied, and nothing changed: {reason}");
        let event = BrokerEvent::new(EventKind::ConfigRefused, reason);
        self.publish(event);
        self.systemd.ready();
    }

    fn start_reload(&mut self, ops: &mut EventOps, config: Box<Config>) {
        match self.check_reload(*config) {
            Err(error) => self.refuse_reload(&error.to_string()),
            Ok((plan, next)) => {
                let (change, answer) = (Change::Reload(Box::new(plan)), Answer::nobody());
                match self.roster.save(next) {
                    true => self.changes.set_saving(change, answer),
                    false => self.apply(ops, change, answer),
                }
            }
        }
    }

    fn check_reload(&self, config: Config) -> Result<(Plan, SavedState), ConfigError> {
        let (all, next) = self.roster.with_file(&config.vms)?;
        let capacities = Reports { policy: &config.policy, ..self.reports() }.capacities(None);
        let host = Host {
            started: &self.started,
            vms: &self.vms,
            gpus: &self.gpus,
            spawner: self.launcher.spawner(),
            cgroups: &self.cgroups,
        };
        Ok((Plan::check(config, all, capacities, &host)?, next))
    }

    fn reload(&mut self, plan: Plan) {
        let summary = plan.summary(&self.vms);
        let Plan { policy, file, added, changed, removed, deferred } = plan;
        self.policy = policy;
        self.roster.set_file(file);
        for id in &removed {
            self.begin_removal(*id);
        }
        for (id, patch, after) in changed {
            if let Err(error) = self.set_vm(id, &patch, after) {
                tracing::error!("cannot change a VM: {error}");
            }
        }
        for state in added {
            let id = self.enroll(state);
            self.pause_saved(id);
            self.starting.push(id);
            let message = "added by the configuration file";
            self.publish(BrokerEvent::of_vm(EventKind::VmAdded, id, message));
        }
        for id in removed {
            self.forget_vm(id);
        }
        self.sessions.refill(&self.vms, &self.gpus);
        for (vm, keys) in deferred {
            let message = format!("needs a restart of vcudad to take effect: {keys}");
            tracing::warn!(vm = vm.map(|vm| self.vms.name(vm)), "{message}");
            let event = BrokerEvent::new(EventKind::RestartNeeded, message);
            self.publish(BrokerEvent { vm, ..event });
        }
        tracing::info!("applied the configuration file: {summary}");
        self.publish(BrokerEvent::new(EventKind::ConfigReloaded, summary));
        self.systemd.ready();
    }

    /// Starts the devices of new VMs, unless VMs that were removed haven't ended.
    fn start_new(&mut self, ops: &mut EventOps) {
        if self.starting.is_empty() || self.vms.iter().any(|(_, state)| state.is_leaving()) {
            return;
        }
        for id in std::mem::take(&mut self.starting) {
            self.start_device(ops, id);
        }
    }
}

/// Handling of device processes.
impl Service {
    fn start_device(&mut self, ops: &mut EventOps, id: VmId) {
        let Some(state) = self.vms.get_mut(id) else { return };
        match state.start_device(&self.launcher) {
            Ok(Some(socket)) => self.watches.add(ops, socket, Source::DeviceSocket(id)),
            Ok(None) => {}
            Err(reason) => {
                tracing::error!(vm = state.vm.name, "{reason}");
                state.device.set_failure(reason.clone());
                self.publish(BrokerEvent::of_vm(EventKind::VmFailed, id, reason));
            }
        }
    }

    fn send_to_device(&mut self, id: VmId, message: &BrokerToDevice, fds: &[RawFd]) {
        let Some(state) = self.vms.get_mut(id) else { return };
        state.device.send(&state.vm.name, message, fds);
    }

    fn device_ended(&mut self, ops: &mut EventOps, id: VmId, how: &str) {
        let Some(state) = self.vms.get_mut(id) else { return };
        let Some(process) = state.device.take_ended() else { return };
        self.watches.remove(ops, process.socket_fd());
        drop(process);
        self.sessions.end_vm(id);
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

    fn handle_device_message(&mut self, ops: &mut EventOps, id: VmId) {
        let Some(state) = self.vms.get_mut(id) else { return };
        match state.device.receive() {
            DeviceEffect::None => {}
            DeviceEffect::Closed(fd) => self.watches.remove(ops, fd),
            DeviceEffect::Paused(fd) => {
                self.watches.remove(ops, fd);
                self.set_timer();
            }
            DeviceEffect::Message(DeviceToBroker::Start { request, session, pid, mut env }) => {
                // The device process checks these entries too, but it isn't trusted.
                env.retain(|(name, value)| {
                    state.vm.env_allow.contains(name) && !value.contains('\0')
                });
                let session = Session { vm: id, request, id: session, pid, env };
                self.sessions.start(session, &mut self.vms, &self.gpus);
            }
            DeviceEffect::Message(DeviceToBroker::End { request }) => {
                self.sessions.end(id, request);
            }
            DeviceEffect::Message(DeviceToBroker::Stopped(stopped)) => {
                // Without the scheduler, the VM can't be taken off its GPUs.
                if self.sessions.scheduler().is_enabled() && state.pause.set_by_vmm(stopped) {
                    self.apply_vmm_pause(id);
                }
            }
            DeviceEffect::Message(DeviceToBroker::Query { request }) => {
                self.send_facts(id, request);
            }
        }
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
            SessionEffect::WorkerGone(vm) => {
                self.forget_vm(vm);
                self.restart_device(ops, vm);
            }
        }
    }

    fn worker_ended(&mut self, ops: &mut EventOps, id: WorkerId) {
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
        if let Some((_, state)) = self.vms.iter_mut().find(|(_, state)| state.device.is(process)) {
            state.set_device_started(pid, pidfd);
        }
    }

    fn process_ended(&mut self, ops: &mut EventOps, process: ProcessId, how: &End) {
        if let Some(worker) = self.sessions.set_ended(process, how) {
            return self.worker_ended(ops, worker);
        }
        let device = self.vms.iter().find(|(_, state)| state.device.is(process));
        if let Some((vm, _)) = device {
            self.device_ended(ops, vm, &describe(how));
        }
    }
}

/// NVML: the ledger audit and GPU faults.
impl Service {
    fn handle_nvml(&mut self, ops: &mut EventOps) {
        for event in self.audit.take() {
            let (gpus, policy) = (&mut self.gpus, &self.policy);
            for effect in self.audit.handle(&event, gpus, &self.sessions, &self.vms, policy) {
                match effect {
                    AuditEffect::Publish(event) => self.publish(event),
                    AuditEffect::KillWorker { worker, why } => {
                        self.sessions.kill_worker(worker, &why, &self.vms);
                    }
                    AuditEffect::KillWorkersOfGpu { gpu, why } => {
                        self.sessions.kill_workers_of_gpu(gpu, &why, &self.vms);
                    }
                }
                self.carry_out(ops);
            }
        }
    }
}

impl Drop for Service {
    /// Kills all processes. Work in progress is lost, as when a host is switched off.
    fn drop(&mut self) {
        drop(self.ending.take());
    }
}

impl MutEventSubscriber for Service {
    fn process(&mut self, events: Events, ops: &mut EventOps) {
        match self.watches.source(events.fd()) {
            Some(Source::Signals) => self.handle_signal(),
            Some(Source::Timer) => self.tick(ops),
            Some(Source::Control) => self.handle_requests(ops),
            Some(Source::Saver) => self.handle_saved(ops),
            Some(Source::Rereader) => self.handle_reread(ops),
            Some(Source::Nvml) => self.handle_nvml(ops),
            Some(Source::Spawner) => self.handle_spawner(ops),
            Some(Source::Scheduler) => self.sessions.handle_scheduler_events(&mut self.vms),
            Some(Source::Supervisor) => self.sessions.handle_supervisor_message(&mut self.vms),
            Some(Source::DeviceSocket(vm)) => self.handle_device_message(ops, vm),
            Some(Source::WorkerSocket(worker)) => {
                self.sessions.handle_worker_message(worker, &mut self.vms, &self.gpus);
            }
            None => {}
        }
        self.carry_out(ops);
        self.start_new(ops);
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
        self.sessions.refill(&self.vms, &self.gpus);
        self.carry_out(ops);
        self.report_take_over();
        self.systemd.ready();
        self.set_timer();
    }
}
