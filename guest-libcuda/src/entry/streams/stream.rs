//! Entry points for streams.

use crate::capture;
use crate::context::{self, current};
use crate::driver::Driver;
use crate::entry::macros::{LEGACY, PER_THREAD};
use crate::error::{CuError, CuResult};
use crate::graph::{GRAPHS, Op};
use crate::handles::{Handle, Object};
use crate::objects::{Context, Event, Stream};
use crate::remembered::once;
use crate::thread;
use crate::transfer::synchronize;
use cuda_api::args::{In, Out};
use cuda_api::attributes::{Attributes, Value};
use cuda_api::sys::{CUevent_wait_flags, CUlaunchAttributeID, CUstream_flags};
use parking_lot::Mutex;
use protocol::calls::{
    CuCtxGetStreamPriorityRange, CuStreamCreateWithPriority, CuStreamDestroyV2,
    CuStreamGetAttribute, CuStreamQuery, CuStreamSetAttribute, CuStreamWaitEvent,
    VcudaGreenCtxStreamCreate, VcudaStreamWaitInterprocessEvent,
};
use protocol::ids::StreamId;
use protocol::options::STREAM_ATTRIBUTES;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

const NON_BLOCKING: u32 = CUstream_flags::CU_STREAM_NON_BLOCKING.0;
const PRIORITY: u32 = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY.0;
const EXTERNAL: u32 = CUevent_wait_flags::CU_EVENT_WAIT_EXTERNAL.0;

/// Returns the stream to use for a default stream (legacy or per-thread) in the current context. A
/// green context has no per-thread default streams, and has an ordinary stream in place of the
/// legacy default stream.
#[inline]
pub fn default_stream(id: StreamId) -> CuResult<StreamId> {
    match thread::current().and_then(|context| context.green.as_ref()) {
        None => {
            if id == StreamId::PER_THREAD {
                thread::note_default_stream();
            }
            Ok(id)
        }
        Some(_) if id == StreamId::PER_THREAD => Err(CuError::INVALID_HANDLE),
        Some(green) => Ok(green.default_stream),
    }
}

/// Returns the id of a stream. `null` says which default stream a null handle means.
#[inline]
pub fn stream_id(driver: &Driver, handle: Handle, null: usize) -> CuResult<StreamId> {
    match StreamId(handle as u64) {
        StreamId::DEFAULT => default_stream(StreamId(null as u64)),
        id @ (StreamId::LEGACY | StreamId::PER_THREAD) => default_stream(id),
        _ => {
            let stream: Arc<Stream> = driver.handles.get(handle)?;
            stream.check()?;
            Ok(stream.id)
        }
    }
}

/// Returns whether a null handle means the thread's default stream.
pub fn is_per_thread(null: usize) -> bool {
    null == PER_THREAD
}

/// Returns the constant (`PER_THREAD` or `LEGACY`) that says which default stream a null handle
/// means.
pub fn null_of(per_thread: bool) -> usize {
    if per_thread { PER_THREAD } else { LEGACY }
}

/// Implements `cuStreamGetId`.
pub fn public_id(driver: &Driver, stream: Handle, null: usize) -> CuResult<u64> {
    let id = stream_id(driver, stream, null)?;
    // The id of a default stream contains that of the context, because each context has its own
    // default streams.
    Ok(if id.is_cudas() { current()?.unique << 32 | id.0.max(1) } else { id.0 })
}

/// Returns a stream that the program created, or `None` for a default stream.
pub fn own_stream(driver: &Driver, handle: Handle) -> CuResult<Option<Arc<Stream>>> {
    if StreamId(handle as u64).is_cudas() {
        return Ok(None);
    }
    let stream: Arc<Stream> = driver.handles.get(handle)?;
    stream.check()?;
    Ok(Some(stream))
}

fn create(out: Out<Handle>, flags: u32, priority: i32) -> CuResult {
    out.check()?;
    if flags & !NON_BLOCKING != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    context::driver()?;
    let context = current()?;
    if context.green.is_some() && flags != NON_BLOCKING {
        crate::log::unsupported("a blocking stream in a green context");
        return Err(CuError::NOT_SUPPORTED);
    }
    create_in(out, context, flags, priority)
}

