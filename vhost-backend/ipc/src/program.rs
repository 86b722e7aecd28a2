//! Paths of the host programs, which are installed in the same directory.

use std::io;
use std::path::PathBuf;

/// The first argument that makes vcudad serve a single VM. vhost-device-cuda's own arguments follow
/// it.
pub const ONE_VM: &str = "--one-vm";

/// The reason why a program wasn't found.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The path of the running program couldn't be determined.
    #[error("cannot find the path of this program: {0}")]
    This(#[source] io::Error),
    /// No program exists at this path.
    #[error("cannot find {0}: install it in the same directory as this program")]
    Missing(PathBuf),
}

/// Returns the directory that contains the running program.
pub fn folder() -> Result<PathBuf, ProgramError> {
    let mut path = std::env::current_exe().map_err(ProgramError::This)?;
    path.pop();
    Ok(path)
}

/// Returns the path of the named program in the directory of the running program.
pub fn find(name: &str) -> Result<PathBuf, ProgramError> {
    let path = folder()?.join(name);
    if path.is_file() { Ok(path) } else { Err(ProgramError::Missing(path)) }
}
