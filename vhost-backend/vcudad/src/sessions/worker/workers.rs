//! All workers.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::time::{Duration, Instant};

use super::{FirstContext, Phase, Worker, WorkerRecord};
use crate::processes::launcher::Launcher;
use crate::processes::process::ChildProcess;
use crate::processes::spawner::Processes;
use crate::sessions::cause::Cause;
use crate::sessions::session::Session;
use crate::vm::touched::Touched;
use host_ipc::messages::{SessionOfVm, WorkerId};
use host_ipc::spawner::ProcessId;
use memory_ledger::{GpuId, VmId};
use rm_control::{Objects, TooManyObjects};
use serde::{Deserialize, Serialize};

/// How long a worker may take until it's warm. It may have to wait for a busy disk, or for the
/// driver to start.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a worker may take to exit after its channels or its session have ended.
const EXIT_TIME: Duration = Duration::from_secs(1);
/// Maximum number of warm workers that start at the same time for a set of GPUs after sessions have
/// taken warm workers. Starting more of them would take CPU time from the sessions.
const START_AT_ONCE: usize = 4;
/// After this many consecutive failures of warm workers, the broker stops starting them in advance.
const MAX_FAILURES: u32 = 3;

/// A worker that the broker has killed because of an error.
pub(crate) struct KilledWorker {
    pub(crate) pid: u32,
    /// The worker's VM and the number of its session, if it had a session.
    pub(crate) session: Option<(VmId, u32)>,
}

/// All workers, whether or not they have a session.
pub(crate) struct Workers {
    all: HashMap<WorkerId, Worker>,
    /// The workers of each VM that has any. With this map, the time to handle a VM's message
    /// doesn't depend on the number of other VMs' workers.
    of_vm: HashMap<VmId, BTreeSet<WorkerId>>,
    touched: Touched<WorkerId>,
    /// ID of the worker that was started last, which is also the number of workers started so far.
    last: WorkerId,
    /// Number of warm workers to keep per set of GPUs.
    warm_target: usize,
    /// Number of consecutive failures of warm workers.
    failures: u32,
    /// Number of workers that the broker has killed because of an error.
    killed: u64,
}

/// The record of all workers, for a broker that replaces this one.
#[derive(Serialize, Deserialize)]
pub(crate) struct WorkersRecord {
    last: WorkerId,
    killed: u64,
    all: Vec<WorkerRecord>,
}

/// The counts of workers, for a broker that replaces this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerCounts {
    last: WorkerId,
    killed: u64,
}

/// A change of the workers, which is added to the record.
#[derive(Serialize, Deserialize)]
pub(crate) enum WorkerChange {
    /// A worker's current record: the worker is new or has changed. Its driver objects aren't
    /// included, and stay as they are in the old record.
    Now(Box<WorkerRecord>),
    /// A worker has been reaped.
    Reaped(WorkerId),
}

impl WorkersRecord {
    pub(crate) fn set_counts(&mut self, counts: WorkerCounts) {
        WorkerCounts { last: self.last, killed: self.killed } = counts;
    }

    /// Applies a change that the broker recorded after it had written this record.
    pub(crate) fn change(&mut self, change: WorkerChange) {
        match change {
            WorkerChange::Now(mut worker) => {
                match self.all.iter_mut().find(|one| one.id == worker.id) {
                    Some(one) => {
                        worker.objects = std::mem::take(&mut one.objects);
                        *one = *worker;
                    }
                    None => self.all.push(*worker),
                }
            }
            WorkerChange::Reaped(id) => self.all.retain(|worker| worker.id != id),
        }
    }

    /// Changes the driver objects of a worker, if it's still there.
    pub(crate) fn change_objects(
        &mut self,
        id: WorkerId,
        change: impl FnOnce(&mut Objects) -> Result<(), TooManyObjects>,
    ) -> Result<(), TooManyObjects> {
        let worker = self.all.iter_mut().find(|worker| worker.id == id);
        worker.map_or(Ok(()), |worker| change(&mut worker.objects))
    }

    /// Removes the workers whose sessions haven't begun, and returns them, with their sessions if
    /// they have one. Keeps workers that are ending, and the worker `doubtful`, whose message the
    /// previous broker was handling when it ended.
    pub(crate) fn take_unbegun(
        &mut self,
        doubtful: Option<WorkerId>,
    ) -> Vec<(WorkerId, Option<Session>)> {
        let has_begun = |worker: &WorkerRecord| {
            worker.announced || worker.phase == Phase::Ending || doubtful == Some(worker.id)
        };
        let (rest, unbegun) = std::mem::take(&mut self.all).into_iter().partition(has_begun);
        self.all = rest;
        unbegun.into_iter().map(|worker: WorkerRecord| (worker.id, worker.session)).collect()
    }
}

