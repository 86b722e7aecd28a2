//! The entry points of the driver API, a module for each family.
//!
//! What C passes comes in as integers and as the pointer types of [`cuda_api::args`]; an entry point checks
//! it, and gives CUDA's result.

#[macro_use]
pub(crate) mod macros;
pub(crate) mod context;
pub(crate) mod copy;
pub mod copy2d;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod function;
pub(crate) mod generated;
pub(crate) mod graph;
pub mod host_func;
pub(crate) mod host_memory;
mod image;
pub(crate) mod init;
pub mod launch;
pub(crate) mod library;
pub(crate) mod memory;
pub(crate) mod memset;
pub(crate) mod module;
pub(crate) mod occupancy;
pub(crate) mod pointer;
pub(crate) mod stream;
pub(crate) mod tables;
