//! The VMs, and the user, cgroup, socket, and files of each.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::Path;

use host_ipc::listener::Listener;
use host_ipc::spawner::{CgroupLimits, MAX_VMS, NewVm, Part, Refusal, SOCKETS};

use crate::cgroup::{Cgroups, VmCgroup, add};
use crate::files::{Places, VmFiles};
use crate::jail::Jail;
use crate::policy::check_limits;
use crate::socket::{BoundSocket, create_directory};

/// A VM. Dropping it removes everything that belongs to it.
pub(crate) struct Vm {
    /// The user of the VM's processes. `None` if they run as this process's user.
    pub(crate) uid: Option<u32>,
    pub(crate) cgroup: Option<VmCgroup>,
    socket: Option<BoundSocket>,
    /// The VM's files in memory. `None` if workers have no jail.
    files: Option<VmFiles>,
}

/// All VMs, by their names.
#[derive(Default)]
pub(crate) struct Vms(HashMap<String, Vm>);

pub(crate) fn refused(part: Part) -> impl FnOnce(String) -> Refusal {
    move |reason| Refusal { part, reason }
}

impl Vms {
    pub(crate) fn get(&self, name: &str) -> Result<&Vm, String> {
        self.0.get(name).ok_or_else(|| unknown(name))
    }

    fn get_mut(&mut self, name: &str) -> Result<&mut Vm, String> {
        self.0.get_mut(name).ok_or_else(|| unknown(name))
    }

    /// Creates a VM's cgroup and socket, and returns the listening socket. The caller has checked
    /// that the policy permits the VM.
    pub(crate) fn add(
        &mut self,
        vm: NewVm,
        uid: Option<u32>,
        cgroups: Option<&Cgroups>,
        jail: Option<&Jail>,
    ) -> Result<OwnedFd, Refusal> {
        if self.0.contains_key(&vm.name) || self.0.len() >= MAX_VMS {
            return Err(refused(Part::Request)(format!("VM '{}' can't be added", vm.name)));
        }
        let cgroup = vm.limits.as_ref().map(|limits| {
            let cgroups = cgroups.ok_or_else(|| "there are no cgroups yet".to_owned())?;
            cgroups.create(&vm.name, limits)
        });
        let cgroup = cgroup.transpose().map_err(refused(Part::Cgroup))?;
        let socket = BoundSocket::from(bind(&vm).map_err(refused(Part::Socket))?);
        let memory = vm.limits.as_ref().and_then(|limits| limits.memory);
        let files = jail.map(|jail| jail.files_of(uid, memory));
        let copy = socket.copy().map_err(refused(Part::Socket))?;
        self.0.insert(vm.name, Vm { uid, cgroup, socket: Some(socket), files });
        Ok(copy)
    }

    /// Returns a VM's listening socket.
    pub(crate) fn listener(&self, name: &str) -> Result<OwnedFd, String> {
        self.get(name)?.socket.as_ref().ok_or("it has no socket")?.copy()
    }

    pub(crate) fn set_limits(&mut self, name: &str, limits: &CgroupLimits) -> Result<(), Refusal> {
        check_limits(limits).map_err(refused(Part::Request))?;
        let vm = self.get_mut(name).map_err(refused(Part::Request))?;
        vm.cgroup
            .as_ref()
            .map_or(Ok(()), |cgroup| cgroup.set(limits))
            .map_err(refused(Part::Cgroup))?;
        let Some((files, memory)) = vm.files.as_mut().zip(limits.memory) else { return Ok(()) };
        files.resize(memory).map_err(|error| refused(Part::SharedMemory)(error.to_string()))
    }

    /// Moves a process to the VM's cgroup, if there is one, and mounts the VM's files at `places`,
    /// if the process has such mounts.
    pub(crate) fn join(
        &mut self,
        name: &str,
        pid: u32,
        places: Option<Places>,
    ) -> Result<(), Refusal> {
        let vm = self.get_mut(name).map_err(refused(Part::Request))?;
        let moved = vm.cgroup.as_ref().map_or(Ok(()), |cgroup| add(cgroup.path(), pid));
        moved.map_err(refused(Part::Cgroup))?;
        let Some(places) = places else { return Ok(()) };
        let given = self.files_of(name).map_err(refused(Part::Request))?.give(pid, places);
        given.map_err(|error| refused(Part::SharedMemory)(error.to_string()))
    }

    /// Returns a VM's files. Fails if the jail didn't exist when the VM was added.
    pub(crate) fn files_of(&mut self, name: &str) -> Result<&mut VmFiles, String> {
        let files = self.get_mut(name)?.files.as_mut();
        files.ok_or_else(|| format!("VM '{name}' has no files for its workers"))
    }

    /// Drops the files that a VM's workers have left in their shared memory.
    pub(crate) fn clear_shared(&mut self, name: &str) {
        if let Ok(files) = self.files_of(name) {
            files.clear_shared();
        }
    }

    /// Closes a VM's socket, and removes its file.
    pub(crate) fn unbind(&mut self, name: &str) -> Result<(), String> {
        self.get_mut(name)?.socket = None;
        Ok(())
    }

    /// Closes the sockets of all VMs, and removes their files. Called before device processes end,
    /// because a VMM that loses its device process connects again immediately. If it could connect
    /// to a socket that is about to be closed, it might give up its device.
    pub(crate) fn unbind_all(&mut self) {
        self.0.values_mut().for_each(|vm| vm.socket = None);
    }

    /// Removes all VMs except the named ones.
    pub(crate) fn retain(&mut self, names: &[String]) {
        self.0.retain(|name, _| names.contains(name));
    }

    pub(crate) fn remove(&mut self, name: &str) -> Result<(), String> {
        self.0.remove(name).map(drop).ok_or_else(|| unknown(name))
    }
}

fn unknown(name: &str) -> String {
    format!("there is no VM '{}'", name.escape_debug())
}

/// Binds a VM's socket. A stale socket file without a listener is replaced. The default directory
/// for sockets is created if it is missing. Any other directory must exist.
fn bind(vm: &NewVm) -> Result<Listener, String> {
    if vm.socket.parent() == Some(Path::new(SOCKETS)) {
        create_directory(Path::new(SOCKETS))
            .map_err(|error| format!("cannot create its folder: {error}"))?;
    }
    Listener::bind(&vm.socket, vm.socket_mode, vm.socket_group)
}
