//! Memory, copies, and registered host memory.

pub(crate) mod allocation;
pub mod box_copy;
pub(crate) mod copies;
pub(crate) mod copy;
pub mod copy2d;
pub(crate) mod graph_memory;
pub(crate) mod host_memory;
pub(crate) mod ipc;
pub(crate) mod managed;
pub(crate) mod memset;
pub(crate) mod pointer;
pub(crate) mod pool;
pub(crate) mod shareable;
pub(crate) mod virtual_memory;
