//! The driver API, with one module per family of functions.

pub(crate) mod array;
pub(crate) mod array_copy;
pub(crate) mod batch_copy;
mod capture;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod device;
pub(crate) mod entry;
pub(crate) mod event;
pub(crate) mod graph;
pub(crate) mod init;
mod jit;
pub(crate) mod launch;
pub(crate) mod legacy_launch;
pub(crate) mod library;
pub(crate) mod link;
pub(crate) mod managed;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod pool;
pub(crate) mod stream;
pub(crate) mod stream_memory;
mod tables;
pub(crate) mod tensor_map;
pub(crate) mod texture;
mod texture_desc;
pub(crate) mod vmm;
