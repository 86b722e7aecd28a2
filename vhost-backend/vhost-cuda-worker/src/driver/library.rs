//! Loads the driver library with dlopen, and looks up its functions.
//!
//! Each function is looked up by its exact name with dlsym when it's first called. The exact name
//! ensures that the function has the expected parameters. cuGetProcAddress could return another
//! version of the function. Calling a function that the library doesn't have fails with
//! CUDA_ERROR_NOT_SUPPORTED. Names that a guest sends are never looked up.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::error::{CuError, CuResult};
#[cfg(test)]
use super::stubs;
use crate::executor::EngineError;

/// Returns a placeholder, which is cached as the address of each function that the library doesn't
/// have.
fn missing() -> *mut c_void {
    std::ptr::dangling_mut::<u8>().cast()
}

/// A driver library (`libcuda.so.1`) that has been loaded. It is never unloaded.
pub struct Library {
    path: String,
    handle: *mut c_void,
}

// SAFETY: the handle is never dereferenced. Any thread may pass it to dlsym, and any thread may
// call the driver's functions.
unsafe impl Send for Library {}
// SAFETY: the handle is never dereferenced or changed, and dlsym may be called by several threads
// at once.
unsafe impl Sync for Library {}

impl Library {
    /// Loads the driver library from this path.
    pub(super) fn open(path: &Path) -> Result<Self, EngineError> {
        let name = path.display().to_string();
        let load = |reason: String| EngineError::Load { path: name.clone(), reason };
        let c_path =
            CString::new(path.as_os_str().as_bytes()).map_err(|error| load(error.to_string()))?;
        // SAFETY: the path is a C string. Loading a library runs its initializers, which is sound
        // because the operator chose the library.
        let handle = unsafe { libc::dlopen(c_path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: after a failed call of dlopen, dlerror returns null or a C string that stays
            // valid until this thread's next call.
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

    /// Returns the address of a symbol in the library, or `None` if the library doesn't have it.
    pub fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is from dlopen and is never closed, and `name` is a C string.
        let symbol = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        #[cfg(test)]
        let symbol = if symbol.is_null() { symbol } else { stubs::instead_of(name, symbol) };
        (!symbol.is_null()).then_some(symbol)
    }

    /// Returns the address of a driver function, or `None` if the library doesn't have it. Looks up
    /// `names` in order, and caches the address in `known`.
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

    /// Looks up the names in order, and returns the address of the first one that the library has.
    /// If it has none of them, logs that once and returns `missing()`.
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
