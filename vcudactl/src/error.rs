//! Why a command failed, and what to do about it.

use std::io;
use std::path::PathBuf;

use control_api::{ApiError, ErrorCode};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CtlError {
    /// There is no socket.
    #[error(
        "{0}: there is no such socket: is vcudad running (systemctl status vcudad), and is this \
         its control_socket? --socket names another"
    )]
    NoSocket(PathBuf),
    /// The socket is there, and nobody listens.
    #[error("{0}: nobody listens there: vcudad has ended; start it (systemctl start vcudad)")]
    NobodyListens(PathBuf),
    /// There is something else.
    #[error("{0}: is not a socket: --socket takes vcudad's control_socket")]
    NotASocket(PathBuf),
    /// The socket is root's alone. Nobody is to join root's group for it.
    #[error(
        "{0}: permission denied: the socket's group is root's: give it one of its own (groupadd \
         virtio-cuda, or control_group in vcudad's configuration, and start vcudad again), or use \
         sudo"
    )]
    OnlyRoot(PathBuf),
    /// The socket is not for this user.
    #[error(
        "{path}: permission denied: join the socket's group (usermod -aG {group} USER, and log in \
         again), or use sudo"
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
        /// How.
        reason: String,
    },
    /// vcudad refused.
    #[error(transparent)]
    Refused(#[from] ApiError),
    /// vcudad answered something that this program does not understand.
    #[error(
        "vcudad answered something that this vcudactl does not understand ({0}): are both of one release?"
    )]
    Answer(String),
    /// The output can't be written.
    #[error("cannot write: {0}")]
    Output(io::Error),
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Os {
        /// What was to be done.
        what: &'static str,
        /// Why it could not be.
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
                | ErrorCode::Invalid => crate::BAD_INPUT,
                _ => crate::FAILED,
            },
            _ => crate::FAILED,
        }
    }

    pub(crate) fn os(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Os { what, source }
    }
}
