//! Registered callbacks for asynchronous notifications.
//!
//! The only kind of notification says that a process exceeds its budget of device memory. Budgets
//! exist only on Windows, so no callback is ever called.

use crate::args::Out;
use crate::error::{CuError, CuResult};
use crate::sys::{CUasyncCallback, CUasyncCallbackHandle};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The device of each registration, by handle.
#[derive(Default)]
struct Registrations {
    devices: BTreeMap<usize, i32>,
    last: usize,
}

static REGISTRATIONS: Mutex<Registrations> =
    Mutex::new(Registrations { devices: BTreeMap::new(), last: 0 });

/// Implements `cuDeviceRegisterAsyncNotification`, for a device that exists.
pub fn register(
    device: i32,
    callback: CUasyncCallback,
    handle: Out<CUasyncCallbackHandle>,
) -> CuResult {
    handle.check()?;
    if callback.is_none() {
        return Err(CuError::INVALID_VALUE);
    }
    let mut all = REGISTRATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    all.last += 1;
    let number = all.last;
    all.devices.insert(number, device);
    handle.set(std::ptr::without_provenance_mut(number))
}

/// Implements `cuDeviceUnregisterAsyncNotification`, for a device that exists.
pub fn unregister(device: i32, handle: CUasyncCallbackHandle) -> CuResult {
    let mut all = REGISTRATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if all.devices.get(&handle.addr()) != Some(&device) {
        return Err(CuError::INVALID_VALUE);
    }
    all.devices.remove(&handle.addr());
    Ok(())
}
