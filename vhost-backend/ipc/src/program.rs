//! The host's programs, which find one another in the folder that they share.

use std::io;
use std::path::PathBuf;

/// The first argument of a vcudad that serves one VM; vhost-device-cuda's arguments follow it.
pub const ONE_VM: &str = "--one-vm";

/// Why a program can't be found.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The kernel doesn't say where this program is.
    #[error("cannot find this program: {0}")]
    This(#[source] io::Error),
    /// The other program is missing.
    #[error("cannot find {0}, which belongs next to this program")]
    Missing(PathBuf),
}

/// The folder that this program is in.
pub fn folder() -> Result<PathBuf, ProgramError> {
    let mut path = std::env::current_exe().map_err(ProgramError::This)?;
    path.pop();
    Ok(path)
}

/// The program of this name in the same folder.
pub fn find(name: &str) -> Result<PathBuf, ProgramError> {
    let path = folder()?.join(name);
    if path.is_file() { Ok(path) } else { Err(ProgramError::Missing(path)) }
}
