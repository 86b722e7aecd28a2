//! Entry points for events.

use crate::capture;
use crate::context;
use crate::driver;
use crate::entry::streams::stream::stream_id;
use crate::error::{CuError, CuResult};
use crate::graph::{GRAPHS, Op};
use crate::handles::{Handle, Object};
use crate::objects::Event;
use crate::session::Work;
use crate::thread;
use cuda_api::args::Out;
use cuda_api::sys::{CUevent_flags, CUevent_record_flags};
use protocol::calls::{
    CuEventCreate, CuEventDestroyV2, CuEventElapsedTimeV2, CuEventQuery, CuEventRecordWithFlags,
};
use std::sync::Arc;

const DISABLE_TIMING: u32 = CUevent_flags::CU_EVENT_DISABLE_TIMING.0;
const INTERPROCESS: u32 = CUevent_flags::CU_EVENT_INTERPROCESS.0;
const FLAGS: u32 = CUevent_flags::CU_EVENT_BLOCKING_SYNC.0 | DISABLE_TIMING | INTERPROCESS;
const EXTERNAL: u32 = CUevent_record_flags::CU_EVENT_RECORD_EXTERNAL.0;

fn destroy(handle: Handle) -> CuResult {
    let driver = driver::driver()?;
    let event: Arc<Event> = driver.handles.remove(handle)?;
    GRAPHS.forget_event(event.id.0);
    driver.session.post(&CuEventDestroyV2 { h_event: event.id })
}

fn record(event: Handle, stream: Handle, flags: u32, null: usize) -> CuResult {
    if flags & !EXTERNAL != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    let driver = context::driver()?;
    let handle = event;
    let event: Arc<Event> = driver.handles.get(event)?;
    let h_stream = stream_id(driver, stream, null)?;
    if flags & EXTERNAL != 0 && capture::captured(driver, stream, null)? {
        return capture::push(driver, stream, null, Op::Record(event, handle));
    }
    if GRAPHS.any_capture() {
        let stream = capture::describe(driver, stream, null)?;
        if GRAPHS.record(event.id.0, || Ok(stream))? {
            return Ok(());
        }
    }
    let record = CuEventRecordWithFlags { h_event: event.id, h_stream, flags };
    match event.is_interprocess() {
        false => driver.session.post(&record),
        // Wait for the reply: when this function returns, other processes must be able to wait for
        // the event.
        true => driver.session.call(&record),
    }
}

fn elapsed(ms: Out<f32>, start: Handle, end: Handle) -> CuResult {
    // NVIDIA's driver reports a null pointer as an invalid handle.
    ms.check().map_err(|_| CuError::INVALID_HANDLE)?;
    let driver = driver::driver()?;
    let start: Arc<Event> = driver.handles.get(start)?;
    let end: Arc<Event> = driver.handles.get(end)?;
    GRAPHS.forbid_captured_event(start.id.0)?;
    GRAPHS.forbid_captured_event(end.id.0)?;
    if (start.flags | end.flags) & DISABLE_TIMING != 0 {
        return Err(CuError::INVALID_HANDLE);
    }
    let times = CuEventElapsedTimeV2 { h_start: start.id, h_end: end.id };
    ms.set(driver.session.synchronize(&times)?.p_milliseconds)
}

entries! {
    fn cuEventCreate(out: Out<Handle>, flags: u32) {
        out.check()?;
        if flags & !FLAGS != 0 || flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let driver = context::driver()?;
        let (id, context) = (driver.session.mint(), context::current()?.id());
        driver.session.post(&CuEventCreate { ph_event: id, flags })?;
        out.set(driver.handles.insert(Object::Event(Arc::new(Event { id, flags, context })))?)
    }

    fn cuEventDestroy(event: Handle) { destroy(event) }
    fn cuEventDestroy_v2(event: Handle) { destroy(event) }

    fn cuEventRecord, fn cuEventRecord_ptsz(event: Handle, stream: Handle) |null| {
        record(event, stream, 0, null)
    }

    fn cuEventRecordWithFlags, fn cuEventRecordWithFlags_ptsz(
        event: Handle, stream: Handle, flags: u32,
    ) |null| {
        record(event, stream, flags, null)
    }

    fn cuEventQuery(event: Handle) {
        let driver = driver::driver()?;
        let event: Arc<Event> = driver.handles.get(event)?;
        GRAPHS.forbid_captured_event(event.id.0)?;
        capture::forbid_unsafe()?;
        driver.session.synchronize(&CuEventQuery { h_event: event.id })
    }

    fn cuEventSynchronize(event: Handle) {
        let driver = driver::driver()?;
        let event: Arc<Event> = driver.handles.get(event)?;
        GRAPHS.forbid_captured_event(event.id.0)?;
        capture::forbid_unsafe()?;
        let spins = thread::spins() && !event.is_blocking();
        let result = driver.session.wait_for_work(Work::Event(event.id), spins);
        driver.flush_output();
        result
    }

    fn cuEventElapsedTime(ms: Out<f32>, start: Handle, end: Handle) { elapsed(ms, start, end) }
    fn cuEventElapsedTime_v2(ms: Out<f32>, start: Handle, end: Handle) { elapsed(ms, start, end) }
}
