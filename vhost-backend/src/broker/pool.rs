//! Workers: warm ones that belong to nobody, and those of sessions. None serves twice.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use super::service::VmId;
use super::spawn::Running;
use crate::ipc::messages::WorkerId;

/// A session that wants, or has, a worker.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) vm: VmId,
    /// Names the session to its device process.
    pub(super) request: u64,
    /// The guest's id of it, for the log.
    pub(super) id: u32,
    /// The guest process, for the log.
    pub(super) pid: u32,
    /// The environment that it brought, as far as it is allowed.
    pub(super) env: Vec<(String, String)>,
}

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
    /// The device process knows of it.
    pub(super) announced: bool,
    /// Started for one session, with its environment.
    pub(super) cold: bool,
    pub(super) session: Option<Session>,
    /// What the device process gets once the session is served: stream, doorbell, wake.
    pub(super) handover: Option<[OwnedFd; 3]>,
    /// What the worker said was wrong.
    pub(super) failure: Option<String>,
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
        session: Option<Session>,
        cold: bool,
    ) -> WorkerId {
        self.last += 1;
        let worker = Worker {
            running,
            phase: Phase::Starting,
            announced: false,
            cold,
            session,
            handover: None,
            failure: None,
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

    /// Workers that nobody has yet, ready or about to be.
    pub(super) fn free(&self) -> usize {
        self.all.values().filter(|worker| worker.is_free()).count()
    }

    /// The best of them for a session that starts now.
    pub(super) fn best_free(&self) -> Option<WorkerId> {
        let free = self.all.iter().filter(|(_, worker)| worker.is_free());
        // A warm one before one that starts, and the oldest of them.
        free.min_by_key(|(id, worker)| (worker.phase != Phase::Warm, **id)).map(|(id, _)| *id)
    }
}

impl Worker {
    fn is_free(&self) -> bool {
        self.session.is_none() && !self.cold && matches!(self.phase, Phase::Starting | Phase::Warm)
    }
}
