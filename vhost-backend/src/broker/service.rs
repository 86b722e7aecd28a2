//! The event loop's subscriber: signals, device processes, workers. One thread, and nothing here
//! waits for anybody: sockets are non-blocking, and who does not read is ended.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use event_manager::{EventOps, EventSet, Events, MutEventSubscriber};

use super::BrokerError;
use super::cgroup::{self, Cgroups, VmCgroup};
use super::facts::{self, Serving};
use super::pool::{Phase, Session, Workers};
use super::socket::VmSocket;
use super::spawn::{self, Programs, Running};
use crate::config::{Config, Vm};
use crate::gate::{GateMap, GatePage};
use crate::gpu::Probed;
use crate::ipc::messages::{
    Assignment, BrokerToDevice, DeviceSetup, DeviceToBroker, Ending, ToBroker, ToWorker, WorkerId,
};
use crate::ipc::seqpacket;
use crate::ledger::{self, GpuId, Ledger, Quota};
use crate::worker::waker::eventfd;

/// Warm workers that may fail in a row before no more are started ahead of a session.
const MAX_FAILURES: u32 = 3;
/// A device process that ends more often than this within a minute is not started again.
const MAX_RESTARTS: usize = 5;

/// A VM, by its place in the configuration.
pub(super) type VmId = usize;

/// Devices that a worker may have.
const MAX_GPUS: u32 = 16;

fn account(vm: VmId) -> ledger::VmId {
    ledger::VmId(vm as u64)
}

/// Who a descriptor belongs to.
#[derive(Clone, Copy, Debug)]
enum Source {
    Signals,
    DeviceSocket(VmId),
    DevicePid(VmId),
    WorkerSocket(WorkerId),
    WorkerPid(WorkerId),
}

struct VmState {
    vm: Vm,
    socket: VmSocket,
    cgroup: Option<VmCgroup>,
    device: Option<Running>,
    starts: Vec<Instant>,
}

/// The broker's state.
pub(super) struct Service {
    vms: Vec<VmState>,
    warm_workers: usize,
    programs: Programs,
    /// The driver library and the GPUs that it finds.
    driver: Probed,
    /// Processes get users of their own.
    change_users: bool,
    signals: OwnedFd,
    sources: HashMap<RawFd, Source>,
    workers: Workers,
    /// Sessions for which there is no room until a worker that was ended has been reaped.
    waiting: VecDeque<Session>,
    ledger: Ledger,
    failures: u32,
    ended: bool,
    /// Dropped last: the VMs' cgroups lie in it.
    _cgroups: Option<Cgroups>,
}

/// Blocks the signals that end the broker, and makes them readable.
pub(super) fn catch_signals() -> io::Result<OwnedFd> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `set` is initialised by sigemptyset before it is used; the calls get valid pointers.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        if libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) < 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

impl Service {
    pub(super) fn new(
        config: Config,
        configured: Vec<Vm>,
        programs: Programs,
        driver: Probed,
        sockets: Vec<VmSocket>,
        signals: OwnedFd,
    ) -> Result<Self, BrokerError> {
        let change_users = spawn::is_root();
        if !change_users {
            tracing::warn!("not run by root: all processes have this user, VMs too");
        }
        let limits = |vm: &Vm| cgroup::has_limits(&vm.spec);
        let cgroups = if configured.iter().any(limits) { Cgroups::set_up() } else { None };
        let mut ledger = Ledger::default();
        let mut vms = Vec::new();
        for (vm, socket) in configured.into_iter().zip(sockets) {
            for gpu in (0..MAX_GPUS).map(GpuId) {
                let quota =
                    Quota { max: vm.spec.memory.max, session_max: vm.spec.memory.session_max };
                ledger.set(account(vms.len()), gpu, quota);
            }
            let cgroup = cgroups.as_ref().and_then(|cgroups| {
                cgroups.add(&vm).inspect_err(|reason| tracing::warn!("no cgroup: {reason}")).ok()
            });
            vms.push(VmState { vm, socket, cgroup, device: None, starts: Vec::new() });
        }
        Ok(Self {
            vms,
            warm_workers: config.warm_workers as usize,
            programs,
            driver,
            change_users,
            signals,
            sources: HashMap::new(),
            workers: Workers::default(),
            waiting: VecDeque::new(),
            ledger,
            failures: 0,
            ended: false,
            _cgroups: cgroups,
        })
    }

