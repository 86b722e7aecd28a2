//! The links between a device and the host, and between devices, which support no atomic operations
//! natively.

use crate::args::{In, Out};
use crate::error::{CuError, CuResult};
use crate::sys::CUatomicOperation;

/// Returns the capabilities of a link for each operation: none.
///
/// # Safety
///
/// Both pointers must be null, or point to arrays of `count` elements.
pub unsafe fn no_atomics(
    capabilities: Out<u32>,
    operations: In<CUatomicOperation>,
    count: u32,
) -> CuResult {
    capabilities.check()?;
    let count = count as usize;
    // SAFETY: the caller promises arrays of this length.
    let (capabilities, operations) =
        unsafe { (capabilities.array(count), operations.array(count)) };
    let known =
        |operation: &CUatomicOperation| operation.0 < CUatomicOperation::CU_ATOMIC_OPERATION_MAX.0;
    let operations = operations.to_vec()?;
    if operations.is_empty() || !operations.iter().all(known) {
        return Err(CuError::INVALID_VALUE);
    }
    capabilities.set_all(operations.iter().map(|_| 0))
}
