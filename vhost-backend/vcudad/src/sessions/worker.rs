//! Workers. A warm worker has no VM yet, and any other serves one session. A worker is never used
//! for a second session.

mod workers;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use control_api::{Activity, format_size};

pub(crate) use workers::{WorkerChange, WorkerCounts, Workers, WorkersRecord};

use crate::gpu::compute::WorkerObjects;
use crate::processes::launcher::Launcher;
use crate::processes::process::{ChildProcess, ChildRecord};
use crate::processes::spawner::Processes;
use crate::reporting::activity::activity_of;
use crate::sessions::accounts::Accounts;
use crate::sessions::cause::Cause;
use crate::sessions::session::Session;
use control_server::handle::now_ms;
use host_ipc::apart::Apart;
use host_ipc::doorbell::doorbell;
use host_ipc::eventfd::eventfd;
use host_ipc::gate::{GateMap, now};
use host_ipc::messages::{Assignment, Charge, DriverObject, ToBroker, ToWorker, WorkerId};
use host_ipc::printable::printable;
use host_ipc::seqpacket;
use host_ipc::spawner::{End, Kept, ProcessId};
use memory_ledger::{GpuId, LedgerError, VmId};
use rm_control::{Objects, TooManyObjects};
use serde::{Deserialize, Serialize};

/// The phases in the life of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    /// The worker is being started, and loads the driver library.
    Starting,
    /// The worker is ready to be assigned to a session.
    Warm,
    /// The worker is switching to its VM's user and limits.
    Assigned,
    /// The worker is serving its session.
    Serving,
    /// The worker has been killed, but hasn't ended.
    Ending,
}

/// The device process's ends of the channels to a worker. They are sent to the device process once
/// the worker serves its session.
pub(crate) struct DeviceEnds {
    /// The stream to the worker. The worker has the other end.
    stream: Apart,
    doorbell: OwnedFd,
    wake: OwnedFd,
}

impl DeviceEnds {
    /// Returns the descriptors in the order in which they are sent.
    pub(crate) fn fds(&self) -> [BorrowedFd<'_>; 3] {
        [self.stream.as_fd(), self.doorbell.as_fd(), self.wake.as_fd()]
    }
}

/// The scheduler's ends of the channels to a worker that has a session.
pub(crate) struct SchedulerEnds {
    pub(crate) page: GateMap,
    pub(crate) doorbell: OwnedFd,
    pub(crate) bell: OwnedFd,
}

/// The descriptors from which the scheduler's ends are made. The spawner keeps copies, so that a
/// broker that replaces this one can make the ends again.
struct KeptEnds {
    page: OwnedFd,
    doorbell: OwnedFd,
    bell: OwnedFd,
}

impl KeptEnds {
    fn ends(&self) -> io::Result<SchedulerEnds> {
        let page = GateMap::map(&self.page)?;
        Ok(SchedulerEnds {
            page,
            doorbell: self.doorbell.try_clone()?,
            bell: self.bell.try_clone()?,
        })
    }
}

/// The record of a worker, for a broker that replaces this one.
#[derive(Serialize, Deserialize)]
pub(crate) struct WorkerRecord {
    id: WorkerId,
    process: ChildRecord,
    phase: Phase,
    gpus: Vec<GpuId>,
    announced: bool,
    cold: bool,
    session: Option<Session>,
    #[serde(default)]
    cause: Option<Cause>,
    assigned_ms: u64,
    #[serde(with = "object_list")]
    objects: Objects,
    is_lost: bool,
    #[serde(default)]
    is_leaving: bool,
    /// See [`Worker::shows_spending`].
    #[serde(default)]
    shows_spending: bool,
    #[serde(default)]
    slot: Option<u32>,
    #[serde(default)]
    context: FirstContext,
}

