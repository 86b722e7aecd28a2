//! Loads functions of a libcuda.

use std::ffi::{CStr, c_char, c_int, c_void};

/// A handle, such as a context or a function.
pub(crate) type Handle = *mut c_void;
/// An address in device memory.
pub(crate) type Pointer = u64;
/// An error of a step: the number of the CUDA error, if there is one, and a text.
pub(crate) type Failed = (c_int, String);

/// Defines `Cuda`, a loaded library. For each function, it has the pointer, and a method that calls it
/// and returns an error's name.
macro_rules! functions {
    ($($name:ident = $symbol:literal ($($argument:ident: $type:ty),*),)*) => {
        /// The library, with its functions.
        pub(crate) struct Cuda {
            $(pub(crate) $name: unsafe extern "C" fn($($type),*) -> std::ffi::c_int,)*
            error_name: $crate::cuda::functions::error_name::Function,
            _library: libloading::Library,
        }

        // Some functions have as many parameters as in cuda.h, and some are used only as pointers.
        #[allow(clippy::too_many_arguments, dead_code)]
        impl Cuda {
            /// Loads the library.
            pub(crate) fn load(path: &std::path::Path) -> Result<Self, $crate::cuda::Failed> {
                Self::open(path).map_err(|error| {
                    // The error itself only names the function that failed.
                    let reason = std::error::Error::source(&error);
                    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                    (0, format!("{error}{reason}"))
                })
            }

            fn open(path: &std::path::Path) -> Result<Self, libloading::Error> {
                // SAFETY: this is a libcuda, whose initialization has no preconditions.
                let library = unsafe { libloading::Library::new(path) }?;
                // SAFETY: these are the prototypes in cuda.h. The library stays loaded as long as the
                // functions, because they are in the same structure.
                Ok(unsafe {
                    Self {
                        $($name: *library.get(concat!($symbol, "\0").as_bytes())?,)*
                        error_name: *library.get(b"cuGetErrorName\0")?,
                        _library: library,
                    }
                })
            }

            $(
                /// Calls the function.
                ///
                /// # Safety
                /// The arguments must be valid for the function.
                #[inline]
                pub(crate) unsafe fn $name(
                    &self,
                    $($argument: $type),*
                ) -> Result<(), $crate::cuda::Failed> {
                    // SAFETY: the caller guarantees it.
                    match unsafe { (self.$name)($($argument),*) } {
                        0 => Ok(()),
                        error => Err(self.failed($symbol, error)),
                    }
                }
            )*

            #[cold]
            pub(crate) fn failed(&self, symbol: &str, error: std::ffi::c_int) -> $crate::cuda::Failed {
                let call = symbol.strip_suffix("_v2").unwrap_or(symbol);
                let name = $crate::cuda::functions::error_name::get(self.error_name, error);
                (error, format!("{call} returned {name} ({error})"))
            }
        }
    };
}
pub(super) use functions;

/// The names of errors.
pub(super) mod error_name {
    use super::{CStr, c_char, c_int};

    /// `cuGetErrorName`.
    pub(crate) type Function = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

    /// Returns the name of an error.
    pub(crate) fn get(function: Function, error: c_int) -> String {
        let mut name = std::ptr::null();
        // SAFETY: `name` is writable.
        unsafe { function(error, &mut name) };
        if name.is_null() {
            return "unknown error".into();
        }
        // SAFETY: the library returns a static string.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }
}
