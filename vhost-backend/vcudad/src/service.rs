//! The coordinator: it composes the broker's parts and dispatches the event loop's events to them.
//! It runs on one thread and never blocks: sockets are non-blocking, and a process that doesn't read
//! its messages is killed.

use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use control_api::{Activity, ApiError, ErrorCode, EventKind, VmOrigin, VmPatch, VmSpec};
use event_manager::{EventOps, Events, MutEventSubscriber};

use super::audit::{self, Audit};
use super::cgroup::{self, Cgroups};
use super::comparison::Finding;
use super::compute::ComputeEvent;
use super::device::{Device, DeviceEffect};
use super::driver;
use super::error::BrokerError;
use super::faults::Verdict;
use super::gpus::{Gpus, slices_named};
use super::guest_facts::{self, Serving};
use super::launcher::{Launcher, Programs};
use super::mps::{MpsDaemons, check_sharing};
use super::nvml::{Fault, MemorySample, NvmlEvent};
use super::placement::Capacity;
use super::process::{describe, is_root};
use super::rate::printable;
use super::reports::Reports;
use super::roster::Roster;
use super::scheduler::Scheduler;
use super::session::{Session, StartQueue};
use super::signals::Signals;
use super::socket;
use super::start::{Candidate, candidates};
use super::systemd::Systemd;
use super::timer::Timer;
use super::vms::{VmState, Vms, place_vm};
use super::watches::{Source, Watches};
use super::worker::{WorkerEffect, Workers};
use crate::config::{Config, OnExcess, Policy, Vm, choose_uids};
use control_server::handle::{About, Answer, ControlInbox, Reply, Request, Response, now_ms};
use host_ipc::gpu::Probed;
use host_ipc::messages::{
    Assignment, BrokerToDevice, Charge, DeviceToBroker, Ending, ToWorker, WorkerId,
};
use memory_ledger::{GpuId, Ledger, Quota, VmId};

/// How often the timer fires if nothing happens.
const IDLE_TICK: Duration = Duration::from_secs(1);
/// How often it fires while sessions wait for their turn.
const QUEUE_TICK: Duration = Duration::from_millis(25);
/// The failure of a session whose kernel ran too long.
const TIMED_OUT: &str = "a kernel ran longer than compute.kernel_timeout";

/// The broker's parts.
pub(crate) struct Service {
    watches: Watches,
    signals: Signals,
    timer: Timer,
    systemd: Systemd,
    inbox: ControlInbox,
    roster: Roster,
    vms: Vms,
    gpus: Gpus,
    workers: Workers,
    /// Dropped after the workers, which are its clients.
    mps: MpsDaemons,
    start_queue: StartQueue,
    ledger: Ledger,
    scheduler: Scheduler,
    audit: Audit,
    launcher: Launcher,
    /// The driver library and its GPUs.
    driver: Probed,
    policy: Policy,
    /// Milliseconds since 1970.
    started_ms: u64,
    ended: bool,
    /// Dropped last: it contains the VMs' cgroups.
    cgroups: Option<Cgroups>,
}

/// Starting and ending.
impl Service {
    /// Reads the saved changes, binds the sockets, tries the driver, and places the VMs.
    pub(crate) fn new(
        config: Config,
        programs: Programs,
        signals: Signals,
        inbox: ControlInbox,
    ) -> Result<Self, BrokerError> {
        let mut roster = Roster::open(config.state_dir.as_deref())?;
        let vms = candidates(roster.vms(config.vms.clone())?, &roster)?;
        let mut probed = driver::choose(&config, &programs)?;
        let slices = slices_named(vms.iter().flat_map(|candidate| &candidate.vm.spec.gpus));
        let slices = driver::probe_slices(&config, &programs, &probed, slices);
        let gpus = Gpus::new(&probed, slices);
        probed.gpus = gpus.iter().map(|(_, gpu)| gpu.facts().clone()).collect();
        let change_users = is_root();
        if !change_users {
            tracing::warn!("not running as root: all VMs' processes run as this user");
        }
        let needed = vms.iter().any(|candidate| cgroup::has_limits(&candidate.vm.spec));
        let wanted = needed || config.control_socket.is_some();
        let cgroups = if wanted { Cgroups::set_up(needed) } else { None };
        let scheduler = Scheduler::start(config.policy.scheduler)
            .map_err(BrokerError::os("cannot start the scheduler"))?;
        let mut service = Self {
            watches: Watches::default(),
            signals,
            timer: Timer::new().map_err(BrokerError::os("cannot create a timer"))?,
            systemd: Systemd::from_env(),
            inbox,
            roster,
            vms: Vms::default(),
            gpus,
            workers: Workers::new(config.warm_workers as usize),
            mps: MpsDaemons::of_this_process(),
            start_queue: StartQueue::default(),
            ledger: Ledger::default(),
            scheduler,
            audit: Audit::default(),
            launcher: Launcher::new(programs, probed.library.clone(), change_users),
            driver: probed,
            policy: config.policy,
            started_ms: now_ms(),
            ended: false,
            cgroups,
        };
        for candidate in vms {
            service.place_candidate(candidate, config.memory_max_is_default)?;
        }
        service.roster.save_pruned()?;
        service.audit = Audit::start(&service.gpus);
        Ok(service)
    }

