//! Declares the functions that a library exports.

use crate::error::CuResult;
use crate::sys::CUresult;

/// A library whose functions [`entries!`](crate::entries) declares.
pub trait EntryPoint {
    /// The type that says which default stream a null stream handle means.
    type NullStream;

    /// Says that a null stream handle means the legacy default stream.
    const LEGACY: Self::NullStream;

    /// Says that a null stream handle means the calling thread's default stream.
    const PER_THREAD: Self::NullStream;

    /// Runs the body of the entry point `name` and returns its result to the program.
    fn run(name: &'static str, body: impl FnOnce() -> CuResult) -> CUresult;
}

/// Defines the exported functions of a module, and `ENTRIES`, a list of them for
/// [`exports!`](crate::exports). The first argument is the library's [`EntryPoint`].
///
/// A function is written with the types of [`args`](crate::args). The macro derives the C types
/// from these types, compares the C types with the prototype in cuda.h, and converts the arguments
/// before it runs the body, which returns a [`CuResult`].
///
/// If a function has a variant for the per-thread default stream, one definition declares both: `fn
/// name, fn name_ptsz(arguments) |null| { … }`. In the body, `null` says which default stream a
/// null handle means. If the function has no stream parameter, it uses that default stream.
#[macro_export]
macro_rules! entries {
    (@each $library:ty; [$($done:ident)*]) => {
        /// The functions declared by this macro call, for the library's table of exports.
        pub(crate) const ENTRIES: &[$crate::exports::Entry] = &[$($crate::entry!($done)),*];
    };
    (@each $library:ty; [$($done:ident)*]
     $(#[$doc:meta])* fn $name:ident, fn $per_thread:ident
     ($($arg:ident: $t:ty),* $(,)?) |$null:ident| $body:block $($rest:tt)*) => {
        $crate::entries! { @one $library;
            $(#[$doc])* fn $name($($arg: $t),*) |$null = LEGACY| $body
        }
        $crate::entries! { @one $library;
            $(#[$doc])* fn $per_thread($($arg: $t),*) |$null = PER_THREAD| $body
        }
        $crate::entries! { @each $library; [$($done)* $name $per_thread] $($rest)* }
    };
    (@each $library:ty; [$($done:ident)*]
     $(#[$doc:meta])* fn $name:ident($($arg:ident: $t:ty),* $(,)?) $body:block $($rest:tt)*) => {
        $crate::entries! { @one $library;
            $(#[$doc])* fn $name($($arg: $t),*) |_null = LEGACY| $body
        }
        $crate::entries! { @each $library; [$($done)* $name] $($rest)* }
    };
    (@one $library:ty; $(#[$doc:meta])* fn $name:ident($($arg:ident: $t:ty),*)
     |$null:ident = $meaning:ident| $body:block) => {
        $crate::check_signature! { $name($(<$t as $crate::args::Arg>::C),*) }
        $(#[$doc])*
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name(
            $($arg: <$t as $crate::args::Arg>::C),*
        ) -> $crate::sys::CUresult {
            $(
                // SAFETY: the program passes its arguments by the driver API's rules, and the entry
                // point uses them only during the call.
                let $arg = unsafe { <$t as $crate::args::Arg>::from_c($arg) };
            )*
            let $null = <$library as $crate::entries::EntryPoint>::$meaning;
            <$library as $crate::entries::EntryPoint>::run(stringify!($name), move || $body)
        }
    };
    ($library:ty; $($all:tt)*) => {
        $crate::entries! { @each $library; [] $($all)* }
    };
}
