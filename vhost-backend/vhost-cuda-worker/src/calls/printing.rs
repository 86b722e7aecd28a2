//! Reports kernel output to the guest.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use protocol::calls as api;
use protocol::ids::ContextId;

use super::cx::Cx;
use super::driver_handle::DriverHandle;
use super::stream::STREAM_NON_BLOCKING;
use super::{Calls, ReplyTo, Shared, lock};
use crate::driver::CuResult;

/// The interval between checks for output of kernels that aren't known to print.
const UNEXPECTED: Duration = Duration::from_millis(10);

impl Calls {
    /// Sets the output flag in the reply to a call that waited for the GPU, if kernels have
    /// printed.
    pub(super) fn with_output(&mut self, cx: &Cx<'_>, reply: ReplyTo) -> ReplyTo {
        if !self.shared.prints.load(Ordering::Relaxed) {
            return reply;
        }
        let _ = self.make_driver_write(cx);
        self.shared.tell_output(reply)
    }

    /// Checks from time to time for output of kernels that aren't known to print.
    pub(super) fn look_for_output(&mut self, cx: &Cx<'_>) {
        let now = Instant::now();
        let due = self.watch.last.is_none_or(|last| now.duration_since(last) > UNEXPECTED);
        if due && !self.shared.prints.load(Ordering::Relaxed) {
            self.watch.last = Some(now);
            if self.make_driver_write(cx).is_ok() && lock(&self.shared.output).waiting() > 0 {
                self.shared.prints.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Forgets the stream of a context that has ended.
    pub(super) fn forget_watch(&mut self, ctx: ContextId) {
        self.watch.streams.remove(&ctx);
    }

    fn make_driver_write(&mut self, cx: &Cx<'_>) -> CuResult {
        cx.enter()?;
        let stream = match self.watch.streams.get(&cx.ctx) {
            Some(stream) => stream.0,
            None => {
                let mut stream = std::ptr::null_mut();
                // SAFETY: the pointer is to a local variable.
                unsafe {
                    cx.driver().cuStreamCreateWithPriority(&mut stream, STREAM_NON_BLOCKING, 0)?;
                }
                self.watch.streams.insert(cx.ctx, DriverHandle(stream));
                stream
            }
        };
        // SAFETY: the stream is live, and nothing is ever queued in it.
        unsafe {
            cx.driver().cuStreamSynchronize(stream)?;
            libc::fflush(std::ptr::null_mut());
        }
        Ok(())
    }
}

impl Shared {
    /// Sets the output flag in a reply, if the driver has written output of kernels.
    pub(super) fn tell_output(&self, reply: ReplyTo) -> ReplyTo {
        if lock(&self.output).waiting() > 0 { reply.with_output() } else { reply }
    }
}

impl Cx<'_> {
    pub(super) fn vcuda_take_output(
        &self,
        _: api::VcudaTakeOutput,
    ) -> CuResult<api::VcudaTakeOutputAnswer> {
        // SAFETY: null means all streams of stdio.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        Ok(api::VcudaTakeOutputAnswer { text: lock(&self.shared.output).take() })
    }
}