    fn place_candidate(
        &mut self,
        candidate: Candidate,
        memory_is_default: bool,
    ) -> Result<(), BrokerError> {
        let Candidate { mut vm, origin, socket } = candidate;
        let capacities = self.capacities(None);
        let placed = socket.and_then(|socket| {
            let gpus = place_vm(&capacities, &mut vm, memory_is_default)?;
            check_sharing(&vm.spec, &gpus, &self.gpus)?;
            Ok((gpus, socket))
        });
        match placed {
            Ok((gpus, socket)) => {
                self.enroll(VmState::new(vm, origin, gpus, Device::new(socket)));
            }
            Err(error) if origin == VmOrigin::File => {
                return Err(BrokerError::Placement(format!("vm '{}': {error}", vm.name)));
            }
            // The other VMs are served; an operator can remove this one.
            Err(error) => {
                tracing::error!(vm = vm.name, "cannot serve this VM: {error}");
                let device = Device::failed(error.to_string());
                self.enroll(VmState::new(vm, origin, Vec::new(), device));
            }
        }
        Ok(())
    }

    /// Adds a VM with its accounts and its cgroup. Its device process must be started then.
    fn enroll(&mut self, mut state: VmState) -> VmId {
        if state.device.failure().is_none() && cgroup::has_limits(&state.vm.spec) {
            let name = &state.vm.name;
            match &self.cgroups {
                Some(cgroups) => match cgroups.add(&state.vm) {
                    Ok(cgroup) => state.set_cgroup(cgroup),
                    Err(reason) => tracing::warn!(vm = name, "cannot create its cgroup: {reason}"),
                },
                None => tracing::warn!(
                    vm = name,
                    "cannot enforce cpu.max, memory.host_max and pids.max on this host"
                ),
            }
        }
        let id = self.vms.add(state);
        self.set_quotas(id);
        id
    }

    /// Whether a signal has ended the broker.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    fn handle_signal(&mut self) {
        if self.signals.take() {
            tracing::info!("shutting down");
            self.systemd.stopping();
            self.ended = true;
        }
    }
}

/// Events, reports and the timer.
impl Service {
    fn publish(
        &self,
        kind: EventKind,
        vm: Option<VmId>,
        session: Option<u32>,
        message: impl Into<String>,
    ) {
        self.publish_gpu(kind, vm, session, None, message);
    }

    fn publish_gpu(
        &self,
        kind: EventKind,
        vm: Option<VmId>,
        session: Option<u32>,
        gpu: Option<GpuId>,
        message: impl Into<String>,
    ) {
        let vm = vm.map(|vm| self.vms.name(vm));
        let about = About { vm, session, gpu: gpu.map(|gpu| gpu.0) };
        self.inbox.events().publish(kind, about, message);
    }

    fn reports(&self) -> Reports<'_> {
        Reports {
            vms: &self.vms,
            gpus: &self.gpus,
            workers: &self.workers,
            ledger: &self.ledger,
            scheduler: &self.scheduler,
            audit: &self.audit,
            policy: &self.policy,
            started_ms: self.started_ms,
        }
    }

    fn capacities(&self, except: Option<VmId>) -> Vec<Capacity> {
        self.reports().capacities(except)
    }

    /// Sets when the timer fires next. Not called for each event, or it would never fire.
    fn set_timer(&self) {
        let mut after = if self.start_queue.is_empty() { IDLE_TICK } else { QUEUE_TICK };
        if let Some(interval) = self.systemd.interval() {
            after = after.min(interval);
        }
        self.timer.set(after);
    }

    fn tick(&mut self, ops: &mut EventOps) {
        self.timer.acknowledge();
        if self.systemd.take_ping_due() {
            if self.scheduler.is_alive() {
                self.systemd.ping_watchdog();
            } else {
                tracing::error!("scheduler thread is stuck; skipping the systemd watchdog ping");
            }
        }
        if !self.start_queue.is_empty() && !self.ended {
            self.start_waiting(ops);
        }
        self.set_timer();
    }
}

