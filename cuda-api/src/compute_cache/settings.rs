//! The settings of the cache. CUDA's Programming Guide defines the environment variables.

use std::ffi::OsString;
use std::path::PathBuf;

/// The default of CUDA_CACHE_MAXSIZE in bytes.
const DEFAULT_MAX_BYTES: u64 = 1 << 30;
/// The maximum of CUDA_CACHE_MAXSIZE in bytes.
const MAX_BYTES_LIMIT: u64 = 4 << 30;
/// The default of CUDA_CACHE_PATH, relative to the home directory.
const DEFAULT_PATH: &str = ".nv/ComputeCache";
/// The directory in CUDA_CACHE_PATH that this library uses. NVIDIA's driver has files of another
/// format next to it.
const SUBDIRECTORY: &str = "virtio-cuda";

/// Settings of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The directory of the entries. It need not exist.
    pub directory: PathBuf,
    /// The maximum size of all entries together, in bytes.
    pub max_bytes: u64,
}

impl Settings {
    /// Reads the settings from environment variables, which `variable` returns. The result is
    /// `None` if the cache is disabled or has no directory.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let number = |name| variable(name)?.to_str()?.trim().parse::<u64>().ok();
        if number("CUDA_CACHE_DISABLE").is_some_and(|disable| disable != 0) {
            return None;
        }
        let non_empty = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let path =
            non_empty("CUDA_CACHE_PATH").or_else(|| Some(non_empty("HOME")?.join(DEFAULT_PATH)))?;
        let max_bytes = number("CUDA_CACHE_MAXSIZE").unwrap_or(DEFAULT_MAX_BYTES);
        Some(Self { directory: path.join(SUBDIRECTORY), max_bytes: max_bytes.min(MAX_BYTES_LIMIT) })
    }
}
