//! The errors of commands.

use std::io;
use std::path::PathBuf;

use control_api::{ApiError, ErrorCode};

use crate::exit;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CtlError {
    /// The socket does not exist.
    #[error(
        "{0}: no such socket: is vcudad running (systemctl status vcudad)? If its control_socket \
         is elsewhere, pass --socket"
    )]
    NoSocket(PathBuf),
    /// The socket exists, but no process listens on it.
    #[error("{0}: connection refused: vcudad is not running; start it (systemctl start vcudad)")]
    NobodyListens(PathBuf),
    /// The path leads to another kind of file.
    #[error("{0}: is not a socket: pass vcudad's control_socket to --socket")]
    NotASocket(PathBuf),
    /// The socket belongs to root's group, which users must not join.
    #[error(
        "{0}: permission denied: the socket belongs to root's group. Use sudo, or give it a group \
         of its own: groupadd virtio-cuda, or set control_group in vcudad's configuration; then \
         restart vcudad"
    )]
    OnlyRoot(PathBuf),
    /// The user is not in the socket's group.
    #[error(
        "{path}: permission denied: join the socket's group (usermod -aG {group} USER, then log \
         in again), or use sudo"
    )]
    NotAllowed {
        /// The socket.
        path: PathBuf,
        /// Its group.
        group: String,
    },
    /// The connection failed in another way.
    #[error("{path}: {reason}")]
    Connection {
        /// The socket.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// vcudad refused the request.
    #[error(transparent)]
    Refused(#[from] ApiError),
    /// vcudad's answer can't be decoded.
    #[error(
        "cannot understand vcudad's answer ({0}): install vcudactl and vcudad from the same release"
    )]
    Answer(String),
    /// Standard output can't be written.
    #[error("cannot write the output: {0}")]
    Output(#[source] io::Error),
    /// An operation of the operating system failed.
    #[error("{what}: {source}")]
    Os {
        /// The operation.
        what: &'static str,
        /// The cause.
        source: io::Error,
    },
}

impl CtlError {
    /// The program's exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Refused(error) => match error.code {
                ErrorCode::BadRequest
                | ErrorCode::NotFound
                | ErrorCode::Conflict
                | ErrorCode::TooLarge
                | ErrorCode::Invalid => exit::BAD_INPUT,
                _ => exit::FAILED,
            },
            _ => exit::FAILED,
        }
    }

    pub(crate) fn os(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Os { what, source }
    }
}
