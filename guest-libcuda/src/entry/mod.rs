//! The entry points of the driver API, one module for each family.
//!
//! Arguments arrive from C as integers and as the pointer types of [`cuda_api::args`]. An entry
//! point checks them and returns a `CuResult`.

#[macro_use]
pub(crate) mod macros;
pub(crate) mod array;
mod array_copy;
pub(crate) mod array_row;
pub(crate) mod batch_copy;
pub mod box_copy;
pub(crate) mod context;
pub(crate) mod cooperative;
pub(crate) mod copy;
pub mod copy2d;
pub(crate) mod coredump;
pub(crate) mod device;
pub(crate) mod device_links;
mod ended;
pub(crate) mod event;
pub(crate) mod first_versions;
pub(crate) mod function;
pub(crate) mod generated;
pub(crate) mod graph;
mod graph_copy;
pub(crate) mod graph_memory;
pub(crate) mod green;
pub(crate) mod green_context;
pub mod host_func;
pub(crate) mod host_memory;
mod image;
pub(crate) mod init;
pub(crate) mod ipc;
pub mod launch;
pub(crate) mod legacy_launch;
pub(crate) mod library;
pub(crate) mod limits;
pub(crate) mod link;
pub(crate) mod logs;
pub(crate) mod managed;
pub(crate) mod memory;
pub(crate) mod memset;
pub(crate) mod module;
pub(crate) mod occupancy;
pub(crate) mod pointer;
pub(crate) mod pool;
pub(crate) mod shareable;
pub(crate) mod stream;
pub(crate) mod stream_memory;
pub(crate) mod tables;
pub(crate) mod tensor_map;
pub(crate) mod texture;
pub(crate) mod texture_ref;
pub(crate) mod virtual_memory;
