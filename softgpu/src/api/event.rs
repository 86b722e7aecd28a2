//! Events.

use std::ffi::{c_float, c_uint};
use std::sync::Arc;

use cuda_abi::sys::{CUevent, CUstream};

use super::{Answer, CUresult, cuda, put};
use crate::state::context::current;
use crate::state::event::{EVENTS, Event};
use crate::state::stream::Stream;

const DISABLE_TIMING: u32 = 2;
const INTERPROCESS: u32 = 4;

fn named(event: CUevent) -> Result<Arc<Event>, CUresult> {
    crate::state::device::driver()?;
    EVENTS.get(event as usize).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// Records an event in a stream.
pub(crate) fn record(event: CUevent, stream: &Stream) -> Answer {
    let event = named(event)?;
    if event.context.id != stream.context.id {
        return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
    event.record(stream);
    Ok(())
}

/// Makes a stream wait for an event.
pub(crate) fn wait_on(stream: &Stream, event: CUevent) -> Answer {
    if let Some(mark) = named(event)?.pending() {
        stream.submit_after(mark);
    }
    Ok(())
}

fn elapsed(to: *mut c_float, start: CUevent, end: CUevent) -> Answer {
    let (start, end) = (named(start)?, named(end)?);
    put(to, end.since(&start)?)
}

fn destroy(event: CUevent) -> Answer {
    crate::state::device::driver()?;
    EVENTS.remove(event as usize).map(drop).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

cuda! {
    fn cuEventCreate(to: *mut CUevent, flags: c_uint) {
        let context = current()?;
        if flags & !7 != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        if flags & INTERPROCESS != 0 {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        put(to, EVENTS.insert(Event::new(context, flags & DISABLE_TIMING == 0)) as CUevent)
    }

    fn cuEventDestroy(event: CUevent) {
        destroy(event)
    }

    fn cuEventDestroy_v2(event: CUevent) {
        destroy(event)
    }

    fn cuEventQuery(event: CUevent) {
        let event = named(event)?;
        event.context.healthy()?;
        if event.pending().is_some() {
            return Err(CUresult::CUDA_ERROR_NOT_READY);
        }
        Ok(())
    }

    fn cuEventSynchronize(event: CUevent) {
        let event = named(event)?;
        event.wait();
        event.context.printf.flush();
        event.context.healthy()
    }

    fn cuEventElapsedTime(to: *mut c_float, start: CUevent, end: CUevent) {
        elapsed(to, start, end)
    }

    fn cuEventElapsedTime_v2(to: *mut c_float, start: CUevent, end: CUevent) {
        elapsed(to, start, end)
    }

    fn cuEventRecord(event: CUevent, stream: CUstream) {
        record(event, &*super::stream::lookup(stream, false)?)
    }

    fn cuEventRecord_ptsz(event: CUevent, stream: CUstream) {
        record(event, &*super::stream::lookup(stream, true)?)
    }

    fn cuEventRecordWithFlags(event: CUevent, stream: CUstream, flags: c_uint) {
        if flags & !1 != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        record(event, &*super::stream::lookup(stream, false)?)
    }

    fn cuEventRecordWithFlags_ptsz(event: CUevent, stream: CUstream, flags: c_uint) {
        if flags & !1 != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        record(event, &*super::stream::lookup(stream, true)?)
    }
}
