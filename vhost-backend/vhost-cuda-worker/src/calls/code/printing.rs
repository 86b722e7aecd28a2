//! Reports the output of kernels to the guest.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cuda_api::sys::{CUstream, CUstream_flags};
use protocol::calls as api;
use protocol::ids::ContextId;

use crate::calls::commands::cx::Cx;
use crate::calls::commands::shared::Shared;
use crate::calls::lock;
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::id_map::IdMap;
use crate::driver::CuResult;
use crate::executor::Pending;
use crate::reply::ReplyTo;

/// The minimum time between two checks for kernel output while no kernel is known to print.
const UNEXPECTED: Duration = Duration::from_millis(10);
/// The time without a wait after which the worker checks for kernel output, unless a call is
/// waiting, when it can check at once. Most programs launch the next kernel right after a wait, and
/// a check at that time would delay the launch.
const QUIET: Duration = Duration::from_micros(200);

/// Makes the driver write out kernel output after the guest has waited for kernels.
#[derive(Default)]
pub(in crate::calls) struct Watch {
    /// One stream per context, in which nothing is ever queued. Synchronizing with it takes no
    /// time, but makes the driver write out kernel output.
    streams: IdMap<ContextId, DriverHandle<CUstream>>,
    /// The last time that the worker checked for output while no kernel was known to print.
    last: Option<Instant>,
    /// The context in which to check for output, and the time of the last wait in that context.
    due: Option<(ContextId, Instant)>,
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

    /// Requests a check for kernel output, because the guest has waited for kernels in the context
    /// `ctx`. If kernels are known to print, every reply already reports their output, so no check
    /// is needed.
    pub(in crate::calls) fn waited(&mut self, shared: &Arc<Shared>, ctx: ContextId) {
        let now = Instant::now();
        let is_recent = self.last.is_some_and(|last| now.duration_since(last) <= UNEXPECTED);
        if is_recent || shared.prints.load(Ordering::Relaxed) {
            return;
        }
        self.due = Some((ctx, now));
        // The first check creates the stream. Do that now, while the GPU has nothing to do in this
        // context, because the GPU may be busy later.
        if !self.streams.contains_key(&ctx) {
            self.check(shared, ctx, now);
        }
    }

    /// Checks for kernel output if a check was requested, and either `is_waiting` says that a call
    /// is waiting or no call has waited for [`QUIET`]. Returns when to poll again.
    #[inline]
    pub(in crate::calls) fn poll(&mut self, shared: &Arc<Shared>, is_waiting: bool) -> Pending {
        match self.due {
            None => Pending::Nothing,
            Some((ctx, waited)) => self.check_if_quiet(shared, ctx, (waited, is_waiting)),
        }
    }

    #[cold]
    fn check_if_quiet(
        &mut self,
        shared: &Arc<Shared>,
        ctx: ContextId,
        (waited, is_waiting): (Instant, bool),
    ) -> Pending {
        let now = Instant::now();
        let quiet = now.duration_since(waited);
        if !is_waiting && quiet < QUIET {
            return Pending::Within(QUIET - quiet);
        }
        self.check(shared, ctx, now);
        Pending::Nothing
    }

    fn check(&mut self, shared: &Arc<Shared>, ctx: ContextId, now: Instant) {
        (self.last, self.due) = (Some(now), None);
        let cx = Cx { shared, thread: 0, ctx };
        if self.make_driver_write(&cx).is_ok() && lock(&shared.output).waiting() > 0 {
            shared.prints.store(true, Ordering::Relaxed);
        }
    }

    /// Removes a context's stream, because the driver destroys it with the context.
    pub(in crate::calls) fn forget(&mut self, ctx: ContextId) {
        self.streams.remove(&ctx);
        self.due.take_if(|(of, _)| *of == ctx);
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
        // SAFETY: the stream is live, because it's removed from `streams` when its context is
        // destroyed. Nothing is ever queued in it.
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
    // SAFETY: a null pointer is valid for fflush, which then flushes all stdio streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    Ok(api::VcudaTakeOutputAnswer { text: lock(&cx.shared.output).take() })
}
