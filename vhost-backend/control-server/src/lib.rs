//! The control API: HTTP with JSON on a Unix socket, for operators and their programs. It has a
//! thread of its own; all that it knows it asks the broker's event loop for.
//!
//! | module | what |
//! |---|---|
//! | `model` | the types that travel, from their own crate |
//! | `handle` | the channel between the API's thread and the broker's event loop |
//! | `server` | the thread, its sockets |
//! | `connection` | accepting, and what a connection may cost |
//! | `routes` | the paths and what they do |
//! | `body` | requests' bodies and refusals |
//! | `stream` | events as they happen |
//! | `metrics` | the statistics, for Prometheus |
//! | `openapi` | the description of all that, which `docs/api/openapi.json` is |

mod body;
mod connection;
pub mod handle;
pub mod metrics;
pub mod openapi;
mod routes;
mod server;
mod stream;

pub use control_api as model;
pub use server::{ControlError, DEFAULT_GROUP, Server, ServerConfig, start};
