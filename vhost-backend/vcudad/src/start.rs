//! From a configuration and a written state to a broker that can serve.

use control_api::{ApiError, ErrorCode, VmOrigin, VmSpec};

use super::audit::Audit;
use super::cgroup::{self, Cgroups};
use super::compute::ComputeHandle;
use super::driver;
use super::error::BrokerError;
use super::gpus::{Gpus, slices_named};
use super::mps::Mps;
use super::pool::Workers;
use super::roster::Roster;
use super::service::Service;
use super::session::StartQueue;
use super::signals::Signals;
use super::socket::{self, VmSocket};
use super::spawn::{self, Programs};
use super::systemd::Systemd;
use super::timer::Timer;
use super::together::Together;
use super::vms::{VmState, Vms, place_vm};
use super::watches::Watches;
use crate::config::{Config, ConfigError, Vm, VmSet, choose_uids, of_vm};
use control_server::handle::{ControlInbox, now_ms};
use memory_ledger::{Ledger, Quota, VmId};

/// A VM that is to be.
struct Candidate {
    vm: Vm,
    origin: VmOrigin,
    socket: Option<VmSocket>,
    /// Why it can't be served.
    failed: Option<ApiError>,
}

/// What the VMs come to, with their users and their sockets. What is wrong with one of the file is
/// an error; one that was made at run time is left out, and the others are served all the same: an
/// operator can change or remove it.
fn candidates(
    all: Vec<(VmSpec, VmOrigin)>,
    roster: &Roster,
) -> Result<Vec<Candidate>, BrokerError> {
    let mut set = VmSet::default();
    let mut candidates = Vec::new();
    for (spec, origin) in all {
        let (vm, failed) = match set.add(&spec) {
            Ok(vm) => (vm, None),
            // A name is what it would be removed by.
            Err(error) if origin == VmOrigin::Api && error.field.as_deref() != Some("name") => {
                let says = format!("{} (from state.json in state_dir)", error.message);
                (Vm::unchecked(spec), Some(ApiError { message: says, ..error }))
            }
            Err(error) => {
                let error = of_vm(&spec.name, &error);
                let in_state = roster.has_saved(&spec.name, origin);
                let from = if in_state { " (from state.json in state_dir)" } else { "" };
                return Err(ConfigError::Value(format!("{error}{from}")).into());
            }
        };
        candidates.push(Candidate { vm, origin, socket: None, failed });
    }
    let good = |candidate: &&mut Candidate| candidate.failed.is_none();
    choose_uids(candidates.iter_mut().filter(good).map(|candidate| &mut candidate.vm), [])?;
    for candidate in candidates.iter_mut().filter(good) {
        match socket::bind(&candidate.vm) {
            Ok(socket) => candidate.socket = Some(socket),
            Err(error) if candidate.origin == VmOrigin::File => return Err(error),
            Err(error) => {
                let error = ApiError::new(ErrorCode::Conflict, error.to_string()).of("socket");
                candidate.failed = Some(error);
            }
        }
    }
    Ok(candidates)
}

