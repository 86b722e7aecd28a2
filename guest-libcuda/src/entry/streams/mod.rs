//! Streams and events.

pub(crate) mod event;
pub mod host_func;
pub(crate) mod stream;
pub(crate) mod stream_memory;
