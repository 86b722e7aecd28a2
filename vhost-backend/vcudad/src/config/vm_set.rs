//! Ensures that VMs have different names, sockets and users.

use control_api::{ApiError, VmSpec};

use super::error::{ConfigError, of_vm};
use super::vm::Vm;

/// Checks each VM's settings, checks for conflicts between VMs, and fills in defaults.
pub fn check_vms(specs: &[VmSpec]) -> Result<Vec<Vm>, ConfigError> {
    let mut set = VmSet::default();
    let vms = specs.iter().map(|spec| set.add(spec).map_err(|error| of_vm(&spec.name, &error)));
    vms.collect()
}

/// The VMs added so far.
#[derive(Debug, Default)]
pub struct VmSet(Vec<Vm>);

impl VmSet {
    /// Checks a VM's settings, including for conflicts with the VMs added before, and fills in
    /// defaults. If there's an error, the VM isn't added.
    pub fn add(&mut self, spec: &VmSpec) -> Result<Vm, ApiError> {
        let vm = Vm::new(spec.clone())?;
        self.0.iter().try_for_each(|other| vm.check_apart(other))?;
        self.0.push(vm.clone());
        Ok(vm)
    }
}
