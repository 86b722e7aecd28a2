//! The driver API's errors.

use crate::sys::CUresult;

/// A `CUresult` other than `CUDA_SUCCESS`. A number, since programs and later drivers may have
/// values that the headers lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CuError(pub u32);

/// The result of most functions of a libcuda.
pub type CuResult<T = ()> = Result<T, CuError>;

macro_rules! errors {
    ($($name:ident = $value:literal)*) => { impl CuError { $(
        /// CUDA_ERROR_*.
        pub const $name: CuError = CuError($value);
    )* } };
}
errors! {
    INVALID_VALUE = 1
    OUT_OF_MEMORY = 2
    NOT_INITIALIZED = 3
    DEVICE_UNAVAILABLE = 46
    NO_DEVICE = 100
    INVALID_DEVICE = 101
    INVALID_CONTEXT = 201
    INVALID_HANDLE = 400
    INVALID_IMAGE = 200
    FILE_NOT_FOUND = 301
    NOT_FOUND = 500
    LAUNCH_TIMEOUT = 702
    HOST_MEMORY_ALREADY_REGISTERED = 712
    HOST_MEMORY_NOT_REGISTERED = 713
    CONTEXT_IS_DESTROYED = 709
    NOT_SUPPORTED = 801
    GRAPH_EXEC_UPDATE_FAILURE = 910
    UNKNOWN = 999
}

impl From<CUresult> for CuError {
    fn from(error: CUresult) -> Self {
        Self(error as u32)
    }
}