/// Returns the least and the greatest priority of streams on the current context's device.
fn priorities(driver: &Driver) -> CuResult<(i32, i32)> {
    let device = driver.device(current()?.device)?;
    once(&device.priorities, || {
        let range = driver.session.call(&CuCtxGetStreamPriorityRange {})?;
        Ok((range.least_priority, range.greatest_priority))
    })
}

/// Creates a stream in a context, which must be the current one.
pub fn create_in(
    out: Out<Handle>,
    context: &'static Context,
    flags: u32,
    priority: i32,
) -> CuResult {
    let driver = context::driver()?;
    let priority = match priority {
        0 => 0,
        _ => {
            // A lower number is a higher priority.
            let (high, low) = priorities(driver)?;
            priority.clamp(low.min(high), high.max(low))
        }
    };
    let id = driver.session.mint();
    match &context.green {
        None => {
            driver.session.post(&CuStreamCreateWithPriority { ph_stream: id, flags, priority })?;
        }
        Some(green) => {
            let call = VcudaGreenCtxStreamCreate { stream: id, green: green.id, priority };
            driver.session.call(&call)?;
        }
    }
    let mut attributes = Attributes::default();
    if priority != 0 {
        attributes.insert(PRIORITY, [u64::from(priority as u32), 0, 0, 0, 0, 0, 0, 0]);
    }
    let (priority, attributes) = (AtomicI32::new(priority), Mutex::new(attributes));
    let stream = Stream { id, flags, priority, attributes, context };
    out.set(driver.handles.insert(Object::Stream(Arc::new(stream)))?)
}

fn destroy(handle: Handle) -> CuResult {
    let driver = context::driver_unless_ended()?;
    driver.handles.get::<Arc<Stream>>(handle)?.check()?;
    let stream: Arc<Stream> = driver.handles.remove(handle)?;
    GRAPHS.forget_stream(capture::key(&stream));
    driver.session.post(&CuStreamDestroyV2 { h_stream: stream.id })
}

/// Sets an attribute of a stream, and remembers it for captured launches if the program created the
/// stream.
fn set_attribute(
    driver: &Driver,
    (stream, h_stream): (Handle, StreamId),
    attr: u32,
    param: Value,
) -> CuResult {
    Attributes::default().set_of_stream(attr, param)?;
    driver.session.call(&CuStreamSetAttribute { h_stream, attr, param })?;
    let Some(stream) = own_stream(driver, stream)? else { return Ok(()) };
    let mut value = param;
    if attr == PRIORITY {
        // The driver limits the priority to the device's range, so ask for the resulting value.
        value = driver.session.call(&CuStreamGetAttribute { h_stream, attr })?.value;
        stream.priority.store(value[0] as i32, Ordering::Relaxed);
    }
    stream.attributes.lock().insert(attr, value);
    Ok(())
}

/// Returns the context of a stream.
fn context_of(stream: Handle) -> CuResult<&'static Context> {
    let driver = context::driver()?;
    own_stream(driver, stream)?.map_or_else(current, |stream| Ok(stream.context))
}

fn context_handle(stream: Handle) -> CuResult<Handle> {
    context_of(stream).map(Context::handle)
}

