//! The effects of reading the configuration file again. The file is checked completely before
//! anything changes. A setting that can't change while the broker is running is reported, and has
//! no effect until a restart.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use control_api::{ApiError, VmOrigin, VmPatch, VmSpec};

use crate::config::{Config, ConfigError, Policy, Vm, VmSet, choose_uids, of_vm};
use crate::processes::spawner::Spawner;
use crate::settings::differences::change;
use crate::settings::roster::Roster;
use crate::settings::validate::{Ground, check_unused, check_vm};
use crate::vm::device::Device;
use crate::vm::placement::Capacity;
use crate::vm::resources::Resources;
use crate::vm::start;
use crate::vm::vms::{VmState, Vms};
use host_ipc::listener::in_use;
use host_ipc::spawner::VM_UIDS;
use memory_ledger::VmId;

/// The changes that a file makes. Dropping this without applying it removes the sockets and cgroups
/// of the new VMs.
pub(crate) struct Plan {
    pub(crate) policy: Policy,
    /// The VMs in the file.
    pub(crate) file: Vec<VmSpec>,
    /// The file's text.
    pub(crate) text: String,
    pub(crate) added: Vec<VmState>,
    pub(crate) changed: Vec<(VmId, VmPatch, Vm)>,
    pub(crate) removed: Vec<VmId>,
    pub(crate) deferred: Vec<Deferred>,
    /// VMs in the file that stay removed, because an operator has removed them.
    pub(crate) stay_removed: Vec<String>,
}

/// A change in the file that has no effect yet.
pub(crate) struct Deferred {
    /// The running VM that the change affects, if any.
    pub(crate) vm: Option<VmId>,
    /// The name of the new VM, if the change is a new VM that can't be added yet.
    new: Option<String>,
    what: String,
    needs: Needs,
}

/// The kind of restart that a change needs to take effect.
enum Needs {
    /// The broker must be restarted.
    Broker,
    /// The spawner must be restarted, if it outlives the broker.
    Spawner,
    /// The VM must be removed and added again.
    Vm,
}

impl Deferred {
    /// Describes the change for operators. `spawner_outlives` is true if the broker can be
    /// restarted without its spawner, and `name` is the name of the VM.
    pub(crate) fn message(&self, spawner_outlives: bool, name: &str) -> String {
        let again = format!(
            "needs the VM to be removed and restored (vcudactl vm rm --force {name}; vcudactl \
             vm restore {name}), which ends its sessions"
        );
        let needs = match (&self.needs, spawner_outlives) {
            (Needs::Broker, true) => "needs a restart of vcudad, which ends no sessions",
            (Needs::Spawner, true) => {
                "needs a restart of virtio-cuda-spawner, which ends all sessions"
            }
            (Needs::Broker | Needs::Spawner, false) => {
                "needs a restart of vcudad, which ends all sessions"
            }
            (Needs::Vm, _) => &again,
        };
        format!("{needs}: {}", self.what)
    }

    /// Returns the name of a VM in the file that can't be added, and why.
    pub(crate) fn not_added(&self, spawner_outlives: bool) -> Option<(String, String)> {
        self.new.clone().map(|name| (name, self.message(spawner_outlives, "")))
    }
}

/// The settings that keep their values until the spawner is restarted, by key.
pub(crate) type FixedSettings = BTreeMap<String, String>;

/// Returns the settings that keep their values until the spawner is restarted.
pub(crate) fn fixed_settings(config: &Config) -> FixedSettings {
    let settings = [
        ("driver_library", format!("{:?}", config.driver_library)),
        ("allow_pageable_memory_access", config.allow_pageable_memory_access.to_string()),
        ("jail", format!("{:?}", config.jail)),
    ];
    settings.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

/// The state of the running broker, with which a file is compared.
pub(crate) struct Host<'a> {
    /// The configuration with which the broker was started.
    pub(crate) started: &'a Config,
    pub(crate) vms: &'a Vms,
    /// The spawner, which creates the sockets and cgroups of new VMs. `None` if the file is only
    /// checked.
    pub(crate) spawner: Option<&'a Spawner>,
    pub(crate) ground: Ground<'a>,
    pub(crate) roster: &'a Roster,
}

