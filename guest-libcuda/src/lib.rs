//! The guest's libcuda.so.1: CUDA's driver API, carried to a worker on the host.
//!
//! * [`transport`], a crate of its own, is the way to the device: the kernel's driver, or vhost-user
//!   without a VM.
//! * [`session`] puts commands into the ring and waits for answers.
//! * [`driver`] is the library's state: the session, the devices, [`handles`], the map of the
//!   program's [`memory`].
//! * [`graph`] and [`capture`] are what the library knows by itself of graphs and of streams that
//!   are being captured.
//! * [`entry`] are the functions that programs call; whatever is not among them is exported all
//!   the same, and says that it is not supported.

mod capture;
mod context;
mod device;
mod driver;
#[macro_use]
mod entry;
mod error;
mod exports;
mod graph;
mod handles;
mod memory;
mod objects;
mod output;
mod program;
mod session;
mod thread;
mod transfer;
mod windows;

pub use exports::implemented;

use guest_transport as transport;
use guest_transport::{log, ranges};

/// The answer of an entry point that there is none of.
pub(crate) fn unsupported(name: &'static str) -> error::CUresult {
    log::unsupported(name);
    error::CUresult::CUDA_ERROR_NOT_SUPPORTED
}
