//! Choosing a user ID for each VM.

use std::collections::HashSet;

use super::error::ConfigError;
use super::vm::Vm;

/// The range of chosen user IDs, which is that of systemd's dynamic users.
pub(super) const FIRST_UID: u32 = 61_184;
const LAST_UID: u32 = 65_519;

/// Gives each VM without a user ID one that no VM has and that is not in `taken`.
pub fn choose_uids<'a>(
    vms: impl IntoIterator<Item = &'a mut Vm>,
    taken: impl IntoIterator<Item = u32>,
) -> Result<(), ConfigError> {
    let mut vms: Vec<&mut Vm> = vms.into_iter().collect();
    let named = vms.iter().filter_map(|vm| vm.uid);
    let taken: HashSet<u32> = taken.into_iter().chain(named).collect();
    let mut free = (FIRST_UID..=LAST_UID).filter(|uid| !taken.contains(uid));
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
        vm.gid = vm.gid.or(vm.uid);
    }
    Ok(())
}
