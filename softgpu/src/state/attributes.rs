//! Stream attributes that a program can set. They don't affect how softgpu executes work.

use cuda_api::attributes::{Attributes, Value, window};
use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::CUlaunchAttributeID as A;

/// The highest priority of a stream. 0 is the lowest.
pub(crate) const GREATEST_PRIORITY: i32 = -5;
/// The number of memory synchronization domains on compute capability 9.0.
const DOMAINS: u8 = 4;
/// Maximum size in bytes of an access policy window.
pub(crate) const WINDOW_MAX: u64 = 128 << 20;

const WINDOW: u32 = A::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW.0;
const DOMAIN_MAP: u32 = A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP.0;
/// The identifier of the attribute for a stream's priority.
pub(crate) const PRIORITY: u32 = A::CU_LAUNCH_ATTRIBUTE_PRIORITY.0;

/// Sets an attribute of a stream, after checking the limits of the device.
pub(crate) fn set(attributes: &mut Attributes, which: u32, mut value: Value) -> CuResult {
    let [default, remote, ..] = value[0].to_le_bytes();
    match which {
        WINDOW if window(&value).1 > WINDOW_MAX => return Err(CuError::INVALID_VALUE),
        DOMAIN_MAP if default.max(remote) >= DOMAINS => return Err(CuError::INVALID_VALUE),
        PRIORITY => value = priority(value[0] as i32),
        _ => {}
    }
    attributes.set_of_stream(which, value)
}

/// Returns the value of the priority attribute for a priority, limited to the range that the device
/// supports.
pub(crate) fn priority(priority: i32) -> Value {
    let priority = priority.clamp(GREATEST_PRIORITY, 0);
    [u64::from(priority as u32), 0, 0, 0, 0, 0, 0, 0]
}