impl Service {
    /// Takes the state and the sockets, tries the driver, and places the VMs.
    pub(super) fn new(
        config: Config,
        programs: Programs,
        signals: Signals,
        inbox: ControlInbox,
    ) -> Result<Self, BrokerError> {
        let mut roster = Roster::open(config.state_dir.as_deref())?;
        let vms = candidates(roster.vms(config.vms.clone())?, &roster)?;
        let mut probed = driver::choose(&config, &programs)?;
        let slices = slices_named(vms.iter().flat_map(|candidate| &candidate.vm.spec.gpus));
        let slices = driver::probe_slices(&config, &programs, &probed, slices);
        let gpus = Gpus::new(&probed, slices);
        probed.gpus = gpus.iter().map(|(_, gpu)| gpu.facts.clone()).collect();
        let change_users = spawn::is_root();
        if !change_users {
            tracing::warn!("not running as root: all VMs' processes run as this user");
        }
        let needed = vms.iter().any(|candidate| cgroup::has_limits(&candidate.vm.spec));
        let wanted = needed || config.control_socket.is_some();
        let cgroups = if wanted { Cgroups::set_up(needed) } else { None };
        let compute =
            if config.policy.scheduler { ComputeHandle::start() } else { ComputeHandle::off() };
        let compute = compute.map_err(BrokerError::os("cannot start the scheduler"))?;
        let mut service = Self {
            vms: Vms::default(),
            gpus,
            policy: config.policy,
            warm_workers: config.warm_workers as usize,
            programs,
            driver: probed,
            change_users,
            signals,
            timer: Timer::new().map_err(BrokerError::os("cannot create a timer"))?,
            watches: Watches::default(),
            workers: Workers::default(),
            mps: Mps::of_this_process(),
            start_queue: StartQueue::default(),
            ledger: Ledger::default(),
            compute,
            together: Together::default(),
            failures: 0,
            killed: 0,
            inbox,
            roster,
            audit: None,
            systemd: Systemd::from_env(),
            started_ms: now_ms(),
            ended: false,
            cgroups,
        };
        for Candidate { mut vm, origin, socket, failed } in vms {
            let rooms = service.rooms(None);
            let placed = match failed {
                Some(error) => Err(error),
                None => place_vm(&rooms, &mut vm, config.memory_max_is_default)
                    .map_err(ApiError::from)
                    .and_then(|gpus| service.check_sharing(&vm.spec, &gpus).map(|()| gpus)),
            };
            match placed {
                Ok(gpus) => drop(service.enrol(VmState::new(vm, origin, gpus, socket))),
                Err(error) if origin == VmOrigin::File => {
                    return Err(BrokerError::Placement(format!("vm '{}': {error}", vm.name)));
                }
                // The others are to run all the same; an operator can remove it.
                Err(error) => {
                    tracing::error!(vm = vm.name, "cannot serve this VM: {error}");
                    let mut state = VmState::new(vm, origin, Vec::new(), None);
                    state.failed = Some(error.to_string());
                    service.enrol(state);
                }
            }
        }
        service.roster.save_pruned()?;
        service.audit = Audit::start(&service.gpus);
        Ok(service)
    }

    /// Takes a VM in: its accounts and its cgroup. Its processes are to be started then.
    pub(super) fn enrol(&mut self, mut state: VmState) -> VmId {
        if state.failed.is_none() && cgroup::has_limits(&state.vm.spec) {
            let name = &state.vm.name;
            match &self.cgroups {
                Some(cgroups) => match cgroups.add(&state.vm) {
                    Ok(cgroup) => state.cgroup = Some(cgroup),
                    Err(reason) => tracing::warn!(vm = name, "cannot create its cgroup: {reason}"),
                },
                None => tracing::warn!(
                    vm = name,
                    "cannot enforce cpu.max, memory.host_max and pids.max on this host"
                ),
            }
        }
        let id = self.vms.add(state);
        self.set_quotas(id);
        id
    }

    /// Tells the ledger and the scheduler what a VM may have.
    pub(super) fn set_quotas(&mut self, id: VmId) {
        let Some(state) = self.vms.get(id) else { return };
        let memory = &state.vm.spec.memory;
        for gpu in &state.gpus {
            let quota = Quota { max: memory.max, session_max: memory.session_max };
            self.ledger.set(id, *gpu, quota);
        }
        self.set_shares(id);
    }
}

/// What settings come to, for a VM that has a user already.
pub(super) fn changed(spec: VmSpec, before: &Vm) -> Result<Vm, control_api::ApiError> {
    let vm = Vm::new(spec)?;
    let socket = before.socket.clone();
    Ok(Vm { socket, uid: before.uid, gid: before.gid, ..vm })
}
