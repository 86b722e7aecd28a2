//! The macro that declares this library's entry points.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use cuda_api::error::{CuError, CuResult, code};
use cuda_api::logs;
use cuda_api::sys::CUresult;
use cuda_api::unsupported::Arguments;

use crate::state::strict;

/// Declares entry points; see [`cuda_api::entries!`].
macro_rules! entries {
    ($($all:tt)*) => {
        cuda_api::entries! { $crate::api::entry::EntryPoint; $($all)* }
    };
}
pub(crate) use entries;

/// The type whose `run` executes this library's entry points.
pub(crate) struct EntryPoint;

impl cuda_api::entries::EntryPoint for EntryPoint {
    /// Whether a null stream means the calling thread's default stream instead of the legacy
    /// default stream.
    type NullStream = bool;

    const LEGACY: bool = false;
    const PER_THREAD: bool = true;

    /// Runs an entry point. A panic becomes CUDA_ERROR_UNKNOWN because it must not unwind into the
    /// program.
    fn run(name: &'static str, body: impl FnOnce() -> CuResult) -> CUresult {
        let _call = strict::enter(name);
        let result = code(catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(CuError::UNKNOWN)));
        if result != CUresult::CUDA_SUCCESS {
            strict::failed(name, result);
            logs::failed(name, result);
        }
        result
    }
}

/// Reports a call of a function that isn't implemented, and returns its result.
pub(crate) fn unimplemented(name: &str, arguments: &Arguments) -> CUresult {
    report(name, cuda_api::unsupported::result(name, arguments))
}

/// Reports something that isn't supported, and returns the error code for the program.
pub(crate) fn unsupported(name: &str) -> CUresult {
    report(name, CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

/// Logs the name of something that isn't supported the first time that a program uses it. Returns
/// `result`.
fn report(name: &str, result: CUresult) -> CUresult {
    static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if crate::log::enabled()
        && SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned())
    {
        crate::log::line(&format!("{name} is not supported"));
    }
    logs::failed(name, result);
    result
}
