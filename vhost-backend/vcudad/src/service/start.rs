//! The start of the broker, with new VMs or with those of another vcudad.

use std::io;
use std::time::Instant;

use control_api::{ConfigInfo, EventKind};

use super::Service;
use crate::config::{Config, Ratio};
use crate::continuity::crash::Crash;
use crate::continuity::handover::{HandoverState, Successor};
use crate::continuity::journal::{Handling, Journal};
use crate::continuity::record::Recorded;
use crate::error::BrokerError;
use crate::gpu::audit::Audit;
use crate::gpu::compute;
use crate::gpu::driver::{self, JailResult};
use crate::gpu::eviction;
use crate::gpu::gpus::Gpus;
use crate::gpu::scheduler::Scheduler;
use crate::processes::launcher::Launcher;
use crate::processes::output::Outputs;
use crate::processes::spawner::{Ending, Spawner};
use crate::processes::supervisor::Supervisor;
use crate::reporting::event::BrokerEvent;
use crate::sessions::budgets::Budgets;
use crate::sessions::table::Sessions;
use crate::settings::changes::Changes;
use crate::settings::chosen::Chosen;
use crate::settings::reload::{fixed_settings, live_policy};
use crate::settings::reread::{Reader, Rereader};
use crate::settings::roster::Roster;
use crate::settings::state::StateDir;
use crate::settings::validate::{Ground, check_all, check_own_file};
use crate::timer::Timer;
use crate::usage::collector::Usage;
use crate::usage::file::{self, Loaded};
use crate::usage::record::Record;
use crate::usage::scrapes::Scrapes;
use crate::vm::cgroup::Cgroups;
use crate::vm::vms::Vms;
use crate::watches::Watches;
use control_server::handle::{ControlInbox, now_ms};
use host_ipc::gpu::{Eviction, Probed};
use host_ipc::signals::Signals;
use host_ipc::systemd::Systemd;

/// The results of the steps for which the broker needed privileges.
pub(crate) struct Prepared {
    pub(crate) spawner: Spawner,
    pub(crate) ending: Ending,
    pub(crate) state: Option<StateDir>,
    /// The driver library and the GPUs that it found.
    pub(crate) driver: Probed,
    /// The jail of workers, or the reason why they have none.
    pub(crate) jail: JailResult,
}

/// The parts of a broker that exist before its VMs.
struct Foundation {
    spawner: Spawner,
    ending: Ending,
    driver: Probed,
    jail: JailResult,
    gpus: Gpus,
    cgroups: Cgroups,
    roster: Roster,
    usage: Usage,
}

/// The service's connections to the outside. No thread has been started for them, because the
/// broker may still have privileges.
pub(crate) struct Inputs {
    pub(crate) signals: Signals,
    pub(crate) inbox: ControlInbox,
    /// `None` if there is no configuration file.
    pub(crate) reader: Option<Reader>,
    /// `None` if there is no configuration file.
    pub(crate) successor: Option<Successor>,
}

impl Service {
    /// Reads the saved changes, and places the VMs.
    pub(crate) fn new(
        config: Config,
        prepared: Prepared,
        inputs: Inputs,
    ) -> Result<Self, BrokerError> {
        let Prepared { spawner, ending, state, mut driver, jail } = prepared;
        let usage = load_usage(state.as_ref(), None);
        let mut roster = Roster::open(state)?;
        let all = roster.vms(config.vms.clone()).map_err(|error| config.locate(error))?;
        let requests = all.iter().flat_map(|(spec, _)| &spec.gpus);
        let gpus = driver::add_slices(&config, &spawner, &mut driver, requests);
        if !spawner.is_root() {
            tracing::warn!("not running as root: all VMs' processes run as this user");
        }
        let cgroups = Cgroups::set_up(&spawner);
        let ground = Ground { gpus: &gpus, cgroups: &cgroups };
        let vms = check_all(&config, all, &roster, ground);
        let vms = vms.map_err(|error| config.locate(error))?;
        let found = Foundation { spawner, ending, driver, jail, gpus, cgroups, roster, usage };
        let (mut service, _) = Self::with(config, found, inputs, Supervisor::start)?;
        for candidate in vms {
            let state = candidate.create(service.launcher.spawner(), &service.cgroups);
            let state = state.map_err(|error| service.started.locate(error))?;
            let failure = state.device.failure().map(str::to_owned);
            let id = service.enroll(state);
            service.pause_saved(id);
            if let Some(reason) = failure {
                service.publish(BrokerEvent::of_vm(EventKind::VmFailed, id, reason));
            }
        }
        service.keep_places();
        service.roster.start_saving()?;
        service.start_audit();
        if let Err(error) = check_own_file(&service.started) {
            tracing::error!("{error}");
            service.set_refused(error.to_string());
        }
        Ok(service)
    }

