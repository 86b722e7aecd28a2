//! Reading the configuration file again. The file is handled like a change through the control API:
//! it is checked completely, and then the state is saved, before anything changes.

use control_api::EventKind;
use event_manager::EventOps;

use super::Service;
use crate::changes::Change;
use crate::config::{Config, ConfigError};
use crate::event::BrokerEvent;
use crate::reload::{Host, Plan};
use crate::reports::Reports;
use crate::reread::Rereader;
use crate::state::SavedState;
use control_server::handle::Answer;

impl Service {
    pub(super) fn handle_reread(&mut self, ops: &mut EventOps) {
        match self.rereader.as_ref().and_then(Rereader::take) {
            None => {}
            Some(Err(error)) => self.refuse_reload(&error.to_string()),
            Some(Ok(config)) if self.changes.is_saving() => {
                self.changes.set_reload(Box::new(config));
            }
            Some(Ok(config)) => self.start_reload(ops, Box::new(config)),
        }
    }

    pub(super) fn refuse_reload(&mut self, reason: &str) {
        tracing::error!("the configuration file was not applied, and nothing changed: {reason}");
        let event = BrokerEvent::new(EventKind::ConfigRefused, reason);
        self.publish(event);
        self.systemd.ready();
    }

    pub(super) fn start_reload(&mut self, ops: &mut EventOps, config: Box<Config>) {
        match self.check_reload(*config) {
            Err(error) => self.refuse_reload(&error.to_string()),
            Ok((plan, next)) => {
                let (change, answer) = (Change::Reload(Box::new(plan)), Answer::nobody());
                match self.roster.save(next) {
                    true => self.changes.set_saving(change, answer),
                    false => self.apply(ops, change, answer),
                }
            }
        }
    }

    fn check_reload(&self, config: Config) -> Result<(Plan, SavedState), ConfigError> {
        let (all, next) = self.roster.with_file(&config.vms)?;
        let capacities = Reports { policy: &config.policy, ..self.reports() }.capacities(None);
        let host = Host {
            started: &self.started,
            vms: &self.vms,
            gpus: &self.gpus,
            spawner: self.launcher.spawner(),
            cgroups: &self.cgroups,
        };
        Ok((Plan::check(config, all, capacities, &host)?, next))
    }

    pub(super) fn reload(&mut self, plan: Plan) {
        let summary = plan.summary(&self.vms);
        let Plan { policy, file, added, changed, removed, deferred } = plan;
        self.policy = policy;
        self.roster.set_file(file);
        for id in &removed {
            self.begin_removal(*id);
        }
        for (id, patch, after) in changed {
            if let Err(error) = self.set_vm(id, &patch, after, None) {
                tracing::error!("cannot change a VM: {error}");
            }
        }
        for state in added {
            let id = self.enroll(state);
            self.pause_saved(id);
            self.starting.push(id);
            let message = "added by the configuration file";
            self.publish(BrokerEvent::of_vm(EventKind::VmAdded, id, message));
        }
        for id in removed {
            self.forget_vm(id);
        }
        self.sessions.refill(&self.vms, &self.gpus);
        for change in deferred {
            let (vm, message) = (change.vm, change.message(self.spawner().outlives_broker()));
            tracing::warn!(vm = vm.map(|vm| self.vms.name(vm)), "{message}");
            let event = BrokerEvent::new(EventKind::RestartNeeded, message);
            self.publish(BrokerEvent { vm, ..event });
        }
        tracing::info!("applied the configuration file: {summary}");
        self.publish(BrokerEvent::new(EventKind::ConfigReloaded, summary));
        self.systemd.ready();
    }

    /// Starts the devices of new VMs, unless VMs that were removed haven't ended.
    pub(super) fn start_new(&mut self, ops: &mut EventOps) {
        if self.starting.is_empty() || self.vms.iter().any(|(_, state)| state.is_leaving()) {
            return;
        }
        for id in std::mem::take(&mut self.starting) {
            self.start_device(ops, id);
        }
    }
}
