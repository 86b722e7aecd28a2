//! Continuing after another vcudad has crashed or was killed.

use control_api::{VmOrigin, VmSpec};

use super::Service;
use crate::config::Vm;
use crate::continuity::journal::Handling;
use crate::error::BrokerError;
use crate::settings::differences::change;
use crate::settings::validate::{Candidate, check_vm};
use host_ipc::spawner::Call;
use memory_ledger::VmId;

impl Service {
    /// Ends the processes whose messages the previous vcudad was handling when it ended, and
    /// applies the changes that it had saved. `all` contains the VMs to serve. The VMs in the
    /// configuration file are compared with that file later.
    pub(super) fn recover(
        &mut self,
        handling: Handling,
        all: Vec<(VmSpec, VmOrigin)>,
    ) -> Result<(), BrokerError> {
        tracing::warn!("the previous vcudad ended without handing over");
        match handling {
            Handling::Device(vm) => self.end_doubtful_device(vm),
            // The supervisor may have reported an object that no broker has recorded, so its
            // sessions can't continue.
            Handling::Supervisor => self.sessions.end_supervisor(),
            _ => {}
        }
        if !self.roster.has_state() {
            return Ok(());
        }
        let is_served = |name: &str| all.iter().any(|(spec, _)| spec.name == name);
        let removed = |id: &VmId| !is_served(self.vms.name(*id));
        let removed: Vec<_> = self.vms.ids().into_iter().filter(removed).collect();
        removed.into_iter().for_each(|id| self.begin_removal(id));
        // The previous vcudad may have created the socket and the cgroup of a VM whose addition it
        // hadn't saved. Remove both.
        let names = self.vms.iter().map(|(_, state)| state.vm.name.clone()).collect();
        if let Err(reason) = self.spawner().request(Call::RetainVms { names }) {
            tracing::error!("cannot remove what unknown VMs have left: {reason}");
        }
        for (spec, _) in all.into_iter().filter(|(_, origin)| *origin == VmOrigin::Api) {
            match self.vms.named(&spec.name) {
                Some(id) => self.change_saved(id, &spec),
                None => self.add_saved(spec)?,
            }
        }
        if self.sessions.scheduler().is_enabled() {
            for id in self.vms.ids() {
                let paused = self.roster.is_paused(self.vms.name(id));
                let _ = self.set_paused(id, paused, None);
            }
        }
        Ok(())
    }

    fn end_doubtful_device(&mut self, vm: VmId) {
        let Some(state) = self.vms.get(vm) else { return };
        tracing::error!(
            vm = state.vm.name,
            "ending the device process, because vcudad ended while it handled a message from it"
        );
        state.device.kill();
    }

    /// Adds a VM whose addition was saved.
    fn add_saved(&mut self, spec: VmSpec) -> Result<(), BrokerError> {
        let capacities = self.capacities(None);
        let (vm, gpus) = match Vm::new(spec.clone()) {
            Ok(mut vm) => {
                let unique = self.vms.check_unique(&vm);
                let placed = unique.and_then(|()| {
                    let before = self.roster.placed(&spec.name);
                    check_vm(&mut vm, &capacities, self.ground(), false, before)
                });
                (vm, placed)
            }
            Err(error) => (Vm::unchecked(spec), Err(error)),
        };
        let candidate = Candidate { vm, origin: VmOrigin::Api, gpus };
        let state = candidate.create(self.launcher.spawner(), &self.cgroups)?;
        self.enroll(state);
        Ok(())
    }

    /// Applies a change of a VM's settings that was saved.
    fn change_saved(&mut self, id: VmId, saved: &VmSpec) {
        let Some(state) = self.vms.get(id) else { return };
        let (patch, _) = change(&state.vm.spec, saved);
        if patch.is_empty() {
            return;
        }
        let changed = state.changed(&patch).and_then(|after| self.set_vm(id, &patch, after, None));
        if let Err(error) = changed {
            tracing::error!("cannot change a VM: {error}");
        }
    }
}
