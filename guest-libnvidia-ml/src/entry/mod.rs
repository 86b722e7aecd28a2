//! The implemented functions, in a module per subject.

pub(crate) mod device;
pub(crate) mod events;
pub(crate) mod fields;
pub(crate) mod identity;
pub(crate) mod links;
pub(crate) mod memory;
pub(crate) mod private;
pub(crate) mod processes;
pub(crate) mod system;
pub(crate) mod utilization;

use crate::error::{NvmlError, NvmlResult};
use crate::generated::sys::nvmlReturn_t;
use guest_transport::log;

/// Defines exported functions whose bodies return an [`NvmlResult`], and lists them in `ENTRIES`.
/// A function whose parameters differ from its prototype in nvml.h does not compile.
macro_rules! entries {
    ($($(#[$doc:meta])* fn $name:ident ($($arg:ident: $t:ty),* $(,)?) $body:block)*) => { $(
        $(#[$doc])*
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name(
            $($arg: <$t as $crate::args::Arg>::C),*
        ) -> $crate::generated::sys::nvmlReturn_t {
            $(
                // SAFETY: the program passes its arguments by NVML's rules, and the function uses
                // them only during the call.
                let $arg = unsafe { <$t as $crate::args::Arg>::from_c($arg) };
            )*
            $crate::entry::run(stringify!($name), || $body)
        }
        const _: $crate::generated::prototypes::$name = $name;
    )*
        pub(crate) const ENTRIES: &[cuda_api::exports::Entry] = &[$(
            cuda_api::exports::Entry::new($crate::symbols::index::$name, $name as *const ())
        ),*];
    };
}
pub(crate) use entries;

/// Runs an entry point's body, and logs the name if the call is unsupported. A panic in the body
/// aborts the process, because it can't unwind through `extern "C"`.
pub(crate) fn run(name: &'static str, body: impl FnOnce() -> NvmlResult) -> nvmlReturn_t {
    let result = body();
    if result == Err(NvmlError::NOT_SUPPORTED) {
        log::unsupported(name);
    }
    let code = result.err().map_or(nvmlReturn_t::NVML_SUCCESS, |error| error.0);
    log::say!(Trace, "{name} = {}", code.0);
    code
}
