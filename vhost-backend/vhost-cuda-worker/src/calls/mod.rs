//! The implementation (body) of each call in the API table.
//!
//! | module | contents |
//! |---|---|
//! | `generated/dispatch` | from a command's number to its body |
//! | `dispatch` | the traits and helpers that the generated dispatch uses |
//! | `engine`, `shared` | the executor, and the state that all of the worker's threads share |
//! | `cx` | the context that a body works with |
//! | `driver_handle`, `id_map`, `lock` | small types that the others share |
//! | `handles`, `claims` | the objects behind a guest's ids, and exclusive claims on ids |
//! | `waits`, `pending` | waiting for the GPU |
//! | `gate` | which commands may go to the driver now, and which are held |
//! | `charges` | charges besides allocations |
//! | `memory`, `arena`, `copy`, `registered`, `host` | device memory, copies, registered host memory |
//! | `context`, `uses`, `stream` | contexts, and the calls in progress in each; streams and events |
//! | `image`, `blob`, `module`, `launch` | code and its kernels |
//! | `graph`, `graph_node`, `graph_shape` | graphs |
//! | `facts`, `output`, `printing`, `hostfunc` | attributes, kernels' output, host functions |
//!
//! Bodies of posted and of quick calls run on the ring reader's thread, those of blocking calls on
//! the thread that mirrors the calling guest thread. Shared state is in `Shared`, under locks that
//! are never held across a driver call that may take long.

mod arena;
mod blob;
mod charges;
mod claims;
mod context;
mod copy;
mod cx;
mod dispatch;
mod driver_handle;
mod engine;
mod events;
mod facts;
pub(crate) mod gate;
#[path = "generated/dispatch.rs"]
mod generated;
mod graph;
mod graph_exec;
mod graph_node;
mod graph_shape;
mod handles;
mod host;
mod hostfunc;
mod id_map;
mod image;
mod launch;
mod lock;
mod memory;
mod module;
mod output;
mod pending;
mod printing;
mod registered;
mod result;
mod shared;
mod stream;
#[cfg(test)]
mod tests;
mod uses;
mod waits;

pub use engine::open;
pub use gate::GateEnd;

use engine::Calls;
use lock::lock;
use shared::Shared;

use crate::executor::Command;
use crate::reply::ReplyTo;
