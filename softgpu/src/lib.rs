//! A software implementation of libcuda.so.1, with a PTX interpreter.
//!
//! [`ptx`] lowers PTX text to code, and [`exec`] runs that code. The driver API, built on both,
//! manages contexts, memory, streams and modules.

mod api;
pub mod exec;
mod exports;
mod log;
pub mod ptx;
mod state;

pub(crate) use api::entry::unimplemented;
pub use exports::implemented;
