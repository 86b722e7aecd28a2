//! The guest's libcuda.so.1: it implements CUDA's driver API with a worker on the host.
//!
//! * [`transport`], a separate crate, connects to the device through the kernel's driver, or
//!   through vhost-user without a VM.
//! * [`session`] writes commands to the ring and waits for replies.
//! * [`driver`] is the library's state: the session, the devices, [`handles`], and the map of the
//!   program's [`memory`].
//! * [`graph`] and [`capture`] keep graphs and the state of captured streams in the guest.
//! * [`remembered`] keeps results of queries to the worker, so that they aren't repeated.
//! * [`shareable`] has the file descriptors that represent exported memory.
//! * [`software`] distinguishes softgpu from NVIDIA's driver.
//! * [`stats`] counts calls, if VIRTIO_CUDA_STATS is set.
//! * [`entry`] has the functions that programs call. All other symbols are exported too, and return
//!   an error, in most cases CUDA_ERROR_NOT_SUPPORTED.

mod capture;
mod context;
mod device;
mod driver;
#[macro_use]
mod entry;
mod error;
mod exports;
mod fork;
mod gpu_files;
mod graph;
mod handles;
mod jit;
mod memory;
mod objects;
mod output;
mod program;
mod remembered;
mod session;
mod settled;
mod shareable;
mod software;
mod staged;
mod stats;
mod tensor_maps;
mod thread;
mod thread_end;
mod transfer;
mod windows;

pub use exports::implemented;

use cuda_api::unsupported::Arguments;
use guest_transport as transport;
use guest_transport::{log, ranges};

/// Logs the name of an entry point that is not implemented, and returns its result.
pub(crate) fn unsupported(name: &'static str, arguments: &Arguments) -> error::CUresult {
    log::unsupported(name);
    let result = cuda_api::unsupported::result(name, arguments);
    cuda_api::logs::failed(name, result);
    result
}
