//! Reading the configuration file again. The file is handled like a change through the control API:
//! it is checked completely, and then the state is saved, before anything changes.

use control_api::{ApiError, ConfigCheck, ConfigInfo, ErrorCode, EventKind};
use event_manager::EventOps;

use super::Service;
use crate::config::{Config, ConfigError};
use crate::reporting::event::BrokerEvent;
use crate::reporting::reports::Reports;
use crate::settings::changes::Change;
use crate::settings::reload::{Host, Plan};
use crate::settings::reread::{Reread, Rereader};
use crate::settings::roster::place;
use crate::settings::state::SavedState;
use crate::settings::validate::{Candidate, Running, check_all, check_host};
use control_server::handle::{Answer, Response, now_ms};

impl Service {
    pub(super) fn handle_reread(&mut self, ops: &mut EventOps) {
        let all = self.rereader.as_mut().map(Rereader::take).unwrap_or_default();
        for Reread { config, checks } in all {
            match (checks, config) {
                (Some(answer), config) => self.answer_check(config, answer),
                (None, Err(error)) => self.refuse_reload(error.to_string()),
                (None, Ok(config)) if self.changes.is_saving() => {
                    self.changes.set_reload(Box::new(config));
                }
                (None, Ok(config)) => self.start_reload(ops, Box::new(config)),
            }
        }
    }

    /// Answers a request that asks whether a file could be applied now.
    fn answer_check(&self, config: Result<Config, ConfigError>, answer: Answer) {
        let checked = config.and_then(|config| {
            self.check_reload(&config, false).map_err(|error| config.locate(error))
        });
        answer.give(match checked {
            Ok((plan, _)) => {
                let summary = plan.summary(&self.vms, self.spawner().outlives_broker());
                Ok(Response::Checked(ConfigCheck { summary }))
            }
            Err(error) => Err(ApiError::new(ErrorCode::Invalid, error.to_string())),
        });
    }

    pub(super) fn refuse_reload(&mut self, reason: String) {
        tracing::error!("the configuration file was not applied, and nothing changed: {reason}");
        self.set_refused(reason);
        self.report_ready();
    }

    pub(super) fn set_refused(&mut self, reason: String) {
        self.publish(BrokerEvent::new(EventKind::ConfigRefused, reason.clone()));
        if let Some(file) = &mut self.file {
            *file = ConfigInfo { read_ms: now_ms(), refused: Some(reason), ..file.clone() };
        }
    }

    /// Reports to systemd that the broker is ready, and whether it uses the configuration file.
    pub(super) fn report_ready(&self) {
        let refused = self.file.as_ref().and_then(|file| file.refused.as_deref());
        self.systemd.ready(&match refused {
            None => "serving".to_owned(),
            Some(reason) => {
                format!("serving with earlier settings, because the file has an error: {reason}")
            }
        });
    }

    pub(super) fn start_reload(&mut self, ops: &mut EventOps, config: Box<Config>) {
        match self.check_reload(&config, true) {
            Err(error) => self.refuse_reload(config.locate(error).to_string()),
            Ok((plan, next)) => {
                self.roster.report_dropped(&next);
                let (change, answer) = (Change::Reload(Box::new(plan)), Answer::nobody());
                match self.roster.save(next) {
                    true => self.changes.set_saving(change, answer),
                    false => self.apply(ops, change, answer),
                }
            }
        }
    }

    /// Checks a file that may be applied. If `prepares` is true, also creates the sockets and
    /// cgroups of new VMs.
    fn check_reload(
        &self,
        config: &Config,
        prepares: bool,
    ) -> Result<(Plan, SavedState), ConfigError> {
        let no_jail = self.launcher.no_jail();
        let running = Running { started: &self.started, no_jail };
        check_host(config, self.spawner().is_root(), Some(&running))?;
        let (all, mut next) = self.roster.with_file(&config.vms)?;
        let candidates = check_all(config, all.clone(), &self.roster, self.ground())?;
        let is_served = |candidate: &&Candidate| {
            let state = self.vms.named(&candidate.vm.name).and_then(|id| self.vms.get(id));
            state.is_some_and(|state| state.device.failure().is_none() && !state.is_leaving())
        };
        let mut served = candidates.iter().filter(is_served);
        served.try_for_each(|candidate| candidate.check_kept(&[ErrorCode::Conflict]))?;
        let capacities = Reports { policy: &config.policy, ..self.reports() }.capacities(None);
        let host = Host {
            started: &self.started,
            vms: &self.vms,
            spawner: Some(self.launcher.spawner()).filter(|_| prepares),
            ground: self.ground(),
            roster: &self.roster,
        };
        let plan = Plan::check(config, all, capacities, &host)?;
        for state in &plan.added {
            place(&mut next, &state.vm.spec, self.gpus.uuids(&state.gpus));
        }
        Ok((plan, next))
    }

    pub(super) fn reload(&mut self, plan: Plan) {
        let outlives = self.spawner().outlives_broker();
        let summary = plan.summary(&self.vms, outlives);
        let Plan { policy, file, text, added, changed, removed, deferred, .. } = plan;
        self.policy = policy;
        self.applied = text;
        let now = Some(now_ms());
        self.file = now.map(|read_ms| ConfigInfo { read_ms, applied_ms: now, refused: None });
        let not_added = deferred.iter().filter_map(|change| change.not_added(outlives));
        self.roster.set_file(file, not_added.collect());
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
            let vm = change.vm;
            let name = vm.map(|vm| self.vms.name(vm));
            let message = change.message(outlives, name.unwrap_or_default());
            tracing::warn!(vm = name, "{message}");
            let event = BrokerEvent::new(EventKind::RestartNeeded, message);
            self.publish(BrokerEvent { vm, ..event });
        }
        tracing::info!("applied the configuration file: {summary}");
        self.publish(BrokerEvent::new(EventKind::ConfigReloaded, summary));
        self.report_ready();
    }

    /// Starts the devices of new VMs. Does nothing while a removed VM hasn't ended.
    pub(super) fn start_new(&mut self, ops: &mut EventOps) {
        if self.starting.is_empty() || self.vms.iter().any(|(_, state)| state.is_leaving()) {
            return;
        }
        for id in std::mem::take(&mut self.starting) {
            self.start_device(ops, id);
        }
    }
}
