//! The driver API's errors.

pub use cuda_api::error::{CuError, CuResult};
