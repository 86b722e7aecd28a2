//! Loads a libcuda and looks up its functions.

use std::ffi::{CStr, c_char, c_int, c_void};

/// A handle, such as a context or a function.
pub(crate) type Handle = *mut c_void;
/// An address in device memory.
pub(crate) type Pointer = u64;
/// The error of a step: the number of the CUDA error, or 0 if it isn't one, and a message.
pub(crate) type Failed = (c_int, String);

/// Defines `Cuda`, which represents a loaded library. For each function, it has a field with the
/// function pointer, and a method that calls the function and converts an error number to
/// [`Failed`].
macro_rules! functions {
    ($($name:ident = $symbol:literal ($($argument:ident: $type:ty),*),)*) => {
        /// A loaded library and pointers to its functions.
        pub(crate) struct Cuda {
            $(pub(crate) $name: unsafe extern "C" fn($($type),*) -> std::ffi::c_int,)*
            error_name: $crate::cuda::functions::error_name::Function,
            _library: libloading::Library,
        }

        // Some methods have as many parameters as the function in cuda.h, and some aren't called,
        // because only the function pointer is used.
        #[allow(clippy::too_many_arguments, dead_code)]
        impl Cuda {
            /// Loads the library at a path.
            pub(crate) fn load(path: &std::path::Path) -> Result<Self, $crate::cuda::Failed> {
                Self::open(path).map_err(|error| {
                    // The message of `error` only names the function that failed. Its source
                    // contains the reason.
                    let reason = std::error::Error::source(&error);
                    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                    (0, format!("{error}{reason}"))
                })
            }

            fn open(path: &std::path::Path) -> Result<Self, libloading::Error> {
                // SAFETY: the caller passes the path of a libcuda, whose initializers have no
                // preconditions.
                let library = unsafe { libloading::Library::new(path) }?;
                // SAFETY: the types are those of the prototypes in cuda.h. The library stays loaded
                // as long as the function pointers exist, because both are in the same structure.
                Ok(unsafe {
                    Self {
                        $($name: *library.get(concat!($symbol, "\0").as_bytes())?,)*
                        error_name: *library.get(b"cuGetErrorName\0")?,
                        _library: library,
                    }
                })
            }

            $(
                /// Calls the library's function.
                ///
                /// # Safety
                /// The arguments must be valid for the function.
                #[inline]
                pub(crate) unsafe fn $name(
                    &self,
                    $($argument: $type),*
                ) -> Result<(), $crate::cuda::Failed> {
                    // SAFETY: the caller guarantees that the arguments are valid for the function.
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

/// Returns the names of CUDA errors.
pub(super) mod error_name {
    use super::{CStr, c_char, c_int};

    /// The type of `cuGetErrorName`.
    pub(crate) type Function = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

    /// Returns the name of a CUDA error, such as `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn get(function: Function, error: c_int) -> String {
        let mut name = std::ptr::null();
        // SAFETY: `name` is writable.
        unsafe { function(error, &mut name) };
        if name.is_null() {
            return "unknown error".into();
        }
        // SAFETY: the library has returned a static, null-terminated string.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }
}
