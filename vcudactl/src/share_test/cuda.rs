//! The functions of the guest's libcuda.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;

use libloading::Library;

/// A handle, such as a context or a function.
pub(super) type Handle = *mut c_void;
/// An address in device memory.
pub(super) type Pointer = u64;

macro_rules! functions {
    ($($name:ident = $symbol:literal ($($argument:ty),*),)*) => {
        /// The library, with its functions.
        pub(super) struct Cuda {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> c_int,)*
            _library: Library,
        }

        impl Cuda {
            /// Loads the library.
            pub(super) fn load(path: &Path) -> Result<Self, libloading::Error> {
                // SAFETY: this is the guest's libcuda, whose initialization has no preconditions.
                let library = unsafe { Library::new(path) }?;
                // SAFETY: these are the prototypes in cuda.h. The library stays loaded as long as the
                // functions, because they are in the same structure.
                Ok(unsafe {
                    Self {
                        $($name: *library.get(concat!($symbol, "\0").as_bytes())?,)*
                        _library: library,
                    }
                })
            }
        }
    };
}

functions! {
    init = "cuInit"(c_uint),
    device_count = "cuDeviceGetCount"(*mut c_int),
    retain = "cuDevicePrimaryCtxRetain"(*mut Handle, c_int),
    release = "cuDevicePrimaryCtxRelease_v2"(c_int),
    set_current = "cuCtxSetCurrent"(Handle),
    synchronize = "cuCtxSynchronize"(),
    alloc = "cuMemAlloc_v2"(*mut Pointer, usize),
    free = "cuMemFree_v2"(Pointer),
    copy_to = "cuMemcpyHtoD_v2"(Pointer, *const c_void, usize),
    copy_from = "cuMemcpyDtoH_v2"(*mut c_void, Pointer, usize),
    load_module = "cuModuleLoadData"(*mut Handle, *const c_void),
    unload_module = "cuModuleUnload"(Handle),
    function = "cuModuleGetFunction"(*mut Handle, Handle, *const c_char),
    launch = "cuLaunchKernel"(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void,
        *mut *mut c_void
    ),
    error_name = "cuGetErrorName"(c_int, *mut *const c_char),
}

impl Cuda {
    /// Returns the name of an error.
    pub(super) fn name(&self, error: c_int) -> String {
        let mut name = std::ptr::null();
        // SAFETY: `name` is writable.
        unsafe { (self.error_name)(error, &mut name) };
        if name.is_null() {
            return "unknown error".into();
        }
        // SAFETY: the library returns a static string.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }
}
