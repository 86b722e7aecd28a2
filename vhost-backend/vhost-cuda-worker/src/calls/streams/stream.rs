//! Calls that create, destroy, query and use streams and events.

use cuda_api::sys::{CUcontext, CUevent_flags, CUstream_flags};
use protocol::calls as api;
use protocol::ids::{GreenId, StreamId};
use protocol::options::STREAM_ATTRIBUTES;
use protocol::words::WaitValue;

use crate::calls::ReplyTo;
use crate::calls::code::launch::attribute;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::commands::result::number;
use crate::calls::commands::waits::{Completion, Which};
use crate::calls::commands::words::Word;
use crate::calls::contexts::charges::{Reservation, Settled, forget_stream, kind, reserve_stream};
use crate::calls::gate::pass::Pass;
use crate::calls::lock;
use crate::calls::streams::queue::{queue_free, queue_numbered, stream, stream_of};
use crate::calls::streams::stream_memory::queue_wait;
use crate::calls::streams::thread_streams::change_attributes;
use crate::calls::tables::claims::{EVENTS, STREAMS, claim};
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::ending::begin_end;
use crate::calls::tables::handles::{Event, Recorded, Stream};
use crate::driver::{CuError, CuResult};

pub(in crate::calls) fn cu_stream_create_with_priority(
    cx: &Cx<'_>,
    call: api::CuStreamCreateWithPriority,
    reservation: Reservation<kind::Stream>,
) -> CuResult<Settled<kind::Stream>> {
    cx.enter()?;
    let id = claim(cx, STREAMS, call.ph_stream)?;
    let reserved = reserve_stream(cx, reservation)?;
    let mut stream = std::ptr::null_mut();
    // SAFETY: the pointer is to a local variable.
    unsafe {
        cx.driver().cuStreamCreateWithPriority(&mut stream, call.flags, call.priority)?;
    }
    let blocking = call.flags & CUstream_flags::CU_STREAM_NON_BLOCKING.0 == 0;
    let (real, green) = (DriverHandle(stream), GreenId::default());
    id.list(Stream { real, ctx: cx.ctx, green, used: false, blocking });
    Ok(reserved.settle())
}

pub(in crate::calls) fn cu_stream_destroy_v2(
    cx: &Cx<'_>,
    call: api::CuStreamDestroyV2,
) -> CuResult {
    let (stream, ending) = begin_end(cx, STREAMS, call.h_stream, |_, _| Ok(()))?;
    cx.shared.forget_stream(stream.real, stream.ctx);
    ending.now_or_later(cx, move |cx| {
        // SAFETY: the stream was live, and it has been removed from the tables, so no other call
        // can use it any more.
        unsafe { cx.driver().cuStreamDestroy({ stream.real }.0)? };
        forget_stream(cx, stream.ctx);
        Ok(())
    })
}

pub(in crate::calls) fn cu_stream_query(cx: &Cx<'_>, call: api::CuStreamQuery) -> CuResult {
    cx.enter()?;
    // SAFETY: the stream is live, because only this thread removes streams from the tables.
    unsafe { cx.driver().cuStreamQuery(stream(cx, call.h_stream)?) }
}

/// Sets an attribute of a stream. Checks the address in an access policy window, so the value that
/// the driver gets contains no address outside the session's memory.
pub(in crate::calls) fn cu_stream_set_attribute(
    cx: &Cx<'_>,
    call: api::CuStreamSetAttribute,
) -> CuResult {
    cx.enter()?;
    if !STREAM_ATTRIBUTES.contains(&call.attr) {
        return Err(CuError::NOT_SUPPORTED);
    }
    let stream = stream(cx, call.h_stream)?;
    change_attributes(cx, call.h_stream);
    let attribute = attribute(call.attr, call.param, |addr, len| cx.check(addr, len))?;
    // SAFETY: the stream is live, because only this thread removes streams from the tables. The
    // pointer is to a local variable.
    unsafe { cx.driver().cuStreamSetAttribute(stream, attribute.id, &attribute.value) }
}

