//! Errors that the driver API returns.

pub use cuda_api::error::{CuError, CuResult};