    /// Whether a signal asked for the end.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    fn watch(&mut self, ops: &mut EventOps, fd: RawFd, source: Source) {
        match ops.add(Events::new_raw(fd, EventSet::IN)) {
            Ok(()) => drop(self.sources.insert(fd, source)),
            Err(error) => tracing::error!("cannot watch {source:?}: {error}"),
        }
    }

    fn unwatch(&mut self, ops: &mut EventOps, fd: RawFd) {
        if self.sources.remove(&fd).is_some()
            && let Err(error) = ops.remove(Events::empty_raw(fd))
        {
            tracing::error!("cannot stop watching: {error}");
        }
    }

    // ---- Device processes ----

    fn start_device(&mut self, ops: &mut EventOps, id: VmId) {
        let state = &mut self.vms[id];
        state.starts.retain(|start| start.elapsed() < Duration::from_secs(60));
        let name = &state.vm.name;
        if state.starts.len() >= MAX_RESTARTS {
            tracing::error!(vm = name, "the device process keeps ending; it stays ended");
            return;
        }
        state.starts.push(Instant::now());
        let device = match Running::start(spawn::device(&self.programs)) {
            Ok(device) => device,
            Err(error) => {
                tracing::error!(vm = name, "cannot start the device process: {error}");
                return;
            }
        };
        let setup = BrokerToDevice::Setup(DeviceSetup {
            name: name.clone(),
            uid: state.vm.uid.filter(|_| self.change_users),
            gid: state.vm.gid.filter(|_| self.change_users),
            limits: state.vm.limits,
        });
        if let Err(error) = seqpacket::send(&device.socket, &setup, &[state.socket.as_raw_fd()]) {
            tracing::error!(vm = name, "cannot talk to the device process: {error}");
        }
        tracing::info!(
            vm = name,
            pid = device.pid(),
            memory_max = state.vm.spec.memory.max,
            socket = %state.vm.socket.display(),
            "device process"
        );
        let (socket, pidfd) = (device.socket.as_raw_fd(), device.pidfd.as_raw_fd());
        state.device = Some(device);
        self.watch(ops, socket, Source::DeviceSocket(id));
        self.watch(ops, pidfd, Source::DevicePid(id));
    }

    fn tell_device(&mut self, id: VmId, message: &BrokerToDevice, fds: &[RawFd]) {
        let state = &mut self.vms[id];
        let Some(device) = &mut state.device else { return };
        if let Err(error) = seqpacket::send(&device.socket, message, fds) {
            tracing::error!(vm = state.vm.name, "the device process does not listen: {error}");
            device.kill();
        }
    }

    fn device_ended(&mut self, ops: &mut EventOps, id: VmId) {
        let state = &mut self.vms[id];
        let Some(status) = state.device.as_mut().and_then(Running::reap) else { return };
        tracing::warn!(vm = state.vm.name, "the device process: {}", spawn::describe(status));
        if let Some(device) = state.device.take() {
            self.unwatch(ops, device.socket.as_raw_fd());
            self.unwatch(ops, device.pidfd.as_raw_fd());
        }
        self.waiting.retain(|session| session.vm != id);
        for worker in self.workers.ids_of_vm(id) {
            self.end_worker(worker);
        }
        if !self.ended {
            self.start_device(ops, id);
        }
    }

    fn device_spoke(&mut self, ops: &mut EventOps, id: VmId) {
        let Some(device) = &mut self.vms[id].device else { return };
        let message = match seqpacket::receive(&device.socket) {
            Ok(Some((message, _))) => message,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Ok(None) | Err(_) => {
                let fd = device.socket.as_raw_fd();
                device.kill();
                return self.unwatch(ops, fd);
            }
        };
        match message {
            DeviceToBroker::Start { request, session, pid, env } => {
                let allowed = &self.vms[id].vm.env_allow;
                let mut env = env;
                env.retain(|(name, _)| allowed.contains(name));
                self.start_session(ops, Session { vm: id, request, id: session, pid, env });
            }
            DeviceToBroker::End { request } => {
                let same = |session: &Session| (session.vm, session.request) == (id, request);
                if let Some(worker) = self.workers.find(id, request) {
                    self.end_worker(worker);
                } else if let Some(place) = self.waiting.iter().position(same) {
                    self.waiting.remove(place);
                    let how = Ending::NoWorker("it is no longer wanted".into());
                    self.tell_device(id, &BrokerToDevice::Ended { request, how }, &[]);
                }
            }
            DeviceToBroker::Query { request } => self.tell_facts(id, request),
        }
    }

    /// Tells a VM's guest about its GPUs.
    fn tell_facts(&mut self, id: VmId, request: u64) {
        let gpus: Vec<GpuId> = (0..self.driver.gpus.len() as u32).map(GpuId).collect();
        let sessions = self.workers.sessions_of(id).map(|(worker, session)| Serving {
            worker,
            session: session.id,
            pid: session.pid,
        });
        let facts =
            facts::collect(&self.driver, &self.ledger, account(id), &gpus, sessions, |_| None);
        self.tell_device(id, &BrokerToDevice::Facts { request, facts }, &[]);
    }

    // ---- Sessions ----

    fn start_session(&mut self, ops: &mut EventOps, session: Session) {
        let VmState { vm, .. } = &self.vms[session.vm];
        let (id, request) = (session.vm, session.request);
        if self.workers.of_vm(id) >= vm.limits.max_sessions as usize {
            if self.workers.ending(id) {
                return self.waiting.push_back(session);
            }
            let max = vm.limits.max_sessions;
            tracing::warn!(vm = vm.name, session = session.id, "refused: sessions.max is {max}");
            let ended = BrokerToDevice::Ended { request, how: Ending::Limit };
            return self.tell_device(id, &ended, &[]);
        }
        if self.workers.find(id, request).is_some() {
            tracing::error!(vm = vm.name, "the device process used a request twice");
            return;
        }
        let free = if session.env.is_empty() { self.workers.best_free() } else { None };
        match free {
            Some(worker) => {
                let Some(found) = self.workers.get_mut(worker) else { return };
                found.session = Some(session);
                if found.phase == Phase::Warm {
                    self.assign(worker);
                }
            }
            None => self.start_worker(ops, Some(session)),
        }
        self.refill(ops);
    }

    /// Hands a worker that is warm to its session.
    fn assign(&mut self, id: WorkerId) {
        if let Err(reason) = self.try_assign(id) {
            tracing::error!("cannot assign a worker: {reason}");
            if let Some(worker) = self.workers.get_mut(id) {
                worker.failure = Some(reason);
            }
            self.end_worker(id);
        }
    }

    fn try_assign(&mut self, id: WorkerId) -> Result<(), String> {
        let Some(worker) = self.workers.get_mut(id) else { return Ok(()) };
        let Some(session) = &worker.session else { return Ok(()) };
        let state = &self.vms[session.vm];
        if let Some(cgroup) = &state.cgroup {
            cgroup.take(worker.running.pid())?;
        }
        let assignment = Assignment {
            label: format!("{}/{}", state.vm.name, session.id),
            pid: session.pid,
            uid: state.vm.uid.filter(|_| self.change_users),
            gid: state.vm.gid.filter(|_| self.change_users),
            env: session.env.clone(),
            spin_us: state.vm.spin_us,
            context_bytes: vec![],
        };
        let gpus: Vec<GpuId> = (0..MAX_GPUS).map(GpuId).collect();
        self.ledger.open(id, account(session.vm), &gpus);
        let text = |error: io::Error| error.to_string();
        let (theirs, devices) = seqpacket::stream_pair().map_err(text)?;
        let (doorbell, wake) = (eventfd().map_err(text)?, eventfd().map_err(text)?);
        let (page, bell) = (GatePage::create().map_err(text)?, eventfd().map_err(text)?);
        GateMap::map(&page).map_err(text)?.open_all();
        let fds = [&theirs, &doorbell, &wake, &page, &bell].map(OwnedFd::as_raw_fd);
        seqpacket::send(&worker.running.socket, &ToWorker::Assign(assignment), &fds)
            .map_err(text)?;
        worker.handover = Some([devices, doorbell, wake]);
        worker.phase = Phase::Assigned;
        Ok(())
    }

    // ---- Workers ----

    fn refill(&mut self, ops: &mut EventOps) {
        while self.workers.free() < self.warm_workers && self.failures < MAX_FAILURES {
            let before = self.workers.free();
            self.start_worker(ops, None);
            if self.workers.free() == before {
                break;
            }
        }
    }

    fn start_worker(&mut self, ops: &mut EventOps, session: Option<Session>) {
        let env = session.as_ref().map_or(&[][..], |session| session.env.as_slice());
        let cold = !env.is_empty();
        match Running::start(spawn::worker(&self.programs, &self.driver.library, env)) {
            Ok(running) => {
                let (socket, pidfd) = (running.socket.as_raw_fd(), running.pidfd.as_raw_fd());
                let id = self.workers.add(running, session, cold);
                self.watch(ops, socket, Source::WorkerSocket(id));
                self.watch(ops, pidfd, Source::WorkerPid(id));
            }
            Err(error) => {
                tracing::error!("cannot start a worker: {error}");
                self.failures += 1;
                if let Some(Session { vm, request, .. }) = session {
                    let how = Ending::NoWorker(error.to_string());
                    self.tell_device(vm, &BrokerToDevice::Ended { request, how }, &[]);
                }
            }
        }
    }

    fn end_worker(&mut self, id: WorkerId) {
        if let Some(worker) = self.workers.get_mut(id) {
            worker.running.kill();
            worker.phase = Phase::Ending;
        }
    }

    fn worker_ended(&mut self, ops: &mut EventOps, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(id) else { return };
        let Some(status) = worker.running.reap() else { return };
        let Some(worker) = self.workers.remove(id) else { return };
        self.unwatch(ops, worker.running.socket.as_raw_fd());
        self.unwatch(ops, worker.running.pidfd.as_raw_fd());
        // Only now is the memory on the GPU free.
        let bytes = self.ledger.close(id);
        let how = worker.failure.unwrap_or_else(|| spawn::describe(status));
        match worker.session {
            Some(Session { vm, request, id: session, .. }) => {
                let name = &self.vms[vm].vm.name;
                tracing::info!(vm = name, session, bytes, "worker reaped: {how}");
                let how = if worker.announced { Ending::Died(how) } else { Ending::NoWorker(how) };
                self.tell_device(vm, &BrokerToDevice::Ended { request, how }, &[]);
            }
            None => {
                self.failures += 1;
                tracing::error!("a warm worker ended: {how}");
                if self.failures == MAX_FAILURES {
                    tracing::error!("no more workers are started ahead of a session");
                }
            }
        }
        if !self.ended {
            for session in std::mem::take(&mut self.waiting) {
                self.start_session(ops, session);
            }
            self.refill(ops);
        }
    }

    fn worker_spoke(&mut self, ops: &mut EventOps, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(id) else { return };
        let fd = worker.running.socket.as_raw_fd();
        let message = match seqpacket::receive(&worker.running.socket) {
            Ok(Some((message, _))) => message,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Ok(None) | Err(_) => {
                self.end_worker(id);
                return self.unwatch(ops, fd);
            }
        };
        let has_account = matches!(worker.phase, Phase::Assigned | Phase::Serving);
        let answer = match message {
            ToBroker::Ready if worker.phase == Phase::Starting => {
                worker.phase = Phase::Warm;
                let taken = worker.session.is_some();
                self.failures = 0;
                if taken {
                    self.assign(id);
                }
                return;
            }
            ToBroker::Failed { reason } => {
                worker.failure = Some(reason);
                return self.end_worker(id);
            }
            ToBroker::Began if worker.phase == Phase::Assigned => return self.announce(id),
            ToBroker::Reserve { device, bytes, kind } if has_account => {
                match self.ledger.reserve(id, device, bytes, kind) {
                    Ok(()) => ToWorker::Granted,
                    Err(error) if error.is_full() => {
                        tracing::debug!("{error}");
                        ToWorker::Refused
                    }
                    Err(error) => return self.misbehaved(id, &error.to_string()),
                }
            }
            ToBroker::Release { device, bytes, kind } if has_account => {
                match self.ledger.release(id, device, bytes, kind) {
                    Ok(()) => ToWorker::Granted,
                    Err(error) => return self.misbehaved(id, &error.to_string()),
                }
            }
            ToBroker::Query { device } if has_account => match self.ledger.usage_of(id, device) {
                Ok(usage) => ToWorker::Usage { used: usage.used, max: usage.max },
                Err(error) => return self.misbehaved(id, &error.to_string()),
            },
            // A message that was under way when the worker was ended.
            _ if worker.phase == Phase::Ending => return,
            other => return self.misbehaved(id, &format!("{other:?} at the wrong time")),
        };
        if let Err(error) = seqpacket::send(&worker.running.socket, &answer, &[]) {
            self.misbehaved(id, &format!("it does not read its answers: {error}"));
        }
    }

    fn misbehaved(&mut self, id: WorkerId, how: &str) {
        tracing::error!(worker = id, "ended, since it broke the rules: {how}");
        self.end_worker(id);
    }

    /// The session is served: its device process gets the other ends.
    fn announce(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(id) else { return };
        worker.phase = Phase::Serving;
        worker.announced = true;
        let pid = worker.running.pid();
        let (Some(session), Some(fds)) = (&worker.session, worker.handover.take()) else { return };
        let (vm, message) = (session.vm, BrokerToDevice::Started { request: session.request, pid });
        self.tell_device(
            vm,
            &message,
            &[fds[0].as_raw_fd(), fds[1].as_raw_fd(), fds[2].as_raw_fd()],
        );
    }

    /// Ends everything. What is under way is lost, as when a host is switched off.
    fn shut_down(&mut self) {
        for state in &mut self.vms {
            if let Some(mut device) = state.device.take() {
                device.end();
            }
        }
        let mut workers: Vec<_> = self.workers.drain().collect();
        workers.iter_mut().for_each(|(_, worker)| worker.running.kill());
        workers.iter_mut().for_each(|(_, worker)| worker.running.end());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.shut_down();
    }
}

impl MutEventSubscriber for Service {
    fn process(&mut self, events: Events, ops: &mut EventOps) {
        match self.sources.get(&events.fd()) {
            Some(Source::Signals) => {
                let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
                let size = size_of::<libc::signalfd_siginfo>();
                // SAFETY: `info` has room for what a signalfd gives.
                let read =
                    unsafe { libc::read(self.signals.as_raw_fd(), info.as_mut_ptr().cast(), size) };
                if read == size as isize {
                    tracing::info!("ending");
                    self.ended = true;
                }
            }
            Some(Source::DeviceSocket(vm)) => self.device_spoke(ops, *vm),
            Some(Source::DevicePid(vm)) => self.device_ended(ops, *vm),
            Some(Source::WorkerSocket(worker)) => self.worker_spoke(ops, *worker),
            Some(Source::WorkerPid(worker)) => self.worker_ended(ops, *worker),
            None => {}
        }
    }

    fn init(&mut self, ops: &mut EventOps) {
        let signals = self.signals.as_raw_fd();
        self.watch(ops, signals, Source::Signals);
        for vm in 0..self.vms.len() {
            self.start_device(ops, vm);
        }
        self.refill(ops);
    }
}
