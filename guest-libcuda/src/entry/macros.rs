//! The macros that define entry points.

/// The meaning of a null stream in most functions: CU_STREAM_LEGACY.
pub const LEGACY: usize = 0;
/// The meaning of a null stream in the `_ptds` and `_ptsz` variants: CU_STREAM_PER_THREAD.
pub const PER_THREAD: usize = protocol::ids::StreamId::PER_THREAD.0 as usize;

/// Defines exported functions. The body gives a `CuResult`. A function that has a variant for the
/// per-thread default stream is written once, `fn name, fn name_ptsz (arguments) |null| { … }`,
/// where `null` is what a null stream means in the one and the other.
///
/// Each module's functions are listed in its `ENTRIES`, and the library's root registers these lists.
macro_rules! entries {
    (@ [$($done:ident)*]) => {
        pub(crate) const ENTRIES: &[cuda_api::exports::Entry] =
            &[$(cuda_api::entry!($done)),*];
    };
    (@ [$($done:ident)*] $(#[$doc:meta])* fn $name:ident, fn $per_thread:ident
     ($($arg:ident: $t:ty),* $(,)?) |$null:ident| $body:block $($rest:tt)*) => {
        cuda_api::check_signature! { $name($(<$t as cuda_api::args::Arg>::C),*) }
        $(#[$doc])*
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name(
            $($arg: <$t as cuda_api::args::Arg>::C),*
        ) -> $crate::error::CUresult {
            $crate::entry::macros::take! { $($arg: $t)* }
            #[allow(unused_variables)]
            let $null = $crate::entry::macros::LEGACY;
            $crate::entry::macros::run(stringify!($name), || $body)
        }
        cuda_api::check_signature! { $per_thread($(<$t as cuda_api::args::Arg>::C),*) }
        $(#[$doc])*
        #[allow(non_snake_case)]
        unsafe extern "C" fn $per_thread(
            $($arg: <$t as cuda_api::args::Arg>::C),*
        ) -> $crate::error::CUresult {
            $crate::entry::macros::take! { $($arg: $t)* }
            #[allow(unused_variables)]
            let $null = $crate::entry::macros::PER_THREAD;
            $crate::entry::macros::run(stringify!($per_thread), || $body)
        }
        entries! { @ [$($done)* $name $per_thread] $($rest)* }
    };
    (@ [$($done:ident)*] $(#[$doc:meta])* fn $name:ident ($($arg:ident: $t:ty),* $(,)?) $body:block $($rest:tt)*) => {
        cuda_api::check_signature! { $name($(<$t as cuda_api::args::Arg>::C),*) }
        $(#[$doc])*
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name(
            $($arg: <$t as cuda_api::args::Arg>::C),*
        ) -> $crate::error::CUresult {
            $crate::entry::macros::take! { $($arg: $t)* }
            $crate::entry::macros::run(stringify!($name), || $body)
        }
        entries! { @ [$($done)* $name] $($rest)* }
    };
    ($($all:tt)*) => {
        entries! { @ [] $($all)* }
    };
}

/// Takes an entry point's arguments from C.
macro_rules! take {
    ($($arg:ident: $t:ty)*) => { $(
        // SAFETY: the program passes its arguments by the driver API's rules, and the entry point
        // uses them only during the call.
        let $arg = unsafe { <$t as cuda_api::args::Arg>::from_c($arg) };
    )* };
}
pub(crate) use take;

/// Runs an entry point's body. A panic in it ends the process, because it can't unwind through
/// `extern "C"`; no code here should panic.
#[inline(always)]
pub fn run(
    name: &'static str,
    body: impl FnOnce() -> crate::error::CuResult,
) -> crate::error::CUresult {
    let result = crate::error::code(body());
    if result == crate::error::CUresult::CUDA_ERROR_NOT_SUPPORTED {
        crate::log::unsupported(name);
    }
    if crate::log::enabled(crate::log::Level::Trace) {
        trace(name, result.0);
    }
    result
}

#[cold]
fn trace(name: &'static str, result: u32) {
    crate::log::write(crate::log::Level::Trace, format_args!("{name} = {result}"));
}
