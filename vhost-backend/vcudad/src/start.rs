//! Prepares VMs, when the broker starts and when one is added at run time: checks their settings,
//! chooses their users, places them on GPUs, and has the spawner create their sockets and cgroups.

use std::path::{Path, PathBuf};

use control_api::{ApiError, ErrorCode, VmOrigin, VmSpec};

use super::cgroup::Cgroups;
use super::device::Device;
use super::error::BrokerError;
use super::gpus::Gpus;
use super::mps::check_sharing;
use super::placement::Capacity;
use super::resources::Resources;
use super::roster::Roster;
use super::spawner::Spawner;
use super::vms::{VmState, Vms, place_vm};
use crate::config::{ConfigError, Vm, VmSet, choose_uids, of_vm};
use host_ipc::spawner::VM_UIDS;

/// A VM that the broker is about to serve.
pub(crate) struct Candidate {
    pub(crate) vm: Vm,
    pub(crate) origin: VmOrigin,
    /// Why the VM can't be served, if it can't.
    pub(crate) failure: Option<ApiError>,
}

impl Candidate {
    /// Places the VM on GPUs. If a VM in the configuration file can't be served, returns an error.
    /// If a VM that was added at run time can't be served, returns it in the failed state, so that
    /// an operator can remove it.
    pub(crate) fn place(
        self,
        capacities: &[Capacity],
        gpus: &Gpus,
        spawner: &Spawner,
        cgroups: &Cgroups,
        memory_is_default: bool,
    ) -> Result<VmState, BrokerError> {
        let Self { mut vm, origin, failure } = self;
        let placed = failure.map_or(Ok(()), Err).and_then(|()| {
            let set = place_vm(capacities, &mut vm, memory_is_default)?;
            check_sharing(&vm.spec, &set, gpus)?;
            let (resources, socket) = Resources::create(spawner, cgroups, &vm, set.len())?;
            Ok((set, socket, resources))
        });
        match placed {
            Ok((set, socket, resources)) => {
                Ok(VmState::new(vm, origin, set, Device::new(socket), Some(resources)))
            }
            Err(error) if origin == VmOrigin::File => {
                Err(BrokerError::Placement(format!("vm '{}': {error}", vm.name)))
            }
            Err(error) => {
                tracing::error!(vm = vm.name, "cannot serve this VM: {error}");
                let device = Device::failed(error.to_string());
                Ok(VmState::new(vm, origin, Vec::new(), device, None))
            }
        }
    }
}

/// Returns true if a file is directly in one of these directories.
pub(crate) fn is_in(file: &Path, folders: &[PathBuf]) -> bool {
    let folder = file.file_name().and_then(|_| file.parent());
    folder.is_some_and(|folder| folders.iter().any(|one| one == folder))
}

/// Checks that a request to add a VM gives those who may use the control API nothing that only root
/// may do: create files anywhere on the host, or run processes as any user.
pub(crate) fn check_request(spec: &VmSpec, socket_folders: &[PathBuf]) -> Result<(), ApiError> {
    if let Some(socket) = &spec.socket
        && !is_in(socket, socket_folders)
    {
        let folders: Vec<_> = socket_folders.iter().map(|one| one.display().to_string()).collect();
        let message = format!(
            "must be directly in {}; other directories have to be listed in socket_folders in \
             vcudad's configuration",
            folders.join(" or ")
        );
        return Err(ApiError::invalid("socket", message));
    }
    if let Some(uid) = spec.uid.filter(|uid| !VM_UIDS.contains(uid)) {
        let message = format!(
            "{uid} can only be given in vcudad's configuration; through the API, it must be from \
             {} to {}",
            VM_UIDS.start(),
            VM_UIDS.end()
        );
        return Err(ApiError::invalid("uid", message));
    }
    Ok(())
}

/// Checks and places a VM that an operator is adding, and creates its socket and its cgroup.
pub(crate) fn new_vm(
    spec: VmSpec,
    vms: &Vms,
    capacities: &[Capacity],
    gpus: &Gpus,
    spawner: &Spawner,
    cgroups: &Cgroups,
) -> Result<VmState, ApiError> {
    let mut vm = Vm::new(spec)?;
    vms.check_unique(&vm)?;
    choose_uids([&mut vm], vms.uids())
        .map_err(|error| ApiError::new(ErrorCode::Conflict, error.to_string()).of("uid"))?;
    let set = place_vm(capacities, &mut vm, false)?;
    check_sharing(&vm.spec, &set, gpus)?;
    let (resources, socket) = Resources::create(spawner, cgroups, &vm, set.len())?;
    // Save these chosen values with the settings, so that they are the same after a restart.
    let spec = &mut vm.spec;
    (spec.socket, spec.uid) = (Some(vm.socket.clone()), vm.uid);
    Ok(VmState::new(vm, VmOrigin::Api, set, Device::new(socket), Some(resources)))
}

/// Checks the VMs in the roster, and chooses their users. If a VM in the configuration file is
/// invalid, returns an error. If a VM that was added at run time is invalid, returns it with the
/// error. The other VMs can then be served, and an operator can repair or remove the invalid one.
pub(crate) fn candidates(
    all: Vec<(VmSpec, VmOrigin)>,
    roster: &Roster,
) -> Result<Vec<Candidate>, BrokerError> {
    let mut set = VmSet::default();
    let mut checked = Vec::new();
    for (spec, origin) in all {
        let (vm, failure) = match set.add(&spec) {
            Ok(vm) => (vm, None),
            // An invalid name is always an error, because an operator couldn't use that name to
            // remove the VM.
            Err(error) if origin == VmOrigin::Api && error.field.as_deref() != Some("name") => {
                let message = format!("{} (from state.json in state_dir)", error.message);
                (Vm::unchecked(spec), Some(ApiError { message, ..error }))
            }
            Err(error) => {
                let error = of_vm(&spec.name, &error);
                let saved = roster.has_saved(&spec.name, origin);
                let from = if saved { " (from state.json in state_dir)" } else { "" };
                return Err(ConfigError::Value(format!("{error}{from}")).into());
            }
        };
        checked.push((vm, origin, failure));
    }
    let good = checked.iter_mut().filter(|(_, _, failure)| failure.is_none());
    choose_uids(good.map(|(vm, _, _)| vm), [])?;
    let candidate = |(vm, origin, failure)| Candidate { vm, origin, failure };
    Ok(checked.into_iter().map(candidate).collect())
}
