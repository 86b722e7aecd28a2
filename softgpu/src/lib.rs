//! A libcuda.so.1 in software, with a PTX interpreter.
//!
//! [`ptx`] makes code of a module's text, [`exec`] runs it, and the driver API on top of both keeps
//! contexts, memory, streams and modules.

mod api;
pub mod exec;
mod log;
pub mod ptx;
mod state;

/// Exports all symbols: the functions of [`api`], and stubs for the others.
mod exports {
    cuda_api::exports!(lists = crate::api::ALL, unsupported = crate::unsupported);
}

pub(crate) use api::unsupported;
pub use exports::implemented;
