//! Prepares VMs, when the broker starts and when one is added at run time: has the spawner create
//! their sockets and cgroups, once their settings have been checked (`validate`).

use std::path::{Path, PathBuf};

use control_api::{ApiError, ErrorCode, VmOrigin, VmSpec};

use crate::config::{ConfigError, Vm, choose_uids, of_vm};
use crate::processes::spawner::Spawner;
use crate::settings::validate::{Candidate, Ground, check_vm};
use crate::vm::cgroup::Cgroups;
use crate::vm::device::Device;
use crate::vm::placement::Capacity;
use crate::vm::resources::Resources;
use crate::vm::vms::{VmState, Vms};
use host_ipc::spawner::VM_UIDS;

impl Candidate {
    /// Creates the VM's socket and its other resources. If a VM in the configuration file can't be
    /// served, returns an error. If a VM that was added at run time can't be served, returns it in
    /// the failed state, so that an operator can remove it.
    pub(crate) fn create(
        self,
        spawner: &Spawner,
        cgroups: &Cgroups,
    ) -> Result<VmState, ConfigError> {
        let Self { vm, origin, gpus } = self;
        let created = gpus.and_then(|placed| {
            placed.report(&vm);
            let gpus = placed.gpus;
            let (resources, socket) = Resources::create(spawner, cgroups, &vm, gpus.len())?;
            Ok((gpus, socket, resources))
        });
        match created {
            Ok((gpus, socket, resources)) => {
                Ok(VmState::new(vm, origin, gpus, Device::new(socket), Some(resources)))
            }
            Err(error) if origin == VmOrigin::File => Err(of_vm(&vm.name, &error)),
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

/// Checks that a request to add a VM doesn't let users of the control API do what only root may do:
/// create files anywhere on the host, or run processes as any user.
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

/// Checks and places a VM that an operator is adding or restoring, and creates its socket and its
/// cgroup. `before` contains the UUIDs of the GPUs that the VM had before.
pub(crate) fn new_vm(
    (spec, origin): (VmSpec, VmOrigin),
    before: &[String],
    vms: &Vms,
    capacities: &[Capacity],
    ground: Ground<'_>,
    spawner: &Spawner,
) -> Result<VmState, ApiError> {
    let mut vm = Vm::new(spec)?;
    vms.check_unique(&vm)?;
    choose_uids([&mut vm], vms.uids())
        .map_err(|error| ApiError::new(ErrorCode::Conflict, error.to_string()).of("uid"))?;
    let placed = check_vm(&mut vm, capacities, ground, false, before)?;
    placed.report(&vm);
    let gpus = placed.gpus;
    let (resources, socket) = Resources::create(spawner, ground.cgroups, &vm, gpus.len())?;
    if origin == VmOrigin::Api {
        // Save the chosen socket and user with the settings, so that they are the same after a
        // restart.
        let spec = &mut vm.spec;
        (spec.socket, spec.uid) = (Some(vm.socket.clone()), vm.uid);
    }
    Ok(VmState::new(vm, origin, gpus, Device::new(socket), Some(resources)))
}
