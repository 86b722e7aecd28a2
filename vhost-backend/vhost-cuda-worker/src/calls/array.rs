//! Arrays and mipmapped arrays in the driver.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use cuda_api::arrays::Extent;
use cuda_api::sys::{CUDA_ARRAY3D_DESCRIPTOR, CUarray, CUmipmappedArray};
use protocol::ids::{ContextId, MipmapId};

use super::driver_handle::DriverHandle;
use crate::driver::{CuError, CuResult};

/// Whether an array, a mipmapped array with its levels, or an executable graph exists in the driver.
/// A call keeps this locked while it passes the handle to the driver, so that another thread can't
/// destroy the object at the same time.
#[derive(Clone)]
pub(super) struct Life(Arc<RwLock<bool>>);

/// Proof that an object exists until this is dropped.
pub(super) struct Alive<'a>(#[allow(dead_code)] RwLockReadGuard<'a, bool>);

impl Life {
    pub(super) fn begin() -> Self {
        Self(Arc::new(RwLock::new(true)))
    }

    /// Keeps the object alive. Fails if it is being destroyed or has been.
    pub(super) fn keep(&self) -> CuResult<Alive<'_>> {
        let alive = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if *alive { Ok(Alive(alive)) } else { Err(CuError::INVALID_HANDLE) }
    }

    /// Does the same as [`Life::end`] without waiting. Returns whether no call uses the object.
    pub(super) fn try_end(&self) -> bool {
        let ended = self.0.try_write().map(|mut alive| *alive = false);
        ended.is_ok()
    }

    /// Waits until no call uses the object, and lets no further call use it.
    pub(super) fn end(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = false;
    }
}

/// An array, or a level of a mipmapped array.
#[derive(Clone)]
pub(super) struct Array {
    pub real: DriverHandle<CUarray>,
    pub ctx: ContextId,
    pub life: Life,
    pub extent: Extent,
    /// The number of bytes reserved for the array.
    pub reserved: u64,
    /// The mipmapped array that the array is a level of, if any.
    pub mipmap: Option<MipmapId>,
}

/// A mipmapped array.
#[derive(Clone)]
pub(super) struct Mipmap {
    pub real: DriverHandle<CUmipmappedArray>,
    pub ctx: ContextId,
    pub life: Life,
    /// The properties of the first level.
    pub first: CUDA_ARRAY3D_DESCRIPTOR,
    /// The number of bytes reserved for all levels.
    pub reserved: u64,
}
