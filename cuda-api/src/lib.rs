//! What every libcuda.so.1 of ours shares.
//!
//! * [`symbols`] lists what a libcuda.so.1 exports, [`proc_address`] looks names up as
//!   `cuGetProcAddress` does.
//! * [`sys`] has the driver API's types, [`prototypes`] its functions' types, [`error`] its errors,
//!   and [`description`] all of that as data for code generators.
//! * [`exports`] exports the functions that a library registers, and a stub for every other symbol;
//!   [`signature`] compares each function with its prototype, at compile time.
//! * [`devices`] has how devices are named and chosen.
//! * [`export_tables`] are the private tables that NVIDIA's own libraries ask for.
//! * [`args`] are the arguments of entry points, as types that safe code can use.
//! * [`error_text`] names and describes the values of `CUresult`.
//! * [`fatbin`] takes apart what programs hand to the module loaders.
//! * [`graph`] holds graphs, and streams that are being captured.
//!
//! Without the feature `runtime` only the modules remain that need nothing but std.

pub mod args;
pub mod description;
pub mod devices;
pub mod error;
pub mod error_text;
pub mod exports;
pub mod proc_address;
pub mod signature;
pub mod symbols;

#[cfg(feature = "runtime")]
pub mod export_tables;
#[cfg(feature = "runtime")]
pub mod fatbin;
#[cfg(feature = "runtime")]
pub mod graph;

pub use generated::{prototypes, sys};

mod generated;
