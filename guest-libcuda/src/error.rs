//! The driver API's results.

pub use cuda_api::error::{CuError, CuResult};

/// What an entry point returns: `CUDA_SUCCESS` or an error. An integer, since programs compare it
/// with values that the headers know and we need not.
pub type CUresult = u32;

/// As entry points return it.
pub fn code(result: CuResult) -> CUresult {
    match result {
        Ok(()) => 0,
        Err(CuError(code)) => code,
    }
}
