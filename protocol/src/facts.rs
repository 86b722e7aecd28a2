//! Device properties that a guest queries once and then keeps in memory.

use crate::codec::Element;

pub use crate::structs::DeviceFacts;

/// All attribute numbers in CUDA 13.0 are less than this: it is `CU_DEVICE_ATTRIBUTE_MAX`, rounded
/// up.
pub const MAX_ATTRIBUTES: usize = DeviceFacts::ZERO.attributes.len();

impl Default for DeviceFacts {
    fn default() -> Self {
        Self::ZERO
    }
}
