//! The driver API's objects: devices, contexts, streams, memory, modules.

pub(crate) mod array;
pub(crate) mod attributes;
pub(crate) mod context;
pub(crate) mod device;
pub(crate) mod elf;
pub(crate) mod errors;
pub(crate) mod event;
pub(crate) mod graph;
pub(crate) mod handles;
pub(crate) mod hints;
pub(crate) mod image;
pub(crate) mod link;
pub(crate) mod managed_variables;
pub(crate) mod mapping;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod pool;
pub(crate) mod pool_file;
pub(crate) mod primary;
pub(crate) mod queue;
pub(crate) mod shared_event;
pub(crate) mod shared_file;
pub(crate) mod stream;
pub(crate) mod teardown;
pub(crate) mod texture;
