//! Listening Unix sockets. Binding replaces a stale socket file, but not a socket that is in use.
//! Dropping the listener removes the file.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

/// A listening socket. Dropping it removes its file.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    file: SocketFile,
}

/// The file of a listening socket. Dropping it removes the file.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Device and inode numbers of the socket file. The file is removed only if they are unchanged,
    /// because another program may have replaced it.
    numbers: (u64, u64),
}

impl Listener {
    /// Binds `path`, and sets the permissions and, if given, the group of the socket file. Error
    /// messages don't contain the path.
    pub fn bind(path: &Path, mode: u32, group: Option<u32>) -> Result<Self, String> {
        match std::fs::symlink_metadata(path) {
            Ok(meta) if meta.file_type().is_socket() => match connect(path) {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(path)
                        .map_err(|error| format!("cannot remove the stale socket: {error}"))?;
                }
                Ok(()) => return Err("the socket is in use by another process".into()),
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
        let file = open_socket(path).map_err(|error| error.to_string())?;
        let meta = file.metadata().map_err(|error| error.to_string())?;
        let numbers = (meta.dev(), meta.ino());
        let socket = Self { listener, file: SocketFile { path: path.to_owned(), numbers } };
        // Between `open_socket` and these calls, another process may replace the file at `path`.
        // This link always leads to the file that was opened.
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        std::fs::set_permissions(&link, std::fs::Permissions::from_mode(mode))
            .map_err(|error| format!("cannot set permissions: {error}"))?;
        if group.is_some() {
            chown(&link, None, group).map_err(|error| format!("cannot set the group: {error}"))?;
        }
        Ok(socket)
    }

    /// Separates the socket from its file.
    pub fn into_parts(self) -> (UnixListener, SocketFile) {
        (self.listener, self.file)
    }
}

/// Returns the paths at which processes of this network namespace listen. Unlike connecting to a
/// socket, reading this list doesn't require permission to use the socket. The list also contains
/// paths whose file was removed while the process still listens.
pub fn in_use() -> HashSet<PathBuf> {
    const LISTENS: u32 = 1 << 16;
    let list = std::fs::read("/proc/net/unix").unwrap_or_default();
    let path = |line: &[u8]| {
        let line = String::from_utf8_lossy(line).into_owned();
        let mut words = line.split_ascii_whitespace();
        let listens = u32::from_str_radix(words.nth(3)?, 16).ok()? & LISTENS != 0;
        listens.then(|| words.nth(3).map(PathBuf::from))?
    };
    list.split(|byte| *byte == b'\n').filter_map(path).collect()
}

/// Connects to a socket, to find out whether a process listens on it. Never blocks: if the backlog
/// is full, so that connecting would block, a process is listening, and this returns `Ok`.
fn connect(path: &Path) -> io::Result<()> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        connected => connected,
    }
}

/// Opens a socket file without connecting to it, and without following a symbolic link that another
/// process may have put in its place.
fn open_socket(path: &Path) -> io::Result<File> {
    let flags = libc::O_PATH | libc::O_NOFOLLOW;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.file_type().is_socket() {
        return Err(io::Error::other("another process has replaced the socket"));
    }
    Ok(file)
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.listener.as_raw_fd()
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let still = std::fs::symlink_metadata(&self.path);
        if still.is_ok_and(|meta| (meta.dev(), meta.ino()) == self.numbers) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_accepts_no_connections_cannot_block_the_caller() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let busy = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        busy.bind(&SockAddr::unix(&path).unwrap()).unwrap();
        busy.listen(0).unwrap();
        let waiting: Vec<_> = std::iter::repeat_with(|| {
            let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None).unwrap();
            socket.connect(&SockAddr::unix(&path).unwrap()).map(|()| socket)
        })
        .take(4)
        .collect();
        assert!(waiting.iter().any(Result::is_err), "the backlog is full");
        let (told, result) = std::sync::mpsc::channel();
        std::thread::spawn(move || told.send(Listener::bind(&path, 0o600, None).map(drop)));
        let result = result.recv_timeout(std::time::Duration::from_secs(20)).expect("it returns");
        assert_eq!(result, Err("the socket is in use by another process".into()));
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (victim, link) = (directory.path().join("victim"), directory.path().join("link"));
        let _victim = UnixListener::bind(&victim).unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(open_socket(&victim).is_ok());
        assert!(open_socket(&link).is_err());
        std::fs::write(directory.path().join("file"), "").unwrap();
        assert!(open_socket(&directory.path().join("file")).is_err());
    }

    #[test]
    fn a_socket_has_its_mode_and_ends_with_the_listener() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        for mode in [0o600, 0o660] {
            let listener = Listener::bind(&path, mode, None).unwrap();
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, mode);
            drop(listener);
            assert!(!path.exists());
        }
    }

    #[test]
    fn sockets_that_processes_listen_on_are_listed() {
        let path = std::env::temp_dir().join(format!("virtio-cuda-in-use-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let client = std::os::unix::net::UnixStream::connect(&path).unwrap();
        assert!(in_use().contains(&path));
        drop((listener, client));
        assert!(!in_use().contains(&path));
        std::fs::remove_file(&path).unwrap();
    }
}
