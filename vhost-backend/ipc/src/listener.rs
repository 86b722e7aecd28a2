//! Listening Unix sockets. Binding replaces a stale socket file, but not a socket that is in use.
//! Dropping the listener removes the file.

use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A listening socket. Dropping it removes its file.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode numbers of the socket file. The file is removed only if they are unchanged,
    /// because another program may have replaced it.
    file: (u64, u64),
}

impl Listener {
    /// Binds `path`, and sets the permissions and, if given, the group of the socket file. Error
    /// messages don't contain the path.
    pub fn bind(path: &Path, mode: u32, group: Option<u32>) -> Result<Self, String> {
        match std::fs::symlink_metadata(path) {
            Ok(meta) if meta.file_type().is_socket() => match UnixStream::connect(path) {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(path)
                        .map_err(|error| format!("cannot remove the stale socket: {error}"))?;
                }
                Ok(_) => return Err("the socket is in use by another process".into()),
                Err(error) => {
                    return Err(format!("cannot connect to the existing socket: {error}"));
                }
            },
            Ok(_) => return Err("exists and is not a socket".into()),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.to_string()),
        }
        let listener = UnixListener::bind(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                "cannot listen on the socket: its directory does not exist".into()
            }
            _ => format!("cannot listen on the socket: {error}"),
        })?;
        let meta = std::fs::symlink_metadata(path).map_err(|error| error.to_string())?;
        let socket = Self { listener, path: path.to_owned(), file: (meta.dev(), meta.ino()) };
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, mode)
            .map_err(|error| format!("cannot set permissions: {error}"))?;
        if group.is_some() {
            chown(path, None, group).map_err(|error| format!("cannot set the group: {error}"))?;
        }
        Ok(socket)
    }

    /// Duplicates the socket's descriptor, for accepting connections elsewhere.
    pub fn try_clone(&self) -> std::io::Result<UnixListener> {
        self.listener.try_clone()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.listener.as_raw_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let still = std::fs::symlink_metadata(&self.path);
        if still.is_ok_and(|meta| (meta.dev(), meta.ino()) == self.file) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
