//! softgpu's library, which the worker loads as its driver.

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

type Context = *mut c_void;

/// CUDA's ordinal of the first device.
const DEVICE: c_int = 0;

/// Returns the path of softgpu's library, which is built next to this program.
pub fn library() -> PathBuf {
    let program = std::env::current_exe().expect("the path of this program");
    let built = program.with_file_name("libsoftgpu.so");
    assert!(built.exists(), "{} is missing: cargo build -p softgpu", built.display());
    built
}

/// Sets softgpu's memory, and its strict mode, in which it aborts the process if the worker uses
/// objects in a way that may crash NVIDIA's driver. Must be called before any thread starts.
pub fn prepare(memory: &str) {
    // SAFETY: this process has no other thread yet that reads its environment.
    unsafe {
        std::env::set_var("SOFTGPU_MEMORY", memory);
        std::env::set_var("SOFTGPU_STRICT", "1");
    }
}

macro_rules! functions {
    ($($name:ident: $symbol:literal ($($argument:ty),*),)*) => {
        /// The functions of the library that report how much memory it has allocated.
        pub struct Softgpu {
            $($name: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Softgpu {
            /// Finds the functions of the library, which the worker has loaded.
            pub fn find() -> Self {
                let handle = opened();
                // SAFETY: these are the prototypes of these functions in cuda.h.
                unsafe {
                    Self {
                        $($name: std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C" fn($($argument),*) -> c_int,
                        >(symbol(handle, $symbol)),)*
                    }
                }
            }
        }
    };
}
functions! {
    state: c"cuDevicePrimaryCtxGetState" (c_int, *mut c_uint, *mut c_int),
    retain: c"cuDevicePrimaryCtxRetain" (*mut Context, c_int),
    release: c"cuDevicePrimaryCtxRelease_v2" (c_int),
    push: c"cuCtxPushCurrent_v2" (Context),
    pop: c"cuCtxPopCurrent_v2" (*mut Context),
    create: c"cuCtxCreate_v2" (*mut Context, c_uint, c_int),
    destroy: c"cuCtxDestroy_v2" (Context),
    info: c"cuMemGetInfo_v2" (*mut usize, *mut usize),
}

fn opened() -> *mut c_void {
    let path = CString::new(library().as_os_str().as_bytes()).expect("a path");
    // SAFETY: the path is a C string, and the library is loaded already.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    assert!(!handle.is_null(), "softgpu's library isn't loaded");
    handle
}

fn symbol(handle: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: the handle is valid, and the name is a C string.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    assert!(!found.is_null(), "softgpu has no {name:?}");
    found
}

/// Returns true for errors of a kernel after which every call in its context fails:
/// CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_TIMEOUT, and CUDA_ERROR_HARDWARE_STACK_ERROR to
/// CUDA_ERROR_LAUNCH_FAILED.
fn fails_context(error: c_int) -> bool {
    matches!(error, 700 | 702 | 714..=719)
}

impl Softgpu {
    /// Returns the bytes of device memory that are in use. The primary context, which takes
    /// `context_bytes`, doesn't count unless it's active. Returns `None` if a kernel's error has
    /// made the primary context fail.
    pub fn used(&self, context_bytes: u64) -> Option<u64> {
        let (mut flags, mut active) = (0, 0);
        // SAFETY: the pointers are to local variables.
        let state = unsafe { (self.state)(DEVICE, &mut flags, &mut active) };
        assert_eq!(state, 0, "the primary context's state is unknown");
        // cuMemGetInfo needs a current context. Retain the primary context for the query, and
        // release it afterwards: if it stayed retained, a release by the session wouldn't destroy
        // it.
        let used = self.within_primary(|| {
            let (mut free, mut total) = (0, 0);
            // SAFETY: the pointers are to local variables.
            let result = unsafe { (self.info)(&mut free, &mut total) };
            if fails_context(result) {
                return None;
            }
            assert_eq!(result, 0, "softgpu's memory is unknown");
            Some((total - free) as u64)
        })?;
        Some(if active == 0 { used - context_bytes } else { used })
    }

    /// Returns the bytes that a context takes.
    pub fn context_bytes(&self) -> u64 {
        let read = || self.used(0).expect("no kernel has run yet");
        self.within_primary(|| {
            let (before, mut context) = (read(), std::ptr::null_mut());
            // SAFETY: the pointer is to a local variable.
            assert_eq!(unsafe { (self.create)(&mut context, 0, DEVICE) }, 0, "no context");
            let after = read();
            // SAFETY: the context was just created.
            assert_eq!(unsafe { (self.destroy)(context) }, 0, "it can't be destroyed");
            after - before
        })
    }

    /// Calls `body` while the primary context is current. Afterwards, restores the previous current
    /// context, because the worker remembers which context it has made current on this thread.
    fn within_primary<T>(&self, body: impl FnOnce() -> T) -> T {
        let mut context = std::ptr::null_mut();
        // SAFETY: the pointers are to a local variable or null, and the context is retained while
        // it is current.
        unsafe {
            assert_eq!((self.retain)(&mut context, DEVICE), 0, "no primary context");
            assert_eq!((self.push)(context), 0, "the primary context can't be used");
            let result = body();
            assert_eq!((self.pop)(std::ptr::null_mut()), 0, "the context can't be restored");
            assert_eq!((self.release)(DEVICE), 0, "it can't be released");
            result
        }
    }
}
