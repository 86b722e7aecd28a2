//! The guest's libnvidia-ml.so.1: what NVML can say about the VM's GPUs, without a session.
//!
//! * [`facts`] reads the device's answer, [`state`] asks for it between init and shutdown.
//! * [`entry`] are the functions that programs call; whatever is not among them is exported all
//!   the same, and says that it is not supported.
//!
//! A guest sees its quota as the GPU's memory and its own use as used, the same as through
//! libcuda. What it can't know, such as the temperature, is not supported.

mod entry;
mod error;
mod facts;
mod state;
mod types;

/// Exports of everything that [`entry`] leaves out.
mod exports {
    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}

/// The answer of a function that there is none of.
pub(crate) fn unsupported(name: &'static str) -> error::NvmlReturn {
    entry::run(name, || {
        state::check()?;
        Err(error::NvmlError::NOT_SUPPORTED)
    })
}
