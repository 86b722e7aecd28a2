//! The primary contexts, one per device.

use std::sync::{Arc, Mutex, OnceLock};

use super::context::Context;
use super::device;
use cuda_api::error::CuResult;

/// A device's primary context, and how often the program retains it.
pub(crate) struct Primary {
    pub(crate) context: Arc<Context>,
    /// Number of retain calls without a matching release.
    pub(crate) retained: Mutex<u32>,
}

/// The primary contexts, indexed by device.
static PRIMARIES: OnceLock<Vec<Primary>> = OnceLock::new();

/// Initializes the driver and creates the primary contexts. Implements `cuInit`.
pub(crate) fn init() -> CuResult {
    all(device::init()?);
    Ok(())
}

fn all(driver: &device::Driver) -> &'static [Primary] {
    PRIMARIES.get_or_init(|| {
        let primary = |device: &device::Device| Primary {
            context: Context::new(device.ordinal, 0, None),
            retained: Mutex::new(0),
        };
        driver.devices.iter().map(primary).collect()
    })
}

/// Returns a device's primary context.
pub(crate) fn of(ordinal: i32) -> CuResult<&'static Primary> {
    let driver = device::driver()?;
    let device = driver.device(ordinal)?;
    Ok(&all(driver)[device.ordinal as usize])
}
