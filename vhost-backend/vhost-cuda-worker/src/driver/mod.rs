//! Loads the driver library, and declares the driver functions that the worker calls.

pub mod error;
mod generated;
mod library;
pub mod recorder;
#[cfg(test)]
pub mod stubs;

pub use error::{CuError, CuResult};
pub use generated::Driver;

/// The name of softgpu's function that makes its kernels obey evictions, which the scheduler orders
/// through the gate page.
pub const OBEY_EVICTIONS: &std::ffi::CStr = c"softgpuObeyEvictions";
