//! The VMs' vhost-user sockets: bound here, passed to the device processes, removed at the end.

use std::path::Path;

use super::error::BrokerError;
use crate::config::{SOCKETS, Vm};
use host_ipc::listener::Listener;

/// A listening socket, whose file goes when this does.
pub(super) type VmSocket = Listener;

/// Binds a VM's socket. A stale one, which nobody listens to, is replaced. The folder that sockets
/// have if none is named is made if it is not there; any other is whoever's named it.
pub(super) fn bind(vm: &Vm) -> Result<VmSocket, BrokerError> {
    let fail = |reason| BrokerError::Socket { path: vm.socket.clone(), reason };
    if vm.socket.parent() == Some(Path::new(SOCKETS)) {
        std::fs::create_dir_all(SOCKETS)
            .map_err(|error| fail(format!("cannot create its folder: {error}")))?;
    }
    let group = vm.gid.filter(|_| super::spawn::is_root());
    Listener::bind(&vm.socket, vm.socket_mode, group).map_err(fail)
}
