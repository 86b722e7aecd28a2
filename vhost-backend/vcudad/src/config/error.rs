//! Errors in the configuration.

use std::path::PathBuf;
use std::sync::Arc;

use control_api::ApiError;

/// An error in the configuration.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Path of the configuration file.
        path: PathBuf,
        /// Why it can't be read.
        source: Arc<std::io::Error>,
    },
    /// The file can't be parsed, or contains an invalid value.
    #[error("{path}: {reason}")]
    Parse {
        /// Path of the configuration file.
        path: PathBuf,
        /// Line and description of the error.
        reason: String,
    },
    /// A VM's settings are invalid, or the VM can't be served.
    #[error("vm '{name}': {error}")]
    Vm {
        /// The VM's name.
        name: String,
        /// The error, with the setting.
        error: ApiError,
    },
    /// An invalid value that doesn't come from a file.
    #[error("{0}")]
    Value(String),
}

/// Wraps an error in a VM's settings, and adds the VM's name.
pub fn of_vm(name: &str, error: &ApiError) -> ConfigError {
    ConfigError::Vm { name: name.to_owned(), error: error.clone() }
}
