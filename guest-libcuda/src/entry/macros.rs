//! The macro that declares this library's entry points.

use crate::error::{CUresult, CuResult};
use crate::log::{self, Level};
use crate::stats;

/// The value for entry points in which a null stream means the legacy default stream.
pub const LEGACY: usize = 0;
/// The value for entry points in which a null stream means the calling thread's default stream, as
/// in the `_ptds` and `_ptsz` variants.
pub const PER_THREAD: usize = protocol::ids::StreamId::PER_THREAD.0 as usize;

/// Declares entry points, as [`cuda_api::entries!`] describes.
macro_rules! entries {
    ($($all:tt)*) => {
        cuda_api::entries! { $crate::entry::macros::EntryPoint; $($all)* }
    };
}

/// Runs this library's entry points.
pub struct EntryPoint;

impl cuda_api::entries::EntryPoint for EntryPoint {
    /// The stream handle that replaces a null stream: [`LEGACY`] or [`PER_THREAD`].
    type NullStream = usize;

    const LEGACY: usize = LEGACY;
    const PER_THREAD: usize = PER_THREAD;

    /// Runs an entry point's body. A panic in it aborts the process, since it can't unwind through
    /// an `extern "C"` function.
    #[inline(always)]
    fn run(name: &'static str, body: impl FnOnce() -> CuResult) -> CUresult {
        let result = match stats::enabled() {
            false => crate::error::code(body()),
            true => stats::counted(name, || crate::error::code(body())),
        };
        if result != CUresult::CUDA_SUCCESS {
            failed(name, result);
        }
        if log::enabled(Level::Trace) {
            trace(name, result.0);
        }
        result
    }
}

#[cold]
fn failed(name: &'static str, result: CUresult) {
    if result == CUresult::CUDA_ERROR_NOT_SUPPORTED {
        log::unsupported(name);
    }
    cuda_api::logs::failed(name, result);
}

#[cold]
fn trace(name: &'static str, result: u32) {
    log::write(Level::Trace, format_args!("{name} = {result}"));
}
