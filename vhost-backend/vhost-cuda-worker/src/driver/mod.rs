//! The driver library: dlopen, and its entry points looked up one at a time.

pub mod entries;
pub mod error;
mod library;
#[cfg(test)]
pub mod stubs;

pub use entries::Driver;
pub use error::{CuError, CuResult};
