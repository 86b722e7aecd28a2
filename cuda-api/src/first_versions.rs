//! The first versions of functions whose device pointers and sizes have 32 bits.
//!
//! CUDA 3.2 replaced them. Programs that were built with newer headers, and `cuGetProcAddress` for
//! newer versions, use the replacements. The old functions work only in contexts from the first
//! version of `cuCtxCreate`, which a 64-bit process can't create on current GPUs: NVIDIA's driver
//! returns CUDA_ERROR_OUT_OF_MEMORY. So these functions fail in every context that can exist. Of
//! their arguments, only null handles matter.

use crate::error::CuError;

/// Exports the functions' first versions. The first argument is the library's
/// [`EntryPoint`](crate::entries::EntryPoint); the second is a function that fails unless the
/// library is initialized.
#[macro_export]
macro_rules! first_version_entries {
    ($entry_point:ty, $initialized:path) => {
        $crate::first_version_entries! { @list @each $entry_point, $initialized; }
    };
    (@list $($arguments:tt)*) => {
        $crate::first_version_entries! { $($arguments)*
            cuArray3DCreate cuArray3DGetDescriptor cuArrayCreate cuArrayGetDescriptor
            cuMemAlloc cuMemAllocHost cuMemAllocPitch cuMemFree cuMemGetAddressRange cuMemGetInfo
            cuMemHostGetDevicePointer cuMemcpy2D cuMemcpy2DAsync cuMemcpy2DUnaligned cuMemcpy3D
            cuMemcpy3DAsync cuMemcpyAtoA cuMemcpyAtoD cuMemcpyAtoH cuMemcpyAtoHAsync cuMemcpyDtoA
            cuMemcpyDtoD cuMemcpyDtoDAsync cuMemcpyDtoH cuMemcpyDtoHAsync cuMemcpyHtoA
            cuMemcpyHtoAAsync cuMemcpyHtoD cuMemcpyHtoDAsync cuMemsetD16 cuMemsetD2D16
            cuMemsetD2D32 cuMemsetD2D8 cuMemsetD32 cuMemsetD8 cuModuleGetGlobal cuTexRefGetAddress
            cuTexRefSetAddress cuTexRefSetAddress2D
        }
    };
    (@names; $($name:ident)*) => { &[$(stringify!($name)),*] };
    (@each $entry_point:ty, $initialized:path; $($name:ident)*) => {
        $(
            #[allow(non_snake_case)]
            extern "C" fn $name(a: usize, b: usize, c: usize) -> $crate::sys::CUresult {
                <$entry_point as $crate::entries::EntryPoint>::run(stringify!($name), || {
                    $initialized()?;
                    Err($crate::first_versions::error(stringify!($name), [a, b, c]))
                })
            }
        )*

        /// The functions declared by this macro call, for the library's table of exports.
        pub(crate) const ENTRIES: &[$crate::exports::Entry] = &[$($crate::entry!($name)),*];
    };
}

/// The functions that check a handle before they check the context, with the index of the parameter
/// that contains the handle.
const HANDLES: &[(&str, usize)] = &[
    ("cuArray3DGetDescriptor", 1),
    ("cuArrayGetDescriptor", 1),
    ("cuModuleGetGlobal", 2),
    ("cuTexRefGetAddress", 1),
    ("cuTexRefSetAddress", 1),
    ("cuTexRefSetAddress2D", 0),
];

/// Returns the error of a call of the function `name` with these first three arguments.
pub fn error(name: &str, arguments: [usize; 3]) -> CuError {
    let without = |(of, index): &(&str, usize)| *of == name && arguments[*index] == 0;
    if HANDLES.iter().any(without) { CuError::INVALID_HANDLE } else { CuError::INVALID_CONTEXT }
}

/// The names of the functions.
pub const NAMES: &[&str] = first_version_entries! { @list @names; };
