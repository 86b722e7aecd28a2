//! The arena: staging in guest memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::registered::{REGISTER_FLAGS, Registration};
use super::shared::Shared;
use crate::driver::{CuError, CuResult};
use crate::region::Region;

/// The arena: staging in guest memory.
pub(super) struct Arena {
    shared: Arc<Shared>,
    region: Arc<Region>,
    /// Where it starts in the region.
    start: usize,
    /// `Shared::generation` when it was registered with the GPU: that ends with the context.
    registered: Option<u64>,
}

impl Arena {
    pub(super) fn new(shared: &Arc<Shared>, region: Arc<Region>, start: usize) -> Self {
        Self { shared: shared.clone(), region, start, registered: None }
    }

    /// Where `len` bytes of the arena are in this process, if it has them; registered with the
    /// GPU, so that copies run without the CPU.
    pub(super) fn at(&mut self, offset: u64, len: usize) -> CuResult<*mut u8> {
        let room = self.region.len().saturating_sub(self.start);
        let offset = usize::try_from(offset).map_err(|_| CuError::INVALID_VALUE)?;
        if offset.checked_add(len).is_none_or(|end| end > room) {
            return Err(CuError::INVALID_VALUE);
        }
        self.register();
        Ok(self.region.base().wrapping_add(self.start + offset))
    }

    /// What must be unregistered before the pages go.
    pub(super) fn registration(&self) -> Option<Registration> {
        self.registered.map(|_| Registration::of_all(&self.region))
    }

    pub(super) fn register(&mut self) {
        let generation = self.shared.generation.load(Ordering::Acquire);
        if self.registered == Some(generation) {
            return;
        }
        // SAFETY: the region's pages stay mapped until they are unregistered: `Calls::detach`.
        let done = unsafe {
            let base = self.region.base().cast();
            self.shared.driver.cuMemHostRegister(base, self.region.len(), REGISTER_FLAGS)
        };
        if let Err(error) = done
            && error != CuError::HOST_MEMORY_ALREADY_REGISTERED
        {
            tracing::warn!(
                session = self.shared.session.label,
                "the arena cannot be pinned, copies will be slow: {error}"
            );
        }
        self.registered = Some(generation);
    }
}
