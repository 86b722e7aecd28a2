//! The resources that the spawner creates for a VM: its cgroup, its socket, and its shared memory.

use control_api::{ApiError, ErrorCode};

use crate::config::Vm;
use crate::processes::spawner::Spawner;
use crate::vm::cgroup::{Cgroups, Defaults};
use crate::vm::socket::VmSocket;
use host_ipc::messages::VmLimits;
use host_ipc::spawner::{Call, NewVm, Part, ProcessId, Refusal};

/// The resources of a VM. Dropping this value removes them. It must be dropped only after the VM's
/// processes have ended.
pub(crate) struct Resources {
    spawner: Spawner,
    vm: String,
    /// The default limits of the VM's cgroup.
    defaults: Defaults,
}

impl Resources {
    /// Creates the resources of a VM with this number of GPUs, and its socket.
    pub(crate) fn create(
        spawner: &Spawner,
        cgroups: &Cgroups,
        vm: &Vm,
        gpus: usize,
    ) -> Result<(Self, VmSocket), ApiError> {
        let new = NewVm {
            name: vm.name.clone(),
            uid: vm.uid,
            socket: vm.socket.clone(),
            socket_mode: vm.socket_mode,
            socket_group: vm.socket_gid,
            limits: cgroups.limits(vm, gpus)?,
        };
        spawner.bind(Call::AddVm(new)).map_err(|refusal| api_error(vm, refusal))?;
        let resources = Self {
            spawner: spawner.clone(),
            vm: vm.name.clone(),
            defaults: cgroups.defaults(vm, gpus),
        };
        Ok((resources, VmSocket::new(spawner, &vm.name)))
    }

    /// Takes over a VM's resources from the broker that this one replaces.
    pub(crate) fn restore(spawner: &Spawner, cgroups: &Cgroups, vm: &Vm, gpus: usize) -> Self {
        let defaults = cgroups.defaults(vm, gpus);
        Self { spawner: spawner.clone(), vm: vm.name.clone(), defaults }
    }

    /// Returns the limits that apply to a VM's processes.
    pub(crate) fn limits(&self, vm: &Vm) -> VmLimits {
        let memory = &vm.spec.memory;
        let (host_max, pids_max) = self.defaults.or(memory.host_max, vm.spec.pids.max);
        VmLimits { session_max: memory.session_max, host_max, pids_max }
    }

    /// Raises the default limits in the VM's cgroup after a change of its settings.
    pub(crate) fn raise_limits(&mut self, cgroups: &Cgroups, vm: &Vm, gpus: usize) {
        let Some(limits) = self.defaults.raise(cgroups.defaults(vm, gpus)) else { return };
        let call = Call::SetLimits { vm: vm.name.clone(), limits };
        if let Err(reason) = self.spawner.request(call) {
            tracing::warn!(vm = vm.name, "cannot raise the limits of its cgroup: {reason}");
        }
    }

    /// Moves a worker to the VM's cgroup, if there is one, and gives it the VM's shared memory.
    pub(crate) fn take(&self, process: ProcessId) -> Result<(), String> {
        self.spawner.request(Call::Join { vm: self.vm.clone(), process })
    }

    /// Removes the files that the VM's workers have left in their shared memory.
    pub(crate) fn clear_shared_memory(&self) {
        self.spawner.clear_shared(&self.vm);
    }
}

impl Drop for Resources {
    fn drop(&mut self) {
        // If this fails, the spawner has ended, and has removed everything.
        let _ = self.spawner.request(Call::RemoveVm { vm: std::mem::take(&mut self.vm) });
    }
}

/// Converts a refusal to an error for the control API.
fn api_error(vm: &Vm, refusal: Refusal) -> ApiError {
    let Refusal { part, reason } = refusal;
    match part {
        Part::Socket => {
            let message = format!("{}: {reason}", vm.socket.display());
            // If the directory exists, another process or file uses the path. If the directory
            // doesn't exist, the path is invalid.
            let code = match reason.contains("directory does not exist") {
                true => ErrorCode::Invalid,
                false => ErrorCode::Conflict,
            };
            ApiError::new(code, message).of("socket")
        }
        Part::Cgroup => unavailable(format!("cannot create its cgroup: {reason}")),
        Part::SharedMemory => unavailable(format!("cannot create its shared memory: {reason}")),
        Part::Request | Part::NoJail => unavailable(format!("the spawner refuses it: {reason}")),
    }
}

fn unavailable(message: String) -> ApiError {
    ApiError::new(ErrorCode::Unavailable, message)
}
