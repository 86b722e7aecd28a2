//! Paths of the host's programs, which are installed in one folder.

use std::io;
use std::path::PathBuf;

/// The first argument of a vcudad that serves one VM; vhost-device-cuda's arguments follow it.
pub const ONE_VM: &str = "--one-vm";

/// Why a program can't be found.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The path of this program is unknown.
    #[error("cannot find this program: {0}")]
    This(#[source] io::Error),
    /// The other program is missing.
    #[error("cannot find {0}: install it in the same folder as this program")]
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