impl Workers {
    /// Returns the record from which a broker that replaces this one continues.
    pub(crate) fn record(&self) -> WorkersRecord {
        let all = self.iter().map(|(id, worker)| worker.record(id, true)).collect();
        WorkersRecord { last: self.last, killed: self.killed, all }
    }

    /// Returns the counts of workers, for a broker that replaces this one.
    pub(crate) fn counts(&self) -> WorkerCounts {
        WorkerCounts { last: self.last, killed: self.killed }
    }

    /// Returns the workers that may have changed since the last call, without their driver objects.
    pub(crate) fn take_changes(&mut self) -> Vec<WorkerChange> {
        let change = |id: WorkerId| match self.all.get(&id) {
            Some(worker) => WorkerChange::Now(Box::new(worker.record(id, false))),
            None => WorkerChange::Reaped(id),
        };
        // The keys are never `None`, because nothing calls `add_all` for this table.
        self.touched.take().unwrap_or_default().into_iter().map(change).collect()
    }

    /// Takes over the workers of the broker that this one replaces. `name` returns the name of a
    /// VM.
    pub(crate) fn restore(
        record: WorkersRecord,
        launcher: &Launcher,
        processes: &mut Processes,
        name: impl Fn(VmId) -> String,
        warm_target: usize,
    ) -> io::Result<Self> {
        let all = record.all.into_iter().map(|worker| worker.restore(launcher, processes, &name));
        let mut workers =
            Self { last: record.last, killed: record.killed, ..Self::new(warm_target) };
        for worker in all {
            let (id, worker) = worker?;
            workers.index(id, worker.session.as_ref());
            workers.all.insert(id, worker);
        }
        Ok(workers)
    }

    /// Starts without workers. `warm_target` is the number of warm workers to keep per set of GPUs.
    pub(crate) fn new(warm_target: usize) -> Self {
        Self {
            all: HashMap::new(),
            of_vm: HashMap::new(),
            touched: Touched::default(),
            last: 0,
            warm_target,
            failures: 0,
            killed: 0,
        }
    }

    /// If a worker has a session, adds the worker to those of the session's VM.
    fn index(&mut self, id: WorkerId, session: Option<&Session>) {
        if let Some(session) = session {
            self.of_vm.entry(session.vm).or_default().insert(id);
        }
    }

    /// Returns the ID of the worker that is started next.
    pub(crate) fn next_id(&self) -> WorkerId {
        self.last + 1
    }

    pub(crate) fn add(
        &mut self,
        process: ChildProcess,
        gpus: Vec<GpuId>,
        session: Option<Session>,
        cold: bool,
        context: FirstContext,
    ) -> WorkerId {
        self.last = self.next_id();
        self.index(self.last, session.as_ref());
        self.touched.add(self.last);
        let worker = Worker { context, ..Worker::new(process, gpus, session, cold) };
        self.all.insert(self.last, worker);
        self.last
    }

    pub(crate) fn get(&self, id: WorkerId) -> Option<&Worker> {
        self.all.get(&id)
    }

    /// Returns a worker, and marks it to be recorded again, because the caller may change it.
    pub(crate) fn get_mut(&mut self, id: WorkerId) -> Option<&mut Worker> {
        let worker = self.all.get_mut(&id)?;
        self.touched.add(id);
        Some(worker)
    }

    /// Returns a worker that is about to receive a message, without marking it. If the message
    /// changes more than the worker's accounts, the caller must call [`Self::touch`].
    pub(crate) fn receiver(&mut self, id: WorkerId) -> Option<&mut Worker> {
        self.all.get_mut(&id)
    }

    /// Marks a worker to be recorded again.
    pub(crate) fn touch(&mut self, id: WorkerId) {
        self.touched.add(id);
    }

    pub(crate) fn remove(&mut self, id: WorkerId) -> Option<Worker> {
        let worker = self.all.remove(&id)?;
        self.touched.add(id);
        if let Some(vm) = worker.session.as_ref().map(|session| session.vm)
            && let Some(workers) = self.of_vm.get_mut(&vm)
        {
            workers.remove(&id);
            if workers.is_empty() {
                self.of_vm.remove(&vm);
            }
        }
        Some(worker)
    }

    /// Kills all of a VM's workers. Their ends are reported later.
    pub(crate) fn end_vm(&mut self, vm: VmId, cause: &Cause) {
        for id in self.of_vm.get(&vm).cloned().unwrap_or_default() {
            if let Some(worker) = self.get_mut(id) {
                worker.end_because(cause.clone());
            }
        }
    }

