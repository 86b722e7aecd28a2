//! Tracks which of the session's GPUs can access one another's memory.
//!
//! In CUDA, a copy between two GPUs needs no preparation, and `cuCtxEnablePeerAccess` lets kernels
//! on one GPU access all memory of another. Memory from cuMemCreate is different: each mapping has
//! a list of the GPUs that can access it, and a copy needs this access, too. Therefore, the worker
//! gives all GPUs on which the session has had a context access to the memory that it maps, if the
//! hardware permits it.

use std::ops::Deref;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::driver::{CuResult, Driver};

/// Which of the session's GPUs can access one another's memory.
pub(in crate::calls) struct Peers {
    /// `can_access[device][holder]` says whether the GPU `device` can access the memory of the GPU
    /// `holder`.
    can_access: Vec<Vec<bool>>,
    /// The GPUs on which the session has had a context.
    used: RwLock<Vec<i32>>,
}

/// The GPUs that get access to memory that is mapped now. No GPU is added while this value exists,
/// so its holder can map memory and list it in the plan before another GPU needs access to it.
pub(super) struct Accessors<'a>(RwLockReadGuard<'a, Vec<i32>>);

/// A value that keeps other threads from mapping memory while it exists. [`Peers::add`] returns it.
pub(super) struct NoMapping<'a>(
    #[expect(dead_code, reason = "held")] RwLockWriteGuard<'a, Vec<i32>>,
);

impl Deref for Accessors<'_> {
    type Target = [i32];

    fn deref(&self) -> &[i32] {
        &self.0
    }
}

impl Peers {
    /// Queries the driver for which of the GPUs can access one another's memory.
    pub(super) fn new(driver: &Driver, devices: i32) -> CuResult<Self> {
        let can_access = |device: i32, holder: i32| {
            let mut can = 0;
            if device != holder {
                // SAFETY: the pointer is to a local variable.
                unsafe { driver.cuDeviceCanAccessPeer(&mut can, device, holder)? };
            }
            Ok(device == holder || can != 0)
        };
        let row = |device| (0..devices).map(|holder| can_access(device, holder)).collect();
        let can_access = (0..devices).map(row).collect::<CuResult<_>>()?;
        Ok(Self { can_access, used: RwLock::default() })
    }

    /// Returns whether the GPU `device` can access the memory of the GPU `holder`. Every GPU can
    /// access its own memory.
    pub(super) fn can_access(&self, device: i32, holder: i32) -> bool {
        let row = usize::try_from(device).ok().and_then(|device| self.can_access.get(device));
        let can = usize::try_from(holder).ok().and_then(|holder| row?.get(holder));
        can.copied().unwrap_or(false)
    }

    /// Returns the GPUs that must get access to memory that is mapped now.
    pub(super) fn accessors(&self) -> Accessors<'_> {
        Accessors(self.used.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a GPU on which the session has created a context to those that get access to new
    /// memory. Returns `None` if the GPU was already added, or if it's the only GPU. While the
    /// result exists, no other thread maps memory, so the caller can give the GPU access to all
    /// mapped memory.
    pub(super) fn add(&self, device: i32) -> Option<NoMapping<'_>> {
        if self.can_access.len() < 2 {
            return None;
        }
        let mut used = self.used.write().unwrap_or_else(PoisonError::into_inner);
        if used.contains(&device) {
            return None;
        }
        used.push(device);
        Some(NoMapping(used))
    }
}
