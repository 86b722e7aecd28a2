//! Errors of the driver API.

pub use cuda_api::error::{CuError, CuResult};
