//! The environment in which a call runs: the session, the guest thread, and its current context.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuda_api::sys::{CUdevice, CUevent, CUfunction, CUkernel, CUlibrary, CUstream};

use protocol::ids::{ContextId, EventId, FuncId, KernelId, LibraryId, StreamId};

use super::charges::{Reservation, Settled, kind};
use super::driver_handle::DriverHandle;
use super::gate::Queued;
use super::handles::{Function, ThreadStream};
use super::memory::WINDOW;
use super::{Shared, lock};
use crate::driver::{CuError, CuResult, Driver};
use host_ipc::gate::{WorkerWords, bump};

/// The maximum number of per-thread default streams in a session. When it is reached, empty streams
/// are destroyed.
const MAX_THREAD_STREAMS: usize = 1024;

/// The context that is current on a thread of the worker.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Current {
    ctx: ContextId,
    device: CUdevice,
    /// The value of `Shared::generation` when the context was made current. If it has changed
    /// since, the context may have been destroyed.
    generation: u64,
}

const NO_CONTEXT: Current = Current { ctx: ContextId::NONE, device: -1, generation: u64::MAX };

thread_local! {
    static CURRENT: Cell<Current> =
        const { Cell::new(NO_CONTEXT) };
}

/// The current context.
#[derive(Clone, Copy)]
pub(super) struct Entered {
    pub device: CUdevice,
}

/// The environment in which one call runs.
#[derive(Clone, Copy)]
pub(super) struct Cx<'a> {
    pub shared: &'a Arc<Shared>,
    /// The number of the guest thread.
    pub thread: u32,
    /// The id of the guest thread's current context, or 0 for none.
    pub ctx: ContextId,
}

