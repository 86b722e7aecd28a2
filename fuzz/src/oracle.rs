//! Compares the account of device memory with the memory that softgpu has allocated.

use std::ffi::{CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use crate::session::{Session, library};

type Retain = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
type Release = unsafe extern "C" fn(c_int) -> c_int;
type SetCurrent = unsafe extern "C" fn(*mut c_void) -> c_int;
type Info = unsafe extern "C" fn(*mut usize, *mut usize) -> c_int;

/// The bytes of modules in each context that the worker doesn't charge.
pub const FREE_MODULES: u64 = 256 << 10;

/// The errors of a kernel after which every call in its context fails: CUDA_ERROR_ILLEGAL_ADDRESS,
/// CUDA_ERROR_LAUNCH_TIMEOUT, and CUDA_ERROR_HARDWARE_STACK_ERROR to CUDA_ERROR_LAUNCH_FAILED.
fn fails_context(error: c_int) -> bool {
    matches!(error, 700 | 702 | 714..=719)
}

/// softgpu's own count of the memory in use.
pub struct Allocated {
    retain: Retain,
    release: Release,
    set_current: SetCurrent,
    info: Info,
    /// The bytes that were in use when the session began.
    before: u64,
}

impl Allocated {
    /// Finds softgpu's library, which the session has loaded.
    pub fn new(_: &Session) -> Self {
        let path = CString::new(library().as_os_str().as_bytes()).expect("a path");
        // SAFETY: the path is a C string, and the library is loaded already.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        assert!(!handle.is_null(), "softgpu's library isn't loaded");
        let symbol = |name: &std::ffi::CStr| {
            // SAFETY: the handle is valid, and the name is a C string.
            let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
            assert!(!found.is_null(), "softgpu has no {name:?}");
            found
        };
        // SAFETY: these are the prototypes of these functions in cuda.h.
        let mut this = unsafe {
            Self {
                retain: std::mem::transmute::<*mut c_void, Retain>(symbol(
                    c"cuDevicePrimaryCtxRetain",
                )),
                release: std::mem::transmute::<*mut c_void, Release>(symbol(
                    c"cuDevicePrimaryCtxRelease_v2",
                )),
                set_current: std::mem::transmute::<*mut c_void, SetCurrent>(symbol(
                    c"cuCtxSetCurrent",
                )),
                info: std::mem::transmute::<*mut c_void, Info>(symbol(c"cuMemGetInfo_v2")),
                before: 0,
            }
        };
        this.before = this.bytes().expect("softgpu's memory is known");
        this
    }

    /// Returns the bytes of device memory that are in use, or `None` if a kernel's error has made the
    /// session's context fail. This needs a context, but must not keep one that the session ends.
    fn bytes(&self) -> Option<u64> {
        let (mut context, mut free, mut total) = (std::ptr::null_mut(), 0, 0);
        // SAFETY: the pointers are to local variables, and the context is retained meanwhile.
        let results = unsafe {
            [
                (self.retain)(&mut context, 0),
                (self.set_current)(context),
                (self.info)(&mut free, &mut total),
                (self.release)(0),
            ]
        };
        if fails_context(results[2]) {
            return None;
        }
        assert_eq!(results, [0; 4], "softgpu's memory is unknown");
        Some(((total - free) as u64).saturating_sub(self.before))
    }

    /// Panics if softgpu has allocated more than `free` bytes beyond the charged ones. `doing` says
    /// what the session has done. Memory that is being freed may be released from the account between
    /// the two readings, so only a lasting difference counts.
    pub fn check(&self, session: &mut Session, free: u64, doing: impl FnOnce() -> String) {
        let mut difference = (0, 0);
        for _ in 0..100 {
            let Some(bytes) = self.bytes() else { return };
            difference = (bytes, session.account().used());
            if difference.0 <= difference.1 + free {
                return;
            }
            session.poll();
            std::thread::sleep(Duration::from_millis(5));
        }
        let (bytes, charged) = difference;
        panic!("softgpu has allocated {bytes} bytes, but only {charged} are charged: {}", doing());
    }
}
