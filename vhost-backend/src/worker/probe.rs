//! Trying a driver library, before any VM depends on it.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::path::Path;

use super::driver::Driver;
use super::executor::EngineError;

/// Loads a library, initialises it and counts its devices; its path as the loader found it.
pub fn probe(library: &Path) -> Result<String, EngineError> {
    let driver = Driver::open(library)?;
    let path = || driver.path().to_owned();
    let symbol = |name: &'static CStr| {
        driver.symbol(name).ok_or_else(|| EngineError::Missing {
            path: path(),
            symbol: name.to_str().unwrap_or_default(),
        })
    };
    let failed = |call, result| EngineError::Call { path: path(), call, result };
    let init = symbol(c"cuInit")?;
    let count = symbol(c"cuDeviceGetCount")?;
    // SAFETY: the symbols have these signatures in every libcuda.so.1; `devices` is writable.
    unsafe {
        let init: extern "C" fn(c_uint) -> c_uint = std::mem::transmute(init);
        let count: extern "C" fn(*mut c_int) -> c_uint = std::mem::transmute(count);
        let result = init(0);
        if result != 0 {
            return Err(failed("cuInit", result));
        }
        let mut devices = 0;
        let result = count(&mut devices);
        if result != 0 || devices < 1 {
            const CUDA_ERROR_NO_DEVICE: u32 = 100;
            return Err(failed("cuDeviceGetCount", result.max(CUDA_ERROR_NO_DEVICE)));
        }
    }
    Ok(loaded_from(symbol(c"cuInit")?).unwrap_or_else(path))
}

/// The file that a symbol came from.
fn loaded_from(symbol: *mut c_void) -> Option<String> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `info` is writable; on success its file name is a C string that lives as long as the
    // library, which is never unloaded.
    unsafe {
        if libc::dladdr(symbol, info.as_mut_ptr()) == 0 || (*info.as_ptr()).dli_fname.is_null() {
            return None;
        }
        Some(CStr::from_ptr((*info.as_ptr()).dli_fname).to_string_lossy().into_owned())
    }
}
