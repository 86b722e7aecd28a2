//! The driver library: dlopen, and its functions looked up one at a time.
//!
//! Each function is looked up by its exact name when it's first called: an exact name can't give a
//! version with other parameters, as cuGetProcAddress could. Calling a function that the library
//! doesn't have fails with CUDA_ERROR_NOT_SUPPORTED. Names that a guest sent are never looked up.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::error::{CuError, CuResult};
#[cfg(test)]
use super::stubs;
use crate::executor::EngineError;

/// Returns the address that marks a function that the library doesn't have.
fn missing() -> *mut c_void {
    std::ptr::dangling_mut::<u8>().cast()
}

/// A loaded `libcuda.so.1`, which is never unloaded.
pub struct Library {
    path: String,
    handle: *mut c_void,
}

// SAFETY: the handle is only passed to dlsym, which any thread may call. Any thread may call the
// entry points, too.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Loads the library.
    pub(super) fn open(path: &Path) -> Result<Self, EngineError> {
        let name = path.display().to_string();
        let load = |reason: String| EngineError::Load { path: name.clone(), reason };
        let c_path =
            CString::new(path.as_os_str().as_bytes()).map_err(|error| load(error.to_string()))?;
        // SAFETY: the path is a C string. The operator chose the library, whose initializers run
        // here.
        let handle = unsafe { libc::dlopen(c_path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: right after a failure, dlerror returns null or a C string that belongs to
            // this thread.
            let reason = unsafe {
                let reason = libc::dlerror();
                if reason.is_null() {
                    "no reason given".into()
                } else {
                    CStr::from_ptr(reason).to_string_lossy().into_owned()
                }
            };
            return Err(load(reason));
        }
        Ok(Self { path: name, handle })
    }

    /// Returns the path from which the library was loaded.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns an entry point, if the library has it.
    pub fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is from dlopen and is never closed, and `name` is a C string.
        let symbol = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        #[cfg(test)]
        let symbol = if symbol.is_null() { symbol } else { stubs::instead_of(name, symbol) };
        (!symbol.is_null()).then_some(symbol)
    }

    /// Returns the address of a function, under the first of its names that the library has. The
    /// address is cached in `known`.
    pub(super) fn address(
        &self,
        known: &AtomicPtr<c_void>,
        names: &[&CStr],
    ) -> CuResult<*mut c_void> {
        let mut at = known.load(Ordering::Relaxed);
        if at.is_null() {
            at = self.look_up(names);
            known.store(at, Ordering::Relaxed);
        }
        if at == missing() { Err(CuError::NOT_SUPPORTED) } else { Ok(at) }
    }

    /// Looks up the first of these names that the library has. A missing function is logged once.
    #[cold]
    fn look_up(&self, names: &[&CStr]) -> *mut c_void {
        let found = names.iter().find_map(|name| self.symbol(name));
        found.unwrap_or_else(|| {
            let name = names[0].to_string_lossy();
            tracing::warn!("the driver library {} doesn't have {name}", self.path());
            missing()
        })
    }
}
