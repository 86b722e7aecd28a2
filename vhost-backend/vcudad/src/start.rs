//! From a configuration and a written state to a broker that can serve.

use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::time::Instant;

use control_api::{ApiError, ErrorCode, VmOrigin, VmSpec};

use super::BrokerError;
use super::audit::Audit;
use super::cgroup::{self, Cgroups};
use super::compute::ComputeHandle;
use super::driver;
use super::gpus::{Gpus, slices_named};
use super::mps::Mps;
use super::notify::Notify;
use super::pool::Workers;
use super::service::{Service, timer};
use super::socket::{self, VmSocket};
use super::spawn::{self, Programs};
use super::state::{State, StateDir};
use super::together::Together;
use super::vms::{VmState, Vms, place_vm};
use crate::config::{Config, ConfigError, Vm, VmSet, choose_uids, of_vm};
use control_server::handle::{ControlInbox, now_ms};
use memory_ledger::{Ledger, Quota, VmId};

/// The VMs that are to be: the file's, with what was changed of them at run time and without those
/// that were removed, and those that were made at run time.
fn roster(file: Vec<VmSpec>, state: &mut State) -> Result<Vec<(VmSpec, VmOrigin)>, ConfigError> {
    let in_file = |name: &String| file.iter().any(|spec| spec.name == *name);
    // What the file names no more can be forgotten.
    state.removed.retain(|name| in_file(name));
    state.changed.retain(|name, _| {
        let keep = in_file(name);
        if !keep {
            tracing::warn!(vm = name, "changes of a VM that the file names no more are dropped");
        }
        keep
    });
    let is_there = |spec: &VmSpec| !state.removed.contains(&spec.name);
    if let Some(spec) =
        state.vms.iter().find(|spec| file.iter().any(|f| f.name == spec.name && is_there(f)))
    {
        return Err(ConfigError::Value(format!(
            "vm '{}' stands in the file, and was made at run time, too: rename the file's, or start \
             without it and remove the other",
            spec.name
        )));
    }
    let mut all = Vec::new();
    for spec in file.into_iter().filter(is_there) {
        let spec = state.changed.get(&spec.name).map_or_else(|| spec.clone(), |p| p.applied(&spec));
        all.push((spec, VmOrigin::File));
    }
    all.extend(state.vms.iter().map(|spec| (spec.clone(), VmOrigin::Api)));
    Ok(all)
}

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
fn candidates(all: Vec<(VmSpec, VmOrigin)>, state: &State) -> Result<Vec<Candidate>, BrokerError> {
    let mut set = VmSet::default();
    let mut candidates = Vec::new();
    for (spec, origin) in all {
        let (vm, failed) = match set.add(&spec) {
            Ok(vm) => (vm, None),
            // A name is what it would be removed by.
            Err(error) if origin == VmOrigin::Api && error.field.as_deref() != Some("name") => {
                let says = format!("{} (state.json of state_dir has it)", error.message);
                (Vm::unchecked(spec), Some(ApiError { message: says, ..error }))
            }
            Err(error) => {
                let error = of_vm(&spec.name, &error);
                let in_state = origin == VmOrigin::Api || state.changed.contains_key(&spec.name);
                let from = if in_state { " (state.json of state_dir has it)" } else { "" };
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
        signals: OwnedFd,
        inbox: ControlInbox,
    ) -> Result<Self, BrokerError> {
        let state_dir = config.state_dir.as_deref().map(StateDir::open).transpose()?;
        let mut state = state_dir.as_ref().map(StateDir::read).transpose()?.unwrap_or_default();
        let written = state.clone();
        let roster = roster(config.vms.clone(), &mut state)?;
        let vms = candidates(roster, &state)?;
        let mut probed = driver::choose(&config, &programs)?;
        let slices = slices_named(vms.iter().flat_map(|candidate| &candidate.vm.spec.gpus));
        let slices = driver::probe_slices(&config, &programs, &probed, slices);
        let gpus = Gpus::new(&probed, slices);
        probed.gpus = gpus.iter().map(|(_, gpu)| gpu.facts.clone()).collect();
        let change_users = spawn::is_root();
        if !change_users {
            tracing::warn!("not run by root: all processes have this user, VMs too");
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
            timer: timer().map_err(BrokerError::os("cannot make a timer"))?,
            sources: HashMap::new(),
            workers: Workers::default(),
            mps: Mps::of_this_process(),
            waiting: VecDeque::new(),
            ledger: Ledger::default(),
            compute,
            together: Together::default(),
            failures: 0,
            killed: 0,
            inbox,
            state_dir,
            state,
            audit: None,
            notify: Notify::from_env(),
            notified: Instant::now(),
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
                    tracing::error!(vm = vm.name, "is not served: {error}");
                    let mut state = VmState::new(vm, origin, Vec::new(), None);
                    state.failed = Some(error.to_string());
                    service.enrol(state);
                }
            }
        }
        if let Some(dir) = service.state_dir.as_ref().filter(|_| service.state != written) {
            dir.write(&service.state)?;
        }
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
                    Err(reason) => tracing::warn!(vm = name, "no cgroup: {reason}"),
                },
                None => tracing::warn!(
                    vm = name,
                    "cpu.max, memory.host_max and pids.max can't be kept on this host"
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

#[cfg(test)]
mod tests {
    use super::*;
    use control_api::{ComputePatch, VmPatch};

    fn names(of: &[(VmSpec, VmOrigin)]) -> Vec<(&str, VmOrigin)> {
        of.iter().map(|(spec, origin)| (spec.name.as_str(), *origin)).collect()
    }

    fn weight(weight: u32) -> VmPatch {
        VmPatch {
            compute: ComputePatch { weight: Some(weight), ..ComputePatch::default() },
            ..VmPatch::default()
        }
    }

    #[test]
    fn what_was_done_at_run_time_goes_before_what_the_file_says() {
        let file = || ["a", "b"].map(|name| VmSpec::new(name, 1 << 30)).to_vec();
        let mut state = State::default();
        state.vms.push(VmSpec::new("c", 1 << 20));
        state.changed.insert("a".into(), weight(7));
        state.removed.insert("b".into());
        let all = roster(file(), &mut state).unwrap();
        assert_eq!(names(&all), [("a", VmOrigin::File), ("c", VmOrigin::Api)]);
        assert_eq!((all[0].0.compute.weight, all[0].0.memory.max), (7, 1 << 30));
        // The file's b was removed, so there may be another.
        state.vms.push(VmSpec::new("b", 1 << 20));
        let all = roster(file(), &mut state).unwrap();
        assert_eq!(names(&all)[2], ("b", VmOrigin::Api));
        state.vms.push(VmSpec::new("a", 1 << 20));
        assert!(roster(file(), &mut state).unwrap_err().to_string().contains("vm 'a' stands"));
    }

    #[test]
    fn what_the_file_names_no_more_is_forgotten() {
        let mut state = State::default();
        state.changed.insert("a".into(), weight(7));
        state.removed.insert("b".into());
        assert!(roster(Vec::new(), &mut state).unwrap().is_empty());
        assert_eq!(state, State::default());
    }
}
