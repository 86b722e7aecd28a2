//! Workers: warm ones that belong to nobody, and those of sessions. None serves twice.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use control_api::Activity;

use super::reports::activity;
use super::session::Session;
use super::spawn::Running;
use host_ipc::apart::Apart;
use host_ipc::gate::GateMap;
use host_ipc::messages::WorkerId;
use memory_ledger::{GpuId, VmId};

/// How far a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Loading the driver library.
    Starting,
    /// Ready for anybody.
    Warm,
    /// Taking a VM's identity.
    Assigned,
    /// Serving its session.
    Serving,
    /// Killed, not yet reaped.
    Ending,
}

/// One worker process.
pub(super) struct Worker {
    pub(super) running: Running,
    pub(super) phase: Phase,
    /// The GPUs that it sees, by its ordinal.
    pub(super) gpus: Vec<GpuId>,
    /// The device process knows of it.
    pub(super) announced: bool,
    /// Started for one session, with its environment.
    pub(super) cold: bool,
    pub(super) session: Option<Session>,
    /// What the device process gets once the session is served: stream, doorbell, wake. The worker
    /// has the other end of the stream already.
    pub(super) handover: Option<(Apart, OwnedFd, OwnedFd)>,
    /// Why it ended, where its exit status does not tell.
    pub(super) failure: Option<String>,
    /// The page that it shares with the scheduler, once it has a session.
    pub(super) gate: Option<GateMap>,
    /// When it got its session: milliseconds since 1970.
    pub(super) taken_ms: u64,
}

/// All workers, warm and not.
#[derive(Default)]
pub(super) struct Workers {
    last: WorkerId,
    all: HashMap<WorkerId, Worker>,
}

impl Workers {
    pub(super) fn add(
        &mut self,
        running: Running,
        gpus: Vec<GpuId>,
        session: Option<Session>,
        cold: bool,
    ) -> WorkerId {
        self.last += 1;
        let worker = Worker {
            running,
            phase: Phase::Starting,
            gpus,
            announced: false,
            cold,
            session,
            handover: None,
            failure: None,
            gate: None,
            taken_ms: 0,
        };
        self.all.insert(self.last, worker);
        self.last
    }

    pub(super) fn get_mut(&mut self, id: WorkerId) -> Option<&mut Worker> {
        self.all.get_mut(&id)
    }

    pub(super) fn remove(&mut self, id: WorkerId) -> Option<Worker> {
        self.all.remove(&id)
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = (WorkerId, Worker)> + '_ {
        self.all.drain()
    }

    /// Workers that count against a VM's sessions.max: all of its that are not reaped.
    pub(super) fn of_vm(&self, vm: VmId) -> usize {
        self.all.values().filter(|w| w.session.as_ref().is_some_and(|s| s.vm == vm)).count()
    }

    /// Whether some of them are on their way out.
    pub(super) fn ending(&self, vm: VmId) -> bool {
        let ending =
            |w: &Worker| w.phase == Phase::Ending && w.session.as_ref().is_some_and(|s| s.vm == vm);
        self.all.values().any(ending)
    }

    /// The worker of a device process's request.
    pub(super) fn find(&self, vm: VmId, request: u64) -> Option<WorkerId> {
        let wanted =
            |w: &Worker| w.session.as_ref().is_some_and(|s| (s.vm, s.request) == (vm, request));
        self.all.iter().find(|(_, worker)| wanted(worker)).map(|(id, _)| *id)
    }

    /// All workers of a VM.
    pub(super) fn ids_of_vm(&self, vm: VmId) -> Vec<WorkerId> {
        let of_vm = |w: &Worker| w.session.as_ref().is_some_and(|s| s.vm == vm);
        self.all.iter().filter(|(_, worker)| of_vm(worker)).map(|(id, _)| *id).collect()
    }

    /// The sessions that a VM has, with their workers.
    pub(super) fn sessions_of(&self, vm: VmId) -> impl Iterator<Item = (WorkerId, &Session)> {
        let sessions =
            self.all.iter().filter_map(|(id, worker)| Some((*id, worker.session.as_ref()?)));
        sessions.filter(move |(_, session)| session.vm == vm)
    }

    /// All that a VM has.
    pub(super) fn of(&self, vm: VmId) -> impl Iterator<Item = (WorkerId, &Worker)> {
        let of_vm = move |w: &Worker| w.session.as_ref().is_some_and(|s| s.vm == vm);
        self.all.iter().filter(move |(_, w)| of_vm(w)).map(|(id, worker)| (*id, worker))
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.all.iter().map(|(id, worker)| (*id, worker))
    }

    /// Those that see a GPU.
    pub(super) fn with_gpu(&self, gpu: GpuId) -> Vec<WorkerId> {
        let sees = |(_, worker): &(WorkerId, &Worker)| worker.gpus.contains(&gpu);
        self.iter().filter(sees).map(|(id, _)| id).collect()
    }

    /// How many there are of a sort.
    pub(super) fn count(&self, is: impl Fn(&Worker) -> bool) -> usize {
        self.all.values().filter(|worker| is(worker)).count()
    }

    /// How many were started since the broker was.
    pub(super) fn started(&self) -> u64 {
        self.last
    }

    /// Workers with these GPUs that nobody has yet, ready or about to be.
    pub(super) fn free(&self, gpus: &[GpuId]) -> usize {
        self.count(|worker| worker.is_free() && worker.gpus == gpus)
    }

    /// Those with none of these sets of GPUs.
    pub(super) fn free_outside(&self, sets: &[Vec<GpuId>]) -> Vec<WorkerId> {
        let outside = |worker: &Worker| worker.is_free() && !sets.contains(&worker.gpus);
        self.all.iter().filter(|(_, worker)| outside(worker)).map(|(id, _)| *id).collect()
    }

    /// The best of them for a session that starts now.
    pub(super) fn best_free(&self, gpus: &[GpuId]) -> Option<WorkerId> {
        let fits = |worker: &Worker| worker.is_free() && worker.gpus == gpus;
        let free = self.all.iter().filter(|(_, worker)| fits(worker));
        // A warm one before one that starts, and the oldest of them.
        free.min_by_key(|(id, worker)| (worker.phase != Phase::Warm, **id)).map(|(id, _)| *id)
    }
}

impl Worker {
    /// Whether it serves this VM.
    pub(super) fn is_of(&self, vm: VmId) -> bool {
        self.session.as_ref().is_some_and(|session| session.vm == vm)
    }

    /// What it says that it did.
    pub(super) fn activity(&self) -> Activity {
        self.gate.as_ref().map(|gate| activity(&gate.worker)).unwrap_or_default()
    }

    fn is_free(&self) -> bool {
        self.session.is_none() && !self.cold && matches!(self.phase, Phase::Starting | Phase::Warm)
    }
}
