//! The driver API's results.

pub use cuda_api::error::{CuError, CuResult, code};
pub use cuda_api::sys::CUresult;
