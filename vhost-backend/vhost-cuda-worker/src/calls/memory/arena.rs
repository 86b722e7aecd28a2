//! The arena: the part of the RING region through which large copies between guest and GPU go.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::calls::commands::shared::Shared;
use crate::calls::memory::registered::{REGISTER_FLAGS, Registration};
use crate::driver::{CuError, CuResult};
use crate::region::Region;

/// The arena of the session's RING region, as memory to copy from and to.
pub(in crate::calls) struct Arena {
    shared: Arc<Shared>,
    region: Arc<Region>,
    /// The offset of the arena in its region.
    start: usize,
    /// The value of `Shared::generation` when the arena was registered with the GPU, or `None` if
    /// it isn't registered. When the context in which it was registered is destroyed, the
    /// registration ends.
    registered: Option<u64>,
}

impl Arena {
    pub(in crate::calls) fn new(shared: &Arc<Shared>, region: Arc<Region>, start: usize) -> Self {
        Self { shared: shared.clone(), region, start, registered: None }
    }

    /// Returns the address in this process of `len` bytes at `offset` in the arena. Registers the
    /// arena with the GPU first, so that the GPU accesses it directly. Fails if the bytes go past
    /// the arena's end.
    pub(in crate::calls) fn at(&mut self, offset: u64, len: usize) -> CuResult<*mut u8> {
        let room = self.region.len().saturating_sub(self.start);
        let offset = usize::try_from(offset).map_err(|_| CuError::INVALID_VALUE)?;
        if offset.checked_add(len).is_none_or(|end| end > room) {
            return Err(CuError::INVALID_VALUE);
        }
        self.register();
        Ok(self.region.base().wrapping_add(self.start + offset))
    }

    /// Returns the arena's registration with the GPU, if any, which the caller must undo before the
    /// pages are unmapped.
    pub(in crate::calls) fn registration(&self) -> Option<Registration> {
        self.registered.map(|_| Registration::of_all(&self.region))
    }

    pub(in crate::calls) fn register(&mut self) {
        let generation = self.shared.generation.load(Ordering::Acquire);
        if self.registered == Some(generation) {
            return;
        }
        // SAFETY: `host::detach` unregisters the region's pages before they are unmapped.
        let done = unsafe {
            let base = self.region.base().cast();
            self.shared.driver.cuMemHostRegister(base, self.region.len(), REGISTER_FLAGS)
        };
        if let Err(error) = done
            && error != CuError::HOST_MEMORY_ALREADY_REGISTERED
        {
            tracing::warn!(
                session = self.shared.session.label,
                "cannot pin the arena; copies will be slow: {error}"
            );
        }
        self.registered = Some(generation);
    }
}