    /// Returns the workers whose start takes too long.
    pub(crate) fn late(&self, now: Instant) -> Vec<WorkerId> {
        let is_late = |worker: &Worker| {
            worker.phase == Phase::Starting
                && now.saturating_duration_since(worker.requested) > START_TIMEOUT
        };
        self.iter().filter(|(_, worker)| is_late(worker)).map(|(id, _)| id).collect()
    }

    /// Returns the workers for which it has been unknown for [`EXIT_TIME`] whether their kernels
    /// are on the GPU. That is also unknown for a worker that is exiting, because its channels no
    /// longer exist, so each worker first gets this time to exit.
    pub(crate) fn lost(&self, now: Instant) -> Vec<WorkerId> {
        let is_lost = |worker: &Worker| {
            worker.lost_since.is_some_and(|since| now.saturating_duration_since(since) > EXIT_TIME)
        };
        self.iter().filter(|(_, worker)| is_lost(worker)).map(|(id, _)| id).collect()
    }

    /// Kills the workers that should have exited by themselves, and returns their process IDs.
    pub(crate) fn end_remaining(&mut self, now: Instant) -> Vec<u32> {
        let remains = |(_, worker): &(WorkerId, &Worker)| {
            let since = worker.leaving_since.filter(|_| worker.phase != Phase::Ending);
            since.is_some_and(|since| now.saturating_duration_since(since) > EXIT_TIME)
        };
        let remaining: Vec<_> = self.iter().filter(remains).map(|(id, _)| id).collect();
        let mut end = |id| {
            let worker = self.get_mut(id)?;
            worker.end();
            Some(worker.pid())
        };
        remaining.into_iter().filter_map(&mut end).collect()
    }

    /// Kills a worker because of an error, and counts it. Returns `None` if the worker was already
    /// killed, or if its session was already over.
    pub(crate) fn kill(&mut self, id: WorkerId, cause: Cause) -> Option<KilledWorker> {
        let worker = self.get_mut(id)?;
        let was_ending = worker.is_ending();
        worker.end_because(cause);
        let session = worker.session.as_ref().map(|session| (session.vm, session.number()));
        let killed = KilledWorker { pid: worker.pid(), session };
        if was_ending {
            return None;
        }
        self.killed += 1;
        Some(killed)
    }

    /// Returns the number of workers that the broker has killed because of an error.
    pub(crate) fn killed(&self) -> u64 {
        self.killed
    }

    /// Returns the number of warm workers to keep per set of GPUs.
    pub(crate) fn warm_target(&self) -> usize {
        self.warm_target
    }

    /// Returns the number of workers started so far.
    pub(crate) fn started(&self) -> u64 {
        self.last
    }

    /// Records that a worker has become ready, which resets the number of consecutive failures.
    pub(crate) fn reset_failures(&mut self) {
        self.failures = 0;
    }

    /// Counts a worker that couldn't be started, or that exited without a session. Returns true if
    /// this failure is the one that reaches the limit, after which no more warm workers are
    /// started.
    pub(crate) fn count_failure(&mut self) -> bool {
        self.failures += 1;
        self.failures == MAX_FAILURES
    }

    /// Returns true if another warm worker should be started for a set of GPUs.
    pub(crate) fn needs_warm(&self, gpus: &[GpuId]) -> bool {
        self.free(gpus) < self.warm_target && self.failures < MAX_FAILURES
    }

    /// Returns true if another warm worker should be started for a set of GPUs while others are
    /// starting.
    pub(crate) fn may_start_beside_others(&self, gpus: &[GpuId]) -> bool {
        let starts = |worker: &Worker| {
            worker.is_free() && worker.phase == Phase::Starting && worker.gpus == gpus
        };
        self.failures < MAX_FAILURES
            && may_start(self.free(gpus), self.count(starts), self.warm_target)
    }

    /// Returns the memory to reserve on a GPU for its warm workers, given that a context takes
    /// `context_bytes`. This memory is charged to no VM.
    pub(crate) fn warm_bytes(&self, context_bytes: u64) -> u64 {
        context_bytes.saturating_mul(self.warm_target.max(1) as u64)
    }

    /// Returns the number of a VM's workers. This includes killed workers that haven't ended,
    /// because they count against sessions.max.
    pub(crate) fn count_of_vm(&self, vm: VmId) -> usize {
        self.of_vm.get(&vm).map_or(0, BTreeSet::len)
    }

    /// Returns true if a worker of this VM has been killed but hasn't ended.
    pub(crate) fn is_vm_ending(&self, vm: VmId) -> bool {
        self.of(vm).any(|(_, worker)| worker.is_ending())
    }

