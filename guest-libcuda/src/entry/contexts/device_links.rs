//! The links of devices, and notifications. cuda-api has the entry points.

use crate::driver::driver;
use crate::entry::macros::EntryPoint;
use crate::error::CuResult;

/// Fails if a device doesn't exist.
fn check_device(device: i32) -> CuResult {
    driver()?.device(device)?;
    Ok(())
}

cuda_api::device_link_entries!(EntryPoint, check_device);
