//! Reports the output of kernels to the guest.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cuda_api::sys::{CUstream, CUstream_flags};
use protocol::calls as api;
use protocol::ids::ContextId;

use crate::calls::commands::cx::Cx;
use crate::calls::lock;
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::id_map::IdMap;
use crate::driver::CuResult;
use crate::reply::ReplyTo;

/// The minimum time between checks for output while no kernel is known to print.
const UNEXPECTED: Duration = Duration::from_millis(10);

/// Makes the driver write out kernel output when the guest has waited for kernels.
#[derive(Default)]
pub(in crate::calls) struct Watch {
    /// A stream per context in which nothing is ever queued. Synchronizing with it takes no time,
    /// but makes the driver write out kernel output.
    streams: IdMap<ContextId, DriverHandle<CUstream>>,
    /// The last time that output was checked for without a kernel that is known to print.
    last: Option<Instant>,
}

impl Watch {
    /// Sets the output flag in the reply to a call that has waited for the GPU, if there is kernel
    /// output for the guest to fetch.
    pub(in crate::calls) fn report_output(&mut self, cx: &Cx<'_>, reply: ReplyTo) -> ReplyTo {
        if !cx.shared.prints.load(Ordering::Relaxed) {
            return reply;
        }
        let _ = self.make_driver_write(cx);
        cx.shared.report_output(reply)
    }

    /// Checks for kernel output although no kernel is known to print, but not more often than once
    /// per [`UNEXPECTED`].
    pub(in crate::calls) fn look(&mut self, cx: &Cx<'_>) {
        let now = Instant::now();
        let due = self.last.is_none_or(|last| now.duration_since(last) > UNEXPECTED);
        if due && !cx.shared.prints.load(Ordering::Relaxed) {
            self.last = Some(now);
            if self.make_driver_write(cx).is_ok() && lock(&cx.shared.output).waiting() > 0 {
                cx.shared.prints.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Removes a context's stream, because the driver destroys it with the context.
    pub(in crate::calls) fn forget(&mut self, ctx: ContextId) {
        self.streams.remove(&ctx);
    }

    fn make_driver_write(&mut self, cx: &Cx<'_>) -> CuResult {
        cx.enter()?;
        let stream = match self.streams.get(&cx.ctx) {
            Some(stream) => stream.0,
            None => {
                let mut stream = std::ptr::null_mut();
                let flags = CUstream_flags::CU_STREAM_NON_BLOCKING.0;
                // SAFETY: the pointer is to a local variable.
                unsafe { cx.driver().cuStreamCreateWithPriority(&mut stream, flags, 0)? };
                self.streams.insert(cx.ctx, DriverHandle(stream));
                stream
            }
        };
        // SAFETY: the stream is live, and nothing is ever queued there.
        unsafe {
            cx.driver().cuStreamSynchronize(stream)?;
            libc::fflush(std::ptr::null_mut());
        }
        Ok(())
    }
}

pub(in crate::calls) fn vcuda_take_output(
    cx: &Cx<'_>,
    _: api::VcudaTakeOutput,
) -> CuResult<api::VcudaTakeOutputAnswer> {
    // SAFETY: null means all streams of stdio.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    Ok(api::VcudaTakeOutputAnswer { text: lock(&cx.shared.output).take() })
}