/// Serializes driver objects as a list.
mod object_list {
    use host_ipc::messages::DriverObject;
    use rm_control::Objects;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(objects: &Objects, to: S) -> Result<S::Ok, S::Error> {
        objects.relevant().serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Objects, D::Error> {
        let mut objects = Objects::new();
        for object in Vec::<DriverObject>::deserialize(from)? {
            objects.add(object).map_err(D::Error::custom)?;
        }
        Ok(objects)
    }
}

impl WorkerRecord {
    fn restore(
        self,
        launcher: &Launcher,
        processes: &mut Processes,
        name: impl Fn(VmId) -> String,
    ) -> io::Result<(WorkerId, Worker)> {
        let vm = self.session.as_ref().map(|session| name(session.vm));
        let (process, mut kept) =
            launcher.restore(self.process, processes, "worker", vm.as_deref())?;
        let ends = kept.as_mut().and_then(|process| process.take(Kept::Device));
        let device_ends = ends.map(|[stream, doorbell, wake]| DeviceEnds {
            stream: stream.into(),
            doorbell,
            wake,
        });
        let shared = kept.as_mut().and_then(|process| process.take(Kept::Scheduler));
        let shared = shared.map(|[page, doorbell, bell]| KeptEnds { page, doorbell, bell });
        let gate = shared.as_ref().map(|shared| GateMap::map(&shared.page)).transpose()?;
        let worker = Worker {
            phase: self.phase,
            announced: self.announced,
            device_ends,
            cause: self.cause,
            shared,
            gate: gate.map(Arc::new),
            assigned_ms: self.assigned_ms,
            objects: Arc::new(Mutex::new(self.objects)),
            lost_since: self.is_lost.then(Instant::now),
            leaving_since: self.is_leaving.then(Instant::now),
            shows_spending: self.shows_spending,
            slot: self.slot,
            context: self.context,
            ..Worker::new(process, self.gpus, self.session, self.cold)
        };
        Ok((self.id, worker))
    }
}

/// The coordinator's next step after it has read a worker's message.
pub(crate) enum WorkerEffect {
    /// Do nothing. Also used if there was no message.
    None,
    /// The worker has loaded the driver library. If it has a session, assign it.
    Ready,
    /// The worker has begun to serve its session. Announce it to the device process.
    Announce,
    /// An allocation doesn't fit. Report this, and then reply to the worker with `Refused`.
    MemoryRefused { device: u32, kind: Charge, reason: String },
    /// The worker has closed its socket.
    Closed,
    /// The worker has failed and reported the reason.
    Failed,
    /// The worker violated the protocol. Kill it.
    Misbehaved(String),
    /// The worker's message can't be decoded. Kill the worker, and stop reading its messages.
    Undecodable(String),
}

/// A worker process and its state.
pub(crate) struct Worker {
    process: ChildProcess,
    phase: Phase,
    /// When the worker's start was requested.
    requested: Instant,
    /// The GPUs that the worker can use, by its device ordinal.
    gpus: Vec<GpuId>,
    /// True if the worker was announced to the device process.
    announced: bool,
    /// True if the worker was started with one session's environment variables, so that no other
    /// session can use it.
    cold: bool,
    session: Option<Session>,
    device_ends: Option<DeviceEnds>,
    /// Why the session ends, if that isn't known from the worker's exit status alone.
    cause: Option<Cause>,
    /// The page that the worker shares with the scheduler. `None` until the worker is assigned.
    gate: Option<Arc<GateMap>>,
    shared: Option<KeptEnds>,
    /// When the worker was assigned to its session, in milliseconds since 1970.
    assigned_ms: u64,
    objects: WorkerObjects,
    /// The time since which it has been unknown whether the worker's kernels are on the GPU. `None`
    /// if that's known.
    lost_since: Option<Instant>,
    /// The time since which the worker should exit by itself, because its session is over.
    leaving_since: Option<Instant>,
    /// Whether the worker expects its VM's spending page with its assignment. Workers that a broker
    /// of the previous version has started don't.
    shows_spending: bool,
    /// The worker's slot on its VM's spending page.
    slot: Option<u32>,
    context: FirstContext,
}

/// The context that a worker creates before it's assigned to its session, and who is charged for
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FirstContext {
    /// It's charged to no VM.
    #[default]
    Free,
    /// These bytes are charged to the VM of the worker's session.
    Charged(u64),
    /// The worker doesn't create one, because the VM has no memory for it.
    Missing,
}

impl FirstContext {
    /// Returns the state of a context for which a VM has been charged these bytes. If the size of a
    /// context isn't known yet, that's 0, and the VM is charged when the worker is assigned.
    pub(crate) fn charged(bytes: u64) -> Self {
        if bytes == 0 { Self::Free } else { Self::Charged(bytes) }
    }
}

impl Worker {
    fn new(process: ChildProcess, gpus: Vec<GpuId>, session: Option<Session>, cold: bool) -> Self {
        Self {
            process,
            phase: Phase::Starting,
            requested: Instant::now(),
            gpus,
            announced: false,
            cold,
            session,
            device_ends: None,
            cause: None,
            gate: None,
            shared: None,
            assigned_ms: 0,
            objects: WorkerObjects::default(),
            lost_since: None,
            leaving_since: None,
            shows_spending: true,
            slot: None,
            context: FirstContext::Free,
        }
    }

