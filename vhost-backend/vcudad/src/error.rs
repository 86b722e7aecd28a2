//! Errors that end the broker.

use std::io;
use std::path::PathBuf;

use super::state::StateError;
use crate::config::ConfigError;
use control_server::ControlError;
use host_ipc::program::ProgramError;

/// An error that ends the broker or prevents its start.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A socket can't be bound.
    #[error("{path}: {reason}")]
    Socket {
        /// The socket.
        path: PathBuf,
        /// Why it can't be bound.
        reason: String,
    },
    /// The saved state can't be read or written.
    #[error(transparent)]
    State(#[from] StateError),
    /// A VM of the configuration file can't be placed.
    #[error("{0}")]
    Placement(String),
    /// The control API can't be served.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// No driver library works.
    #[error("{0}")]
    Driver(String),
    /// One of our own programs is missing.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A system call failed.
    #[error("{what}: {source}")]
    Os {
        /// The operation that failed.
        what: &'static str,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The event loop failed.
    #[error("the event loop failed: {0}")]
    Loop(event_manager::Error),
}

impl BrokerError {
    /// The program's exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Os { .. } | Self::Loop(_) | Self::Program(ProgramError::This(_)) => {
                host_ipc::exit::FAILED
            }
            _ => host_ipc::exit::BAD_INPUT,
        }
    }

    /// Turns an I/O error into a [`Self::Os`], for `map_err`.
    pub(crate) fn os(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Os { what, source }
    }
}
