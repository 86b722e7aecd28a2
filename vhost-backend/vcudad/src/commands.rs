//! What operators ask for through the control API. Each change is looked at as a whole, written
//! down, and only then done; what is refused changes nothing.

use control_api::{ApiError, ErrorCode, EventKind, VmOrigin, VmPatch, VmSpec};
use event_manager::EventOps;

use super::error::BrokerError;
use super::placement::{PlacementError, Room};
use super::service::Service;
use super::socket;
use super::start::changed;
use super::vms::{VmState, place_vm};
use crate::config::{Vm, choose_uids};
use control_server::handle::{Answer, Reply, Request, Response};
use host_ipc::messages::BrokerToDevice;
use memory_ledger::{GpuId, VmId};

impl From<PlacementError> for ApiError {
    fn from(error: PlacementError) -> Self {
        let code = if error.is_full() { ErrorCode::NoRoom } else { ErrorCode::Invalid };
        Self::new(code, error.to_string()).of(error.field())
    }
}

impl Service {
    pub(super) fn handle(&mut self, ops: &mut EventOps, request: Request, answer: Answer) {
        if self.ended {
            let says = "vcudad is shutting down; try again";
            return answer.give(Err(ApiError::new(ErrorCode::Unavailable, says)));
        }
        let reply = match request {
            Request::AddVm(spec) => self.add_vm(ops, *spec),
            Request::ListVms => Ok(Response::Vms(self.vm_infos())),
            Request::ShowVm(name) => self.id_of(&name).and_then(|id| self.show(id)),
            Request::SetVm(name, patch) => self.set_vm(ops, &name, &patch),
            Request::RemoveVm(name) => return self.remove_vm(ops, &name, answer),
            Request::ListSessions(None) => Ok(Response::Sessions(self.session_infos(None))),
            Request::ListSessions(Some(name)) => {
                self.id_of(&name).map(|id| Response::Sessions(self.session_infos(Some(id))))
            }
            Request::KillSession { vm, session } => self.kill_session(&vm, session),
            Request::ListGpus => Ok(Response::Gpus(self.gpu_infos())),
            Request::Stats => Ok(Response::Stats(Box::new(self.stats()))),
        };
        answer.give(reply);
    }

    fn id_of(&self, name: &str) -> Result<VmId, ApiError> {
        self.vms.named(name).ok_or_else(|| ApiError::no_vm(name))
    }

    fn show(&self, id: VmId) -> Reply {
        let name = self.vms.name(id);
        let info = self.vm_info(id).ok_or_else(|| ApiError::no_vm(name))?;
        Ok(Response::Vm(Box::new(info)))
    }

    /// What may be promised of each GPU, and what is, to others than `except`.
    pub(super) fn rooms(&self, except: Option<VmId>) -> Vec<Room> {
        self.vms.rooms(&self.gpus, &self.policy, |gpu| self.reserve(gpu), except)
    }

    /// Kept back of a GPU's memory: the contexts of workers that are warm, and so nobody's.
    pub(super) fn reserve(&self, gpu: GpuId) -> u64 {
        let context = self.gpus.get(gpu).map_or(0, |gpu| gpu.context_bytes);
        context.saturating_mul(self.warm_workers.max(1) as u64)
    }

    fn add_vm(&mut self, ops: &mut EventOps, spec: VmSpec) -> Reply {
        let mut vm = Vm::new(spec)?;
        self.check_unique(&vm)?;
        let taken: Vec<u32> = self.vms.iter().filter_map(|(_, state)| state.vm.uid).collect();
        choose_uids([&mut vm], taken)
            .map_err(|error| ApiError::new(ErrorCode::Conflict, error.to_string()).of("uid"))?;
        let gpus = place_vm(&self.rooms(None), &mut vm, false)?;
        self.check_sharing(&vm.spec, &gpus)?;
        let socket = bind(&vm)?;
        // From now on it stays what it is.
        let spec = &mut vm.spec;
        (spec.socket, spec.uid, spec.gid) = (Some(vm.socket.clone()), vm.uid, vm.gid);
        self.roster.add(spec.clone())?;
        let id = self.enrol(VmState::new(vm, VmOrigin::Api, gpus, Some(socket)));
        self.start_device(ops, id);
        self.refill(ops);
        self.publish(EventKind::VmAdded, Some(id), None, "added");
        self.show(id)
    }

    fn check_unique(&self, vm: &Vm) -> Result<(), ApiError> {
        let conflict =
            |field: &str, says: String| Err(ApiError::new(ErrorCode::Conflict, says).of(field));
        for (_, state) in self.vms.iter() {
            let (other, name) = (&state.vm, &state.vm.name);
            if other.name == vm.name {
                let says = match state.leaving {
                    Some(_) => format!("VM '{name}' is still being removed; try again"),
                    None => format!("a VM named '{name}' already exists"),
                };
                return conflict("name", says);
            }
            if other.socket == vm.socket {
                return conflict("socket", format!("VM '{name}' already uses this socket"));
            }
            if vm.uid.is_some() && other.uid == vm.uid {
                let says = format!("VM '{name}' already uses this user ID; each VM needs its own");
                return conflict("uid", says);
            }
        }
        Ok(())
    }