pub(in crate::calls) fn cu_stream_wait_event(
    cx: &Cx<'_>,
    call: api::CuStreamWaitEvent,
) -> CuResult {
    cx.enter()?;
    let Event { real, interprocess, .. } = *lock(&cx.shared.tables).events.get(call.h_event)?;
    if interprocess {
        return Err(CuError::INVALID_VALUE);
    }
    let stream = stream(cx, call.h_stream)?;
    // SAFETY: the stream and the event are live, because only this thread removes them from the
    // tables.
    unsafe { cx.driver().cuStreamWaitEvent(stream, real.0, call.flags) }
}

pub(in crate::calls) fn vcuda_stream_wait_interprocess_event(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaStreamWaitInterprocessEvent,
    _: &Pass,
    reply: ReplyTo,
) {
    let wait = |deferred: &mut Deferred| {
        cx.enter()?;
        let event = cx.event(call.h_event)?;
        // SAFETY: the stream and the event are live, because only this thread removes them from the
        // tables.
        queue_wait(deferred, cx, call.h_stream, |stream| unsafe {
            cx.driver().cuStreamWaitEvent(stream, event, call.flags)
        })
    };
    reply.finish(number(wait(deferred)), &[]);
}

pub(in crate::calls) fn vcuda_host_func(cx: &Cx<'_>, call: api::VcudaHostFunc) -> CuResult {
    if call.token == 0 {
        return Err(CuError::INVALID_VALUE);
    }
    cx.enter()?;
    let (stream, ctx) = queue_free(cx, call.h_stream)?;
    let waker = cx.shared.session.waker.clone();
    // SAFETY: the stream is live, because only this thread removes streams from the tables. If the
    // driver accepts the function, it calls it exactly once.
    unsafe {
        cx.shared.host_funcs.queue((stream as u64, ctx), call.token, waker, |function, data| {
            cx.driver().cuLaunchHostFunc(stream, Some(function), data)
        })
    }
}

pub(in crate::calls) fn cu_event_create(cx: &Cx<'_>, call: api::CuEventCreate) -> CuResult {
    cx.enter()?;
    let id = claim(cx, EVENTS, call.ph_event)?;
    let mut event = std::ptr::null_mut();
    // SAFETY: the pointer is to a local variable.
    unsafe { cx.driver().cuEventCreate(&mut event, call.flags)? };
    let interprocess = call.flags & CUevent_flags::CU_EVENT_INTERPROCESS.0 != 0;
    let timing = call.flags & CUevent_flags::CU_EVENT_DISABLE_TIMING.0 == 0;
    let (real, ctx) = (DriverHandle(event), cx.ctx);
    id.list(Event { real, ctx, interprocess, timing, recorded: Default::default(), token: None });
    Ok(())
}

pub(in crate::calls) fn cu_event_destroy_v2(cx: &Cx<'_>, call: api::CuEventDestroyV2) -> CuResult {
    let (event, ending) = begin_end(cx, EVENTS, call.h_event, |_, _| Ok(()))?;
    event.token.into_iter().for_each(|token| cx.shared.session.exchange.withdraw(token));
    // SAFETY: the event was live, and it has been removed from the tables, so no other call can use
    // it any more.
    ending.now_or_later(cx, move |cx| unsafe { cx.driver().cuEventDestroy({ event.real }.0) })
}

pub(in crate::calls) fn cu_event_record_with_flags(
    cx: &Cx<'_>,
    call: api::CuEventRecordWithFlags,
    pass: &Pass,
) -> CuResult {
    cx.enter()?;
    let (stream, ctx, number) = queue_numbered(cx, call.h_stream)?;
    let place = Recorded::In(DriverHandle(stream), ctx, number);
    let event = cx.event_to_record(call.h_event, place)?;
    // SAFETY: the stream and the event are live, because only this thread removes them from the
    // tables.
    let recorded = unsafe { cx.driver().cuEventRecordWithFlags(pass, event, stream, call.flags) };
    if recorded.is_err() {
        cx.event_to_record(call.h_event, Recorded::Unknown)?;
    }
    recorded
}

/// Enters the current context, and returns the driver's handle of it.
fn entered_context(cx: &Cx<'_>) -> CuResult<CUcontext> {
    cx.enter()?;
    Ok(lock(&cx.shared.tables).contexts.get(cx.ctx)?.real.0)
}

