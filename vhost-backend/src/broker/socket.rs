//! The VMs' vhost-user sockets: bound here, passed to the device processes, removed at the end.

use super::BrokerError;
use crate::config::Vm;
use crate::ipc::listener::Listener;

/// A listening socket, whose file goes when this does.
pub(super) type VmSocket = Listener;

/// Binds a VM's socket. A stale one, which nobody listens to, is replaced.
pub(super) fn bind(vm: &Vm) -> Result<VmSocket, BrokerError> {
    let group = vm.gid.filter(|_| super::spawn::is_root());
    Listener::bind(&vm.socket, vm.socket_mode, group)
        .map_err(|reason| BrokerError::Socket { path: vm.socket.clone(), reason })
}
