//! Errors that stop the broker.

use std::io;
use std::path::PathBuf;

use crate::config::ConfigError;
use crate::settings::state::StateError;
use control_server::ControlError;
use host_ipc::program::ProgramError;

/// An error that stops the broker or prevents it from starting.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A socket of the control API can't be bound.
    #[error("{key} {path}: {reason}")]
    ApiSocket {
        /// The setting.
        key: &'static str,
        /// Path of the socket.
        path: PathBuf,
        /// Why it can't be bound.
        reason: String,
    },
    /// The vcudad that is running can't say whether it could apply a configuration file.
    #[error("cannot ask the vcudad that is running: {0}")]
    Running(String),
    /// The spawner refuses a request, or has ended.
    #[error("the spawner failed: {0}")]
    Spawner(String),
    /// The saved state can't be read or written.
    #[error(transparent)]
    State(#[from] StateError),
    /// The control API can't be served.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// No driver library works.
    #[error("{0}")]
    Driver(String),
    /// One of the programs that the broker starts is missing.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A system call failed.
    #[error("{what}: {source}")]
    Os {
        /// The operation that failed, for the message.
        what: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// The state that the previous vcudad has handed over can't be used.
    #[error("cannot take over from the previous vcudad: {0}")]
    Handover(io::Error),
    /// The event loop failed.
    #[error("the event loop failed: {0}")]
    Loop(event_manager::Error),
}

impl BrokerError {
    /// Returns the exit code for this error.
    pub fn code(&self) -> u8 {
        match self {
            Self::Os { .. }
            | Self::Loop(_)
            | Self::Handover(_)
            | Self::Spawner(_)
            | Self::Running(_)
            | Self::Program(ProgramError::This(_)) => host_ipc::exit::FAILED,
            _ => host_ipc::exit::BAD_INPUT,
        }
    }

    /// Returns a function for `map_err` that converts an I/O error to [`Self::Os`].
    pub(crate) fn os(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Os { what, source }
    }
}
