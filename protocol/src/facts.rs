//! Device properties that a guest reads once and then answers from memory.

use crate::codec::Element;

pub use crate::structs::DeviceFacts;

/// Upper bound of the attribute numbers of CUDA 13.0: `CU_DEVICE_ATTRIBUTE_MAX` rounded up.
pub const MAX_ATTRIBUTES: usize = DeviceFacts::ZERO.attributes.len();

impl Default for DeviceFacts {
    fn default() -> Self {
        Self::ZERO
    }
}
