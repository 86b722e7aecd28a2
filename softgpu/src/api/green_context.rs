//! Calls that take an existing green context.

use std::ffi::{c_int, c_uint};
use std::sync::atomic::Ordering;

use cuda_api::args::Out;
use cuda_api::error::CuError;
use cuda_api::sys::{CUcontext, CUevent, CUgreenCtx, CUstream, CUstream_flags};

use super::context::{record, release, wait};
use super::entry::entries;
use super::green::{end, named};
use crate::state::context::{CONTEXTS, current};
use crate::state::device::driver;
use crate::state::stream::Stream;

const NON_BLOCKING: u32 = CUstream_flags::CU_STREAM_NON_BLOCKING.0;

entries! {
    fn cuGreenCtxDestroy(green: CUgreenCtx) {
        let context = end(green)?;
        context.synchronize();
        context.active.store(false, Ordering::Release);
        CONTEXTS.remove(context.handle);
        context.close();
        release(context.ordinal)
    }

    fn cuCtxFromGreenCtx(to: Out<CUcontext>, green: CUgreenCtx) {
        to.check()?;
        to.set(named(green)?.handle as CUcontext)
    }

    fn cuGreenCtxGetId(green: CUgreenCtx, id: Out<u64>) {
        driver()?;
        id.check()?;
        let context = if green.is_null() { current()? } else { named(green)? };
        if context.green.is_none() {
            return Err(CuError::INVALID_CONTEXT);
        }
        id.set(context.unique)
    }

    fn cuGreenCtxRecordEvent(green: CUgreenCtx, event: CUevent) {
        record(&*named(green)?, event)
    }

    fn cuGreenCtxWaitEvent(green: CUgreenCtx, event: CUevent) {
        wait(&*named(green)?, event)
    }

    fn cuGreenCtxStreamCreate(
        to: Out<CUstream>, green: CUgreenCtx, flags: c_uint, priority: c_int,
    ) {
        to.check()?;
        let context = named(green)?;
        if flags != NON_BLOCKING {
            return Err(CuError::INVALID_VALUE);
        }
        to.set(Stream::create(&context, true, priority)? as CUstream)
    }
}
