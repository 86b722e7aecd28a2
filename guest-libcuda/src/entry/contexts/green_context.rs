//! Entry points for green contexts that exist.

use crate::context::current;
use crate::driver::driver;
use crate::entry::contexts::context::{record_in, release_primary, wait_in};
use crate::entry::contexts::green::green_context;
use crate::entry::streams::stream::create_in;
use crate::error::CuError;
use crate::handles::Handle;
use crate::thread;
use cuda_api::args::Out;
use cuda_api::sys::CUstream_flags;
use protocol::calls::VcudaGreenCtxDestroy;

const NON_BLOCKING: u32 = CUstream_flags::CU_STREAM_NON_BLOCKING.0;

entries! {
    /// Destroys a green context. Its memory and modules stay, because they belong to the primary
    /// context.
    fn cuGreenCtxDestroy(handle: Handle) {
        let driver = driver()?;
        let context = green_context(handle)?;
        let green = context.green.as_ref().ok_or(CuError::INVALID_CONTEXT)?;
        thread::within(context, || driver.session.call(&VcudaGreenCtxDestroy { green: green.id }))?;
        context.end();
        release_primary(context.device)
    }

    fn cuCtxFromGreenCtx(out: Out<Handle>, handle: Handle) {
        driver()?;
        out.check()?;
        out.set(green_context(handle)?.handle())
    }

    fn cuGreenCtxGetId(handle: Handle, id: Out<u64>) {
        driver()?;
        id.check()?;
        let context = if handle == 0 { current()? } else { green_context(handle)? };
        if context.green.is_none() {
            return Err(CuError::INVALID_CONTEXT);
        }
        id.set(context.unique)
    }

    fn cuGreenCtxRecordEvent(handle: Handle, event: Handle) {
        record_in(driver()?, green_context(handle)?, event)
    }

    fn cuGreenCtxWaitEvent(handle: Handle, event: Handle) {
        wait_in(driver()?, green_context(handle)?, event)
    }

    fn cuGreenCtxStreamCreate(out: Out<Handle>, handle: Handle, flags: u32, priority: i32) {
        driver()?;
        out.check()?;
        let context = green_context(handle)?;
        if flags != NON_BLOCKING {
            return Err(CuError::INVALID_VALUE);
        }
        thread::within(context, || create_in(out, context, flags, priority))
    }
}
