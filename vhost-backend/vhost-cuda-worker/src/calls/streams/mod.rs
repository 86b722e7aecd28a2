//! Streams and events.
//!
//! | module | contents |
//! |---|---|
//! | `stream`, `queue` | streams and events; looking up streams and counting the commands in them |
//! | `interprocess` | events that several sessions use |
//! | `thread_streams` | the per-thread default streams |
//! | `stream_memory`, `value_waits` | stream memory operations; streams that wait for a value |
//! | `hostfunc` | host functions |

pub(crate) mod hostfunc;
pub(crate) mod interprocess;
pub(crate) mod queue;
pub(crate) mod stream;
pub(crate) mod stream_memory;
pub(crate) mod thread_streams;
pub(crate) mod value_waits;