    /// Returns the record from which a broker that replaces this one continues, with the driver
    /// objects or without them.
    fn record(&self, id: WorkerId, with_objects: bool) -> WorkerRecord {
        WorkerRecord {
            id,
            process: self.process.record(),
            phase: self.phase,
            gpus: self.gpus.clone(),
            announced: self.announced,
            cold: self.cold,
            session: self.session.clone(),
            cause: self.cause.clone(),
            assigned_ms: self.assigned_ms,
            objects: if with_objects { lock(&self.objects).clone() } else { Objects::new() },
            is_lost: self.lost_since.is_some(),
            is_leaving: self.leaving_since.is_some(),
            shows_spending: self.shows_spending,
            slot: self.slot,
            context: self.context,
        }
    }

    /// Returns the scheduler's ends of the worker's channels, if the worker has been assigned.
    pub(crate) fn scheduler_ends(&self) -> io::Result<Option<SchedulerEnds>> {
        self.shared.as_ref().map(KeptEnds::ends).transpose()
    }

    /// Returns the worker's process ID, or 0 if the process hasn't started.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid().unwrap_or(0)
    }

    /// Returns the spawner's number for the process.
    pub(crate) fn process(&self) -> ProcessId {
        self.process.id()
    }

    pub(crate) fn socket_fd(&self) -> RawFd {
        self.process.socket_fd()
    }