impl<'a> Cx<'a> {
    pub(super) fn driver(&self) -> &'a Driver {
        &self.shared.driver
    }

    /// Returns the same environment with another current context.
    pub(super) fn within(&self, ctx: ContextId) -> Self {
        Self { ctx, ..*self }
    }

    /// Makes the guest thread's context current on this thread, if it isn't already.
    pub(super) fn enter(&self) -> CuResult<Entered> {
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

    /// Like [`Cx::enter`], but for calls that also work without a context, or return their own
    /// error without one.
    pub(super) fn enter_any(&self) -> CuResult {
        if self.ctx != ContextId::NONE {
            return self.enter().map(|_| ());
        }
        if CURRENT.get().ctx != ContextId::NONE {
            CURRENT.set(NO_CONTEXT);
            // SAFETY: null means that no context is current.
            unsafe { self.driver().cuCtxSetCurrent(std::ptr::null_mut())? };
        }
        Ok(())
    }

    /// Calls `query` in the guest's current context, or if there is none, in the primary context of
    /// the first device. The driver answers some queries about kernels only in a context, but a
    /// guest may make them before it has a context.
    pub(super) fn with_any_context<T>(&self, query: impl FnOnce() -> CuResult<T>) -> CuResult<T> {
        if self.ctx != ContextId::NONE {
            self.enter()?;
            return query();
        }
        let mut primaries = lock(&self.shared.primaries);
        let context = match primaries[0] {
            Some(context) => context,
            None => *primaries[0].insert(self.retain_primary(Reservation::of_worker(), 0)?.0),
        };
        // SAFETY: the context is retained while `primaries` is locked. Afterwards no context is
        // current again.
        unsafe {
            self.driver().cuCtxSetCurrent(context.0)?;
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
        // SAFETY: the context was live when it was looked up. If the guest destroys it at the same
        // time, the result is the same as with NVIDIA's driver.
        unsafe { self.driver().cuCtxSetCurrent(real.0)? };
        CURRENT.set(Current { ctx: self.ctx, device, generation });
        Ok(Entered { device })
    }

    /// Returns a stream and its context. The current context must be entered. May be called only on
    /// the ring reader's thread, because only that thread may find a stream empty.
    pub(super) fn stream_of(&self, id: StreamId) -> CuResult<(CUstream, ContextId)> {
        match id {
            StreamId::DEFAULT | StreamId::LEGACY => {
                if let Ok(context) = lock(&self.shared.tables).contexts.get_mut(self.ctx) {
                    context.legacy_used = true;
                }
                Ok((std::ptr::null_mut(), self.ctx))
            }
            StreamId::PER_THREAD => Ok((self.thread_stream()?, self.ctx)),
            _ => {
                let mut tables = lock(&self.shared.tables);
                let stream = tables.streams.get_mut(id)?;
                stream.used = true;
                Ok((stream.real.0, stream.ctx))
            }
        }
    }

    pub(super) fn stream(&self, id: StreamId) -> CuResult<CUstream> {
        self.stream_of(id).map(|(stream, _)| stream)
    }

    /// Looks up a stream, and counts a gated call that is about to be queued in it. `bytes` is the
    /// amount of pageable memory that the driver copies for the call.
    pub(super) fn queue(&self, id: StreamId, bytes: usize) -> CuResult<(CUstream, ContextId)> {
        self.count(id, bytes, true)
    }

    /// Looks up a stream, and counts a command in it that doesn't use the GPU.
    pub(super) fn queue_free(&self, id: StreamId) -> CuResult<(CUstream, ContextId)> {
        self.count(id, 0, false)
    }

    /// Increments one of the session's counters, which operators can read.
    pub(super) fn tally(&self, counter: impl FnOnce(&WorkerWords) -> &AtomicU64, more: u64) {
        bump(counter(&self.shared.session.gate.page.worker), more);
    }

    /// Counts the bytes of a copy, in counters that operators can read. Variables of modules count
    /// as host memory.
    pub(super) fn tally_copy(&self, dst: u64, src: u64, bytes: u64) {
        match (WINDOW.contains(&dst), WINDOW.contains(&src)) {
            (true, true) => self.tally(|words| &words.bytes_d2d, bytes),
            (true, false) => self.tally(|words| &words.bytes_h2d, bytes),
            (false, _) => self.tally(|words| &words.bytes_d2h, bytes),
        }
    }

    fn count(&self, id: StreamId, bytes: usize, gated: bool) -> CuResult<(CUstream, ContextId)> {
        let (stream, ctx) = self.stream_of(id)?;
        let device = || lock(&self.shared.tables).device_of(ctx).unwrap_or(0);
        self.shared.flight.add(Queued { stream, ctx, bytes, gated }, device);
        Ok((stream, ctx))
    }

    /// Returns the guest thread's own default stream in the current context.
    fn thread_stream(&self) -> CuResult<CUstream> {
        let key = ThreadStream { thread: self.thread, ctx: self.ctx };
        if let Some(stream) = lock(&self.shared.tables).thread_streams.get(&key) {
            return Ok(stream.0);
        }
        self.make_room_for_thread_stream()?;
        let reserved = self.reserve_stream(Reservation::of_worker())?;
        let mut stream = std::ptr::null_mut();
        // SAFETY: the pointer is to a local variable.
        unsafe { self.driver().cuStreamCreateWithPriority(&mut stream, 0, 0)? };
        let _ = reserved.settle();
        lock(&self.shared.tables).thread_streams.insert(key, DriverHandle(stream));
        Ok(stream)
    }

    /// Destroys the empty streams of threads if there are too many streams. An empty stream can be
    /// created again when its thread uses it.
    fn make_room_for_thread_stream(&self) -> CuResult {
        let mut idle = Vec::new();
        let left = {
            let streams = &mut lock(&self.shared.tables).thread_streams;
            if streams.len() < MAX_THREAD_STREAMS {
                return Ok(());
            }
            streams.retain(|key, stream| {
                // SAFETY: only this thread destroys streams, after it has removed them here.
                let busy = unsafe { self.driver().cuStreamQuery(stream.0) }.is_err();
                if !busy {
                    idle.push((*stream, key.ctx));
                }
                busy
            });
            streams.len()
        };
        for (stream, ctx) in idle {
            self.shared.flight.forget(stream.0, ctx);
            // SAFETY: the stream is live, and no longer listed.
            let _ = unsafe { self.driver().cuStreamDestroy(stream.0) };
            self.forget_stream(ctx);
        }
        if left < MAX_THREAD_STREAMS { Ok(()) } else { Err(CuError::OUT_OF_MEMORY) }
    }

    pub(super) fn event(&self, id: EventId) -> CuResult<CUevent> {
        Ok(lock(&self.shared.tables).events.get(id)?.real.0)
    }

    pub(super) fn library(&self, id: LibraryId) -> CuResult<CUlibrary> {
        Ok(lock(&self.shared.tables).libraries.get(id)?.real.0)
    }

    pub(super) fn kernel(&self, id: KernelId) -> CuResult<CUkernel> {
        lock(&self.shared.tables).kernel(id)
    }

    /// Returns a function, or a kernel's function in the current context. The driver launches
    /// kernels directly, but reports attributes and occupancy only for functions.
    pub(super) fn func(
        &self,
        reservation: Reservation<kind::Module>,
        id: FuncId,
    ) -> CuResult<(CUfunction, Settled<kind::Module>)> {
        let function = lock(&self.shared.tables).functions.get(id)?.clone();
        self.function_of(reservation, &function)
    }

    /// Like [`Cx::func`]. Querying a kernel's function makes the driver load the library into the
    /// context, and using the function loads its code. If this method succeeds, both are charged.
    pub(super) fn function_of(
        &self,
        reservation: Reservation<kind::Module>,
        function: &Function,
    ) -> CuResult<(CUfunction, Settled<kind::Module>)> {
        if !function.is_kernel {
            return Ok((function.real.0, reservation.charged_with_function()));
        }
        self.enter()?;
        let settled = self.reserve_code(reservation, function)?;
        let mut of_context = std::ptr::null_mut();
        // SAFETY: the kernel is live, and the pointer is to a local variable.
        unsafe { self.driver().cuKernelGetFunction(&mut of_context, function.real.0.cast())? };
        Ok((of_context, settled))
    }

    /// Refuses addresses that don't belong to the session.
    pub(super) fn check(&self, addr: u64, len: u64) -> CuResult {
        self.shared.memory.check(addr, len)
    }
}
