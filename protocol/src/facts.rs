//! What a guest learns about its devices once, and then answers by itself.

use crate::codec::Element;

pub use crate::structs::DeviceFacts;

/// Attributes that CUDA 13.0 defines, `CU_DEVICE_ATTRIBUTE_MAX` rounded up.
pub const MAX_ATTRIBUTES: usize = DeviceFacts::ZERO.attributes.len();

impl Default for DeviceFacts {
    fn default() -> Self {
        Self::ZERO
    }
}
