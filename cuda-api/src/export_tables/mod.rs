//! The private tables that `cuGetExportTable` returns to NVIDIA's own libraries.
//!
//! cudart does not start without some of them. cuBLAS, cuFFT and other libraries, each with its own
//! cudart, request more. The tables are undocumented; their contents were found by running those
//! libraries. A table is an array of function pointers. In most tables the first word is the
//! table's size in bytes (sizes here are those of driver 580). Slots whose meaning is unknown
//! contain a function that calls [`Driver::unsupported`] with its name and returns the result.
//!
//! Requests for other tables must fail with CUDA_ERROR_INVALID_VALUE, which the libraries handle.
//! They don't handle a table that lacks the functions they need.

mod compiler_cache;
pub mod context_storage;
mod driver;
mod instead;
mod integrity;
mod md2;
mod memory;
mod names;
mod slots;
mod tables;

use core::ffi::c_void;
pub use driver::{DeviceIdentity, Driver};
pub use tables::{TPC_TABLES_UUID, uuid};

/// Returns the table with this UUID, or `None` if the request must be refused. All tables use the
/// `driver` that was passed in the first call.
pub fn get(uuid: &[u8; 16], driver: &'static dyn Driver) -> Option<*const c_void> {
    driver::set(driver);
    tables::find(uuid)
}

#[cfg(test)]
mod tests;
