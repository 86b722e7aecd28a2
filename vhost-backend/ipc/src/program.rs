//! Paths of the host programs, which are installed in the same directory.

use std::io;
use std::path::PathBuf;

/// First argument to a vcudad that serves one VM, followed by vhost-device-cuda's arguments.
pub const ONE_VM: &str = "--one-vm";

/// The reason why a program can't be found.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// This program's own path is unknown.
    #[error("cannot find the path of this program: {0}")]
    This(#[source] io::Error),
    /// Another program is missing.
    #[error("cannot find {0}: install it in the same directory as this program")]
    Missing(PathBuf),
}

/// Returns the directory that contains this program.
pub fn folder() -> Result<PathBuf, ProgramError> {
    let mut path = std::env::current_exe().map_err(ProgramError::This)?;
    path.pop();
    Ok(path)
}

/// Returns the path of the named program in the same directory.
pub fn find(name: &str) -> Result<PathBuf, ProgramError> {
    let path = folder()?.join(name);
    if path.is_file() { Ok(path) } else { Err(ProgramError::Missing(path)) }
}