    /// Takes over everything from the broker that this one replaces. `handling` says how that
    /// broker ended.
    pub(crate) fn take_over(
        chosen: Chosen,
        spawner: Spawner,
        state: Option<StateDir>,
        (handed, handling): (HandoverState, Handling),
        inputs: Inputs,
    ) -> Result<Self, BrokerError> {
        let began = Instant::now();
        let failed = BrokerError::Handover;
        let HandoverState {
            last_process, driver, has_jail, no_jail, evicts, gpus, cgroups, ..
        } = handed;
        let HandoverState { supervisor, vms, sessions, fixed, config: applied, usage, .. } = handed;
        let usage = load_usage(state.as_ref(), usage);
        let mut processes = spawner.processes(last_process).map_err(failed)?;
        let mut roster = Roster::open(state)?;
        let ground = Ground { gpus: &gpus, cgroups: &cgroups };
        let applied = inputs.reader.as_ref().zip(applied);
        let applied = applied.and_then(|(read, text)| read(Some(&text)).ok());
        let (config, refused) = chosen.checked(applied.as_ref(), &roster, ground);
        // Start with the settings that were applied last. Later changes in the file are applied
        // once the file has been read again.
        let applied = applied.unwrap_or_else(|| config.clone());
        let policy = live_policy(&config, &applied);
        let all = roster.vms(applied.vms)?;
        let ending = spawner.ending();
        let jail = match has_jail {
            true => Ok(()),
            false => Err(no_jail.unwrap_or_else(|| "an earlier vcudad did without it".into())),
        };
        let found = Foundation { spawner, ending, driver, jail, gpus, cgroups, roster, usage };
        let restore = |launcher: &_| Supervisor::restore(supervisor, launcher, &mut processes);
        let (mut service, eviction) = Self::with(config, found, inputs, restore)?;
        let eviction = eviction.as_ref();
        let crash = Crash { handling, evicted: evicts, eviction };
        let crash = Some(crash).filter(|crash| crash.handling != Handling::Done);
        service.fixed = fixed;
        (service.policy, service.applied) = (policy, applied.text);
        if let Some(file) = service.file.as_mut().filter(|_| refused.is_some()) {
            *file = ConfigInfo { applied_ms: None, refused, ..file.clone() };
        }
        let (launcher, cgroups) = (&service.launcher, &service.cgroups);
        service.vms = Vms::restore(vms, launcher, &mut processes, cgroups).map_err(failed)?;
        let Self { sessions: restored, vms, .. } = &mut service;
        let restored = restored.restore(sessions, &mut processes, vms, crash.as_ref());
        restored.map_err(failed)?;
        processes.end(service.launcher.spawner());
        if let Some(crash) = crash {
            service.recover(crash.handling, all)?;
        }
        service.warn_about_fixed();
        service.keep_places();
        service.roster.start_saving()?;
        service.start_audit();
        service.took_over = Some(began);
        Ok(service)
    }

    /// Records the GPUs of VMs that request any GPU, so that they get the same ones after a
    /// restart.
    fn keep_places(&mut self) {
        for (_, state) in self.vms.iter().filter(|(_, state)| !state.gpus.is_empty()) {
            self.roster.set_placed(&state.vm.spec, self.gpus.uuids(&state.gpus));
        }
    }

    /// Creates a service without VMs.
    fn with(
        config: Config,
        found: Foundation,
        inputs: Inputs,
        supervisor: impl FnOnce(&Launcher) -> io::Result<Supervisor>,
    ) -> Result<(Self, Option<compute::Eviction>), BrokerError> {
        let Foundation { spawner, ending, driver, jail, mut gpus, cgroups, roster, usage } = found;
        let Inputs { signals, inbox, reader, successor } = inputs;
        let now = now_ms();
        let file = reader.as_ref().map(|_| ConfigInfo {
            read_ms: now,
            applied_ms: Some(now),
            refused: None,
        });
        let rereader = reader.map(Rereader::start).transpose();
        let rereader =
            rereader.map_err(BrokerError::os("cannot start a thread to read the file"))?;
        let eviction = eviction::prepare(&config.policy, &driver, &mut gpus, jail.is_ok());
        let scheduler =
            Scheduler::start(config.policy.scheduler, eviction.as_ref(), inbox.traces().clone());
        let scheduler = scheduler.map_err(BrokerError::os("cannot start the scheduler"))?;
        let outputs = Outputs::start()
            .map_err(BrokerError::os("cannot start a thread for the output of processes"))?;
        let spawner_output = spawner.log(&outputs);
        let journal = Journal::new(&spawner);
        let launcher = Launcher::new(spawner, jail, outputs);
        let supervisor = supervisor(&launcher)
            .map_err(BrokerError::os("cannot start the supervisor of workers"))?;
        let warm_workers = config.warm_workers as usize;
        let service = Self {
            watches: Watches::default(),
            signals,
            rereader,
            successor,
            is_replaced: false,
            is_leaving: false,
            fixed: fixed_settings(&config),
            journal,
            must_rewrite: false,
            has_sampled: false,
            recorded: Recorded::default(),
            evicts: eviction.is_some(),
            handled: Vec::new(),
            took_over: None,
            timer: Timer::new().map_err(BrokerError::os("cannot create a timer"))?,
            systemd: Systemd::from_env(),
            inbox,
            changes: Changes::default(),
            vms: Vms::default(),
            gpus,
            sessions: Sessions::new(
                scheduler,
                launcher.clone(),
                supervisor,
                driver.eviction == Eviction::Simulated,
                warm_workers,
                config.policy.memory_overcommit == Ratio::ONE,
            ),
            usage,
            scrapes: Scrapes::default(),
            budgets: Budgets::default(),
            audit: Audit::default(),
            launcher,
            ending: Some(ending),
            _spawner_output: spawner_output,
            driver,
            policy: config.policy,
            starting: Vec::new(),
            applied: config.text.clone(),
            file,
            started: config,
            started_ms: now,
            ended: false,
            failure: None,
            cgroups,
            roster,
        };
        Ok((service, eviction))
    }
}

/// Returns the usage of VMs so far: the one that the previous broker has handed over or, if there
/// is none, the saved one.
fn load_usage(state: Option<&StateDir>, handed: Option<Record>) -> Usage {
    let now = Instant::now();
    let saved = state.map(|dir| file::load(dir, now_ms()));
    let may_save = saved.as_ref().is_some_and(|saved| saved.may_save);
    match (handed, saved) {
        (Some(record), _) => Usage::new(Loaded { record: record.restored(), may_save }, true, now),
        (None, Some(saved)) => Usage::new(saved, false, now),
        (None, None) => Usage::new(Loaded { record: Record::new(now_ms()), may_save }, false, now),
    }
}
