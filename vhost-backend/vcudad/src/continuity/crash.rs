//! Finds the sessions that must end because the previous broker crashed or was killed before it
//! handed over. This broker doesn't know the state of these sessions.

use std::sync::atomic::Ordering;

use crate::continuity::journal::Handling;
use crate::gpu::compute::Eviction;
use crate::sessions::worker::{Worker, Workers};
use host_ipc::messages::WorkerId;

/// The circumstances under which the previous broker ended.
pub(crate) struct Crash<'a> {
    /// Whose message the previous broker was handling.
    pub(crate) handling: Handling,
    /// Whether the previous broker took kernels off GPUs.
    pub(crate) evicted: bool,
    /// The means to let these kernels continue. `None` if this broker doesn't evict kernels.
    pub(crate) eviction: Option<&'a Eviction>,
}

impl Crash<'_> {
    /// Returns the worker whose message the previous broker was handling when it ended.
    pub(crate) fn sender(&self) -> Option<WorkerId> {
        match self.handling {
            Handling::Worker(sender) => Some(sender),
            _ => None,
        }
    }

    /// Lets the evicted kernels continue of all workers whose driver objects are known. Returns the
    /// workers that must end, each with the reason.
    pub(crate) fn clear(&self, workers: &Workers) -> Vec<(WorkerId, &'static str)> {
        let doubt = |(id, worker)| Some((id, self.doubt(id, worker)?));
        workers.iter().filter_map(doubt).collect()
    }

    fn doubt(&self, id: WorkerId, worker: &Worker) -> Option<&'static str> {
        let continues = self.let_continue(worker);
        let has_objects = !worker.known_objects().is_empty();
        match self.handling {
            _ if worker.is_ending() => None,
            Handling::Worker(sender) if sender == id => {
                Some("vcudad ended while it handled a message from this session")
            }
            Handling::Supervisor if has_objects => {
                Some("vcudad ended while it handled a message about a session, perhaps this one")
            }
            _ if !continues => Some("vcudad ended, and its kernels may be off the GPU"),
            _ => None,
        }
    }

    /// Lets a worker's evicted kernels continue. Returns false if some of them may still be off a
    /// GPU.
    fn let_continue(&self, worker: &Worker) -> bool {
        if let Some(page) = worker.gate() {
            page.gpus.iter().for_each(|gpu| gpu.off.store(0, Ordering::SeqCst));
        }
        match self.eviction {
            Some(eviction) => eviction.enable(worker.objects()).is_ok(),
            None => !self.evicted || worker.known_objects().is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::output::Outputs;
    use crate::processes::process::ChildProcess;
    use crate::processes::spawner::Spawner;
    use crate::sessions::session::Session;
    use crate::sessions::worker::FirstContext;
    use host_ipc::messages::DriverObject;
    use host_ipc::spawner::Program;
    use memory_ledger::{GpuId, VmId};

    fn serving(spawner: &Spawner, workers: &mut Workers, request: u64) -> WorkerId {
        let program =
            Program::Worker { visible: String::new(), devices: Vec::new(), session: None };
        let outputs = Outputs::start().unwrap();
        let process = ChildProcess::start(program, spawner, &outputs, "worker", None).unwrap();
        let session = Session {
            vm: VmId(1),
            request,
            id: 1,
            pid: 1,
            program: None,
            user: None,
            env: Vec::new(),
        };
        let id = workers.add(process, vec![GpuId(0)], Some(session), false, FirstContext::Free);
        workers.get_mut(id).unwrap().begin_serving();
        id
    }

    #[test]
    fn only_sessions_that_are_in_doubt_end() {
        let (spawner, _ends) = Spawner::idle();
        let mut workers = Workers::new(0);
        let plain = serving(&spawner, &mut workers, 1);
        let has_channels = serving(&spawner, &mut workers, 2);
        let device = DriverObject { client: 1, parent: 1, handle: 2, class: 0x80, detail: 0 };
        workers.get(has_channels).unwrap().add_object(device).unwrap();
        let ended = |handling, evicted| {
            let crash = Crash { handling, evicted, eviction: None };
            let mut ended: Vec<_> = crash.clear(&workers).into_iter().map(|(id, _)| id).collect();
            ended.sort_unstable();
            ended
        };
        assert!(ended(Handling::Nothing, false).is_empty());
        assert!(ended(Handling::Device(VmId(1)), false).is_empty());
        assert_eq!(ended(Handling::Worker(plain), false), [plain]);
        assert_eq!(ended(Handling::Supervisor, false), [has_channels]);
        // The worker's kernels may be off the GPU. This broker can't put them back, because it
        // can't evict kernels.
        assert_eq!(ended(Handling::Nothing, true), [has_channels]);
    }
}
