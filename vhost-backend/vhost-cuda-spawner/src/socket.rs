//! Listening sockets that the spawner creates. The broker gets copies of them.

use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use host_ipc::apart::Apart;
use host_ipc::listener::{Listener, SocketFile};

/// Creates a directory for sockets, and its missing parent directories. Other users can't create
/// files there, even with a permissive umask.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// A listening socket. Dropping it removes its file.
pub(crate) struct BoundSocket {
    /// The listening socket. Closing its last copy also closes connections that haven't been
    /// accepted, with the descriptors sent over them. A client can make that take arbitrarily long,
    /// so `Apart` closes it on another thread.
    listener: Apart,
    _file: SocketFile,
}

impl From<Listener> for BoundSocket {
    fn from(listener: Listener) -> Self {
        let (listener, file) = listener.into_parts();
        Self { listener: OwnedFd::from(listener).into(), _file: file }
    }
}

impl BoundSocket {
    pub(crate) fn copy(&self) -> Result<OwnedFd, String> {
        self.listener.as_fd().try_clone_to_owned().map_err(|error| error.to_string())
    }
}

impl AsFd for BoundSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}
