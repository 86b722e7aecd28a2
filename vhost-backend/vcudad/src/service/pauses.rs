//! Pauses of VMs, by operators and by VMMs.

use std::time::Instant;

use control_api::{ApiError, ErrorCode, EventKind, PausedBy};

use super::Service;
use crate::reporting::event::BrokerEvent;
use crate::settings::changes::Change;
use crate::settings::state::SavedState;
use control_server::handle::Reply;
use memory_ledger::VmId;

impl Service {
    /// Pauses a VM that was paused when the state was saved. None of its sessions has started yet.
    pub(super) fn pause_saved(&mut self, id: VmId) {
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

    /// Returns true if the VM's pause by an operator is already as requested, and this state has
    /// been saved.
    pub(super) fn is_as_wanted(&self, id: VmId, paused: bool) -> bool {
        self.vms.get(id).is_some_and(|state| {
            let saved = self.roster.is_paused(&state.vm.name);
            !state.is_leaving() && (state.pause.is_by_operator(), saved) == (paused, paused)
        })
    }

    pub(super) fn check_pause(
        &self,
        name: &str,
        paused: bool,
    ) -> Result<(Change, SavedState), ApiError> {
        let (vm, _) = self.find_staying(name)?;
        if paused && !self.sessions.scheduler().is_enabled() {
            let message = "the scheduler is off, so VMs can't be paused; set scheduler = \"on\" and \
                           restart vcudad";
            return Err(ApiError::new(ErrorCode::Conflict, message));
        }
        Ok((Change::SetPaused(vm, paused), self.roster.with_paused(name, paused)))
    }

    /// Pauses a VM for an operator, or lets it continue.
    pub(super) fn set_paused(&mut self, id: VmId, paused: bool, uid: Option<u32>) -> Reply {
        if let Some(state) = self.vms.get_mut(id)
            && state.pause.is_by_operator() != paused
        {
            state.pause.set_by_operator(paused);
            self.pause_changed(id, paused, PausedBy::Api, uid);
        }
        self.show(id)
    }

    /// If the VMM has paused a VM or lets it continue, and this isn't in effect yet, puts it into
    /// effect unless the VMM does so too often.
    pub(super) fn apply_vmm_pause(&mut self, id: VmId) {
        let Some(state) = self.vms.get_mut(id) else { return };
        if let Some(paused) = state.pause.take_vmm_change(Instant::now()) {
            self.pause_changed(id, paused, PausedBy::Vmm, None);
        }
    }

    /// Puts a pause or its end into effect, and reports it.
    fn pause_changed(&mut self, id: VmId, paused: bool, by: PausedBy, uid: Option<u32>) {
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
        tracing::info!(vm = state.vm.name, uid, "{message}");
        self.publish(BrokerEvent::of_vm(kind, id, message).by(uid));
        // Calls that wait at the gates need the VM's memory once the VM is resumed.
        self.advance_swap(id);
    }
}