impl Plan {
    /// Compares a file, which has been checked (`validate`), with the running VMs. `all` contains
    /// the VMs to serve from now on, `capacities` the GPUs' capacities under the file's policy.
    pub(crate) fn check(
        config: &Config,
        all: Vec<(VmSpec, VmOrigin)>,
        capacities: Vec<Capacity>,
        host: &Host<'_>,
    ) -> Result<Self, ConfigError> {
        let vms = host.vms;
        let mut plan = Self {
            policy: live_policy(host.started, config),
            file: config.vms.clone(),
            text: config.text.clone(),
            added: Vec::new(),
            changed: Vec::new(),
            removed: Vec::new(),
            deferred: fixed_keys(host.started, config),
            stay_removed: host.roster.stay_removed(&config.vms),
        };
        let in_file = |vm: &Vm| config.vms.iter().any(|spec| spec.name == vm.name);
        let gone = vms.iter().filter(|(_, state)| {
            state.origin == VmOrigin::File && !state.is_leaving() && !in_file(&state.vm)
        });
        plan.removed.extend(gone.map(|(id, _)| id));

        // Compute the GPUs' promises as they will be after all of the plan's changes.
        let mut capacities = capacities;
        for state in plan.removed.iter().filter_map(|id| vms.get(*id)) {
            on_gpus_of(state, &mut capacities, |capacity| capacity.release(&state.vm.spec));
        }
        let (mut set, mut new) = (VmSet::default(), Vec::new());
        for (spec, origin) in &all {
            let fail = |error: &ApiError| of_vm(&spec.name, error);
            let running = vms.named(&spec.name).and_then(|id| Some((id, vms.get(id)?)));
            let Some((id, state)) = running else {
                let vm = set.add(spec).map_err(|error| fail(&error))?;
                match needs_restart(&vm, host.started) {
                    Some(why) => {
                        let what = format!("VM '{}': {why}", vm.name);
                        let (needs, new) = (Needs::Broker, Some(vm.name));
                        plan.deferred.push(Deferred { vm: None, new, what, needs });
                    }
                    None => new.push(vm),
                }
                continue;
            };
            if *origin == VmOrigin::Api {
                continue;
            }
            set.add(spec).map_err(|error| fail(&error))?;
            let (patch, fixed) = change(&state.vm.spec, spec);
            if !fixed.is_empty() {
                let what = fixed.join(", ");
                let (vm, needs) = (Some(id), Needs::Vm);
                plan.deferred.push(Deferred { vm, new: None, what, needs });
            }
            if !patch.is_empty() {
                let after = state.changed(&patch).map_err(|error| fail(&error))?;
                on_gpus_of(state, &mut capacities, |capacity| {
                    capacity.release(&state.vm.spec);
                    capacity.promise(&after.spec);
                });
                plan.changed.push((id, patch, after));
            }
        }
        for (id, _, after) in &plan.changed {
            let Some(state) = vms.get(*id) else { continue };
            // `capacities` already contains this change, so take it back before the check.
            let mut before = capacities.clone();
            on_gpus_of(state, &mut before, |capacity| capacity.release(&after.spec));
            state
                .check_increase(after, &before)
                .map_err(|error| of_vm(&after.name, &error.into()))?;
        }
        choose_uids(&mut new, vms.uids())?;
        let in_use = if host.spawner.is_none() { in_use() } else { HashSet::new() };
        for vm in new {
            let name = vm.name.clone();
            let state = plan
                .place(vm, &capacities, host, &in_use)
                .map_err(|error: ApiError| of_vm(&name, &error))?;
            on_gpus_of(&state, &mut capacities, |capacity| capacity.promise(&state.vm.spec));
            plan.added.push(state);
        }
        Ok(plan)
    }

    fn place(
        &self,
        mut vm: Vm,
        capacities: &[Capacity],
        host: &Host<'_>,
        in_use: &HashSet<PathBuf>,
    ) -> Result<VmState, ApiError> {
        host.vms.check_unique(&vm)?;
        let before = host.roster.placed(&vm.name);
        let placed = check_vm(&mut vm, capacities, host.ground, false, before)?;
        let set = placed.gpus.clone();
        let (device, resources) = match host.spawner {
            Some(spawner) => {
                placed.report(&vm);
                let (resources, socket) =
                    Resources::create(spawner, host.ground.cgroups, &vm, set.len())?;
                (Device::new(socket), Some(resources))
            }
            None => {
                check_unused(&vm, in_use)?;
                (Device::failed("it is only checked".into()), None)
            }
        };
        Ok(VmState::new(vm, VmOrigin::File, set, device, resources))
    }

