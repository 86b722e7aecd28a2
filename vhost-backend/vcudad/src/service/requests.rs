//! Requests and changes through the control API. Each change is checked completely, then saved, and
//! only then applied. A refused change has no effect. While a change is being saved, the broker
//! serves everything but other changes, which wait.

use control_api::{ApiError, ErrorCode, EventKind, Sharing, VmOrigin, VmPatch, VmSpec};
use event_manager::EventOps;

use super::Service;
use crate::config::{Vm, choose_uids};
use crate::reporting::event::BrokerEvent;
use crate::sessions::cause::Cause;
use crate::sessions::worker::Worker;
use crate::settings::changes::{Change, ChangeRequest};
use crate::settings::differences::change;
use crate::settings::reload::needs_restart;
use crate::settings::roster::place;
use crate::settings::state::SavedState;
use crate::settings::validate::check_on;
use crate::vm::resources::Resources;
use crate::vm::start;
use crate::vm::vms::{VmState, place_again};
use control_server::handle::{Answer, Reply, Request, Response, now_ms};
use host_ipc::messages::BrokerToDevice;
use memory_ledger::VmId;

/// Requests.
impl Service {
    pub(super) fn handle_requests(&mut self, ops: &mut EventOps) {
        self.inbox.acknowledge();
        self.sample_usage(true);
        while let Some((request, answer)) = self.inbox.next() {
            self.handle_request(ops, request, answer);
            self.carry_out(ops);
        }
    }

    fn handle_request(&mut self, ops: &mut EventOps, request: Request, answer: Answer) {
        if self.ended {
            return answer.give(Err(ApiError::shutting_down()));
        }
        self.must_rewrite |= request.is_change();
        let reports = self.reports();
        let reply = match request {
            Request::AddVm(spec) => {
                return self.request_change(ops, ChangeRequest::Add(spec), answer);
            }
            Request::SetVm(name, patch) => {
                return self.request_change(ops, ChangeRequest::Set(name, patch), answer);
            }
            Request::RestartVm(name) => {
                let reply = self.restart_failed(ops, &name, answer.uid());
                return answer.give(reply);
            }
            Request::ResetVm(name) => {
                return self.request_change(ops, ChangeRequest::Reset(name), answer);
            }
            Request::SetPaused(name, paused) => {
                return self.request_change(ops, ChangeRequest::SetPaused(name, paused), answer);
            }
            Request::SwapVm(name, out) => self.swap(&name, out, answer.uid()),
            Request::RestoreVm(name) => {
                return self.request_change(ops, ChangeRequest::Restore(name), answer);
            }
            Request::RemoveVm { name, if_idle } => match self.check_idle(&name, if_idle) {
                Ok(()) => return self.request_change(ops, ChangeRequest::Remove(name), answer),
                Err(error) => Err(error),
            },
            Request::Metrics => return self.scrape(answer),
            Request::Usage { since_ms } => {
                Ok(Response::Usage(Box::new(self.usage.report(since_ms, now_ms()))))
            }
            Request::ListVms => Ok(Response::Vms(reports.vm_infos())),
            Request::ShowVm(name) => match self.vms.named(&name) {
                Some(id) => self.show(id),
                None => {
                    let info = reports.not_added(&name).ok_or_else(|| self.roster.no_vm(&name));
                    info.map(|info| Response::Vm(Box::new(info)))
                }
            },
            Request::ListSessions(None) => Ok(Response::Sessions(reports.session_infos(None))),
            Request::ListSessions(Some(name)) => {
                let id = self.find(&name);
                id.map(|id| Response::Sessions(reports.session_infos(Some(id))))
            }
            Request::KillSession { vm, session } => self.kill_session(&vm, session, answer.uid()),
            Request::ListGpus => Ok(Response::Gpus(reports.gpu_infos())),
            Request::Trace => self.trace(),
            Request::CheckConfig(text) => match &mut self.rereader {
                Some(rereader) => return rereader.check(text, answer),
                None => Err(ApiError::new(ErrorCode::Conflict, "there is no configuration file")),
            },
            Request::Stats => Ok(Response::Stats(Box::new(reports.stats()))),
        };
        answer.give(reply);
    }

    pub(super) fn show(&self, id: VmId) -> Reply {
        let name = self.vms.name(id);
        let info = self.reports().vm_info(id).ok_or_else(|| ApiError::no_vm(name))?;
        Ok(Response::Vm(Box::new(info)))
    }

    /// Publishes the current state of all VMs as trace points.
    fn trace(&self) -> Reply {
        if !self.sessions.scheduler().is_enabled() {
            let says = "the scheduler is off, so nothing is known about who has the GPU; set scheduler = \"on\"";
            return Err(ApiError::new(ErrorCode::Conflict, says));
        }
        Ok(Response::TraceNames(self.sessions.scheduler().trace_all(&self.vms)))
    }

    fn kill_session(&mut self, name: &str, number: u32, uid: Option<u32>) -> Reply {
        let id = self.find(name)?;
        if !self.sessions.end_by_operator(id, number, uid) {
            return Err(ApiError::no_session(name, number));
        }
        tracing::info!(vm = name, session = number, uid, "ending the session for an operator");
        Ok(Response::Done)
    }

