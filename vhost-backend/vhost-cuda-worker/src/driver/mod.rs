//! Loads the driver library, and declares the driver functions that the worker calls.

pub mod error;
mod generated;
mod library;
pub mod recorder;
#[cfg(test)]
pub mod stubs;

pub use error::{CuError, CuResult};
pub use generated::Driver;

/// softgpu's function that makes kernels obey the orders in the gate page.
pub const OBEY_EVICTIONS: &std::ffi::CStr = c"softgpuObeyEvictions";