    /// Describes the plan's changes for operators, including those that have no effect yet.
    /// `spawner_outlives` is true if the broker can be restarted without its spawner.
    pub(crate) fn summary(&self, vms: &Vms, spawner_outlives: bool) -> String {
        let list = |what: &str, names: Vec<&str>| match names.is_empty() {
            true => None,
            false => Some(format!("{what} {}", names.join(", "))),
        };
        let parts = [
            list("added", self.added.iter().map(|state| state.vm.name.as_str()).collect()),
            list("changed", self.changed.iter().map(|(_, _, vm)| vm.name.as_str()).collect()),
            list("removed", self.removed.iter().map(|id| vms.name(*id)).collect()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let mut text = match parts.is_empty() {
            true => "no VM was added, changed, or removed".into(),
            false => parts.join("; "),
        };
        for change in &self.deferred {
            let name = change.vm.map(|id| vms.name(id)).unwrap_or_default();
            let of_vm = change.vm.map(|_| format!("VM '{name}': ")).unwrap_or_default();
            let message = change.message(spawner_outlives, name);
            text.push_str(&format!("; without effect: {of_vm}{message}"));
        }
        if !self.stay_removed.is_empty() {
            let names = &self.stay_removed;
            text.push_str(&format!(
                "; not added, because removed with vcudactl vm rm: {} (to bring them back, run vcudactl \
                 vm restore {})",
                names.join(", "),
                names.join(" ")
            ));
        }
        text
    }
}

/// Returns why a new VM can't be added without a restart. The spawner does only what the
/// configuration file permitted when the broker was started.
pub(crate) fn needs_restart(vm: &Vm, started: &Config) -> Option<String> {
    let was_in_file = |has: &dyn Fn(&VmSpec) -> bool| started.vms.iter().any(has);
    let socket = Some(&vm.socket);
    if !start::is_in(&vm.socket, &started.socket_folders)
        && !was_in_file(&|spec| spec.socket.as_ref() == socket)
    {
        let socket = vm.socket.display();
        return Some(format!("its socket {socket} is not in socket_folders"));
    }
    let uid = vm.uid.filter(|uid| !VM_UIDS.contains(uid))?;
    (!was_in_file(&|spec| spec.uid == Some(uid)))
        .then(|| format!("its uid {uid} is not one of {VM_UIDS:?}"))
}

/// Changes the capacities of a VM's GPUs.
fn on_gpus_of(state: &VmState, capacities: &mut [Capacity], change: impl FnMut(&mut Capacity)) {
    capacities.iter_mut().filter(|one| state.gpus.contains(&one.gpu)).for_each(change);
}

/// Returns the file's policy, without the settings that need a restart.
pub(crate) fn live_policy(started: &Config, file: &Config) -> Policy {
    let Policy { scheduler, eviction, .. } = started.policy;
    Policy { scheduler, eviction, ..file.policy }
}

/// Returns the top-level keys whose changes need a restart.
fn fixed_keys(started: &Config, file: &Config) -> Vec<Deferred> {
    let (a, b) = (started, file);
    let of_broker = [
        ("warm_workers", a.warm_workers != b.warm_workers),
        ("state_dir", a.state_dir != b.state_dir),
        ("control_socket", a.control_socket != b.control_socket),
        ("control_group", a.control_group != b.control_group),
        ("read_socket", a.read_socket != b.read_socket),
        ("read_group", a.read_group != b.read_group),
        ("user", a.user != b.user),
        ("socket_folders", a.socket_folders != b.socket_folders),
        ("metrics_address", a.metrics_address != b.metrics_address),
        ("scheduler", a.policy.scheduler != b.policy.scheduler),
        ("eviction", a.policy.eviction != b.policy.eviction),
    ];
    let of_broker = of_broker.into_iter().filter(|(_, differs)| *differs);
    let of_broker = of_broker.map(|(key, _)| (key.to_owned(), Needs::Broker));
    let after = fixed_settings(b);
    let of_spawner = fixed_settings(a).into_iter();
    let of_spawner = of_spawner.filter(|(key, value)| after.get(key) != Some(value));
    let of_spawner = of_spawner.map(|(key, _)| (key, Needs::Spawner));
    let all = of_spawner.chain(of_broker);
    all.map(|(what, needs)| Deferred { vm: None, new: None, what, needs }).collect()
}
