//! Chooses a user ID for each VM.

use std::collections::HashSet;

use super::error::ConfigError;
use super::vm::Vm;
use host_ipc::spawner::VM_UIDS;

/// Chooses a user ID for each VM that has none. The ID is one that no other VM uses and that isn't
/// in `taken`.
pub fn choose_uids<'a>(
    vms: impl IntoIterator<Item = &'a mut Vm>,
    taken: impl IntoIterator<Item = u32>,
) -> Result<(), ConfigError> {
    let mut vms: Vec<&mut Vm> = vms.into_iter().collect();
    let named = vms.iter().filter_map(|vm| vm.uid);
    let taken: HashSet<u32> = taken.into_iter().chain(named).collect();
    let mut free = VM_UIDS.filter(|uid| !taken.contains(uid));
    for vm in &mut vms {
        if vm.uid.is_none() {
            let uid = free.next();
            vm.uid = Some(uid.ok_or_else(|| {
                ConfigError::Value(
                    "no free user IDs are left for VMs without a uid: set uid for some of them"
                        .into(),
                )
            })?);
        }
    }
    Ok(())
}
