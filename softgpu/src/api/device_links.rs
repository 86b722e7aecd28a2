//! The links of devices, and notifications. cuda-api has the entry points.

use cuda_api::error::CuResult;

use super::entry::EntryPoint;
use crate::state::device::driver;

/// Fails if a device doesn't exist.
fn check_device(device: i32) -> CuResult {
    driver()?.device(device)?;
    Ok(())
}

cuda_api::device_link_entries!(EntryPoint, check_device);