entries! {
    fn cuStreamCreate(out: Out<Handle>, flags: u32) { create(out, flags, 0) }

    fn cuStreamCreateWithPriority(out: Out<Handle>, flags: u32, priority: i32) {
        create(out, flags, priority)
    }

    fn cuStreamDestroy(stream: Handle) { destroy(stream) }
    fn cuStreamDestroy_v2(stream: Handle) { destroy(stream) }

    fn cuStreamSynchronize, fn cuStreamSynchronize_ptsz(stream: Handle) |null| {
        let driver = context::driver()?;
        capture::forbid_on(driver, stream, null)?;
        synchronize(driver, stream_id(driver, stream, null)?)
    }

    fn cuStreamQuery, fn cuStreamQuery_ptsz(stream: Handle) |null| {
        let driver = context::driver()?;
        capture::forbid_on(driver, stream, null)?;
        let id = stream_id(driver, stream, null)?;
        let result = driver.session.synchronize(&CuStreamQuery { h_stream: id });
        driver.flush_output();
        result
    }

    fn cuStreamWaitEvent, fn cuStreamWaitEvent_ptsz(
        stream: Handle, event: Handle, flags: u32,
    ) |null| {
        if flags & !EXTERNAL != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let driver = context::driver()?;
        let h_stream = stream_id(driver, stream, null)?;
        let handle = event;
        let event: Arc<Event> = driver.handles.get(event)?;
        if flags & EXTERNAL != 0 && capture::captured(driver, stream, null)? {
            return capture::push(driver, stream, null, Op::Wait(event, handle));
        }
        if GRAPHS.any_capture() {
            let stream = capture::describe(driver, stream, null)?;
            if GRAPHS.wait(event.id.0, || Ok(stream))? {
                return Ok(());
            }
        }
        let h_event = event.id;
        match event.is_interprocess() {
            false => driver.session.post(&CuStreamWaitEvent { h_stream, h_event, flags }),
            // Wait for the reply: as soon as this function returns, another process may record the
            // event again.
            true => {
                driver.session.call(&VcudaStreamWaitInterprocessEvent { h_stream, h_event, flags })
            }
        }
    }

    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        let range = priorities(context::driver()?)?;
        least.set_if_wanted(range.0);
        greatest.set_if_wanted(range.1);
        Ok(())
    }

    fn cuStreamGetPriority, fn cuStreamGetPriority_ptsz(
        stream: Handle, priority: Out<i32>,
    ) |_null| {
        let stream = own_stream(context::driver()?, stream)?;
        priority.set(stream.map_or(0, |stream| stream.priority.load(Ordering::Relaxed)))
    }

    fn cuStreamGetFlags, fn cuStreamGetFlags_ptsz(stream: Handle, flags: Out<u32>) |_null| {
        let stream = own_stream(context::driver()?, stream)?;
        flags.set(stream.map_or(0, |stream| stream.flags))
    }

    fn cuStreamCopyAttributes, fn cuStreamCopyAttributes_ptsz(dst: Handle, src: Handle) |null| {
        let driver = context::driver()?;
        let (to, from) = (stream_id(driver, dst, null)?, stream_id(driver, src, null)?);
        if context_handle(dst)? != context_handle(src)? {
            return Err(CuError::INVALID_VALUE);
        }
        for &attr in STREAM_ATTRIBUTES {
            let value = driver.session.call(&CuStreamGetAttribute { h_stream: from, attr })?.value;
            set_attribute(driver, (dst, to), attr, value)?;
        }
        Ok(())
    }

    fn cuStreamGetAttribute, fn cuStreamGetAttribute_ptsz(
        stream: Handle, attr: u32, value: Out<Value>,
    ) |null| {
        let driver = context::driver()?;
        let h_stream = stream_id(driver, stream, null)?;
        value.check()?;
        if !STREAM_ATTRIBUTES.contains(&attr) {
            return Err(CuError::INVALID_VALUE);
        }
        value.set(driver.session.call(&CuStreamGetAttribute { h_stream, attr })?.value)
    }

    fn cuStreamSetAttribute, fn cuStreamSetAttribute_ptsz(
        stream: Handle, attr: u32, value: In<Value>,
    ) |null| {
        let driver = context::driver()?;
        let h_stream = stream_id(driver, stream, null)?;
        set_attribute(driver, (stream, h_stream), attr, value.get()?)
    }

    fn cuStreamGetId, fn cuStreamGetId_ptsz(stream: Handle, id: Out<u64>) |null| {
        id.set(public_id(context::driver()?, stream, null)?)
    }

    fn cuStreamGetCtx, fn cuStreamGetCtx_ptsz(stream: Handle, out: Out<Handle>) |_null| {
        out.set(context_handle(stream)?)
    }

    fn cuStreamGetCtx_v2, fn cuStreamGetCtx_v2_ptsz(
        stream: Handle, out: Out<Handle>, green: Out<Handle>,
    ) |_null| {
        let context = context_handle(stream)?;
        green.set_if_wanted(context_of(stream)?.green_handle());
        out.set_if_wanted(context);
        Ok(())
    }

    fn cuStreamGetGreenCtx(stream: Handle, out: Out<Handle>) {
        stream_id(context::driver()?, stream, LEGACY)?;
        out.set(context_of(stream)?.green_handle())
    }

    fn cuStreamGetDevice, fn cuStreamGetDevice_ptsz(stream: Handle, device: Out<i32>) |_null| {
        let stream = own_stream(context::driver()?, stream)?;
        device.set(stream.map_or(current()?.device, |stream| stream.context.device))
    }
}
