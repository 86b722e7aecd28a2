//! The environment in which a call runs: the session, the guest thread, and its current context.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuda_api::sys::{CUcontext, CUdevice, CUevent, CUkernel, CUlibrary, CUmodule};

use protocol::ids::{ContextId, EventId, KernelId, LibraryId, ModuleId};

use crate::calls::tables::handles::Recorded;
use crate::calls::tables::uses::Object;
use crate::calls::{Shared, lock};
use crate::driver::{CuError, CuResult, Driver};
use host_ipc::gate::{WorkerWords, bump};

/// The context that is current in the driver on one of the worker's threads.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Current {
    ctx: ContextId,
    device: CUdevice,
    /// The value of `Shared::generation` when the context was made current. If the value has
    /// changed since, the context may have been destroyed.
    generation: u64,
}

const NO_CONTEXT: Current = Current { ctx: ContextId::NONE, device: -1, generation: u64::MAX };

thread_local! {
    static CURRENT: Cell<Current> =
        const { Cell::new(NO_CONTEXT) };
}

/// Proof that the guest thread's context is current in the driver on this thread.
#[derive(Clone, Copy)]
pub(in crate::calls) struct Entered {
    pub device: CUdevice,
}

/// The environment in which one call runs: the session, the guest thread, and its current context.
#[derive(Clone, Copy)]
pub(in crate::calls) struct Cx<'a> {
    pub shared: &'a Arc<Shared>,
    /// The guest's number for the thread that made the call.
    pub thread: u32,
    /// The id of the guest thread's current context, or 0 for none.
    pub ctx: ContextId,
}

