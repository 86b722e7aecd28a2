//! Ensures that VMs have different names, sockets and users.

use std::collections::HashMap;
use std::path::PathBuf;

use control_api::{ApiError, VmSpec};

use super::error::{ConfigError, of_vm};
use super::vm::Vm;

/// Checks each VM's settings, checks for conflicts between VMs, and fills in defaults.
pub fn check_vms(specs: &[VmSpec]) -> Result<Vec<Vm>, ConfigError> {
    let mut set = VmSet::default();
    let vms = specs.iter().map(|spec| set.add(spec).map_err(|error| of_vm(&spec.name, &error)));
    vms.collect()
}

/// The VMs added so far, and the first of them with each name, socket, user, and group. A file can
/// have so many VMs that comparing each with all others would take long.
#[derive(Debug, Default)]
pub struct VmSet {
    vms: Vec<Vm>,
    names: HashMap<String, usize>,
    sockets: HashMap<PathBuf, usize>,
    uids: HashMap<u32, usize>,
    gids: HashMap<u32, usize>,
}

impl VmSet {
    /// Checks a VM's settings, including for conflicts with the VMs added before, and fills in
    /// defaults. If there's an error, the VM isn't added.
    pub fn add(&mut self, spec: &VmSpec) -> Result<Vm, ApiError> {
        let vm = Vm::new(spec.clone())?;
        let same = [self.names.get(&vm.name), self.sockets.get(&vm.socket)];
        let of_user = vm.uid.map(|uid| [self.uids.get(&uid), self.gids.get(&uid)]);
        let of_group = vm.socket_gid.map(|gid| self.uids.get(&gid));
        let others = same.into_iter().chain(of_user.into_iter().flatten()).chain(of_group);
        if let Some(first) = others.flatten().min() {
            vm.check_apart(&self.vms[*first])?;
        }
        let place = self.vms.len();
        self.names.insert(vm.name.clone(), place);
        self.sockets.insert(vm.socket.clone(), place);
        self.uids.extend(vm.uid.map(|uid| (uid, place)));
        // Several VMs' sockets can have the same group.
        vm.socket_gid.map(|gid| self.gids.entry(gid).or_insert(place));
        self.vms.push(vm.clone());
        Ok(vm)
    }
}