    pub(crate) fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.process.pidfd()
    }

    /// Records that the process has started. Returns true if the worker is already warm.
    pub(crate) fn set_started(&mut self, pid: u32, pidfd: OwnedFd) -> bool {
        self.process.set_started(pid, pidfd);
        self.is_warm()
    }

    /// Records that the process has ended.
    pub(crate) fn set_ended(&mut self, how: End) {
        self.process.set_ended(how);
    }

    pub(crate) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    pub(crate) fn gpus(&self) -> &[GpuId] {
        &self.gpus
    }

    pub(crate) fn assigned_ms(&self) -> u64 {
        self.assigned_ms
    }

    /// Returns who is charged for the context that the worker has created in advance.
    pub(crate) fn context(&self) -> FirstContext {
        self.context
    }

    /// Returns true if the worker can be assigned to a session.
    pub(crate) fn is_warm(&self) -> bool {
        // The worker may report that it's ready before the spawner reports its start, because they
        // use different sockets.
        self.phase == Phase::Warm && self.process.pid().is_some()
    }

    /// Returns true if the worker has been killed, or should exit by itself, but hasn't ended.
    pub(crate) fn is_ending(&self) -> bool {
        self.phase == Phase::Ending || self.leaving_since.is_some()
    }

    /// Returns true if the worker has been assigned to its session, and hasn't been killed.
    pub(crate) fn has_account(&self) -> bool {
        matches!(self.phase, Phase::Assigned | Phase::Serving)
    }

    /// Returns true if the worker was announced to the device process.
    pub(crate) fn is_announced(&self) -> bool {
        self.announced
    }

    /// Returns true if the worker has a session of this VM.
    pub(crate) fn is_of(&self, vm: VmId) -> bool {
        self.session.as_ref().is_some_and(|session| session.vm == vm)
    }

    /// Records that it isn't known whether the worker's kernels are on the GPU.
    pub(crate) fn set_lost(&mut self) {
        self.lost_since.get_or_insert_with(Instant::now);
    }

    /// Returns the worker's objects of the driver that lead to its channels.
    pub(crate) fn objects(&self) -> &WorkerObjects {
        &self.objects
    }

    /// Returns the worker's driver objects that are known to the broker.
    pub(crate) fn known_objects(&self) -> Vec<DriverObject> {
        lock(&self.objects).relevant()
    }

    /// Adds an object of the driver that the worker has created. Fails if the worker has too many
    /// objects.
    pub(crate) fn add_object(&self, object: DriverObject) -> Result<(), TooManyObjects> {
        lock(&self.objects).add(object)
    }

    /// Removes an object of the driver, and all its descendants.
    pub(crate) fn free_object(&self, client: u32, handle: u32) {
        lock(&self.objects).free(client, handle);
    }

    /// Returns the counters of work that the worker reports in its shared page.
    pub(crate) fn activity(&self) -> Activity {
        self.gate.as_ref().map(|gate| activity_of(&gate.worker)).unwrap_or_default()
    }

    /// Returns the GPU time that the worker reports in its shared page, in nanoseconds. The VM is
    /// charged for less if sessions use the GPU at the same time.
    pub(crate) fn gpu_ns(&self) -> u64 {
        let gpus = self.gate.iter().flat_map(|gate| &gate.gpus);
        let times = gpus.flat_map(|gpu| [&gpu.busy_ns, &gpu.copied_ns]);
        times.map(|time| time.load(Ordering::Relaxed)).fold(0, u64::saturating_add)
    }

    /// Returns the page that the worker shares with the broker, once the worker is assigned.
    pub(crate) fn gate(&self) -> Option<&Arc<GateMap>> {
        self.gate.as_ref()
    }

    /// Returns whether the worker can have a slot on its VM's spending page.
    pub(crate) fn shows_spending(&self) -> bool {
        self.shows_spending
    }

    /// Returns the worker's slot on its VM's spending page.
    pub(crate) fn slot(&self) -> Option<u32> {
        self.slot
    }

    /// Records why the session ends, unless that is already recorded.
    pub(crate) fn set_cause(&mut self, cause: Cause) {
        self.cause.get_or_insert(cause);
    }

    /// Returns why the session ends, if the broker has recorded it.
    pub(crate) fn cause(&self) -> Option<&Cause> {
        self.cause.as_ref()
    }

    /// Kills the worker. Its end is reported later.
    pub(crate) fn end(&mut self) {
        self.process.kill();
        self.phase = Phase::Ending;
    }

    /// Kills the worker and records the cause. The worker's end is reported later.
    pub(crate) fn end_because(&mut self, cause: Cause) {
        self.set_cause(cause);
        self.end();
    }

    /// Lets a worker exit by itself, because its session is over: the device process has closed, or
    /// will close, the connection to it. If the worker hasn't begun to serve the session, kills it,
    /// because there is no connection that the device process could close.
    pub(crate) fn leave(&mut self, cause: Cause) {
        if self.phase != Phase::Serving {
            return self.end_because(cause);
        }
        self.set_cause(cause);
        self.leaving_since.get_or_insert_with(Instant::now);
    }

    /// Returns how the worker ended, if it has.
    pub(crate) fn ended(&self) -> Option<&End> {
        self.process.end()
    }

    /// Reads one message, updates the worker's state and its account, and replies. The coordinator
    /// must handle the returned effect.
    pub(crate) fn handle_message(&mut self, id: WorkerId, accounts: &mut Accounts) -> WorkerEffect {
        let message = match self.process.receive() {
            Ok(Some(message)) => message,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return WorkerEffect::None,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return WorkerEffect::Undecodable(printable(&error.to_string()));
            }
            Ok(None) | Err(_) => return WorkerEffect::Closed,
        };
        let has_account = self.has_account();
        let misbehaved = |error: LedgerError| WorkerEffect::Misbehaved(error.to_string());
        let answer = match message {
            ToBroker::Ready { objects } if self.phase == Phase::Starting => {
                if objects.into_iter().any(|object| self.add_object(object).is_err()) {
                    return WorkerEffect::Misbehaved("too many driver objects".into());
                }
                self.phase = Phase::Warm;
                return match self.is_warm() {
                    true => WorkerEffect::Ready,
                    false => WorkerEffect::None,
                };
            }
            ToBroker::Failed { reason } => {
                self.cause = Some(Cause::worker_failed(printable(&reason)));
                return WorkerEffect::Failed;
            }
            ToBroker::Began if self.phase == Phase::Assigned => return WorkerEffect::Announce,
            ToBroker::Reserve { device, bytes, .. }
                if has_account && accounts.must_wait(id, device, bytes, false, now()) =>
            {
                ToWorker::Later
            }
            ToBroker::Reserve { device, bytes, kind } if has_account => {
                match accounts.reserve(id, device, bytes, kind) {
                    Ok(()) => ToWorker::Granted,
                    Err(error) if error.is_full() => {
                        let reason = refused_memory(&error);
                        return WorkerEffect::MemoryRefused { device, kind, reason };
                    }
                    Err(error) => return misbehaved(error),
                }
            }
            ToBroker::Release { device, bytes, kind } if has_account => {
                match accounts.release(id, device, bytes, kind) {
                    Ok(()) => ToWorker::Granted,
                    Err(error) => return misbehaved(error),
                }
            }
            ToBroker::Share { device, bytes } if has_account => {
                match accounts.share(id, device, bytes) {
                    Ok(share) => ToWorker::Shared { share },
                    Err(error) if error.is_full() => {
                        let (kind, reason) = (Charge::Memory, error.to_string());
                        return WorkerEffect::MemoryRefused { device, kind, reason };
                    }
                    Err(error) => return misbehaved(error),
                }
            }
            ToBroker::Join { device, share }
                if has_account && accounts.must_wait_to_join(id, device, share, now()) =>
            {
                ToWorker::Later
            }
            ToBroker::Join { device, share } if has_account => {
                match accounts.join(id, device, share) {
                    Ok(bytes) => ToWorker::Joined { bytes },
                    // The memory may have been released since another worker exported it.
                    Err(LedgerError::NoShare { .. }) => ToWorker::NoShare,
                    Err(error) if error.is_full() => {
                        let (kind, reason) = (Charge::Memory, error.to_string());
                        return WorkerEffect::MemoryRefused { device, kind, reason };
                    }
                    Err(error) => return misbehaved(error),
                }
            }
            ToBroker::Leave { device, share } if has_account => {
                match accounts.leave(id, device, share) {
                    Ok(()) => ToWorker::Granted,
                    Err(error) => return misbehaved(error),
                }
            }
            ToBroker::Convert { device, bytes, kind } if has_account => {
                match accounts.convert(id, device, bytes, kind) {
                    Ok(()) => ToWorker::Granted,
                    Err(error) => return misbehaved(error),
                }
            }
            ToBroker::Query { device } if has_account => match accounts.usage_of(id, device) {
                Ok(usage) => ToWorker::Usage { used: usage.used, max: usage.max },
                Err(error) => return misbehaved(error),
            },
            // The coordinator checks the words after each message of a VM whose memory is moving.
            ToBroker::Residency if has_account => ToWorker::Granted,
            // The worker sent this message before it was killed, so ignore it.
            _ if self.phase == Phase::Ending => return WorkerEffect::None,
            other => {
                let what = printable(&format!("unexpected {other:?}"));
                return WorkerEffect::Misbehaved(what);
            }
        };
        match self.answer(&answer) {
            Ok(()) => WorkerEffect::None,
            Err(how) => WorkerEffect::Misbehaved(how),
        }
    }

    /// Sends a reply to a worker's request. If that fails, returns a description of how the worker
    /// misbehaved.
    pub(crate) fn answer(&self, answer: &ToWorker) -> Result<(), String> {
        let sent = self.process.send(answer, &[]);
        sent.map_err(|error| format!("cannot send it an answer: {error}"))
    }

    /// Sends a warm worker its assignment, with the worker's ends of all channels. Keeps the device
    /// process's ends until the worker serves its session, and returns the scheduler's ends. `vm`
    /// is the VM's name, `supervisor` is the worker's socket to the supervisor, if it has one, and
    /// `spending` is the VM's spending page and the worker's slot on it.
    pub(crate) fn assign(
        &mut self,
        assignment: Assignment,
        vm: &str,
        supervisor: Option<OwnedFd>,
        spending: Option<(BorrowedFd<'_>, u32)>,
    ) -> io::Result<SchedulerEnds> {
        self.process.set_vm(vm);
        // Over this stream, the worker can send descriptors of memory that it exports.
        let (theirs, stream) = seqpacket::stream_pair()?;
        let (button, chime) = doorbell()?;
        let (wake, bell) = (eventfd()?, eventfd()?);
        let page = GateMap::create()?;
        let gate = Arc::new(GateMap::map(&page)?);
        let ring = button.try_clone()?;
        let fd = OwnedFd::as_fd;
        self.process.keep(Kept::Scheduler, &[fd(&page), fd(&ring), fd(&bell)])?;
        self.process.keep(Kept::Device, &[fd(&stream), fd(&button), fd(&wake)])?;
        // The worker gets only the listening end of the doorbell, so it can't ring the doorbell.
        let fds = [&theirs, &chime, &wake, &page, &bell].into_iter().chain(&supervisor);
        let mut fds: Vec<_> = fds.map(OwnedFd::as_fd).collect();
        if let Some((spending, slot)) = spending {
            gate.worker.set_slot(slot);
            fds.push(spending);
        }
        self.slot = spending.map(|(_, slot)| slot);
        self.process.send(&ToWorker::Assign(assignment), &fds)?;
        self.device_ends = Some(DeviceEnds { stream: stream.into(), doorbell: button, wake });
        self.gate = Some(gate);
        self.assigned_ms = now_ms();
        self.phase = Phase::Assigned;
        self.shared.insert(KeptEnds { page, doorbell: ring, bell }).ends()
    }

    /// Records that the worker now serves its session. Returns the device process's ends of the
    /// channels to the worker.
    pub(crate) fn begin_serving(&mut self) -> Option<DeviceEnds> {
        self.phase = Phase::Serving;
        self.announced = true;
        self.process.drop_kept(Kept::Device);
        self.device_ends.take()
    }

    fn is_free(&self) -> bool {
        self.session.is_none() && !self.cold && matches!(self.phase, Phase::Starting | Phase::Warm)
    }
}

