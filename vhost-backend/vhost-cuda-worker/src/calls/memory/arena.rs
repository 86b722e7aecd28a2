//! The arena: the part of the RING region through which large copies between guest and GPU pass.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use protocol::ids::ContextId;

use crate::calls::commands::shared::Shared;
use crate::calls::memory::registered::{REGISTER_FLAGS, Registration};
use crate::driver::{CuError, CuResult};
use crate::region::Region;

/// The arena of the session's RING region, with its registration as host memory for the GPU.
pub(in crate::calls) struct Arena {
    shared: Arc<Shared>,
    region: Arc<Region>,
    /// The offset of the arena in its region, in bytes.
    start: usize,
    /// The value of `Shared::generation` when the arena was last registered with the GPU. `None` if
    /// it was never registered. If the value has changed since, the context in which the arena was
    /// registered may have been destroyed, and the registration with it.
    registered: Option<u64>,
    /// The context in which the region is registered, and the region's address on the GPU. `None`
    /// if the GPU can't access the region.
    mapped: Option<(ContextId, u64)>,
}

impl Arena {
    pub(in crate::calls) fn new(shared: &Arc<Shared>, region: Arc<Region>, start: usize) -> Self {
        Self { shared: shared.clone(), region, start, registered: None, mapped: None }
    }

    /// Returns the address in this process of `len` bytes at `offset` in the arena. First registers
    /// the arena with the GPU, so that the GPU can access it directly. Fails if the bytes go past
    /// the arena's end. `ctx` is the context that is current in the driver.
    pub(in crate::calls) fn at(
        &mut self,
        ctx: ContextId,
        offset: u64,
        len: usize,
    ) -> CuResult<*mut u8> {
        let offset = self.offset(offset, len)?;
        self.register(ctx);
        Ok(self.region.base().wrapping_add(offset))
    }

    /// Converts an offset in the arena to an offset in the region. Fails if `len` bytes at the
    /// offset go past the arena's end.
    fn offset(&self, offset: u64, len: usize) -> CuResult<usize> {
        let room = self.region.len().saturating_sub(self.start);
        let offset = usize::try_from(offset).map_err(|_| CuError::INVALID_VALUE)?;
        if offset.checked_add(len).is_none_or(|end| end > room) {
            return Err(CuError::INVALID_VALUE);
        }
        Ok(self.start + offset)
    }

    /// Returns the 64-bit word at `offset` in the arena, and its address on the GPU. Returns `None`
    /// if the arena contains no aligned word at that offset. Also returns `None` if the arena isn't
    /// registered in the context `ctx`, which is current in the driver: the registration ends with
    /// the context in which it was made, and work in another context that is still in flight would
    /// then fail.
    pub(in crate::calls) fn word(
        &mut self,
        ctx: ContextId,
        offset: u64,
    ) -> Option<(&AtomicU64, u64)> {
        let at = self.offset(offset, 8).ok().filter(|at| at.is_multiple_of(8))?;
        self.register(ctx);
        let (_, base) = self.mapped.filter(|(of, _)| *of == ctx)?;
        // SAFETY: the word is aligned, and it's in the region, which stays mapped while `self`
        // exists. The guest and the GPU access it only atomically.
        let word = unsafe { AtomicU64::from_ptr(self.region.base().wrapping_add(at).cast()) };
        Some((word, base + at as u64))
    }

    /// Returns the arena's registration with the GPU, if there is one. The caller must undo the
    /// registration before the pages are unmapped.
    pub(in crate::calls) fn registration(&self) -> Option<Registration> {
        self.registered.map(|_| Registration::of_all(&self.region))
    }

    /// Registers the arena's region with the GPU, unless it's already registered. `ctx` is the
    /// context that is current in the driver, in which the region is then registered.
    pub(in crate::calls) fn register(&mut self, ctx: ContextId) {
        let generation = self.shared.generation.load(Ordering::Acquire);
        if self.registered == Some(generation) {
            return;
        }
        let base: *mut c_void = self.region.base().cast();
        let driver = &self.shared.driver;
        // SAFETY: the region's pages stay mapped while they are registered, because `host::detach`
        // unregisters them first.
        let done = unsafe { driver.cuMemHostRegister(base, self.region.len(), REGISTER_FLAGS) };
        match done {
            Ok(()) => {
                let mut on_gpu = 0;
                // SAFETY: the first pointer is to a local variable. The second is to memory that
                // was registered just now.
                let mapped = unsafe { driver.cuMemHostGetDevicePointer(&mut on_gpu, base, 0) };
                self.mapped = mapped.is_ok().then_some((ctx, on_gpu));
            }
            // The region is still registered in the same context as before.
            Err(CuError::HOST_MEMORY_ALREADY_REGISTERED) => {}
            Err(error) => {
                self.mapped = None;
                tracing::warn!(
                    session = self.shared.session.label,
                    "cannot pin the arena; copies will be slow: {error}"
                );
            }
        }
        self.registered = Some(generation);
    }
}