    /// Returns the worker of the VM's session that has this request number.
    pub(crate) fn find(&self, vm: VmId, request: u64) -> Option<WorkerId> {
        let mut sessions = self.sessions_of(vm);
        sessions.find(|(_, session)| session.request == request).map(|(id, _)| id)
    }

    /// Returns the worker of a session.
    pub(crate) fn of_session(&self, session: SessionOfVm) -> Option<(WorkerId, &Worker)> {
        let is = |worker: &Worker| {
            worker.session.as_ref().is_some_and(|one| one.number() == session.number)
        };
        self.of(VmId(session.vm)).find(|(_, worker)| is(worker))
    }

    /// Returns a VM's sessions that have a worker, with their workers.
    pub(crate) fn sessions_of(&self, vm: VmId) -> impl Iterator<Item = (WorkerId, &Session)> {
        self.of(vm).filter_map(|(id, worker)| Some((id, worker.session.as_ref()?)))
    }

    /// Returns the worker with this process.
    pub(crate) fn with_process(&self, process: ProcessId) -> Option<WorkerId> {
        self.iter().find(|(_, worker)| worker.process() == process).map(|(id, _)| id)
    }

    /// Returns a VM's workers.
    pub(crate) fn of(&self, vm: VmId) -> impl Iterator<Item = (WorkerId, &Worker)> {
        let ids = self.of_vm.get(&vm).into_iter().flatten();
        ids.filter_map(|id| Some((*id, self.all.get(id)?)))
    }

    /// Returns all workers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.all.iter().map(|(id, worker)| (*id, worker))
    }

    /// Returns the workers that can use a GPU.
    pub(crate) fn with_gpu(&self, gpu: GpuId) -> Vec<WorkerId> {
        let sees = |(_, worker): &(WorkerId, &Worker)| worker.gpus.contains(&gpu);
        self.iter().filter(sees).map(|(id, _)| id).collect()
    }

    /// Returns the number of workers for which `is` returns true.
    pub(crate) fn count(&self, is: impl Fn(&Worker) -> bool) -> usize {
        self.all.values().filter(|worker| is(worker)).count()
    }

    /// Returns the number of workers for these GPUs that can be given to a session, whether they're
    /// warm or still starting.
    pub(crate) fn free(&self, gpus: &[GpuId]) -> usize {
        self.count(|worker| worker.is_free() && worker.gpus == gpus)
    }

    /// Kills the workers without a session, unless their set of GPUs is one of `sets`.
    pub(crate) fn end_free_outside(&mut self, sets: &[Vec<GpuId>]) {
        let outside =
            |(_, worker): &(WorkerId, &Worker)| worker.is_free() && !sets.contains(&worker.gpus);
        let outside: Vec<_> = self.iter().filter(outside).map(|(id, _)| id).collect();
        for id in outside {
            self.get_mut(id).into_iter().for_each(Worker::end);
        }
    }

    /// Returns the oldest warm worker for these GPUs that has no session. If there is none, returns
    /// the oldest one that is still starting.
    pub(crate) fn first_free(&self, gpus: &[GpuId]) -> Option<WorkerId> {
        let free = self.iter().filter(|(_, w)| w.is_free() && w.gpus == gpus);
        let first = free.min_by_key(|(id, worker)| (worker.phase != Phase::Warm, *id));
        first.map(|(id, _)| id)
    }

    /// Gives a session to a worker that has none. The session's VM has been charged these bytes for
    /// the worker's context.
    pub(crate) fn give(&mut self, id: WorkerId, session: Session, charged: u64) {
        self.index(id, Some(&session));
        if let Some(worker) = self.get_mut(id) {
            worker.session = Some(session);
            worker.context = FirstContext::charged(charged);
        }
    }
}

/// Returns true if another warm worker should be started beside the `starting` workers, which are
/// included in the `free` ones.
fn may_start(free: usize, starting: usize, target: usize) -> bool {
    free < target && starting < START_AT_ONCE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A burst of programs takes all warm workers. New ones are started a few at a time, until
    /// there are exactly as many as before.
    #[test]
    fn a_few_warm_workers_start_at_once_until_there_are_enough() {
        for target in [0, 1, 4, 20] {
            let (mut free, mut starting, mut rounds) = (0, 0, 0);
            while free < target || starting > 0 {
                while may_start(free, starting, target) {
                    (free, starting) = (free + 1, starting + 1);
                }
                assert!(starting <= START_AT_ONCE && free <= target, "{free} of {target}");
                assert!(starting == START_AT_ONCE || free == target, "{starting} starting");
                // One of the starting workers becomes warm.
                (starting, rounds) = (starting - 1, rounds + 1);
            }
            assert_eq!((free, rounds), (target, target));
        }
    }
}
