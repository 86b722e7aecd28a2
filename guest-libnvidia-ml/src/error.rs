//! Results of NVML functions.

use crate::generated::sys::nvmlReturn_t;
use guest_transport::TransportError;
use std::ffi::CStr;
use std::io::ErrorKind;

/// The result of an entry point's body.
pub type NvmlResult<T = ()> = Result<T, NvmlError>;

/// An `nvmlReturn_t` that is not NVML_SUCCESS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvmlError(pub nvmlReturn_t);

impl NvmlError {
    pub const UNINITIALIZED: Self = Self(nvmlReturn_t::NVML_ERROR_UNINITIALIZED);
    pub const INVALID_ARGUMENT: Self = Self(nvmlReturn_t::NVML_ERROR_INVALID_ARGUMENT);
    pub const NOT_SUPPORTED: Self = Self(nvmlReturn_t::NVML_ERROR_NOT_SUPPORTED);
    pub const NO_PERMISSION: Self = Self(nvmlReturn_t::NVML_ERROR_NO_PERMISSION);
    pub const NOT_FOUND: Self = Self(nvmlReturn_t::NVML_ERROR_NOT_FOUND);
    pub const INSUFFICIENT_SIZE: Self = Self(nvmlReturn_t::NVML_ERROR_INSUFFICIENT_SIZE);
    pub const DRIVER_NOT_LOADED: Self = Self(nvmlReturn_t::NVML_ERROR_DRIVER_NOT_LOADED);
    pub const TIMEOUT: Self = Self(nvmlReturn_t::NVML_ERROR_TIMEOUT);
    pub const GPU_IS_LOST: Self = Self(nvmlReturn_t::NVML_ERROR_GPU_IS_LOST);
    pub const ARGUMENT_VERSION_MISMATCH: Self =
        Self(nvmlReturn_t::NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    pub const UNKNOWN: Self = Self(nvmlReturn_t::NVML_ERROR_UNKNOWN);
}

impl From<TransportError> for NvmlError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::Unsupported { .. } => Self::NOT_SUPPORTED,
            TransportError::Open { source, .. } | TransportError::Connect { source, .. } => {
                match source.kind() {
                    ErrorKind::PermissionDenied => Self::NO_PERMISSION,
                    _ => Self::DRIVER_NOT_LOADED,
                }
            }
            TransportError::WrongDevice { .. } => Self::DRIVER_NOT_LOADED,
            TransportError::Ended { .. } => Self::GPU_IS_LOST,
            _ => Self::UNKNOWN,
        }
    }
}

/// Returns the text that `nvmlErrorString` returns for a result.
pub fn text(result: nvmlReturn_t) -> &'static CStr {
    match result.0 {
        0 => c"Success",
        1 => c"Uninitialized",
        2 => c"Invalid Argument",
        3 => c"Not Supported",
        4 => c"Insufficient Permissions",
        5 => c"Already Initialized",
        6 => c"Not Found",
        7 => c"Insufficient Size",
        8 => c"Insufficient External Power",
        9 => c"Driver Not Loaded",
        10 => c"Timeout",
        11 => c"Interrupt Request Issue",
        12 => c"NVML Shared Library Not Found",
        13 => c"Function Not Found",
        14 => c"Corrupted infoROM",
        15 => c"GPU is lost",
        16 => c"GPU requires reset",
        17 => c"GPU access blocked by the operating system",
        18 => c"Driver/library version mismatch",
        19 => c"In use by another client",
        20 => c"Insufficient Memory",
        21 => c"No data",
        22 => c"ECC mode is not supported on this virtual GPU",
        23 => c"Insufficient Resources",
        24 => c"Frequency not supported",
        25 => c"Argument version mismatch",
        26 => c"Deprecated",
        27 => c"System is not ready",
        28 => c"No GPUs were found",
        29 => c"Invalid state",
        30 => c"Reset type is not supported",
        _ => c"Unknown Error",
    }
}
