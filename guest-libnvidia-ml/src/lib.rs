//! The guest's libnvidia-ml.so.1, which answers NVML queries about the VM's GPUs. It doesn't need a
//! session.
//!
//! * [`state`] holds the connection between init and
//!   shutdown.
//! * [`entry`] implements functions, whose parameters are checked against the prototypes in
//!   [`generated`]. All other NVML functions are exported too, and return NVML_ERROR_NOT_SUPPORTED.
//!
//! As with libcuda, a guest sees its quota as the GPU's memory, and its own usage as the memory in
//! use. Facts about the physical GPU, such as its temperature, are not supported.

mod args;
mod entry;
mod error;
mod exports;
mod generated;
mod state;
mod symbols;

use cuda_api::unsupported::Arguments;

/// Logs the name of a function that is not implemented, and returns its result.
pub(crate) fn unsupported(name: &'static str, _: &Arguments) -> generated::sys::nvmlReturn_t {
    entry::run(name, || {
        state::check()?;
        Err(error::NvmlError::NOT_SUPPORTED)
    })
}
