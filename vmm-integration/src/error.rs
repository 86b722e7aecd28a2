//! Errors, and the exit codes for them.

use std::io;
use std::path::{Path, PathBuf};

/// Exit code for invalid arguments.
pub const EXIT_USAGE: i32 = 2;
/// Exit code when `--timeout` expired, as for timeout(1).
pub const EXIT_TIMEOUT: i32 = 124;
/// Exit code when the VM itself failed, not the command in it.
pub const EXIT_VM: i32 = 125;
/// Exit code when the guest cannot execute the command.
pub const EXIT_NOT_EXECUTABLE: i32 = 126;
/// Exit code when the guest cannot find the command.
pub const EXIT_NOT_FOUND: i32 = 127;

/// The reason why a run ended without the command's exit code.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The arguments contradict each other, or name a file that doesn't exist.
    #[error("{0}")]
    Usage(String),
    /// An operation on the host failed.
    #[error("{what}: {source}")]
    Host {
        /// The operation, with the path or program it concerns.
        what: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The VM ended before the guest reported the command's exit code.
    #[error("the {vmm} guest ended before its command did ({how}){console}")]
    Ended {
        /// The kind of VM.
        vmm: &'static str,
        /// The VMM's exit status, or how the VM failed.
        how: String,
        /// The last lines of the guest's console.
        console: String,
    },
    /// The guest could not run the command.
    #[error("the guest reported an error: {0}")]
    Guest(String),
    /// The guest sent bytes that aren't valid frames.
    #[error("the guest's output is corrupted: {0}")]
    Frames(#[from] crate::frame::FrameError),
    /// The device process did not start.
    #[error("the device did not start: {0}")]
    Device(String),
    /// `--timeout` expired.
    #[error("timed out after {0} s; the VM was stopped")]
    Timeout(u64),
    /// vcuda-run received a signal.
    #[error("stopped by signal {0}")]
    Signal(i32),
}

impl RunError {
    /// Returns a function that turns an I/O error of the operation `what` into a [`RunError`].
    pub fn host(what: impl Into<String>) -> impl FnOnce(io::Error) -> RunError {
        let what = what.into();
        move |source| RunError::Host { what, source }
    }

    /// Returns the exit code for this error.
    pub fn exit_code(&self) -> i32 {
        match self {
            RunError::Usage(_) => EXIT_USAGE,
            RunError::Timeout(_) => EXIT_TIMEOUT,
            RunError::Signal(signal) => 128 + signal,
            _ => EXIT_VM,
        }
    }
}

/// Returns the absolute path of an existing file. If it doesn't exist, returns an error that names
/// `option`.
pub fn existing(option: &str, path: &Path) -> Result<PathBuf, RunError> {
    std::path::absolute(path)
        .ok()
        .filter(|absolute| absolute.exists())
        .ok_or_else(|| RunError::Usage(format!("{option}: '{}' does not exist", path.display())))
}