    fn set_vm(&mut self, ops: &mut EventOps, name: &str, patch: &VmPatch) -> Reply {
        let id = self.id_of(name)?;
        let Some(state) = self.vms.get(id).filter(|state| state.leaving.is_none()) else {
            let says = format!("VM '{name}' is being removed; changes are refused");
            return Err(ApiError::new(ErrorCode::Conflict, says));
        };
        let (before, after) = (&state.vm.spec, changed(patch.applied(&state.vm.spec), &state.vm)?);
        // Less of something always fits, also where more is promised than there is by now.
        let rooms = self.rooms(Some(id));
        for room in rooms.iter().filter(|room| state.gpus.contains(&room.gpu)) {
            if after.spec.memory.max > before.memory.max {
                room.check_memory(after.spec.memory.max)?;
            }
            if after.spec.compute.min > before.compute.min {
                room.check_time(after.spec.compute.min)?;
            }
        }
        self.roster.change(state.origin, patch, &after.spec)?;
        let Some(state) = self.vms.get_mut(id) else { return Err(ApiError::no_vm(name)) };
        state.vm = after;
        let max = state.vm.limits.max_sessions;
        self.tell_device(id, &BrokerToDevice::SessionsMax { max }, &[]);
        self.set_quotas(id);
        // There may be room for sessions that wait.
        self.start_waiting(ops);
        let says = serde_json::to_string(patch).unwrap_or_default();
        tracing::info!(vm = name, "changed: {says}");
        self.publish(EventKind::VmChanged, Some(id), None, says);
        self.show(id)
    }

    fn remove_vm(&mut self, ops: &mut EventOps, name: &str, answer: Answer) {
        let id = match self.id_of(name) {
            Ok(id) => id,
            Err(error) => return answer.give(Err(error)),
        };
        let Some(state) = self.vms.get_mut(id) else { return };
        if let Some(answers) = &mut state.leaving {
            return answers.push(answer);
        }
        if let Err(error) = self.roster.remove(name, state.origin) {
            return answer.give(Err(error));
        }
        let Some(state) = self.vms.get_mut(id) else { return };
        state.leaving = Some(vec![answer]);
        // Nobody can connect any more.
        state.socket = None;
        if let Some(device) = &mut state.device {
            device.kill();
        }
        self.start_queue.remove_vm(id);
        for worker in self.workers.ids_of_vm(id) {
            self.end_worker(worker);
        }
        self.forget_vm(ops, id);
    }

    /// Forgets a VM that is being removed, once its last process has been reaped.
    pub(super) fn forget_vm(&mut self, ops: &mut EventOps, id: VmId) {
        let gone = |state: &VmState| state.leaving.is_some() && state.device.is_none();
        if !self.vms.get(id).is_some_and(gone) || self.workers.of_vm(id) > 0 {
            return;
        }
        self.publish(EventKind::VmRemoved, Some(id), None, "removed");
        self.ledger.remove(id);
        self.forget_shares(id);
        let Some(state) = self.vms.remove(id) else { return };
        tracing::info!(vm = state.vm.name, "removed");
        self.end_unwanted_mps();
        for answer in state.leaving.into_iter().flatten() {
            answer.give(Ok(Response::Done));
        }
        if !self.ended {
            self.refill(ops);
        }
    }

    fn kill_session(&mut self, name: &str, session: u32) -> Reply {
        let id = self.id_of(name)?;
        let mut sessions = self.workers.sessions_of(id);
        let found = sessions.find(|(_, found)| found.number() == session).map(|(worker, _)| worker);
        let worker = found.ok_or_else(|| ApiError::no_session(name, session))?;
        drop(sessions);
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.failure.get_or_insert_with(|| "ended by the operator".into());
        }
        self.end_worker(worker);
        Ok(Response::Done)
    }
}

fn bind(vm: &Vm) -> Result<socket::VmSocket, ApiError> {
    socket::bind(vm).map_err(|error| {
        let says = match error {
            BrokerError::Socket { path, reason } => format!("{}: {reason}", path.display()),
            other => other.to_string(),
        };
        // A folder that is not there is no matter of who came first.
        let folder = vm.socket.parent();
        let code = match folder.is_some_and(std::path::Path::is_dir) {
            true => ErrorCode::Conflict,
            false => ErrorCode::Invalid,
        };
        ApiError::new(code, says).of("socket")
    })
}
