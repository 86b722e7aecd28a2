//! Every VM has a user of its own.

use std::collections::HashSet;

use super::{ConfigError, Vm};

/// Where VMs get their users from when the file names none: the range that systemd's dynamic users
/// have, too.
pub(super) const FIRST_UID: u32 = 61_184;
const LAST_UID: u32 = 65_519;

/// Gives users to those that have none: ones that no VM has, and none of `taken`.
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
                ConfigError::Value("too many VMs without a uid: give them one each".into())
            })?);
        }
        vm.gid = vm.gid.or(vm.uid);
    }
    Ok(())
}
