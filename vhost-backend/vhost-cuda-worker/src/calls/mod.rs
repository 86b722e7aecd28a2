//! The implementation of the CUDA calls, and the state of a session.
//!
//! | module | contents |
//! |---|---|
//! | `engine` | the executor: runs a command when the gate admits it |
//! | `generated/dispatch`, `dispatch`, `bodies` | find the implementation of a call by its opcode |
//! | `gate` | decides when a command may go to the driver, and holds it until then |
//! | `deferred`, `waits`, `events` | calls that get their reply later; waiting for the GPU |
//! | `shared`, `cx` | state that all threads share; the environment in which one call runs |
//! | `driver_handle`, `id_map`, `lock`, `result` | small types and functions for the other modules
//! |
//! | `handles`, `claims` | tables from the guest's ids to the driver's handles; reserving an id |
//! | `charges` | memory that is charged in addition to allocations |
//! | `limit_calls` | keeps changes of a context's limits apart from calls that depend on them |
//! | `memory`, `arena`, `copy`, `registered`, `host` | device memory, copies, registered host memory |
//! | `context`, `green` | contexts and green contexts |
//! | `uses`, `ending` | how objects end: counting the calls that use them; destroying them afterwards |
//! | `leftovers` | the objects that a context still has when it ends |
//! | `stream`, `queue` | streams and events; looking up streams and counting the commands in them |
//! | `interprocess`, `token` | events that several sessions use; names of exported things |
//! | `thread_streams` | the per-thread default streams |
//! | `stream_memory`, `value_waits` | stream memory operations; streams that wait for a value |
//! | `image`, `jit`, `blob`, `module` | code images, modules and libraries |
//! | `kernel`, `layout`, `library_kernels`, `launch` | functions, kernels, and their launches |
//! | `link`, `link_state` | the linker |
//! | `graph`, `graph_exec`, `graph_node`, `graph_shape` | graphs |
//! | `array`, `array_calls`, `array_copy` | arrays and mipmapped arrays; copies from and to them |
//! | `texture`, `texture_ref`, `tensor_map` | texture and surface objects and references; tensor maps |
//! | `facts`, `output`, `printing`, `hostfunc` | device properties, kernel output, host functions |
//!
//! The API table says on which thread a call runs: blocking calls run on the mirror of the guest
//! thread (a thread of the worker that corresponds to it), all others on the ring reader's thread.
//! They share `Shared`, whose locks are never held during driver calls that may take long.

mod arena;
mod array;
mod array_calls;
mod array_copy;
mod blob;
mod bodies;
mod budget;
mod charges;
mod claims;
mod context;
mod copy;
mod cx;
mod deferred;
mod dispatch;
mod driver_handle;
mod ending;
mod engine;
mod events;
mod extent;
mod facts;
pub(crate) mod gate;
#[path = "generated/dispatch.rs"]
mod generated;
mod graph;
mod graph_conditions;
mod graph_exec;
mod graph_node;
mod graph_shape;
mod graph_values;
mod green;
mod handles;
mod host;
mod hostfunc;
mod id_map;
mod image;
mod interprocess;
mod jit;
mod kernel;
mod launch;
mod layout;
mod leftovers;
mod library_kernels;
mod limit_calls;
mod link;
mod link_state;
mod lock;
mod memory;
mod module;
mod output;
mod printing;
mod properties;
mod queue;
mod registered;
mod result;
mod shared;
mod stream;
mod stream_memory;
mod tensor_map;
#[cfg(test)]
mod tests;
mod texture;
mod texture_ref;
mod thread_streams;
mod token;
mod tpc;
mod uses;
mod value_waits;
mod waits;

pub use engine::open;

use lock::lock;
use shared::Shared;

use crate::executor::Command;
use crate::reply::ReplyTo;
