//! The calls of a session.
//!
//! | module | contents |
//! |---|---|
//! | `engine` | the executor: runs a command when the gate admits it |
//! | `generated/dispatch`, `dispatch`, `bodies` | from a command's number to its body |
//! | `gate` | decides when a command may go to the driver, and holds it until then |
//! | `deferred`, `waits`, `events` | calls that get their reply later; waiting for the GPU |
//! | `shared`, `cx` | state that all threads share; the environment in which one call runs |
//! | `driver_handle`, `id_map`, `lock`, `result` | small types and functions that the others share |
//! | `handles`, `claims` | the driver's handles, by the guest's ids; ids in use by one call |
//! | `charges` | memory that is charged in addition to allocations |
//! | `memory`, `arena`, `copy`, `registered`, `host` | device memory, copies, registered host memory |
//! | `context`, `uses` | contexts, and the calls in progress in each |
//! | `stream`, `queue` | streams and events; looking up streams and counting what is queued |
//! | `image`, `blob`, `module`, `launch` | code and its kernels |
//! | `graph`, `graph_exec`, `graph_node`, `graph_shape` | graphs |
//! | `facts`, `output`, `printing`, `hostfunc` | attributes, kernel output, host functions |
//!
//! Bodies of posted and quick calls run on the ring reader's thread, and bodies of blocking calls
//! on the thread that mirrors the guest thread. Their common state is in `Shared`, under locks that
//! are never held during driver calls that may take long.

mod arena;
mod blob;
mod bodies;
mod charges;
mod claims;
mod context;
mod copy;
mod cx;
mod deferred;
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
mod printing;
mod queue;
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

use lock::lock;
use shared::Shared;

use crate::executor::Command;
use crate::reply::ReplyTo;