pub(in crate::calls) fn vcuda_ctx_record_event(
    cx: &Cx<'_>,
    call: api::VcudaCtxRecordEvent,
    pass: &Pass,
) -> CuResult {
    let context = entered_context(cx)?;
    let event = cx.event_to_record(call.event, Recorded::Unknown)?;
    // SAFETY: the context and the event are live, because only this thread begins to destroy
    // contexts and events.
    unsafe { cx.driver().cuCtxRecordEvent(pass, context, event) }
}

pub(in crate::calls) fn vcuda_ctx_wait_event(
    cx: &Cx<'_>,
    call: api::VcudaCtxWaitEvent,
) -> CuResult {
    let (context, event) = (entered_context(cx)?, cx.event(call.event)?);
    // SAFETY: the context and the event are live, because only this thread begins to destroy
    // contexts and events.
    unsafe { cx.driver().cuCtxWaitEvent(context, event) }
}

pub(in crate::calls) fn cu_event_query(cx: &Cx<'_>, call: api::CuEventQuery) -> CuResult {
    cx.enter_any()?;
    // SAFETY: the event is live, because only this thread removes events from the tables.
    unsafe { cx.driver().cuEventQuery(cx.event(call.h_event)?) }
}

pub(in crate::calls) fn cu_event_elapsed_time_v2(
    cx: &Cx<'_>,
    call: api::CuEventElapsedTimeV2,
) -> CuResult<api::CuEventElapsedTimeV2Answer> {
    cx.enter_any()?;
    let mut p_milliseconds = 0.0;
    let (start, end) = (cx.event(call.h_start)?, cx.event(call.h_end)?);
    // SAFETY: the events are live, because only this thread removes events from the tables. The
    // pointer is to a local variable.
    unsafe { cx.driver().cuEventElapsedTime(&mut p_milliseconds, start, end)? };
    Ok(api::CuEventElapsedTimeV2Answer { p_milliseconds })
}

pub(in crate::calls) fn cu_ctx_synchronize(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    _: api::CuCtxSynchronize,
    reply: ReplyTo,
) {
    deferred.wait_streams(cx, Which::All, None, Completion::Answer(reply));
}

pub(in crate::calls) fn cu_stream_synchronize(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::CuStreamSynchronize,
    reply: ReplyTo,
) {
    synchronize(deferred, cx, (call.h_stream, None), reply);
}

/// Replies once the commands now queued in a stream have finished. The GPU can write the completion
/// word `word` at that time.
fn synchronize(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    (id, word): (StreamId, Option<Word>),
    reply: ReplyTo,
) {
    match cx.enter().and_then(|_| stream_of(cx, id)) {
        Ok((stream, _)) if stream.is_null() => {
            deferred.wait_streams(cx, Which::Blocking, word, Completion::Answer(reply));
        }
        Ok(stream) => deferred.wait_stream(cx, stream, word, Completion::Answer(reply)),
        Err(error) => reply.finish(error.0, &[]),
    }
}

pub(in crate::calls) fn cu_event_synchronize(
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

pub(in crate::calls) fn vcuda_stream_synchronize(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaStreamSynchronize,
    reply: ReplyTo,
) {
    let word = Word { offset: call.word, value: WaitValue(call.value) };
    synchronize(deferred, cx, (call.h_stream, Some(word)), reply);
}

pub(in crate::calls) fn vcuda_event_synchronize(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaEventSynchronize,
    reply: ReplyTo,
) {
    let word = Word { offset: call.word, value: WaitValue(call.value) };
    match cx.enter_any() {
        Ok(()) => deferred.wait_event_with(cx, call.h_event, word, Completion::Answer(reply)),
        Err(error) => reply.finish(error.0, &[]),
    }
}

pub(in crate::calls) fn vcuda_ctx_synchronize(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaCtxSynchronize,
    reply: ReplyTo,
) {
    let word = Word { offset: call.word, value: WaitValue(call.value) };
    deferred.wait_streams(cx, Which::All, Some(word), Completion::Answer(reply));
}
