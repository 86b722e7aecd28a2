//! The hints that programs give for managed memory. They are recorded and have no effect.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use cuda_api::error::{CuError, CuResult};
use cuda_api::managed::Managed;

/// The hints of each managed allocation, by its address.
static HINTS: Mutex<BTreeMap<u64, Managed>> = Mutex::new(BTreeMap::new());

/// Begins to record the hints of an allocation.
pub(crate) fn begin(start: u64, size: u64) {
    HINTS.lock().unwrap_or_else(PoisonError::into_inner).insert(start, Managed::new(size));
}

/// Forgets the hints of an allocation that is being freed.
pub(crate) fn forget(start: u64) {
    HINTS.lock().unwrap_or_else(PoisonError::into_inner).remove(&start);
}

/// Runs `then` on the hints of the allocation that starts at an address.
pub(crate) fn with<T>(start: u64, then: impl FnOnce(&mut Managed) -> CuResult<T>) -> CuResult<T> {
    let mut hints = HINTS.lock().unwrap_or_else(PoisonError::into_inner);
    then(hints.get_mut(&start).ok_or(CuError::INVALID_VALUE)?)
}
