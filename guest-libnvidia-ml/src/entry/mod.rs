//! The implemented functions, by subject.

pub(crate) mod device;
pub(crate) mod events;
pub(crate) mod identity;
pub(crate) mod memory;
pub(crate) mod private;
pub(crate) mod processes;
pub(crate) mod system;

use crate::error::{NvmlError, NvmlResult, NvmlReturn};
use guest_transport::log;

/// Defines exported functions whose bodies return an [`NvmlResult`], and lists them in `ENTRIES`.
macro_rules! entries {
    ($($(#[$doc:meta])* fn $name:ident ($($arg:ident: $t:ty),* $(,)?) $body:block)*) => { $(
        $(#[$doc])*
        #[allow(non_snake_case)]
        extern "C" fn $name($($arg: $t),*) -> $crate::error::NvmlReturn {
            $crate::entry::run(stringify!($name), || $body)
        }
    )*
        pub(crate) const ENTRIES: &[cuda_api::exports::Entry] = &[$(
            cuda_api::exports::Entry::new($crate::symbols::index::$name, $name as *const ())
        ),*];
    };
}
pub(crate) use entries;

/// Runs an entry point's body, and logs unsupported calls. A panic in it aborts the process, because
/// it can't unwind through `extern "C"`.
pub(crate) fn run(name: &'static str, body: impl FnOnce() -> NvmlResult) -> NvmlReturn {
    let result = body();
    if result == Err(NvmlError::NOT_SUPPORTED) {
        log::unsupported(name);
    }
    let code = result.err().map_or(0, |error| error.0);
    log::say!(Trace, "{name} = {code}");
    code
}
