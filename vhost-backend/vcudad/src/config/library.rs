//! The setting that selects the driver library.

use std::path::PathBuf;

/// Selects the driver library that workers load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverLibrary {
    /// NVIDIA's library if the host has an NVIDIA GPU, else softgpu's.
    Auto,
    /// softgpu's library.
    Softgpu,
    /// The library at this path.
    Path(PathBuf),
}

impl std::str::FromStr for DriverLibrary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("driver_library must be auto, softgpu, or a path".into()),
            "auto" => Ok(Self::Auto),
            "softgpu" => Ok(Self::Softgpu),
            path if path.contains('/') => Ok(Self::Path(path.into())),
            other => Err(format!(
                "driver_library: {other:?} is neither auto (NVIDIA's library, if the host has an NVIDIA \
                 GPU), nor softgpu, nor the path of a libcuda.so.1, such as /usr/lib/libcuda.so.1"
            )),
        }
    }
}