    /// Answers all requests when the broker ends.
    pub(super) fn refuse_requests(&mut self) {
        if self.changes.is_saving() {
            tracing::info!("exiting once the last change has been saved");
        }
        self.changes.shut_down();
        self.scrapes.send_all();
        let mut answers = Vec::new();
        for id in self.vms.ids() {
            answers.extend(self.vms.get_mut(id).map(VmState::take_removals).unwrap_or_default());
        }
        let requests = std::iter::from_fn(|| self.inbox.next()).map(|(_, answer)| answer);
        for answer in answers.into_iter().chain(requests) {
            answer.give(Err(ApiError::shutting_down()));
        }
    }
}

/// Changes.
impl Service {
    /// Starts a change. If another change is being saved, queues it instead.
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
            // The VM is being removed already, and the removal was saved, so only wait for it.
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
            ChangeRequest::Restore(name) => self.check_restoration(&name),
        };
        match checked {
            Err(error) => answer.give(Err(error)),
            Ok((change, next)) => match self.roster.save(next) {
                true => self.changes.set_saving(change, answer),
                false => self.apply(ops, change, answer),
            },
        }
    }

    /// Completes the change that was being saved, and starts the changes that wait.
    pub(super) fn handle_saved(&mut self, ops: &mut EventOps) {
        self.roster.acknowledge();
        self.handle_usage_saved();
        let Some(saved) = self.roster.take_saved() else { return };
        // There is no change to complete if the broker is about to exit.
        let Some((change, answer)) = self.changes.take_saving() else { return };
        match saved {
            Ok(()) => self.apply(ops, change, answer),
            Err(error) => {
                if matches!(change, Change::Reload(_)) {
                    self.refuse_reload(error.to_string());
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

    pub(super) fn is_leaving(&self, id: VmId) -> bool {
        self.vms.get(id).is_some_and(VmState::is_leaving)
    }

    fn check_new_vm(&self, spec: VmSpec) -> Result<(Change, SavedState), ApiError> {
        start::check_request(&spec, &self.started.socket_folders)?;
        let capacities = self.capacities(None);
        let spawner = self.launcher.spawner();
        let new = (spec, VmOrigin::Api);
        let state = start::new_vm(new, &[], &self.vms, &capacities, self.ground(), spawner)?;
        let mut next = self.roster.added(state.vm.spec.clone());
        place(&mut next, &state.vm.spec, self.gpus.uuids(&state.gpus));
        Ok((Change::Add(Box::new(state)), next))
    }

    /// Checks whether a VM can be added again that was removed.
    fn check_restoration(&self, name: &str) -> Result<(Change, SavedState), ApiError> {
        if self.vms.named(name).is_some() {
            let message = match self.find_staying(name) {
                Ok(_) => format!("VM '{name}' is not removed, so there is nothing to restore"),
                Err(_) => format!("VM '{name}' is still being removed; try again"),
            };
            return Err(ApiError::new(ErrorCode::Conflict, message));
        }
        let (spec, origin, mut next) = self.roster.restored(name)?;
        match origin {
            VmOrigin::Api => start::check_request(&spec, &self.started.socket_folders)?,
            VmOrigin::File => {
                if let Some(why) = needs_restart(&Vm::new(spec.clone())?, &self.started) {
                    let message = format!("VM '{name}' needs a restart of vcudad: {why}");
                    return Err(ApiError::new(ErrorCode::Conflict, message));
                }
            }
        }
        let (capacities, spawner) = (self.capacities(None), self.launcher.spawner());
        let (before, ground) = (self.roster.placed(name), self.ground());
        let state = start::new_vm((spec, origin), before, &self.vms, &capacities, ground, spawner)?;
        place(&mut next, &state.vm.spec, self.gpus.uuids(&state.gpus));
        Ok((Change::Restore(Box::new(state)), next))
    }

    /// Returns a VM that is served, even if it is being removed.
    fn find(&self, name: &str) -> Result<VmId, ApiError> {
        self.vms.named(name).ok_or_else(|| self.roster.no_vm(name))
    }

    /// Returns a VM, unless it is being removed.
    pub(super) fn find_staying(&self, name: &str) -> Result<(VmId, &VmState), ApiError> {
        let vm = self.find(name)?;
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

    fn check_removal(&self, name: &str) -> Result<(Change, SavedState), ApiError> {
        let vm = self.find(name)?;
        let state = self.vms.get(vm).ok_or_else(|| ApiError::no_vm(name))?;
        Ok((Change::Remove(vm), self.roster.removed(name, state.origin)))
    }

    /// Applies a change that has been saved. Changes are made one at a time, so since the check, no
    /// VM has been added, changed, or removed. But device processes and sessions may have ended,
    /// and others started.
    pub(super) fn apply(&mut self, ops: &mut EventOps, change: Change, answer: Answer) {
        let uid = answer.uid();
        self.must_rewrite = true;
        match change {
            Change::Add(state) => answer.give(self.add_vm(ops, *state, "added", uid)),
            Change::Restore(state) => answer.give(self.add_vm(ops, *state, "restored", uid)),
            Change::Set { vm, patch, after } => answer.give(self.set_vm(vm, &patch, *after, uid)),
            Change::SetPaused(vm, paused) => answer.give(self.set_paused(vm, paused, uid)),
            Change::Remove(vm) => self.remove_vm(vm, answer),
            Change::Reload(plan) => self.reload(*plan),
        }
    }

    fn add_vm(&mut self, ops: &mut EventOps, state: VmState, how: &str, uid: Option<u32>) -> Reply {
        let id = self.enroll(state);
        self.start_device(ops, id);
        self.sessions.refill(&self.vms, &self.gpus);
        tracing::info!(vm = self.vms.name(id), uid, "{how}");
        self.publish(BrokerEvent::of_vm(EventKind::VmAdded, id, how).by(uid));
        self.show(id)
    }

    /// Changes a VM's settings. `uid` is the user who requested the change, or `None` if the
    /// configuration file has changed.
    pub(super) fn set_vm(
        &mut self,
        id: VmId,
        patch: &VmPatch,
        after: Vm,
        uid: Option<u32>,
    ) -> Reply {
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
        tracing::info!(vm = self.vms.name(id), uid, "changed: {message}");
        self.publish(BrokerEvent::of_vm(EventKind::VmChanged, id, message).by(uid));
        self.show(id)
    }

    /// Serves a failed VM again. Its settings stay the same, so nothing is saved.
    fn restart_failed(&mut self, ops: &mut EventOps, name: &str, uid: Option<u32>) -> Reply {
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
            true => {
                let before = self.roster.placed(name);
                let placed = place_again(&self.capacities(Some(id)), &mut vm, false, before)?;
                placed.report(&vm);
                placed.gpus
            }
            false => state.gpus.clone(),
        };
        check_on(&vm, &set, self.ground())?;
        let (spawner, cgroups) = (self.launcher.spawner(), &self.cgroups);
        let Some(state) = self.vms.get_mut(id) else { return Err(ApiError::no_vm(name)) };
        state.release();
        let (resources, socket) = Resources::create(spawner, cgroups, &vm, set.len())?;
        self.roster.set_placed(&vm.spec, self.gpus.uuids(&set));
        state.serve_again(vm, set, socket, resources);
        self.sessions.set_quotas(id, state);
        let message = "restarted after a failure";
        tracing::info!(vm = name, uid, "{message}");
        self.publish(BrokerEvent::of_vm(EventKind::VmRestarted, id, message).by(uid));
        self.start_device(ops, id);
        self.sessions.refill(&self.vms, &self.gpus);
        self.show(id)
    }

    /// Removes a VM. If it's already being removed, adds the requester to those that wait for the
    /// removal.
    fn remove_vm(&mut self, id: VmId, answer: Answer) {
        self.begin_removal(id);
        let Some(state) = self.vms.get_mut(id) else { return };
        state.add_removal(answer);
        self.forget_vm(id);
    }

    /// Refuses to remove a VM that has sessions, if only an idle one may be removed.
    fn check_idle(&self, name: &str, if_idle: bool) -> Result<(), ApiError> {
        let id = self.find(name)?;
        let is_live = |worker: &Worker| worker.session().is_some() && !worker.is_ending();
        let live = self.sessions.workers().of(id).filter(|(_, worker)| is_live(worker)).count();
        match live {
            1.. if if_idle => {
                let noun = if live == 1 { "session" } else { "sessions" };
                let says = format!(
                    "VM '{name}' has {live} {noun}, which would end; to remove it nevertheless, use \
                     vcudactl vm rm --force"
                );
                Err(ApiError::new(ErrorCode::Conflict, says))
            }
            _ => Ok(()),
        }
    }

    /// Ends a VM's sessions and its device process.
    pub(super) fn begin_removal(&mut self, id: VmId) {
        let Some(state) = self.vms.get_mut(id) else { return };
        if !state.is_leaving() {
            state.device.close();
            state.leave();
            self.sessions.end_vm(id, &Cause::vm_removed());
        }
    }

    /// Removes a VM from all tables, if its removal was requested and its last process has ended.
    pub(super) fn forget_vm(&mut self, id: VmId) {
        let gone = |state: &VmState| state.is_leaving() && !state.device.has_process();
        if self.sessions.workers().count_of_vm(id) > 0 {
            return;
        }
        self.vms.get(id).inspect(|state| state.clear_shared_memory());
        if !self.vms.get(id).is_some_and(gone) {
            return;
        }
        let uid = self.vms.get(id).and_then(VmState::remover);
        self.publish(BrokerEvent::of_vm(EventKind::VmRemoved, id, "removed").by(uid));
        self.end_usage(id);
        self.sessions.remove_vm(id);
        self.budgets.forget(id);
        let Some(mut state) = self.vms.remove(id) else { return };
        tracing::info!(vm = state.vm.name, uid, "removed");
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
