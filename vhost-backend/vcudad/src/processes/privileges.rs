//! The broker's use of root's privileges before it drops them: it sends the spawner the permissions
//! that follow from the configuration file, and chooses a user.

use crate::config::{Config, ConfigError};
use crate::error::BrokerError;
use crate::processes::spawner::Spawner;
use host_ipc::spawner::{Call, Permit, VM_UIDS};
use host_ipc::user::{self, User};
use host_ipc::{group, process};

/// The broker's default user, if it exists.
const USER: &str = "vcudad";
/// The broker's user if the default user doesn't exist. No VM can have this user ID.
const UID: u32 = *VM_UIDS.end() + 1;
/// Default groups of the control API's sockets, if they exist.
const GROUP: &str = "virtio-cuda";
const READ_GROUP: &str = "virtio-cuda-read";

/// Chooses the user as which the broker will run. Returns `None` if it isn't root now, so that it
/// can't switch.
pub(crate) fn choose_user(config: &Config) -> Result<Option<User>, ConfigError> {
    if !process::is_root() {
        if config.user.is_some() {
            tracing::warn!("not running as root, so vcudad can't switch to another user");
        }
        return Ok(None);
    }
    user_of(config).map(Some)
}

/// Returns the user as which the broker will run if root starts it.
pub(crate) fn user_of(config: &Config) -> Result<User, ConfigError> {
    let fail =
        |name: &str, reason: &str| Err(ConfigError::Value(format!("user '{name}' {reason}")));
    let (name, user) = match &config.user {
        Some(name) => (name.as_str(), user::find(name)),
        None => (USER, user::find(USER).or_else(|| Some(User::numbered(UID)))),
    };
    let Some(user) = user else {
        return fail(name, "does not exist on this host; create it with useradd --system");
    };
    if user.uid == 0 || user.gid == 0 || user.groups.contains(&0) {
        return fail(name, "has root's privileges; vcudad needs another one");
    }
    let is_of_vm = |uid| VM_UIDS.contains(&uid) || config.vms.iter().any(|vm| vm.uid == Some(uid));
    if is_of_vm(user.uid) || is_of_vm(user.gid) {
        return fail(name, "is that of a VM; vcudad needs another one");
    }
    Ok(user)
}

/// Sends the spawner the permissions that follow from the configuration file: sockets, directories,
/// and user IDs.
pub(crate) fn permit(config: &Config, spawner: &Spawner) -> Result<(), BrokerError> {
    let control = match &config.control_socket {
        Some(path) => Some(Permit::Control {
            path: path.clone(),
            group: control_group(config, process::is_root())?,
        }),
        None => None,
    };
    let folders = config.socket_folders.iter().cloned().map(Permit::SocketFolder);
    let vms = config.vms.iter();
    let sockets = vms.clone().filter_map(|vm| vm.socket.clone()).map(Permit::Socket);
    let uids = vms.filter_map(|vm| vm.uid).map(Permit::Uid);
    for permit in folders.chain(sockets).chain(uids).chain(control) {
        spawner.request(Call::Permit(permit)).map_err(BrokerError::Spawner)?;
    }
    if let Some(path) = config.read_socket.clone() {
        let permit = Permit::Read { path, group: read_group(config, process::is_root())? };
        // A spawner that was started by an earlier version doesn't know this permission.
        if let Err(error) = spawner.request(Call::Permit(permit)) {
            tracing::warn!("there is no read_socket until the spawner is restarted: {error}");
        }
    }
    Ok(())
}

/// Returns the group of the control socket. `None` means the spawner's group. `is_root` says
/// whether root starts the broker.
pub(crate) fn control_group(config: &Config, is_root: bool) -> Result<Option<u32>, ConfigError> {
    group_of("control_group", config.control_group.as_deref(), GROUP, is_root)
}

/// Does the same as [`control_group`], for the read socket.
pub(crate) fn read_group(config: &Config, is_root: bool) -> Result<Option<u32>, ConfigError> {
    group_of("read_group", config.read_group.as_deref(), READ_GROUP, is_root)
}

fn group_of(
    key: &str,
    given: Option<&str>,
    default: &str,
    is_root: bool,
) -> Result<Option<u32>, ConfigError> {
    match given {
        Some(name) => group::find(name).map(Some).ok_or_else(|| {
            ConfigError::Value(format!(
                "{key}: group '{name}' does not exist on this host; create it with groupadd"
            ))
        }),
        None if is_root => Ok(group::find(default)),
        None => Ok(None),
    }
}

/// Switches to a user, permanently. From then on, this process has no privileges.
pub(crate) fn switch(user: &User) -> Result<(), BrokerError> {
    process::become_with_groups(user.uid, user.gid, &user.groups)
        .map_err(BrokerError::os("cannot switch to vcudad's user"))
}
