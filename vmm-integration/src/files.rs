//! Files that the options name, or that the scripts in images/ built.

use std::path::PathBuf;

use crate::error::{RunError, existing};

/// The folder where the scripts in images/ cache what they build.
pub fn cache() -> PathBuf {
    let var = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    var("VIRTIO_CUDA_CACHE").unwrap_or_else(|| {
        var("XDG_CACHE_HOME")
            .unwrap_or_else(|| var("HOME").unwrap_or_else(|| "/root".into()).join(".cache"))
            .join("virtio-cuda")
    })
}

/// The `given` file, or `default` if that exists; `hint` says how to get one.
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
