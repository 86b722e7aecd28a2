//! The VMs' vhost-user sockets. The broker binds them, passes them to the device processes, and
//! removes them at the end.

use std::path::Path;

use control_api::{ApiError, ErrorCode};

use super::error::BrokerError;
use crate::config::{SOCKETS, Vm};
use host_ipc::listener::Listener;

/// A listening socket. Its file is removed on drop.
pub(crate) type VmSocket = Listener;

/// Binds a VM's socket. Replaces a socket file without a listener. The default folder of sockets is
/// created if it is missing; any other folder must exist.
pub(crate) fn bind(vm: &Vm) -> Result<VmSocket, BrokerError> {
    let fail = |reason| BrokerError::Socket { path: vm.socket.clone(), reason };
    if vm.socket.parent() == Some(Path::new(SOCKETS)) {
        std::fs::create_dir_all(SOCKETS)
            .map_err(|error| fail(format!("cannot create its folder: {error}")))?;
    }
    let group = vm.gid.filter(|_| super::process::is_root());
    Listener::bind(&vm.socket, vm.socket_mode, group).map_err(fail)
}

/// Converts the error of [`bind`] for the control API.
pub(crate) fn api_error(vm: &Vm, error: BrokerError) -> ApiError {
    let message = match error {
        BrokerError::Socket { path, reason } => format!("{}: {reason}", path.display()),
        other => other.to_string(),
    };
    // If the folder exists, the path conflicts with another process or file. Otherwise it is
    // invalid.
    let folder = vm.socket.parent();
    let code = match folder.is_some_and(Path::is_dir) {
        true => ErrorCode::Conflict,
        false => ErrorCode::Invalid,
    };
    ApiError::new(code, message).of("socket")
}
