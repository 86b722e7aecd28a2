//! A libcuda.so.1 in software, with a PTX interpreter.
//!
//! [`ptx`] lowers a module's text to code, and [`exec`] runs the code. The driver API on top of
//! both manages contexts, memory, streams and modules.

mod api;
pub mod exec;
mod exports;
mod log;
pub mod ptx;
mod state;

pub(crate) use api::entry::unsupported;
pub use exports::implemented;