/// The control API. Each change is checked as a whole, saved, and only then made; a refused one
/// changes nothing.
impl Service {
    fn handle_requests(&mut self, ops: &mut EventOps) {
        self.inbox.acknowledge();
        while let Some((request, answer)) = self.inbox.next() {
            self.handle_request(ops, request, answer);
        }
    }

    fn handle_request(&mut self, ops: &mut EventOps, request: Request, answer: Answer) {
        if self.ended {
            let message = "vcudad is shutting down; try again";
            return answer.give(Err(ApiError::new(ErrorCode::Unavailable, message)));
        }
        let reports = self.reports();
        let reply = match request {
            Request::AddVm(spec) => self.add_vm(ops, *spec),
            Request::ListVms => Ok(Response::Vms(reports.vm_infos())),
            Request::ShowVm(name) => self.vms.find(&name).and_then(|id| self.show(id)),
            Request::SetVm(name, patch) => self.set_vm(ops, &name, &patch),
            Request::RemoveVm(name) => return self.remove_vm(ops, &name, answer),
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

    fn add_vm(&mut self, ops: &mut EventOps, spec: VmSpec) -> Reply {
        let mut vm = Vm::new(spec)?;
        self.vms.check_unique(&vm)?;
        choose_uids([&mut vm], self.vms.uids())
            .map_err(|error| ApiError::new(ErrorCode::Conflict, error.to_string()).of("uid"))?;
        let gpus = place_vm(&self.capacities(None), &mut vm, false)?;
        check_sharing(&vm.spec, &gpus, &self.gpus)?;
        let socket = socket::bind(&vm).map_err(|error| socket::api_error(&vm, error))?;
        // Save the chosen values, so that they stay the same after a restart.
        let spec = &mut vm.spec;
        (spec.socket, spec.uid, spec.gid) = (Some(vm.socket.clone()), vm.uid, vm.gid);
        self.roster.add(spec.clone())?;
        let id = self.enroll(VmState::new(vm, VmOrigin::Api, gpus, Device::new(socket)));
        self.start_device(ops, id);
        self.refill(ops);
        self.publish(EventKind::VmAdded, Some(id), None, "added");
        self.show(id)
    }

    fn set_vm(&mut self, ops: &mut EventOps, name: &str, patch: &VmPatch) -> Reply {
        let id = self.vms.find(name)?;
        let Some(state) = self.vms.get(id).filter(|state| !state.is_leaving()) else {
            let message = format!("VM '{name}' is being removed; changes are refused");
            return Err(ApiError::new(ErrorCode::Conflict, message));
        };
        let after = state.changed(patch)?;
        state.check_increase(&after, &self.capacities(Some(id)))?;
        self.roster.change(state.origin, patch, &after.spec)?;
        let max = after.limits.max_sessions;
        let Some(state) = self.vms.get_mut(id) else { return Err(ApiError::no_vm(name)) };
        state.vm = after;
        self.send_to_device(id, &BrokerToDevice::SessionsMax { max }, &[]);
        self.set_quotas(id);
        // There may be room for waiting sessions now.
        self.start_waiting(ops);
        let message = serde_json::to_string(patch).unwrap_or_default();
        tracing::info!(vm = name, "changed: {message}");
        self.publish(EventKind::VmChanged, Some(id), None, message);
        self.show(id)
    }

    /// Sets a VM's limits in the ledger and the scheduler.
    fn set_quotas(&mut self, id: VmId) {
        let Some(state) = self.vms.get(id) else { return };
        let memory = &state.vm.spec.memory;
        for gpu in &state.gpus {
            let quota = Quota { max: memory.max, session_max: memory.session_max };
            self.ledger.set(id, *gpu, quota);
        }
        self.scheduler.set_vm(id, &state.gpus, &state.vm);
    }

    fn remove_vm(&mut self, ops: &mut EventOps, name: &str, answer: Answer) {
        let id = match self.vms.find(name) {
            Ok(id) => id,
            Err(error) => return answer.give(Err(error)),
        };
        let Some(state) = self.vms.get_mut(id) else { return };
        if !state.is_leaving() {
            if let Err(error) = self.roster.remove(name, state.origin) {
                return answer.give(Err(error));
            }
            state.device.close();
            self.start_queue.remove_vm(id);
            self.workers.end_vm(id);
        }
        state.add_removal(answer);
        self.forget_vm(ops, id);
    }

    /// Forgets a VM that is being removed, once its last process has been reaped.
    fn forget_vm(&mut self, ops: &mut EventOps, id: VmId) {
        let gone = |state: &VmState| state.is_leaving() && state.device.pid().is_none();
        if !self.vms.get(id).is_some_and(gone) || self.workers.count_of_vm(id) > 0 {
            return;
        }
        self.publish(EventKind::VmRemoved, Some(id), None, "removed");
        self.ledger.remove(id);
        self.scheduler.remove_vm(id);
        let Some(state) = self.vms.remove(id) else { return };
        tracing::info!(vm = state.vm.name, "removed");
        self.mps.retain(&self.vms.mps_sets());
        for answer in state.into_removals() {
            answer.give(Ok(Response::Done));
        }
        if !self.ended {
            self.refill(ops);
        }
    }

    fn kill_session(&mut self, name: &str, number: u32) -> Reply {
        let id = self.vms.find(name)?;
        let mut sessions = self.workers.sessions_of(id);
        let found = sessions.find(|(_, session)| session.number() == number);
        let worker = found.map(|(worker, _)| worker);
        drop(sessions);
        let worker = worker.and_then(|worker| self.workers.get_mut(worker));
        let worker = worker.ok_or_else(|| ApiError::no_session(name, number))?;
        worker.set_failure("ended by the operator");
        worker.end();
        Ok(Response::Done)
    }
}

/// Device processes.
impl Service {
    fn start_device(&mut self, ops: &mut EventOps, id: VmId) {
        let Some(state) = self.vms.get_mut(id) else { return };
        match state.device.start(&self.launcher, &state.vm, &state.gpus) {
            Ok(Some(fds)) => {
                self.watches.add(ops, fds.socket, Source::DeviceSocket(id));
                self.watches.add(ops, fds.pidfd, Source::DevicePid(id));
            }
            Ok(None) => {}
            Err(reason) => {
                tracing::error!(vm = state.vm.name, "{reason}");
                state.device.set_failure(reason.clone());
                self.publish(EventKind::DeviceEnded, Some(id), None, reason);
            }
        }
    }

    fn send_to_device(&mut self, id: VmId, message: &BrokerToDevice, fds: &[RawFd]) {
        let Some(state) = self.vms.get_mut(id) else { return };
        state.device.send(&state.vm.name, message, fds);
    }

    /// Reports to a device process that its session has ended, or will not begin.
    fn send_ended(&mut self, id: VmId, request: u64, how: Ending) {
        self.send_to_device(id, &BrokerToDevice::Ended { request, how }, &[]);
    }

    fn device_ended(&mut self, ops: &mut EventOps, id: VmId) {
        let Some(state) = self.vms.get_mut(id) else { return };
        let Some((process, how)) = state.device.reap() else { return };
        self.watches.remove(ops, process.socket_fd());
        self.watches.remove(ops, process.pidfd());
        drop(process);
        self.start_queue.remove_vm(id);
        self.workers.end_vm(id);
        if state.is_leaving() {
            return self.forget_vm(ops, id);
        }
        tracing::warn!(vm = state.vm.name, "device process: {how}");
        if !self.ended {
            state.device.count_restart();
            let message = format!("device process: {how}");
            self.publish(EventKind::DeviceEnded, Some(id), None, message);
            self.start_device(ops, id);
        }
    }

    fn handle_device_message(&mut self, ops: &mut EventOps, id: VmId) {
        let Some(state) = self.vms.get_mut(id) else { return };
        match state.device.receive() {
            DeviceEffect::None => {}
            DeviceEffect::Closed(fd) => self.watches.remove(ops, fd),
            DeviceEffect::Message(DeviceToBroker::Start { request, session, pid, mut env }) => {
                env.retain(|(name, _)| state.vm.env_allow.contains(name));
                self.start_session(ops, Session { vm: id, request, id: session, pid, env });
            }
            DeviceEffect::Message(DeviceToBroker::End { request }) => {
                if let Some(worker) = self.workers.find(id, request) {
                    self.workers.end(worker);
                } else if self.start_queue.remove(id, request) {
                    let how =
                        Ending::NoWorker("the session ended before its worker started".into());
                    self.send_ended(id, request, how);
                }
            }
            DeviceEffect::Message(DeviceToBroker::Query { request }) => {
                self.send_facts(id, request);
            }
        }
    }

    /// Answers a guest's query about its GPUs.
    fn send_facts(&mut self, id: VmId, request: u64) {
        let Some(state) = self.vms.get(id) else { return };
        let sessions = self.workers.sessions_of(id).map(|(worker, session)| Serving {
            worker,
            session: session.id,
            pid: session.pid,
        });
        let utilization = |gpu| self.scheduler.utilization(id, gpu);
        let (driver, ledger) = (&self.driver, &self.ledger);
        let facts = guest_facts::collect(driver, ledger, id, &state.gpus, sessions, utilization);
        self.send_to_device(id, &BrokerToDevice::Facts { request, facts }, &[]);
    }
}

/// Sessions.
impl Service {
    fn start_session(&mut self, ops: &mut EventOps, mut session: Session) {
        let (id, request) = (session.vm, session.request);
        let Some(state) = self.vms.get_mut(id) else { return };
        let max = state.vm.limits.max_sessions as usize;
        if self.workers.find(id, request).is_some() {
            tracing::error!(vm = state.vm.name, "the device process used a session number twice");
            return;
        }
        let full = self.workers.count_of_vm(id) >= max;
        let waits = if full { self.workers.is_vm_ending(id) } else { !state.take_session_start() };
        if waits && self.start_queue.has_room(id, max) {
            if self.start_queue.push(session) {
                self.set_timer();
            }
            return;
        }
        if full || waits {
            if let Some(before) = state.report_refusal() {
                tracing::warn!(
                    vm = state.vm.name,
                    session = session.number(),
                    before,
                    "refusing a session: sessions.max is {max}"
                );
            }
            return self.send_ended(id, request, Ending::Limit);
        }
        let (spec, gpus) = (&state.vm.spec, state.gpus.clone());
        match self.mps.session_env(spec, &gpus, &self.gpus, self.policy.scheduler) {
            // Later variables win, so that a session can't override the limits.
            Ok(env) => session.env.extend(env),
            Err(error) => {
                let number = session.number();
                tracing::error!(
                    vm = state.vm.name,
                    session = number,
                    "cannot start a worker: {error}"
                );
                return self.send_ended(id, request, Ending::NoWorker(error.to_string()));
            }
        }
        let given = match session.env.is_empty() {
            true => self.workers.give(&gpus, session),
            false => Err(session),
        };
        match given {
            Ok(worker) => {
                if self.workers.get(worker).is_some_and(|worker| worker.is_warm()) {
                    self.assign(worker);
                }
            }
            Err(session) => self.start_worker(ops, gpus, Some(session)),
        }
        self.refill(ops);
    }

    /// Tries again to start the waiting sessions, in their order.
    fn start_waiting(&mut self, ops: &mut EventOps) {
        for session in self.start_queue.take_all() {
            self.start_session(ops, session);
        }
    }

    /// Assigns a warm worker to its session.
    fn assign(&mut self, id: WorkerId) {
        if let Err(reason) = self.try_assign(id) {
            tracing::error!("cannot assign a worker: {reason}");
            if let Some(worker) = self.workers.get_mut(id) {
                worker.set_failure(reason);
                worker.end();
            }
        }
    }

    fn try_assign(&mut self, id: WorkerId) -> Result<(), String> {
        let Some(worker) = self.workers.get_mut(id) else { return Ok(()) };
        let Some(session) = worker.session() else { return Ok(()) };
        let Some(state) = self.vms.get(session.vm) else { return Ok(()) };
        state.take_process(worker.pid())?;
        let vm = session.vm;
        self.ledger.open(id, vm, &state.gpus);
        let contexts: Vec<u64> =
            state.gpus.iter().map(|gpu| self.gpus.context_bytes(*gpu)).collect();
        // A warm worker has a context on its first GPU. If the quota has no room for it, the worker
        // destroys it, and the guest gets an error when it creates a context.
        let first = contexts.first().copied().unwrap_or(0);
        let charged = first == 0 || self.ledger.reserve(id, 0, first, Charge::Context).is_ok();
        let (uid, gid) = self.launcher.ids(&state.vm);
        let assignment = Assignment {
            label: format!("{}/{}", state.vm.name, session.number()),
            pid: session.pid,
            uid,
            gid,
            env: session.env.clone(),
            spin_us: state.vm.spin_us,
            context_bytes: contexts,
            context_charged: charged,
        };
        let ends = worker.assign(assignment).map_err(|error| error.to_string())?;
        self.scheduler.add_worker(id, vm, &state.gpus, ends);
        Ok(())
    }

    /// A worker serves its session: sends the device process its ends.
    fn announce(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(id) else { return };
        let (ends, pid) = (worker.begin_serving(), worker.pid());
        let (Some(session), Some(ends)) = (worker.session(), ends) else { return };
        let (vm, number) = (session.vm, session.number());
        let text = format!("guest process {}, worker {pid}", session.pid);
        let message = BrokerToDevice::Started { request: session.request, pid };
        if let Some(state) = self.vms.get_mut(vm) {
            state.count_session();
        }
        self.send_to_device(vm, &message, &ends.fds());
        self.publish(EventKind::SessionStarted, Some(vm), Some(number), text);
    }

    /// Reports that an allocation of a session did not fit.
    fn report_refused_memory(&mut self, id: WorkerId, device: u32, kind: Charge, reason: &str) {
        tracing::debug!("{reason}");
        let Some(session) = self.workers.get(id).and_then(|worker| worker.session()) else {
            return;
        };
        let (vm, number) = (session.vm, session.number());
        let Some(state) = self.vms.get_mut(vm) else { return };
        let Some(gpu) = state.gpus.get(device as usize).copied() else { return };
        let Some(before) = state.report_memory_refusal(gpu) else { return };
        let kind = kind.name();
        let message = match before {
            0 => format!("{kind}: {reason}"),
            _ => format!("{kind}: {reason} ({before} more since the last event)"),
        };
        self.publish_gpu(EventKind::MemoryRefused, Some(vm), Some(number), Some(gpu), message);
    }
}

/// Workers.
impl Service {
    /// Starts the workers that are missing from the warm pool, and ends those that no VM can use.
    fn refill(&mut self, ops: &mut EventOps) {
        let sets = self.vms.warm_sets(&self.gpus);
        self.workers.end_free_outside(&sets);
        for gpus in sets {
            while self.workers.needs_warm(&gpus) {
                let before = self.workers.free(&gpus);
                self.start_worker(ops, gpus.clone(), None);
                if self.workers.free(&gpus) == before {
                    break;
                }
            }
        }
    }

    fn start_worker(&mut self, ops: &mut EventOps, gpus: Vec<GpuId>, session: Option<Session>) {
        let env = session.as_ref().map_or(&[][..], |session| session.env.as_slice());
        let cold = !env.is_empty();
        match self.launcher.start_worker(&self.gpus.visible(&gpus), env) {
            Ok(process) => {
                let (socket, pidfd) = (process.socket_fd(), process.pidfd());
                let id = self.workers.add(process, gpus, session, cold);
                self.watches.add(ops, socket, Source::WorkerSocket(id));
                self.watches.add(ops, pidfd, Source::WorkerPid(id));
            }
            Err(error) => {
                tracing::error!("cannot start a worker: {error}");
                self.workers.count_failure();
                if let Some(Session { vm, request, .. }) = session {
                    self.send_ended(vm, request, Ending::NoWorker(error.to_string()));
                }
            }
        }
    }

    /// Kills a worker for what it did, and reports it.
    fn kill_worker(&mut self, id: WorkerId, why: &str) {
        let Some(killed) = self.workers.kill(id, why) else { return };
        let (vm, session) = killed.session.unzip();
        let (name, pid) = (vm.map_or("", |vm| self.vms.name(vm)), killed.pid);
        tracing::error!(vm = name, session, pid, "killing a worker: {why}");
        self.publish(EventKind::WorkerKilled, vm, session, format!("worker {pid}: {why}"));
    }

    fn worker_misbehaved(&mut self, id: WorkerId, how: &str) {
        self.kill_worker(id, &format!("protocol violation: {how}"));
    }

    fn worker_ended(&mut self, ops: &mut EventOps, id: WorkerId) {
        // Events of the scheduler about this worker count while its session is known.
        self.handle_scheduler_events();
        let Some(worker) = self.workers.get_mut(id) else { return };
        let Some(status) = worker.reap() else { return };
        let was_ended = worker.is_ending();
        let Some(mut worker) = self.workers.remove(id) else { return };
        self.watches.remove(ops, worker.socket_fd());
        self.watches.remove(ops, worker.pidfd());
        self.scheduler.remove_worker(id);
        // The memory on the GPU is free only now.
        let bytes = self.ledger.close(id);
        let how = worker.take_failure(status);
        match worker.session() {
            Some(session) => {
                let (vm, request, number) = (session.vm, session.request, session.number());
                if let Some(state) = self.vms.get_mut(vm) {
                    state.add_activity(&Activity { ring_depth: 0, ..worker.activity() });
                }
                let name = self.vms.name(vm);
                tracing::info!(vm = name, session = number, bytes, "worker reaped: {how}");
                let message = format!("{how}; freed {bytes} bytes of device memory");
                self.publish(EventKind::SessionEnded, Some(vm), Some(number), message);
                let how = match worker.is_announced() {
                    true => Ending::Died(how),
                    false => Ending::NoWorker(how),
                };
                self.send_ended(vm, request, how);
                self.forget_vm(ops, vm);
            }
            // The broker ended it because no VM could use it.
            None if was_ended && how == describe(status) => {}
            None => {
                tracing::error!("a warm worker ended: {how}");
                if self.workers.count_failure() {
                    tracing::error!(
                        "too many warm workers failed; starting workers only on demand"
                    );
                }
            }
        }
        if !self.ended {
            self.start_waiting(ops);
            self.refill(ops);
        }
    }

    fn handle_worker_message(&mut self, ops: &mut EventOps, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(id) else { return };
        let fd = worker.socket_fd();
        match worker.handle_message(id, &mut self.ledger) {
            WorkerEffect::None => {}
            WorkerEffect::Ready => {
                let has_session = worker.session().is_some();
                self.workers.reset_failures();
                if has_session {
                    self.assign(id);
                }
            }
            WorkerEffect::Announce => self.announce(id),
            WorkerEffect::MemoryRefused { device, kind, reason } => {
                self.report_refused_memory(id, device, kind, &reason);
                let Some(worker) = self.workers.get(id) else { return };
                if let Err(how) = worker.answer(&ToWorker::Refused) {
                    self.worker_misbehaved(id, &how);
                }
            }
            WorkerEffect::Misbehaved(how) => self.worker_misbehaved(id, &how),
            WorkerEffect::Failed => worker.end(),
            WorkerEffect::Closed => {
                worker.end();
                self.watches.remove(ops, fd);
            }
            WorkerEffect::Undecodable(how) => {
                self.worker_misbehaved(id, &how);
                self.watches.remove(ops, fd);
            }
        }
    }

    fn handle_scheduler_events(&mut self) {
        for event in self.scheduler.events() {
            match event {
                ComputeEvent::KernelTimeout(worker, gpu) => {
                    let Some(worker) = self.workers.get_mut(worker) else { continue };
                    // However the worker ends now, this is the reason.
                    worker.set_failure(TIMED_OUT);
                    let vm = worker.session().map(|session| session.vm);
                    if let Some(state) = vm.and_then(|vm| self.vms.get_mut(vm)) {
                        state.count_kernel_timeout(GpuId(gpu.0));
                    }
                }
                ComputeEvent::TimeoutReported(worker) => self.kill_worker(worker, TIMED_OUT),
                ComputeEvent::HeartbeatLost(worker) => {
                    self.kill_worker(worker, "its heartbeat stopped while it had the GPU");
                }
                ComputeEvent::Restarted => {
                    tracing::error!("the scheduler was restarted; no VM ran in the meantime");
                    let message = "the scheduler's thread failed and was restarted";
                    self.publish(EventKind::SchedulerRestarted, None, None, message);
                }
            }
        }
    }
}

/// NVML: the ledger audit, and faults of GPUs.
impl Service {
    fn handle_nvml(&mut self) {
        for event in self.audit.take() {
            match event {
                NvmlEvent::Fault(fault) => self.handle_fault(&fault),
                NvmlEvent::Sample(uuid, sample) => {
                    if let Some(gpu) = self.gpus.by_uuid(&uuid) {
                        self.compare(gpu, &sample);
                    }
                }
            }
        }
    }

    fn compare(&mut self, gpu: GpuId, sample: &MemorySample) {
        for bytes in audit::contexts(gpu, sample, &self.workers) {
            if self.gpus.set_context_bytes(gpu, bytes) {
                tracing::info!(gpu = gpu.0, bytes, "measured the memory of a context");
            }
        }
        let (context, slack) = (self.gpus.context_bytes(gpu), self.policy.memory_slack);
        let (workers, ledger) = (&self.workers, &self.ledger);
        for finding in self.audit.compare(gpu, sample, workers, ledger, context, slack) {
            self.handle_finding(gpu, finding);
        }
    }

    fn handle_finding(&mut self, gpu: GpuId, finding: Finding) {
        let slack = self.policy.memory_slack;
        let (worker, message) = match finding {
            Finding::Excess { worker, seen, booked } => (
                Some(worker),
                format!(
                    "the driver reports {seen} bytes, the ledger {booked}: the difference exceeds \
                     memory.slack ({slack} bytes)"
                ),
            ),
            Finding::Unexplained { bytes } => (
                None,
                format!(
                    "{bytes} bytes are in use that the ledger doesn't explain; the owner is unknown"
                ),
            ),
            Finding::Settled { worker } => {
                return tracing::info!(gpu = gpu.0, worker, "usage is back within the limit");
            }
            Finding::Explained => {
                return tracing::info!(gpu = gpu.0, "the ledger explains all memory in use again");
            }
        };
        self.gpus.count_excess(gpu);
        let session = worker.and_then(|worker| self.workers.get(worker)?.session());
        let (vm, number) = session.map(|session| (session.vm, session.number())).unzip();
        let name = vm.map_or("", |vm| self.vms.name(vm));
        tracing::warn!(gpu = gpu.0, vm = name, session = number, "{message}");
        self.publish_gpu(EventKind::MemoryExcess, vm, number, Some(gpu), message.clone());
        if let Some(worker) = worker
            && self.policy.on_excess == OnExcess::End
            && vm.is_some()
        {
            self.kill_worker(worker, &message);
        }
    }

    /// Reports a GPU's fault. No VM is placed on the GPU any more, and the workers of a lost GPU are
    /// ended. The driver reports the error to their sessions.
    fn handle_fault(&mut self, fault: &Fault) {
        let kind = fault.kind.to_string();
        let (gpu, verdict) = self.gpus.record_fault(fault);
        let Some(gpu) = gpu else {
            if verdict == Verdict::Program {
                return;
            }
            // No VM can have this GPU, or the driver doesn't say which one it is.
            let name = printable(fault.uuid.as_deref().unwrap_or("a GPU"));
            tracing::warn!("{name}: {kind}");
            return self.publish(EventKind::GpuFault, None, None, format!("{name}: {kind}"));
        };
        match verdict {
            Verdict::Program => return self.report_program_fault(gpu, &kind),
            Verdict::Known => return,
            Verdict::Faulty | Verdict::Lost => {}
        }
        tracing::error!(gpu = gpu.0, "{kind}; the GPU takes no new VMs until vcudad is restarted");
        self.publish_gpu(EventKind::GpuFault, None, None, Some(gpu), kind.clone());
        if verdict == Verdict::Lost {
            for worker in self.workers.with_gpu(gpu) {
                self.kill_worker(worker, &kind);
            }
        }
    }

    fn report_program_fault(&mut self, gpu: GpuId, kind: &str) {
        let Some(before) = self.gpus.report_program_fault(gpu) else { return };
        let mut message = format!("{kind}, caused by a program");
        if before > 0 {
            message += &format!(" ({before} more since the last event)");
        }
        tracing::info!(gpu = gpu.0, "{message}");
        self.publish_gpu(EventKind::ProgramFault, None, None, Some(gpu), message);
    }
}

impl Drop for Service {
    /// Ends all processes. Work that is under way is lost, as when a host is switched off.
    fn drop(&mut self) {
        for (_, state) in self.vms.iter_mut() {
            state.device.kill_and_wait();
        }
        self.workers.end_all();
    }
}

impl MutEventSubscriber for Service {
    fn process(&mut self, events: Events, ops: &mut EventOps) {
        match self.watches.source(events.fd()) {
            Some(Source::Signals) => self.handle_signal(),
            Some(Source::Timer) => self.tick(ops),
            Some(Source::Control) => self.handle_requests(ops),
            Some(Source::Nvml) => self.handle_nvml(),
            Some(Source::Scheduler) => self.handle_scheduler_events(),
            Some(Source::DeviceSocket(vm)) => self.handle_device_message(ops, vm),
            Some(Source::DevicePid(vm)) => self.device_ended(ops, vm),
            Some(Source::WorkerSocket(worker)) => self.handle_worker_message(ops, worker),
            Some(Source::WorkerPid(worker)) => self.worker_ended(ops, worker),
            None => {}
        }
    }

    fn init(&mut self, ops: &mut EventOps) {
        self.watches.add(ops, self.signals.as_raw_fd(), Source::Signals);
        self.watches.add(ops, self.timer.as_raw_fd(), Source::Timer);
        self.watches.add(ops, self.inbox.as_raw_fd(), Source::Control);
        if let Some(bell) = self.audit.bell() {
            self.watches.add(ops, bell, Source::Nvml);
        }
        self.watches.add(ops, self.scheduler.events_fd(), Source::Scheduler);
        for vm in self.vms.ids() {
            self.start_device(ops, vm);
        }
        self.refill(ops);
        self.systemd.ready();
        self.set_timer();
    }
}
