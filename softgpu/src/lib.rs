//! A libcuda.so.1 in software, with a PTX interpreter.
//!
//! [`ptx`] makes code of a module's text, [`exec`] runs it, and the driver API on top of both keeps
//! contexts, memory, streams and modules.

mod api;
pub mod exec;
mod exports;
mod log;
pub mod ptx;
mod state;

pub(crate) use api::unsupported;
pub use exports::implemented;