impl<'a> Cx<'a> {
    pub(in crate::calls) fn driver(&self) -> &'a Driver {
        &self.shared.driver
    }

    /// Returns a copy of this environment with `ctx` as the current context.
    pub(in crate::calls) fn within(&self, ctx: ContextId) -> Self {
        Self { ctx, ..*self }
    }

    /// Makes the guest thread's current context also current in the driver on this thread. Fails if
    /// the guest thread has none.
    pub(in crate::calls) fn enter(&self) -> CuResult<Entered> {
        let generation = self.shared.generation.load(Ordering::Acquire);
        let current = CURRENT.get();
        if current.ctx == self.ctx
            && current.generation == generation
            && self.ctx != ContextId::NONE
        {
            return Ok(Entered { device: current.device });
        }
        self.switch(generation)
    }

    /// Makes the guest thread's current context also current in the driver on this thread, as
    /// [`Cx::enter`] does, but succeeds even if the guest thread has no context. This is for calls
    /// that work without a context, or that return an error of their own then.
    pub(in crate::calls) fn enter_any(&self) -> CuResult {
        if self.ctx != ContextId::NONE {
            return self.enter().map(|_| ());
        }
        if CURRENT.get().ctx != ContextId::NONE {
            CURRENT.set(NO_CONTEXT);
            // SAFETY: a null context is valid, and means that no context is current.
            unsafe { self.driver().cuCtxSetCurrent(std::ptr::null_mut())? };
        }
        Ok(())
    }

    /// Calls `query` while the driver's context `real` is current on this thread. Afterwards no
    /// context is current.
    ///
    /// # Safety
    /// The context must be live until this method returns.
    pub(in crate::calls) unsafe fn within_real<T>(
        &self,
        real: CUcontext,
        query: impl FnOnce() -> CuResult<T>,
    ) -> CuResult<T> {
        // SAFETY: the caller guarantees that the context is live. A null context is valid, and
        // means that no context is current.
        unsafe {
            self.driver().cuCtxSetCurrent(real)?;
            let result = query();
            self.driver().cuCtxSetCurrent(std::ptr::null_mut())?;
            CURRENT.set(NO_CONTEXT);
            result
        }
    }

    #[cold]
    fn switch(&self, generation: u64) -> CuResult<Entered> {
        let (real, device) = {
            let tables = lock(&self.shared.tables);
            let context = tables.contexts.get(self.ctx).map_err(|_| CuError::INVALID_CONTEXT)?;
            if context.ending {
                return Err(CuError::INVALID_CONTEXT);
            }
            (context.real, context.device)
        };
        // SAFETY: the context was live when it was looked up, and its destruction hadn't begun.
        // Destroying it waits for the calls that have looked it up (`tables/uses.rs`).
        unsafe { self.driver().cuCtxSetCurrent(real.0)? };
        CURRENT.set(Current { ctx: self.ctx, device, generation });
        Ok(Entered { device })
    }

    /// Fails unless `device` is the ordinal of one of the session's devices.
    pub(in crate::calls) fn check_device(&self, device: CUdevice) -> CuResult {
        if (0..self.shared.devices).contains(&device) {
            Ok(())
        } else {
            Err(CuError::INVALID_DEVICE)
        }
    }

    /// Waits for all work in these contexts, so the calling thread may block. Ignores errors,
    /// because they are the session's errors and other calls report them. Afterwards, another
    /// context may be current in the driver.
    pub(in crate::calls) fn synchronize_contexts(&self, contexts: Vec<ContextId>) {
        for ctx in contexts {
            // Mark the context as in use, so that no other thread destroys it during the wait.
            let _use = self.shared.uses.begin(Object::Context(ctx));
            if self.within(ctx).enter().is_ok() {
                // SAFETY: the call takes no pointers. It only waits for the current context, which
                // was made current above.
                let _ = unsafe { self.driver().cuCtxSynchronize() };
            }
        }
    }

    /// Adds `more` to one of the session's counters, which operators can read.
    pub(in crate::calls) fn tally(
        &self,
        counter: impl FnOnce(&WorkerWords) -> &AtomicU64,
        more: u64,
    ) {
        bump(counter(&self.shared.session.gate.page.worker), more);
    }

    pub(in crate::calls) fn event(&self, id: EventId) -> CuResult<CUevent> {
        Ok(lock(&self.shared.tables).events.get(id)?.real.0)
    }

    /// Returns the driver's event for `id`, and notes that a call is about to record it at `place`.
    pub(in crate::calls) fn event_to_record(
        &self,
        id: EventId,
        place: Recorded,
    ) -> CuResult<CUevent> {
        let tables = &mut lock(&self.shared.tables).events;
        let real = tables.get(id)?.real.0;
        let event = tables.get_mut(id)?;
        if !matches!(event.recorded, Recorded::InGraphs) {
            event.recorded = place;
        }
        Ok(real)
    }

    /// Returns the driver's event for `id`, for use in a node of a graph. Fails for an event that
    /// other processes can use, because the gate must know each stream that waits for another
    /// process, and it can't see waits inside graphs.
    pub(in crate::calls) fn event_for_graph(&self, id: EventId) -> CuResult<CUevent> {
        let tables = &mut lock(&self.shared.tables).events;
        let event = *tables.get(id)?;
        if event.interprocess {
            return Err(CuError::NOT_SUPPORTED);
        }
        tables.get_mut(id)?.recorded = Recorded::InGraphs;
        Ok(event.real.0)
    }

    pub(in crate::calls) fn module(&self, id: ModuleId) -> CuResult<CUmodule> {
        Ok(lock(&self.shared.tables).modules.get(id)?.real.0)
    }

    pub(in crate::calls) fn library(&self, id: LibraryId) -> CuResult<CUlibrary> {
        Ok(lock(&self.shared.tables).libraries.get(id)?.real.0)
    }

    pub(in crate::calls) fn kernel(&self, id: KernelId) -> CuResult<CUkernel> {
        lock(&self.shared.tables).kernel(id)
    }

    /// Fails unless all `len` bytes at `addr` are in the session's memory.
    pub(in crate::calls) fn check(&self, addr: u64, len: u64) -> CuResult {
        self.shared.memory.check(addr, len)
    }
}
