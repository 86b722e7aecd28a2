//! The control API: HTTP with JSON on a Unix socket, for operators and their programs. It runs on
//! its own thread, and gets all data that it serves from the broker's event loop.
//!
//! | module | contents |
//! |---|---|
//! | `model` | request and response types, from the `control-api` crate |
//! | `handle` | the channel between the API's thread and the broker's event loop |
//! | `server` | starts the thread |
//! | `connection` | accepts connections and limits their cost |
//! | `table` | the table of routes: which request is answered on which socket |
//! | `routes` | the handlers |
//! | `body` | parses request bodies and builds error responses |
//! | `stream` | streams events |
//! | `trace_point`, `trace` | the points of a trace; streaming traces |
//! | `metrics` | encodes the statistics for Prometheus |
//! | `openapi` | generates the description in `docs/api/openapi.json` |

mod body;
mod connection;
pub mod handle;
pub mod metrics;
pub mod openapi;
mod routes;
mod server;
mod stream;
mod table;
mod trace;
pub mod trace_point;

pub use control_api as model;
pub use server::{ControlError, Server, ServerConfig, start};
