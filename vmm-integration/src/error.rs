//! What can go wrong, and the exit code that tells it.

use std::io;
use std::path::{Path, PathBuf};

/// Exit code of wrong arguments.
pub const EXIT_USAGE: i32 = 2;
/// Exit code when the time was up (as timeout(1) has it).
pub const EXIT_TIMEOUT: i32 = 124;
/// Exit code when the VM failed, and not the command in it.
pub const EXIT_VM: i32 = 125;
/// Exit code when the guest cannot execute the command.
pub const EXIT_NOT_EXECUTABLE: i32 = 126;
/// Exit code when the guest does not find the command.
pub const EXIT_NOT_FOUND: i32 = 127;

/// Why a run has no command's exit code to tell.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The arguments do not make sense together, or name what is not there.
    #[error("{0}")]
    Usage(String),
    /// Something that the host was asked for failed.
    #[error("{what}: {source}")]
    Host {
        /// What was tried, with the path or program it concerns.
        what: String,
        /// What the host said.
        #[source]
        source: io::Error,
    },
    /// The VM came to an end without telling how its command ended.
    #[error("the {vmm} guest ended before its command did ({how}){console}")]
    Ended {
        /// The kind of VM.
        vmm: &'static str,
        /// The VMM's exit status.
        how: String,
        /// The end of its console, each line on a line of its own.
        console: String,
    },
    /// The guest's first process could not do its work.
    #[error("the guest says: {0}")]
    Guest(String),
    /// What came from the guest are no frames.
    #[error("the guest's output is damaged: {0}")]
    Frames(#[from] crate::frame::FrameError),
    /// The device process did not come up.
    #[error("the device did not start: {0}")]
    Device(String),
    /// `--timeout`.
    #[error("not done after {0} s: the VM was ended")]
    Timeout(u64),
    /// A signal asked us to stop.
    #[error("stopped by signal {0}")]
    Signal(i32),
}

impl RunError {
    /// An error of the host, with what was tried.
    pub fn host(what: impl Into<String>) -> impl FnOnce(io::Error) -> RunError {
        let what = what.into();
        move |source| RunError::Host { what, source }
    }

    /// The exit code that tells it.
    pub fn exit_code(&self) -> i32 {
        match self {
            RunError::Usage(_) => EXIT_USAGE,
            RunError::Timeout(_) => EXIT_TIMEOUT,
            RunError::Signal(signal) => 128 + signal,
            _ => EXIT_VM,
        }
    }
}

/// `path` as an absolute one, if there is a file; `option` names the option for the message.
pub fn existing(option: &str, path: &Path) -> Result<PathBuf, RunError> {
    std::path::absolute(path)
        .ok()
        .filter(|absolute| absolute.exists())
        .ok_or_else(|| RunError::Usage(format!("{option}: there is no '{}'", path.display())))
}
