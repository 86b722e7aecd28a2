//! The entry points of the driver API, one module for each family.
//!
//! Arguments arrive from C as integers and as the pointer types of [`cuda_api::args`]. An entry
//! point checks them and returns a `CuResult`.

#[macro_use]
pub(crate) mod macros;
pub(crate) mod arrays;
pub(crate) mod code;
pub(crate) mod contexts;
pub(crate) mod first_versions;
pub(crate) mod generated;
pub(crate) mod graphs;
pub(crate) mod memory;
pub(crate) mod streams;
pub(crate) mod tables;
