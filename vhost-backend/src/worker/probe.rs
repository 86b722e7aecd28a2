//! Trying a driver library, before any VM depends on it.

use std::ffi::{CStr, c_void};
use std::path::Path;

use super::driver::{CuError, Driver};
use super::executor::EngineError;

/// `CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS`.
const PAGEABLE_MEMORY_ACCESS: u32 = 88;

/// Loads a library, initialises it and counts its devices; its path as the loader found it. One
/// whose kernels reach all memory of their process is refused, unless that is allowed.
pub fn probe(library: &Path, allow_pageable_memory_access: bool) -> Result<String, EngineError> {
    let driver = Driver::open(library)?;
    let path = || driver.path().to_owned();
    let failed = |call, error: CuError| EngineError::Call { path: path(), call, result: error.0 };
    let symbol = driver
        .symbol(c"cuInit")
        .ok_or_else(|| EngineError::Missing { path: path(), symbol: "cuInit" })?;
    let mut devices = 0;
    // SAFETY: the pointer is that of a local.
    unsafe {
        driver.cuInit(0).map_err(|error| failed("cuInit", error))?;
        driver.cuDeviceGetCount(&mut devices).map_err(|error| failed("cuDeviceGetCount", error))?;
    }
    if devices < 1 {
        return Err(failed("cuDeviceGetCount", CuError::NO_DEVICE));
    }
    if !allow_pageable_memory_access && (0..devices).any(|device| reaches_host(&driver, device)) {
        return Err(EngineError::ReachesHostMemory { path: path() });
    }
    Ok(loaded_from(symbol).unwrap_or_else(path))
}

/// Whether kernels of a device reach all memory of their process. A driver that can't tell is too
/// old to do it.
fn reaches_host(driver: &Driver, device: i32) -> bool {
    let mut value = 0;
    // SAFETY: the pointer is that of a local.
    let known = unsafe { driver.cuDeviceGetAttribute(&mut value, PAGEABLE_MEMORY_ACCESS, device) };
    known.is_ok() && value != 0
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
