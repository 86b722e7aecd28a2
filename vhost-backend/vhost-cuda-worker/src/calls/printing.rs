//! Reports kernel output to the guest.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cuda_api::sys::{CUstream, CUstream_flags};
use protocol::calls as api;
use protocol::ids::ContextId;

use super::cx::Cx;
use super::driver_handle::DriverHandle;
use super::id_map::IdMap;
use super::lock;
use crate::driver::CuResult;
use crate::reply::ReplyTo;

/// The interval between checks for output, as long as no kernel is known to print.
const UNEXPECTED: Duration = Duration::from_millis(10);

/// Makes the driver write kernel output when the guest waits for the kernels.
#[derive(Default)]
pub(super) struct Watch {
    /// An empty stream per context. Waiting for it takes no time, and makes the driver write kernel
    /// output.
    streams: IdMap<ContextId, DriverHandle<CUstream>>,
    /// The time of the last check for unexpected output.
    last: Option<Instant>,
}

impl Watch {
    /// Sets the output flag in the reply to a call that waited for the GPU, if kernels have
    /// printed.
    pub(super) fn report_output(&mut self, cx: &Cx<'_>, reply: ReplyTo) -> ReplyTo {
        if !cx.shared.prints.load(Ordering::Relaxed) {
            return reply;
        }
        let _ = self.make_driver_write(cx);
        cx.shared.report_output(reply)
    }

    /// Checks for output, at most once per interval, if no kernel is known to print.
    pub(super) fn look(&mut self, cx: &Cx<'_>) {
        let now = Instant::now();
        let due = self.last.is_none_or(|last| now.duration_since(last) > UNEXPECTED);
        if due && !cx.shared.prints.load(Ordering::Relaxed) {
            self.last = Some(now);
            if self.make_driver_write(cx).is_ok() && lock(&cx.shared.output).waiting() > 0 {
                cx.shared.prints.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Forgets a context's stream, which the driver destroys with the context.
    pub(super) fn forget(&mut self, ctx: ContextId) {
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

pub(super) fn vcuda_take_output(
    cx: &Cx<'_>,
    _: api::VcudaTakeOutput,
) -> CuResult<api::VcudaTakeOutputAnswer> {
    // SAFETY: null means all streams of stdio.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    Ok(api::VcudaTakeOutputAnswer { text: lock(&cx.shared.output).take() })
}