fn lock(objects: &WorkerObjects) -> MutexGuard<'_, Objects> {
    objects.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Explains a refused allocation to operators, in the units of the settings.
fn refused_memory(error: &LedgerError) -> String {
    let text = |bytes, used, setting, max| {
        let [bytes, used, max] = [bytes, used, max].map(format_size);
        format!("refused {bytes}: {used} of {setting} ({max}) are in use")
    };
    match *error {
        LedgerError::NoRoom { bytes, used, max } => text(bytes, used, "memory.max", max),
        LedgerError::NoRoomInSession { bytes, used, max } => {
            text(bytes, used, "memory.session_max", max)
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::workers::START_TIMEOUT;
    use super::*;
    use crate::processes::output::Outputs;
    use crate::processes::spawner::Spawner;
    use host_ipc::spawner::{Program, ToSpawner};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    fn started(spawner: &Spawner, workers: &mut Workers) -> WorkerId {
        let program =
            Program::Worker { visible: String::new(), devices: Vec::new(), session: None };
        let outputs = Outputs::start().unwrap();
        let process = ChildProcess::start(program, spawner, &outputs, "worker", None).unwrap();
        workers.add(process, vec![GpuId(0)], None, false, FirstContext::Free)
    }

    #[test]
    fn a_refused_allocation_is_explained_in_the_units_of_the_settings() {
        let (bytes, used, max) = (5 << 20, 3 << 29, 2 << 30);
        let text = refused_memory(&LedgerError::NoRoom { bytes, used, max });
        assert_eq!(text, "refused 5M: 1.50G of memory.max (2G) are in use");
        let text = refused_memory(&LedgerError::NoRoomInSession { bytes, used, max });
        assert_eq!(text, "refused 5M: 1.50G of memory.session_max (2G) are in use");
    }

    #[test]
    fn a_worker_that_is_not_ready_in_time_is_late() {
        let (spawner, _ends) = Spawner::idle();
        let mut workers = Workers::new(2);
        let slow = started(&spawner, &mut workers);
        let ready = started(&spawner, &mut workers);
        workers.get_mut(ready).unwrap().phase = Phase::Warm;
        let now = Instant::now();
        assert!(workers.late(now).is_empty());
        assert_eq!(workers.late(now + START_TIMEOUT + Duration::from_secs(1)), [slow]);
    }

    /// The worker's message that it's ready can arrive before the spawner's message that the worker
    /// has started, because these messages come over different sockets.
    #[test]
    fn a_worker_may_be_ready_before_its_start_is_reported() {
        let (spawner, [calls, _events]) = Spawner::idle();
        let mut workers = Workers::new(1);
        let id = started(&spawner, &mut workers);
        let received = seqpacket::receive(&calls).unwrap();
        let Some((ToSpawner::Start { .. }, fds)) = received else { panic!("{received:?}") };
        seqpacket::send(&fds[0], &ToBroker::Ready { objects: Vec::new() }, &[]).unwrap();
        let worker = workers.get_mut(id).unwrap();
        let effect = worker.handle_message(id, &mut Accounts::default());
        assert!(matches!(effect, WorkerEffect::None) && !worker.is_warm() && worker.pid() == 0);
        assert!(worker.set_started(7, eventfd().unwrap()));
        assert!(worker.is_warm() && worker.pid() == 7);
    }

    #[test]
    fn a_worker_may_exit_by_itself_for_a_second_after_its_session() {
        let (spawner, [calls, _events]) = Spawner::idle();
        let mut workers = Workers::new(1);
        let id = started(&spawner, &mut workers);
        let calls = UnixStream::from(calls);
        calls.set_nonblocking(true).unwrap();
        let kills = || {
            let next = || seqpacket::receive::<ToSpawner>(&calls).ok().flatten();
            let is_kill = |(message, _): &(ToSpawner, _)| matches!(message, ToSpawner::Kill { .. });
            std::iter::from_fn(next).filter(is_kill).count()
        };
        let worker = workers.get_mut(id).unwrap();
        worker.phase = Phase::Serving;
        worker.leave(Cause::exited());
        assert!(worker.is_ending());
        let now = Instant::now();
        assert!(workers.end_remaining(now).is_empty());
        assert_eq!(kills(), 0);
        let late = now + Duration::from_secs(2);
        assert_eq!((workers.end_remaining(late).len(), kills()), (1, 1));
        assert!(workers.end_remaining(late).is_empty());
        // The worker's session is over, so the worker's failure isn't counted.
        assert!(workers.kill(id, Cause::worker_failed("it stopped")).is_none());
        let cause = workers.get(id).unwrap().cause();
        assert_eq!((workers.killed(), cause), (0, Some(&Cause::exited())));
    }
}
