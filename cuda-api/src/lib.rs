//! What every libcuda.so.1 of ours shares.
//!
//! * [`symbols`] lists what a libcuda.so.1 exports, [`proc_address`] looks names up as
//!   `cuGetProcAddress` does, and [`build`] writes the exports that a crate does not implement.
//! * [`devices`] has how devices are named and chosen.
//! * [`export_tables`] are the private tables that NVIDIA's own libraries ask for.
//! * [`args`] are the arguments of entry points, as types that safe code can use.
//! * [`error`] has the errors that entry points return.
//! * [`error_text`] names and describes the values of `CUresult`.
//! * [`fatbin`] takes apart what programs hand to the module loaders.
//! * [`graph`] holds graphs, and streams that are being captured.
//!
//! Without the feature `runtime` only the first four modules remain, which need nothing but std.

pub mod build;
pub mod devices;
pub mod proc_address;
pub mod symbols;

#[cfg(feature = "runtime")]
pub mod args;
#[cfg(feature = "runtime")]
pub mod error;
#[cfg(feature = "runtime")]
pub mod error_text;
#[cfg(feature = "runtime")]
pub mod export_tables;
#[cfg(feature = "runtime")]
pub mod fatbin;
#[cfg(feature = "runtime")]
pub mod graph;

/// The types of the driver API. Only the types may be used: cudarc's functions load a libcuda.
#[cfg(feature = "runtime")]
pub use cudarc::driver::sys;

mod generated;
