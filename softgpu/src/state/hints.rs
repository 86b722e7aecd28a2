//! The hints that programs give for managed memory. softgpu records them so that programs can query
//! them. They have no other effect.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use cuda_api::error::{CuError, CuResult};
use cuda_api::managed::Managed;

/// The hints of each managed allocation, by its address.
static HINTS: Mutex<BTreeMap<u64, Managed>> = Mutex::new(BTreeMap::new());

/// Creates the record of an allocation's hints.
pub(crate) fn begin(start: u64, size: u64) {
    HINTS.lock().unwrap_or_else(PoisonError::into_inner).insert(start, Managed::new(size));
}

/// Removes the record of the hints of an allocation that is being freed.
pub(crate) fn forget(start: u64) {
    HINTS.lock().unwrap_or_else(PoisonError::into_inner).remove(&start);
}

/// Calls `then` with the hints of the managed allocation that starts at an address.
pub(crate) fn with<T>(start: u64, then: impl FnOnce(&mut Managed) -> CuResult<T>) -> CuResult<T> {
    let mut hints = HINTS.lock().unwrap_or_else(PoisonError::into_inner);
    then(hints.get_mut(&start).ok_or(CuError::INVALID_VALUE)?)
}
