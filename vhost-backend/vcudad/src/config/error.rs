//! Errors of the configuration.

use std::path::PathBuf;

use control_api::ApiError;

/// An error in the configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file can't be parsed, or has a bad value.
    #[error("{path}: {reason}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// The error and its place.
        reason: String,
    },
    /// A bad value that doesn't come from a file.
    #[error("{0}")]
    Value(String),
}

/// An error that names the VM.
pub fn of_vm(name: &str, error: &ApiError) -> ConfigError {
    ConfigError::Value(format!("vm '{name}': {error}"))
}
