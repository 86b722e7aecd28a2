//! Device properties that a guest queries once and then keeps in memory.

use crate::codec::Element;

pub use crate::structs::DeviceFacts;

/// Length of an array that is indexed by attribute numbers. It is `CU_DEVICE_ATTRIBUTE_MAX` of CUDA
/// 13.0, rounded up, so it exceeds all attribute numbers.
pub const MAX_ATTRIBUTES: usize = DeviceFacts::ZERO.attributes.len();

impl Default for DeviceFacts {
    fn default() -> Self {
        Self::ZERO
    }
}
