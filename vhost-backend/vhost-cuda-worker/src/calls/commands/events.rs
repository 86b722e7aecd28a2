//! A pool of events that the worker records for its own use.

use cuda_api::sys::{CUevent, CUstream};

use protocol::ids::ContextId;

use crate::calls::commands::cx::Cx;
use crate::calls::gate::Marks;
use crate::calls::lock;
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::handles::ThreadStream;
use crate::calls::tables::id_map::IdMap;
use crate::driver::{CuError, CuResult};

/// `CU_EVENT_DISABLE_TIMING`.
const EVENT_DISABLE_TIMING: u32 = 2;

/// Events that aren't in use and can be recorded again, by context.
#[derive(Default)]
pub(in crate::calls) struct EventPool {
    idle: IdMap<ContextId, Vec<DriverHandle<CUevent>>>,
    /// A context in which the worker needs the observer's stream (see [`OBSERVER`]) but hasn't
    /// created it.
    wanted: Option<ContextId>,
}

/// A thread number that no guest thread has. In this thread's per-thread default stream, the worker
/// records marks that follow the commands of the legacy stream. The per-thread stream waits for
/// those commands. A mark in the legacy stream itself would also make other streams wait for the
/// streams that the legacy stream waits for.
pub(in crate::calls) const OBSERVER: u32 = u32::MAX;

impl EventPool {
    /// Records an event from the pool as [`EventPool::record`] does, but returns `None` if the
    /// stream is empty, because even recording an event takes GPU time, which another VM may be
    /// using.
    pub(in crate::calls) fn record_if_busy(
        &mut self,
        cx: &Cx<'_>,
        stream: CUstream,
        ctx: ContextId,
    ) -> CuResult<Option<DriverHandle<CUevent>>> {
        cx.within(ctx).enter()?;
        // SAFETY: the stream is live, because the caller has just looked it up, and only this
        // thread removes streams from the tables.
        match unsafe { cx.driver().cuStreamQuery(stream) } {
            Ok(()) => Ok(None),
            Err(CuError::NOT_READY) => self.record(cx, stream, ctx).map(Some),
            Err(error) => Err(error),
        }
    }

    /// Records an event from the pool in a stream of the context. The caller must return the event
    /// with `give_back` after use.
    pub(in crate::calls) fn record(
        &mut self,
        cx: &Cx<'_>,
        stream: CUstream,
        ctx: ContextId,
    ) -> CuResult<DriverHandle<CUevent>> {
        // An event can be recorded only in streams of its own context.
        cx.within(ctx).enter()?;
        let event = match self.idle.get_mut(&ctx).and_then(Vec::pop) {
            Some(event) => event,
            None => {
                let mut event = std::ptr::null_mut();
                // SAFETY: the pointer is to a local variable.
                unsafe { cx.driver().cuEventCreate(&mut event, EVENT_DISABLE_TIMING)? };
                DriverHandle(event)
            }
        };
        // SAFETY: the event is from this pool. The stream is live, because the caller has looked it
        // up, and only this thread removes streams from the tables.
        let recorded = unsafe { cx.driver().cuEventRecord(event.0, stream) };
        if recorded.is_err() {
            self.give_back(ctx, event);
        }
        recorded.map(|()| event)
    }

    /// Returns an event to the pool.
    pub(in crate::calls) fn give_back(&mut self, ctx: ContextId, event: DriverHandle<CUevent>) {
        self.idle.entry(ctx).or_default().push(event);
    }

    /// Returns the event to the pool, if `event` contains one.
    pub(in crate::calls) fn give_back_any(
        &mut self,
        ctx: ContextId,
        event: Option<DriverHandle<CUevent>>,
    ) {
        event.into_iter().for_each(|event| self.give_back(ctx, event));
    }

    /// Returns a context that needs the stream of [`OBSERVER`], which the caller should create.
    pub(in crate::calls) fn take_wanted(&mut self) -> Option<ContextId> {
        self.wanted.take()
    }

    /// Removes a context's events from the pool, because the driver destroys them with the context.
    pub(in crate::calls) fn forget(&mut self, ctx: ContextId) {
        self.idle.remove(&ctx);
    }
}

/// Returns success if the GPU has reached an event from the pool, or else CUDA_ERROR_NOT_READY.
pub(in crate::calls) fn query(cx: &Cx<'_>, event: DriverHandle<CUevent>) -> CuResult {
    // SAFETY: an event from the pool lives as long as its context. When a context is destroyed, all
    // code that waits for such events forgets them.
    unsafe { cx.driver().cuEventQuery(event.0) }
}

/// Lets the gate use events from the pool as marks, which show when earlier commands have finished.
pub(in crate::calls) struct PoolMarks<'a> {
    pub cx: &'a Cx<'a>,
    pub pool: &'a mut EventPool,
}

impl Marks for PoolMarks<'_> {
    fn record(&mut self, stream: CUstream, ctx: ContextId) -> Option<DriverHandle<CUevent>> {
        self.pool.record(self.cx, stream, ctx).ok()
    }

    fn record_late(&mut self, stream: CUstream, ctx: ContextId) -> Option<DriverHandle<CUevent>> {
        if !stream.is_null() {
            return self.record(stream, ctx);
        }
        let key = ThreadStream { thread: OBSERVER, ctx };
        let found = lock(&self.cx.shared.tables).thread_streams.of.get(&key).copied();
        if found.is_none() {
            self.pool.wanted = Some(ctx);
        }
        // Record no mark if the legacy stream is empty. The mark would show nothing, and the
        // context would seem to have work while the mark is pending.
        let real = found.filter(|_| !self.is_empty(stream, ctx))?.real;
        self.record(real.0, ctx)
    }

    fn is_reached(&self, mark: DriverHandle<CUevent>) -> bool {
        query(self.cx, mark) != Err(CuError::NOT_READY)
    }

    fn give_back(&mut self, ctx: ContextId, mark: DriverHandle<CUevent>) {
        self.pool.give_back(ctx, mark);
    }

    fn is_empty(&self, stream: CUstream, ctx: ContextId) -> bool {
        // The null handle means the legacy stream of the current context, so enter the context
        // first.
        let entered = self.cx.within(ctx).enter();
        // SAFETY: the stream is live, because the gate forgets a stream before the stream is
        // destroyed.
        let query = || unsafe { self.cx.driver().cuStreamQuery(stream) };
        entered.and_then(|_| query()) != Err(CuError::NOT_READY)
    }
}
