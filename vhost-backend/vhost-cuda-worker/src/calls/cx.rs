//! What a call's body works with: the session, the guest thread, and its current context.

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

/// Per-thread default streams of one session at most; past it, idle ones are given up.
const MAX_THREAD_STREAMS: usize = 1024;

/// The context that is current on a thread of the worker.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Current {
    ctx: ContextId,
    device: CUdevice,
    /// `Shared::generation` when it was set: a context that has ended since may not be used.
    generation: u64,
}

const NO_CONTEXT: Current = Current { ctx: ContextId::NONE, device: -1, generation: u64::MAX };

thread_local! {
    static CURRENT: Cell<Current> =
        const { Cell::new(NO_CONTEXT) };
}

/// A context that is current.
#[derive(Clone, Copy)]
pub(super) struct Entered {
    pub device: CUdevice,
}

/// One command's surroundings.
#[derive(Clone, Copy)]
pub(super) struct Cx<'a> {
    pub shared: &'a Arc<Shared>,
    /// The guest thread.
    pub thread: u32,
    /// Its current context's id; 0 for none.
    pub ctx: ContextId,
}

impl<'a> Cx<'a> {
    pub(super) fn driver(&self) -> &'a Driver {
        &self.shared.driver
    }

    /// The same, with another context current.
    pub(super) fn within(&self, ctx: ContextId) -> Self {
        Self { ctx, ..*self }
    }

    /// Makes the guest thread's context current on this thread, if it is not.
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

    /// As [`Cx::enter`], for calls that also work without a context, or say themselves that they
    /// don't.
    pub(super) fn enter_any(&self) -> CuResult {
        if self.ctx != ContextId::NONE {
            return self.enter().map(|_| ());
        }
        if CURRENT.get().ctx != ContextId::NONE {
            CURRENT.set(NO_CONTEXT);
            // SAFETY: null is no context.
            unsafe { self.driver().cuCtxSetCurrent(std::ptr::null_mut())? };
        }
        Ok(())
    }

    /// Calls `then` with some context current: the guest's, or else the first device's primary one.
    /// For what the driver tells of a kernel only within a context, and the guest may ask before it
    /// has one.
    pub(super) fn with_any_context<T>(&self, then: impl FnOnce() -> CuResult<T>) -> CuResult<T> {
        if self.ctx != ContextId::NONE {
            self.enter()?;
            return then();
        }
        let mut primaries = lock(&self.shared.primaries);
        let context = match primaries[0] {
            Some(context) => context,
            None => *primaries[0].insert(self.retain_primary(Reservation::of_worker(), 0)?.0),
        };
        // SAFETY: the context is retained while `primaries` is locked; then none is current again.
        unsafe {
            self.driver().cuCtxSetCurrent(context.0)?;
            let result = then();
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
        // SAFETY: the context was live a moment ago; a guest that destroys it at the same time
        // does the same natively.
        unsafe { self.driver().cuCtxSetCurrent(real.0)? };
        CURRENT.set(Current { ctx: self.ctx, device, generation });
        Ok(Entered { device })
    }

    /// A stream, and the context that it is of; the current context must be entered. To be called
    /// on the ring reader's thread only, which alone decides that a stream is empty.
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

    /// As [`Cx::stream_of`], to queue a gated call there that takes `bytes` of pageable memory
    /// along.
    pub(super) fn queue(&self, id: StreamId, bytes: usize) -> CuResult<(CUstream, ContextId)> {
        self.count(id, bytes, true)
    }

    /// As [`Cx::queue`], for a command that takes none of the GPU's time.
    pub(super) fn queue_free(&self, id: StreamId) -> CuResult<(CUstream, ContextId)> {
        self.count(id, 0, false)
    }

    /// Counts what the session does, for the operator.
    pub(super) fn tally(&self, counter: impl FnOnce(&WorkerWords) -> &AtomicU64, more: u64) {
        bump(counter(&self.shared.session.gate.page.worker), more);
    }

    /// Counts the bytes of a copy. Variables of modules count as host memory.
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

    /// The guest thread's own default stream in the current context.
    fn thread_stream(&self) -> CuResult<CUstream> {
        let key = ThreadStream { thread: self.thread, ctx: self.ctx };
        if let Some(stream) = lock(&self.shared.tables).thread_streams.get(&key) {
            return Ok(stream.0);
        }
        self.make_room_for_thread_stream()?;
        let reserved = self.reserve_stream(Reservation::of_worker())?;
        let mut stream = std::ptr::null_mut();
        // SAFETY: the pointer is that of a local.
        unsafe { self.driver().cuStreamCreateWithPriority(&mut stream, 0, 0)? };
        let _ = reserved.settle();
        lock(&self.shared.tables).thread_streams.insert(key, DriverHandle(stream));
        Ok(stream)
    }

    /// Destroys the empty streams of threads if there are too many streams. An empty stream can be
    /// made again when its thread comes back.
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

    /// A function, or that of a kernel in the current context: the driver launches a kernel as it
    /// is, but knows attributes and occupancies of functions only.
    pub(super) fn func(
        &self,
        reservation: Reservation<kind::Module>,
        id: FuncId,
    ) -> CuResult<(CUfunction, Settled<kind::Module>)> {
        let function = lock(&self.shared.tables).functions.get(id)?.clone();
        self.function_of(reservation, &function)
    }

    /// As [`Cx::func`]. To ask for a kernel's function makes the driver load its library there, and
    /// what is then done with it its code: there is room for both once this has succeeded.
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
        // SAFETY: a live kernel; the pointer is that of a local.
        unsafe { self.driver().cuKernelGetFunction(&mut of_context, function.real.0.cast())? };
        Ok((of_context, settled))
    }

    /// Refuses addresses that this session has no memory at.
    pub(super) fn check(&self, addr: u64, len: u64) -> CuResult {
        self.shared.memory.check(addr, len)
    }
}
