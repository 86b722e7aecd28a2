//! The arena: the part of guest memory that stages copies.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::registered::{REGISTER_FLAGS, Registration};
use super::shared::Shared;
use crate::driver::{CuError, CuResult};
use crate::region::Region;

/// The arena: the part of guest memory that stages copies.
pub(super) struct Arena {
    shared: Arc<Shared>,
    region: Arc<Region>,
    /// The offset of the arena in the region.
    start: usize,
    /// The value of `Shared::generation` when the arena was registered with the GPU. When that
    /// context is destroyed, the registration ends.
    registered: Option<u64>,
}

impl Arena {
    pub(super) fn new(shared: &Arc<Shared>, region: Arc<Region>, start: usize) -> Self {
        Self { shared: shared.clone(), region, start, registered: None }
    }

    /// Returns the address of `len` bytes of the arena in this process. Registers the arena with
    /// the GPU, so that copies don't go through the CPU. Fails beyond the arena's end.
    pub(super) fn at(&mut self, offset: u64, len: usize) -> CuResult<*mut u8> {
        let room = self.region.len().saturating_sub(self.start);
        let offset = usize::try_from(offset).map_err(|_| CuError::INVALID_VALUE)?;
        if offset.checked_add(len).is_none_or(|end| end > room) {
            return Err(CuError::INVALID_VALUE);
        }
        self.register();
        Ok(self.region.base().wrapping_add(self.start + offset))
    }

    /// Returns the registration that must be undone before the pages are unmapped.
    pub(super) fn registration(&self) -> Option<Registration> {
        self.registered.map(|_| Registration::of_all(&self.region))
    }

    pub(super) fn register(&mut self) {
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
