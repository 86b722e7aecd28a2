//! The implementation of the CUDA calls, and the state of a session.
//!
//! | module | contents |
//! |---|---|
//! | `generated/dispatch` | finds the implementation of a call by its opcode |
//! | `gate` | decides when a command may go to the driver, and holds it until then |
//! | `lock` | locks a mutex |
//! | `facts`, `properties` | device properties |
//! | `commands` | running one command: finding its implementation, what it may use, and its reply |
//! | `tables` | the guest's ids and the driver's handles; how objects end |
//! | `memory` | device memory, copies, and registered host memory |
//! | `arrays` | arrays, textures, surfaces, and tensor maps |
//! | `contexts` | contexts, their limits, and what they are charged |
//! | `streams` | streams and events |
//! | `code` | modules, functions, and launches |
//! | `graphs` | graphs |
//!
//! The API table says on which thread a call runs. A blocking call runs on the mirror of the guest
//! thread (the worker's thread that corresponds to the guest thread), and any other call on the
//! ring reader's thread. These threads share `Shared`. Its locks are never held during driver calls
//! that may take long.

mod arrays;
mod code;
mod commands;
mod contexts;
mod facts;
pub(crate) mod gate;
#[path = "generated/dispatch.rs"]
mod generated;
mod graphs;
mod lock;
mod memory;
mod properties;
mod streams;
mod tables;
#[cfg(test)]
mod tests;

pub use commands::engine::open;
pub(crate) use properties::attributes;

use commands::shared::Shared;
use lock::lock;

use crate::executor::Command;
use crate::reply::ReplyTo;
