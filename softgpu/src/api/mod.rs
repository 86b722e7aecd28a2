//! The driver API.
//!
//! Every exported function has its C signature, with enumerations taken as integers, since programs
//! may pass what no enumeration of ours has.

mod capture;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod graph;
pub(crate) mod init;
pub(crate) mod launch;
pub(crate) mod library;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod pool;
pub(crate) mod stream;
mod tables;
pub(crate) mod vmm;

use std::collections::BTreeSet;
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use cuda_api::args::{Arg, In, Out, Text};
use cuda_api::error::CuError;
pub(crate) use cuda_api::sys::CUresult;

/// What a function of the API comes to.
pub(crate) type Answer = Result<(), CUresult>;

/// Runs a function of the API; nothing may unwind into a program.
pub(crate) fn answer(f: impl FnOnce() -> Answer) -> CUresult {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(())) => CUresult::CUDA_SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => CUresult::CUDA_ERROR_UNKNOWN,
    }
}

/// Exports functions of the API.
macro_rules! cuda {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        cuda_api::check_signature! { $name($($ty),*) }
        $(#[$meta])*
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name($($arg: $ty),*) -> $crate::api::CUresult {
            #[allow(unused_mut)]
            $crate::api::answer(move || $body)
        }
    )*
        /// The functions above, for the library's table of exports.
        pub(crate) const ENTRIES: &[cuda_api::exports::Entry] = &[$(cuda_api::entry!($name)),*];
    };
}
pub(crate) use cuda;

/// Exports functions of the API that take a stream: the second name takes the thread's default
/// stream for the null stream.
macro_rules! cuda_on_stream {
    ($(fn $name:ident, fn $per_thread:ident($($arg:ident: $ty:ty),*; $stream:ident) $body:block)*) => {$(
        cuda_api::check_signature! { $name($($ty,)* cuda_api::sys::CUstream) }
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name($($arg: $ty,)* stream: cuda_api::sys::CUstream) -> $crate::api::CUresult {
            $crate::api::answer(move || {
                let $stream = $crate::api::stream::lookup(stream, false)?;
                $body
            })
        }
        cuda_api::check_signature! { $per_thread($($ty,)* cuda_api::sys::CUstream) }
        #[allow(non_snake_case)]
        unsafe extern "C" fn $per_thread($($arg: $ty,)* stream: cuda_api::sys::CUstream) -> $crate::api::CUresult {
            $crate::api::answer(move || {
                let $stream = $crate::api::stream::lookup(stream, true)?;
                $body
            })
        }
    )*
        /// The functions above, for the library's table of exports.
        pub(crate) const ON_STREAM: &[cuda_api::exports::Entry] = &[$(cuda_api::entry!($name), cuda_api::entry!($per_thread)),*];
    };
}
pub(crate) use cuda_on_stream;

/// Exports functions of the API that work on a default stream: the second name on the thread's.
macro_rules! cuda_on_default {
    ($(fn $name:ident, fn $per_thread:ident($($arg:ident: $ty:ty),* ; $stream:ident) $body:block)*) => {$(
        cuda_api::check_signature! { $name($($ty),*) }
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name($($arg: $ty),*) -> $crate::api::CUresult {
            $crate::api::answer(move || {
                let $stream = $crate::api::stream::lookup(std::ptr::null_mut(), false)?;
                $body
            })
        }
        cuda_api::check_signature! { $per_thread($($ty),*) }
        #[allow(non_snake_case)]
        unsafe extern "C" fn $per_thread($($arg: $ty),*) -> $crate::api::CUresult {
            $crate::api::answer(move || {
                let $stream = $crate::api::stream::lookup(std::ptr::null_mut(), true)?;
                $body
            })
        }
    )*
        /// The functions above, for the library's table of exports.
        pub(crate) const ON_DEFAULT: &[cuda_api::exports::Entry] = &[$(cuda_api::entry!($name), cuda_api::entry!($per_thread)),*];
    };
}
pub(crate) use cuda_on_default;

/// Writes a result to where a program wants it.
///
/// The entry points that take pointers as they are still use this and the functions below, which
/// make typed arguments of them.
pub(crate) fn put<T>(to: *mut T, value: T) -> Answer {
    // SAFETY: the program passes pointers by the API's rules.
    unsafe { Out::from_c(to) }.set(value).map_err(invalid)
}

/// Writes a result if the program wants it.
pub(crate) fn put_if<T>(to: *mut T, value: T) {
    // SAFETY: the program passes pointers by the API's rules.
    unsafe { Out::from_c(to) }.set_if_wanted(value);
}

/// Reads what a program passes by address.
pub(crate) fn get<T: Copy>(from: *const T) -> Result<T, CUresult> {
    // SAFETY: the program passes pointers by the API's rules.
    unsafe { In::from_c(from) }.get().map_err(invalid)
}

/// A program's string.
pub(crate) fn text(from: *const c_char) -> Result<String, CUresult> {
    // SAFETY: the program passes strings by the API's rules.
    unsafe { Text::from_c(from) }.name().map(str::to_owned).map_err(invalid)
}

/// Writes a string into a program's buffer, cut to its length.
pub(crate) fn put_text(to: *mut c_char, len: usize, value: &str) -> Answer {
    // SAFETY: the program passes a buffer of `len` bytes.
    unsafe { Out::from_c(to).array(len) }.set_text(value.as_bytes()).map_err(invalid)
}

/// The one error that arguments have by themselves.
fn invalid(_: CuError) -> CUresult {
    CUresult::CUDA_ERROR_INVALID_VALUE
}

/// What is not implemented says so, in the log once.
pub(crate) fn unsupported(name: &str) -> CUresult {
    static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if crate::log::enabled()
        && SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned())
    {
        crate::log::line(&format!("{name} is not supported"));
    }
    CUresult::CUDA_ERROR_NOT_SUPPORTED
}
