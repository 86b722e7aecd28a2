//! The VMs' vhost-user sockets. The broker binds them, passes them to the device processes, and
//! removes their files when it exits.

use std::path::Path;

use control_api::{ApiError, ErrorCode};

use super::error::BrokerError;
use crate::config::{SOCKETS, Vm};
use host_ipc::listener::Listener;

/// A VM's listening socket. Dropping it removes its file.
pub(crate) type VmSocket = Listener;

/// Binds a VM's socket. A stale socket file without a listener is replaced. The default directory
/// for sockets is created if it is missing. Any other directory must exist.
pub(crate) fn bind(vm: &Vm) -> Result<VmSocket, BrokerError> {
    let fail = |reason| BrokerError::Socket { path: vm.socket.clone(), reason };
    if vm.socket.parent() == Some(Path::new(SOCKETS)) {
        std::fs::create_dir_all(SOCKETS)
            .map_err(|error| fail(format!("cannot create its folder: {error}")))?;
    }
    Listener::bind(&vm.socket, vm.socket_mode, vm.socket_gid).map_err(fail)
}

/// Converts an error from [`bind`] to an error for the control API.
pub(crate) fn api_error(vm: &Vm, error: BrokerError) -> ApiError {
    let message = match error {
        BrokerError::Socket { path, reason } => format!("{}: {reason}", path.display()),
        other => other.to_string(),
    };
    // If the directory exists, the path is in use by another process or file. Otherwise, the path
    // is invalid.
    let folder = vm.socket.parent();
    let code = match folder.is_some_and(Path::is_dir) {
        true => ErrorCode::Conflict,
        false => ErrorCode::Invalid,
    };
    ApiError::new(code, message).of("socket")
}
