//! Entry points for events.

use std::ffi::{c_float, c_uint};
use std::sync::Arc;

use cuda_api::args::Out;
use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::{CUevent, CUevent_flags, CUevent_record_flags, CUevent_wait_flags, CUstream};

use super::capture;
use super::entry::entries;
use crate::state::context::{current, object};
use crate::state::event::{Awaited, EVENTS, Event};
use crate::state::graph::Op;
use crate::state::shared_event::SharedEvent;
use crate::state::stream::{Stream, lookup};

const DISABLE_TIMING: u32 = CUevent_flags::CU_EVENT_DISABLE_TIMING.0;
const INTERPROCESS: u32 = CUevent_flags::CU_EVENT_INTERPROCESS.0;
const FLAGS: u32 = CUevent_flags::CU_EVENT_BLOCKING_SYNC.0 | DISABLE_TIMING | INTERPROCESS;
const RECORD_EXTERNAL: u32 = CUevent_record_flags::CU_EVENT_RECORD_EXTERNAL.0;
const WAIT_EXTERNAL: u32 = CUevent_wait_flags::CU_EVENT_WAIT_EXTERNAL.0;

pub(crate) fn named(event: CUevent) -> CuResult<Arc<Event>> {
    crate::state::device::driver()?;
    object(&EVENTS, event as usize)
}

/// Records an event in a stream. In a stream that is being captured, the event only marks a
/// position in the capture. If `flags` says that the event is external, the call instead adds a
/// node that records the event whenever the graph runs.
pub(crate) fn record(event: CUevent, stream: &Stream, flags: c_uint) -> CuResult {
    let handle = event as usize;
    let event = named(event)?;
    if event.context.id != stream.context.id {
        return Err(CuError::INVALID_HANDLE);
    }
    if flags & RECORD_EXTERNAL != 0 && capture::captured(stream)? {
        return capture::push(stream, Op::Record(event, handle));
    }
    if !capture::GRAPHS.record(handle as u64, || Ok(stream.into()))? {
        event.record(stream);
    }
    Ok(())
}

/// Makes a stream wait for an event.
pub(crate) fn wait_on(stream: &Stream, event: CUevent, flags: c_uint) -> CuResult {
    let handle = event as usize;
    if flags & WAIT_EXTERNAL != 0 && capture::captured(stream)? {
        return capture::push(stream, Op::Wait(named(event)?, handle));
    }
    named(event)?;
    if capture::GRAPHS.wait(handle as u64, || Ok(stream.into()))? {
        return Ok(());
    }
    match named(event)?.pending() {
        Some(Awaited::Mark(mark)) => stream.submit_after(mark),
        Some(awaited) => drop(stream.submit(move |_| awaited.wait())),
        None => {}
    }
    Ok(())
}

fn elapsed(to: Out<c_float>, start: CUevent, end: CUevent) -> CuResult {
    // NVIDIA's driver reports a null pointer as an invalid handle.
    to.check().map_err(|_| CuError::INVALID_HANDLE)?;
    for event in [start, end] {
        capture::GRAPHS.forbid_captured_event(event as u64)?;
    }
    let (start, end) = (named(start)?, named(end)?);
    to.set(end.since(&start)?)
}

fn destroy(event: CUevent) -> CuResult {
    crate::state::device::driver()?;
    capture::GRAPHS.forget_event(event as u64);
    object(&EVENTS, event as usize)?;
    EVENTS.remove(event as usize).map(drop).ok_or(CuError::INVALID_HANDLE)
}

entries! {
    fn cuEventCreate(to: Out<CUevent>, flags: c_uint) {
        let context = current()?;
        if flags & !FLAGS != 0 || flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let event = match flags & INTERPROCESS {
            0 => Event::new(context, flags & DISABLE_TIMING == 0),
            _ => Event::interprocess(context, SharedEvent::create()?),
        };
        to.set(EVENTS.insert(event) as CUevent)
    }

    fn cuEventDestroy(event: CUevent) {
        destroy(event)
    }

    fn cuEventDestroy_v2(event: CUevent) {
        destroy(event)
    }

    fn cuEventQuery(event: CUevent) {
        capture::GRAPHS.forbid_captured_event(event as u64)?;
        capture::forbid_unsafe()?;
        let event = named(event)?;
        event.context.healthy()?;
        if event.pending().is_some() {
            return Err(CuError::NOT_READY);
        }
        // The work before the event may have failed since the first check.
        event.context.healthy()
    }

    fn cuEventSynchronize(event: CUevent) {
        capture::GRAPHS.forbid_captured_event(event as u64)?;
        capture::forbid_unsafe()?;
        let event = named(event)?;
        event.wait();
        event.context.printf.flush();
        event.context.healthy()
    }

    fn cuEventElapsedTime(to: Out<c_float>, start: CUevent, end: CUevent) {
        elapsed(to, start, end)
    }

    fn cuEventElapsedTime_v2(to: Out<c_float>, start: CUevent, end: CUevent) {
        elapsed(to, start, end)
    }

    fn cuEventRecord, fn cuEventRecord_ptsz(event: CUevent, stream: CUstream) |per_thread| {
        record(event, &*lookup(stream, per_thread)?, 0)
    }

    fn cuEventRecordWithFlags, fn cuEventRecordWithFlags_ptsz(
        event: CUevent, stream: CUstream, flags: c_uint,
    ) |per_thread| {
        if flags & !RECORD_EXTERNAL != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        record(event, &*lookup(stream, per_thread)?, flags)
    }
}
