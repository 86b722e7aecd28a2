//! Errors that commands return.

use std::io;
use std::path::PathBuf;

use control_api::{ApiError, ErrorCode};
use serde_json::{Value, json};

use crate::exit;

/// The error of a command.
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
    /// The vcudad process is stopped, for example by SIGSTOP.
    #[error(
        "vcudad doesn't respond, because process {0} is stopped (by SIGSTOP or a debugger). Let it \
         continue (kill -CONT {0}), or restart it (systemctl restart vcudad)"
    )]
    Stopped(u32),
    /// The path refers to a file that isn't a socket.
    #[error("{0}: is not a socket: pass vcudad's control_socket to --socket")]
    NotASocket(PathBuf),
    /// The user has no permission to connect. The message doesn't suggest joining the socket's
    /// group, because that group is root's. The text says how to get read access, as `readers` does
    /// in [`CtlError::NotAllowed`].
    #[error(
        "{0}: permission denied: the socket's group is root. Use sudo, or give the socket its own \
         group: groupadd virtio-cuda, or set control_group in vcudad's configuration; then \
         restart vcudad{1}"
    )]
    OnlyRoot(PathBuf, String),
    /// The user has no permission to connect, because the user isn't in the socket's group.
    #[error(
        "{path}: permission denied: join the socket's group (usermod -aG {group} USER, then log \
         in again), or use sudo{readers}"
    )]
    NotAllowed {
        /// The path of the socket.
        path: PathBuf,
        /// The name of the socket's group.
        group: String,
        /// Says how to get read access without the control socket. Empty if there is no read
        /// socket.
        readers: String,
    },
    /// The connection failed for another reason.
    #[error("{path}: {reason}")]
    Connection {
        /// The path of the socket.
        path: PathBuf,
        /// The reason of the failure.
        reason: String,
    },
    /// vcudad refused the request.
    #[error(transparent)]
    Refused(#[from] ApiError),
    /// vcudad's response can't be decoded.
    #[error(
        "cannot understand vcudad's response ({0}): install vcudactl and vcudad from the same \
         release"
    )]
    Answer(String),
    /// Writing to standard output failed.
    #[error("cannot write the output: {0}")]
    Output(#[source] io::Error),
    /// A command for several VMs failed for some of them. Their errors have already been printed.
    #[error("failed for {failed} of {all} VMs")]
    Several {
        /// Number of VMs for which the command failed.
        failed: usize,
        /// Number of VMs for which the command was run.
        all: usize,
    },
    /// `doctor` has found this number of problems, and has already printed them.
    #[error("problems found: {0}")]
    Unhealthy(usize),
    /// A VM's share can't be tested now, for this reason.
    #[error("{0}")]
    Untested(String),
    /// The test of a VM's share has failed.
    #[error("the test of VM '{vm}' failed in step '{step}': {text}; {advice}")]
    TestFailed {
        vm: String,
        /// The step that failed.
        step: String,
        /// The error message of the step.
        text: String,
        /// The probable cause of the failure, and what to do.
        advice: String,
    },
    /// An argument is invalid.
    #[error("{0}")]
    Usage(String),
    /// Rows of `bench` have failed or missed their bars. The rows have already been printed.
    #[error("rows that failed: {failed}; rows that miss their bars: {missed}")]
    Missed {
        /// Number of rows that have failed.
        failed: usize,
        /// Number of rows that missed their bars.
        missed: usize,
    },
    /// A system call or another operation of the operating system failed.
    #[error("{what}: {source}")]
    Os {
        /// The operation that failed, for example `cannot use the terminal`.
        what: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl CtlError {
    /// Returns the program's exit code for this error.
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
            Self::Usage(_) => exit::BAD_INPUT,
            _ => exit::FAILED,
        }
    }

    /// Returns the error in the form that `--json` prints: vcudad's error object, or an object of
    /// the same form.
    pub(crate) fn to_json(&self) -> Value {
        let code = match self {
            Self::Refused(error) => return json!(error),
            Self::NoSocket(_) | Self::NobodyListens(_) => "not_running",
            Self::Stopped(_) => "stopped",
            Self::NotASocket(_) => "not_a_socket",
            Self::OnlyRoot(..) | Self::NotAllowed { .. } => "permission_denied",
            Self::Connection { .. } => "connection",
            Self::Answer(_) => "bad_response",
            Self::Output(_) => "output",
            Self::Several { .. } => "several",
            Self::Unhealthy(_) => "unhealthy",
            Self::Untested(_) => "untested",
            Self::TestFailed { .. } => "test_failed",
            Self::Usage(_) => "usage",
            Self::Missed { .. } => "missed",
            Self::Os { .. } => "os",
        };
        json!({"code": code, "message": self.to_string()})
    }

    pub(crate) fn os(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Os { what: what.into(), source }
    }
}
