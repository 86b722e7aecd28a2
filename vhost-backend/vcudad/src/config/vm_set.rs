//! Ensures that no two VMs have the same name, socket or user.

use std::collections::HashSet;
use std::path::PathBuf;

use control_api::{ApiError, ErrorCode, VmSpec};

use super::error::{ConfigError, of_vm};
use super::vm::Vm;

/// Checks each VM's settings, checks for conflicts between VMs, and fills in defaults.
pub fn check_vms(specs: &[VmSpec]) -> Result<Vec<Vm>, ConfigError> {
    let mut set = VmSet::default();
    let vms = specs.iter().map(|spec| set.add(spec).map_err(|error| of_vm(&spec.name, &error)));
    vms.collect()
}

/// The names, sockets and users of the VMs added so far. Each of them must be unique.
#[derive(Debug, Default)]
pub struct VmSet {
    names: HashSet<String>,
    sockets: HashSet<PathBuf>,
    users: HashSet<u32>,
}

impl VmSet {
    /// Checks a VM's settings, including for conflicts with the VMs added before, and fills in
    /// defaults. If there's an error, the VM isn't added.
    pub fn add(&mut self, spec: &VmSpec) -> Result<Vm, ApiError> {
        let vm = Vm::new(spec.clone())?;
        let conflict = |field: &str, message: String| {
            Err(ApiError::new(ErrorCode::Conflict, message).of(field))
        };
        if self.names.contains(&vm.name) {
            return conflict("name", "two VMs have the same name".into());
        }
        if self.sockets.contains(&vm.socket) {
            return conflict(
                "socket",
                format!("two VMs have the same socket, {}", vm.socket.display()),
            );
        }
        if let Some(uid) = vm.uid.filter(|uid| self.users.contains(uid)) {
            let message = format!("another VM already uses {uid}; each VM needs its own");
            return conflict("uid", message);
        }
        self.names.insert(vm.name.clone());
        self.sockets.insert(vm.socket.clone());
        self.users.extend(vm.uid);
        Ok(vm)
    }
}
