//! The control API: HTTP with JSON on a Unix socket, for operators and their programs.
//!
//! | module | what |
//! |---|---|
//! | `model` | the types that travel, from their own crate |
//! | `handle` | the channel between the API's thread and the broker's event loop |

pub mod handle;

pub use control_api as model;
