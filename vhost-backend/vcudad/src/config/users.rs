//! Chooses a user ID for each VM.

use std::collections::HashSet;

use super::error::ConfigError;
use super::vm::Vm;

/// The range from which user IDs are chosen. Neither systemd (which has ranges for dynamic users and
/// for containers) nor the usual ranges for subordinate IDs and for directory services include it.
pub(super) const FIRST_UID: u32 = 0x7e00_0000;
const LAST_UID: u32 = FIRST_UID + 0xffff;

/// Chooses a user ID for each VM that has none. The ID is one that no other VM uses and that isn't
/// in `taken`. A VM without a group ID gets its user ID as the group ID.
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
