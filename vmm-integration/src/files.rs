//! Finds files given by options or built by the scripts in images/.

use std::path::PathBuf;

use crate::error::{RunError, existing};

/// Returns the directory in which the scripts in images/ cache their results.
pub fn cache() -> PathBuf {
    let var = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    var("VIRTIO_CUDA_CACHE").unwrap_or_else(|| {
        var("XDG_CACHE_HOME")
            .unwrap_or_else(|| var("HOME").unwrap_or_else(|| "/root".into()).join(".cache"))
            .join("virtio-cuda")
    })
}

/// Returns the `given` file, or `default` if no file is given and `default` exists. If there is
/// neither, returns an error with `hint`, which says how to get the file.
pub fn given_or(
    option: &str,
    given: &Option<PathBuf>,
    default: PathBuf,
    hint: &str,
) -> Result<PathBuf, RunError> {
    match given {
        Some(path) => existing(option, path),
        None if default.exists() => Ok(default),
        None => Err(RunError::Usage(format!("{option} is missing; {hint}"))),
    }
}
