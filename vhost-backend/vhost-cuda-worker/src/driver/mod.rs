//! Loads the driver library, and declares the driver functions that the worker calls.

pub mod error;
mod generated;
mod library;
pub mod recorder;
#[cfg(test)]
pub mod stubs;

pub use error::{CuError, CuResult};
pub use generated::Driver;
