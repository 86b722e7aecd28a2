//! The VMs' vhost-user sockets: bound here, passed to the device processes, removed at the end.

use std::io::ErrorKind;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use super::BrokerError;
use crate::config::Vm;

/// A listening socket, whose file goes when this does.
pub(super) struct VmSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode: another program may have put its own socket there meanwhile.
    file: (u64, u64),
}

impl AsRawFd for VmSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.listener.as_raw_fd()
    }
}

impl Drop for VmSocket {
    fn drop(&mut self) {
        let still = std::fs::symlink_metadata(&self.path);
        if still.is_ok_and(|meta| (meta.dev(), meta.ino()) == self.file) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Binds a VM's socket. A stale one, which nobody listens to, is replaced.
pub(super) fn bind(vm: &Vm) -> Result<VmSocket, BrokerError> {
    let path = &vm.socket;
    let fail = |reason: String| BrokerError::Socket { path: path.clone(), reason };
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.file_type().is_socket() => match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path)
                    .map_err(|error| fail(format!("cannot remove the stale socket: {error}")))?;
            }
            Ok(_) => return Err(fail("the socket is in use by another process".into())),
            Err(error) => return Err(fail(format!("a socket is there already: {error}"))),
        },
        Ok(_) => return Err(fail("exists and is not a socket".into())),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(fail(error.to_string())),
    }
    let listener = UnixListener::bind(path)
        .map_err(|error| fail(format!("cannot listen on the socket: {error}")))?;
    let meta = std::fs::symlink_metadata(path).map_err(|error| fail(error.to_string()))?;
    let socket = VmSocket { listener, path: path.clone(), file: (meta.dev(), meta.ino()) };
    let mode = std::fs::Permissions::from_mode(vm.socket_mode);
    std::fs::set_permissions(path, mode)
        .map_err(|error| fail(format!("cannot set permissions: {error}")))?;
    if super::spawn::is_root() {
        chown(path, None, vm.gid)
            .map_err(|error| fail(format!("cannot set the group: {error}")))?;
    }
    Ok(socket)
}
