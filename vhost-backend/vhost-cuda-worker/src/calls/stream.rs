//! Streams and events.

use cuda_api::sys::CUstream_flags;
use protocol::calls as api;

use super::charges::{Reservation, Settled, kind};
use super::claims::{EVENTS, STREAMS};
use super::cx::Cx;
use super::deferred::Deferred;
use super::driver_handle::DriverHandle;
use super::handles::{Owned, Stream};
use super::waits::Completion;
use super::{ReplyTo, lock};
use crate::driver::{CuError, CuResult};

impl Cx<'_> {
    pub(super) fn cu_stream_create_with_priority(
        &self,
        call: api::CuStreamCreateWithPriority,
        reservation: Reservation<kind::Stream>,
    ) -> CuResult<Settled<kind::Stream>> {
        self.enter()?;
        let id = self.claim(STREAMS, call.ph_stream)?;
        let reserved = self.reserve_stream(reservation)?;
        let mut stream = std::ptr::null_mut();
        // SAFETY: the pointer is to a local variable.
        unsafe {
            self.driver().cuStreamCreateWithPriority(&mut stream, call.flags, call.priority)?;
        }
        let blocking = call.flags & CUstream_flags::CU_STREAM_NON_BLOCKING.0 == 0;
        id.list(Stream { real: DriverHandle(stream), ctx: self.ctx, used: false, blocking });
        Ok(reserved.settle())
    }

    pub(super) fn cu_stream_destroy_v2(&self, call: api::CuStreamDestroyV2) -> CuResult {
        self.enter_any()?;
        let (stream, id) = self.claim_listed(STREAMS, call.h_stream, |_, _| Ok(()))?;
        self.shared.flight.forget(stream.real.0, stream.ctx);
        self.shared.host_funcs.forget((stream.real.0 as u64, stream.ctx));
        // SAFETY: the stream was live, and is no longer listed.
        let ended = unsafe { self.driver().cuStreamDestroy(stream.real.0) };
        id.end(ended, || self.forget_stream(stream.ctx))
    }

    pub(super) fn cu_stream_query(&self, call: api::CuStreamQuery) -> CuResult {
        self.enter()?;
        // SAFETY: the stream is live.
        unsafe { self.driver().cuStreamQuery(self.stream(call.h_stream)?) }
    }

    pub(super) fn cu_stream_wait_event(&self, call: api::CuStreamWaitEvent) -> CuResult {
        self.enter()?;
        let (stream, event) = (self.stream(call.h_stream)?, self.event(call.h_event)?);
        // SAFETY: the handles are live.
        unsafe { self.driver().cuStreamWaitEvent(stream, event, call.flags) }
    }

    pub(super) fn vcuda_host_func(&self, call: api::VcudaHostFunc) -> CuResult {
        self.enter()?;
        let (stream, ctx) = self.queue_free(call.h_stream)?;
        if call.token == 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let waker = self.shared.session.waker.clone();
        // SAFETY: the stream is live, and the driver calls the function once.
        unsafe {
            self.shared.host_funcs.queue(
                (stream as u64, ctx),
                call.token,
                waker,
                |function, data| self.driver().cuLaunchHostFunc(stream, Some(function), data),
            )
        }
    }

    pub(super) fn cu_event_create(&self, call: api::CuEventCreate) -> CuResult {
        self.enter()?;
        let id = self.claim(EVENTS, call.ph_event)?;
        let mut event = std::ptr::null_mut();
        // SAFETY: the pointer is to a local variable.
        unsafe { self.driver().cuEventCreate(&mut event, call.flags)? };
        id.list(Owned { real: DriverHandle(event), ctx: self.ctx });
        Ok(())
    }

    pub(super) fn cu_event_destroy_v2(&self, call: api::CuEventDestroyV2) -> CuResult {
        self.enter_any()?;
        let event = lock(&self.shared.tables).events.remove(call.h_event)?;
        // SAFETY: the event was live, and is no longer listed.
        unsafe { self.driver().cuEventDestroy(event.real.0) }
    }

    pub(super) fn cu_event_record_with_flags(&self, call: api::CuEventRecordWithFlags) -> CuResult {
        self.enter()?;
        let (stream, event) = (self.stream(call.h_stream)?, self.event(call.h_event)?);
        // SAFETY: the handles are live.
        unsafe {
            if call.flags == 0 {
                self.driver().cuEventRecord(event, stream)
            } else {
                self.driver().cuEventRecordWithFlags(event, stream, call.flags)
            }
        }
    }

    pub(super) fn cu_event_query(&self, call: api::CuEventQuery) -> CuResult {
        self.enter_any()?;
        // SAFETY: the event is live.
        unsafe { self.driver().cuEventQuery(self.event(call.h_event)?) }
    }

    pub(super) fn cu_event_elapsed_time_v2(
        &self,
        call: api::CuEventElapsedTimeV2,
    ) -> CuResult<api::CuEventElapsedTimeV2Answer> {
        self.enter_any()?;
        let mut p_milliseconds = 0.0;
        let (start, end) = (self.event(call.h_start)?, self.event(call.h_end)?);
        // SAFETY: the events are live, and the pointer is to a local variable.
        unsafe { self.driver().cuEventElapsedTime(&mut p_milliseconds, start, end)? };
        Ok(api::CuEventElapsedTimeV2Answer { p_milliseconds })
    }
}

pub(super) fn cu_ctx_synchronize(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    _: api::CuCtxSynchronize,
    reply: ReplyTo,
) {
    deferred.wait_context(cx, Completion::Answer(reply));
}

pub(super) fn cu_stream_synchronize(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::CuStreamSynchronize,
    reply: ReplyTo,
) {
    match cx.enter().and_then(|_| cx.stream_of(call.h_stream)) {
        Ok((stream, ctx)) => deferred.wait_stream(cx, stream, ctx, Completion::Answer(reply)),
        Err(error) => reply.finish(error.0, &[]),
    }
}

pub(super) fn cu_event_synchronize(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::CuEventSynchronize,
    reply: ReplyTo,
) {
    match cx.enter_any() {
        Ok(()) => deferred.wait_event(cx, call.h_event, Completion::Answer(reply)),
        Err(error) => reply.finish(error.0, &[]),
    }
}
