//! Lets calls that run on a mirror wait for the gate.
//!
//! There are three kinds of these calls. Some calls aren't gated, but make the GPU work. As gated
//! calls do, they wait until their VM may use the GPU. The gate then gives each of them a turn,
//! that is, permission to continue, and the VM is charged for the estimated GPU time. Calls that
//! create or destroy contexts also wait for a turn, because they keep the driver busy, and the gate
//! page shows the scheduler how long they take. Other calls must not run beside kernels, so they
//! make the gate hold all gated calls for a while.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::pass::Pass;
use crate::calls::lock::lock;
use crate::gate_end::GateEnd;
use crate::waker::Waker;
use host_ipc::eventfd::notify;
use host_ipc::gate::{GpuGate, MAX_GPUS, Mode};

/// The requests that mirrors have made to the gate and that the gate hasn't taken yet.
pub(in crate::calls) struct Turns {
    /// The ring reader's thread, which must not wait.
    reader: ThreadId,
    waker: Waker,
    end: GateEnd,
    new: Mutex<Vec<Request>>,
    any: AtomicBool,
    /// The number of [`Quiet`] values, including those whose requests the gate hasn't taken yet.
    quiet: AtomicUsize,
    /// The GPU time that the session owes, by GPU: the estimated time, in ns, of calls for which no
    /// thread has waited yet.
    owed: [AtomicU64; MAX_GPUS],
}

/// The GPU time, in ns, that a session must owe before a call waits. Calls that aren't gated and
/// take little GPU time add to the debt. If each of them waited, programs that make few of them
/// would be delayed.
const DUE: u64 = 500_000;

/// The maximum time that a call waits for the ring reader to hold gated calls.
const QUIET_WITHIN: Duration = Duration::from_millis(100);

/// A request from a mirror to the gate.
pub(super) enum Request {
    Turn(WaitingCall),
    /// Hold all gated calls from now on, and send `()` through this channel to confirm that.
    Quiet(mpsc::Sender<()>),
}

/// A value that makes the gate hold all gated calls of the session for as long as it exists.
pub(in crate::calls) struct Quiet<'a>(&'a Turns);

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        self.0.quiet.fetch_sub(1, Ordering::Release);
        self.0.waker.wake();
    }
}

/// A value that makes the gate page show the scheduler, for as long as it exists, that the worker
/// is creating or destroying a context.
pub(in crate::calls) struct ContextWork<'a> {
    turns: &'a Turns,
    device: usize,
}

impl Drop for ContextWork<'_> {
    fn drop(&mut self) {
        // Notify the scheduler, because other VMs may be waiting for the end of the context work.
        if self.turns.gpu(self.device).is_some_and(GpuGate::end_context)
            && let Some(bell) = &self.turns.end.bell
        {
            notify(&**bell);
        }
    }
}

/// A call on a mirror that is waiting for a turn.
pub(super) struct WaitingCall {
    /// The worker's ordinal for the GPU.
    pub device: usize,
    /// The call's estimated time on the GPU, in ns.
    pub ns: u64,
    /// Whether the call creates or destroys a context. The gate must report that in the gate page
    /// before the call continues.
    pub is_context: bool,
    go: mpsc::Sender<()>,
}

impl WaitingCall {
    /// Gives the call its turn, so that it continues.
    pub(super) fn give(self) {
        // The call waits until it receives this message or the sender is dropped.
        let _ = self.go.send(());
    }
}

impl Turns {
    /// Creates the queue of requests. Must be called on the ring reader's thread, which `waker`
    /// wakes.
    pub(in crate::calls) fn new(waker: Waker, end: GateEnd) -> Self {
        let reader = thread::current().id();
        let (new, any, quiet) = (Mutex::default(), AtomicBool::new(false), AtomicUsize::new(0));
        Self { reader, waker, end, new, any, quiet, owed: Default::default() }
    }

    /// Waits until the VM may use the GPU with this ordinal for an estimated `ns` ns, or until the
    /// scheduler has ended the session. Returns at once while the VM has the GPU to itself. Also
    /// returns at once on the ring reader's thread, because the calls that run there are gated or
    /// don't make the GPU work.
    pub(in crate::calls) fn wait(&self, device: usize, ns: u64) {
        self.wait_for_turn(device, ns, false, Duration::MAX);
    }

    /// Adds `ns` to the GPU time that the session owes. If the session then owes at least [`DUE`],
    /// waits as [`Turns::wait`] does, for all of that time. This is for calls that take little GPU
    /// time. Doesn't wait on the ring reader's thread.
    pub(in crate::calls) fn wait_if_due(&self, device: usize, ns: u64) {
        let owed = self.owe(device, ns);
        if owed >= DUE && thread::current().id() != self.reader {
            self.wait(device, self.take_owed(device));
        }
    }

    /// Adds `ns` to the time that the session owes on this GPU, unless the VM has the GPU to
    /// itself. Returns the new total.
    pub(in crate::calls) fn owe(&self, device: usize, ns: u64) -> u64 {
        let (Some(of_gpu), Some(gpu)) = (self.owed.get(device), self.gpu(device)) else { return 0 };
        let ns = if gpu.grant().mode == Mode::Unlimited { 0 } else { ns };
        of_gpu.fetch_add(ns, Ordering::Relaxed).saturating_add(ns)
    }

    /// Charges the VM, without waiting for a turn, for all time that the session owes on this GPU.
    /// This is for a session that ends.
    pub(in crate::calls) fn charge_owed(&self, device: usize) {
        if let Some(gpu) = self.gpu(device) {
            gpu.copied_ns.fetch_add(self.take_owed(device), Ordering::Relaxed);
        }
    }

    fn take_owed(&self, device: usize) -> u64 {
        self.owed.get(device).map_or(0, |owed| owed.swap(0, Ordering::Relaxed))
    }

    /// Waits for a turn before a context is created or destroyed. The caller must keep the result
    /// until the context has been created or destroyed.
    pub(in crate::calls) fn wait_for_context(&self, device: usize) -> ContextWork<'_> {
        self.wait_for_context_within(device, Duration::MAX)
    }

    /// Waits for a turn before a context is created or destroyed, as [`Turns::wait_for_context`]
    /// does, but at most for `limit`.
    pub(in crate::calls) fn wait_for_context_within(
        &self,
        device: usize,
        limit: Duration,
    ) -> ContextWork<'_> {
        if !self.wait_for_turn(device, 0, true, limit)
            && let Some(gpu) = self.gpu(device)
        {
            gpu.begin_context();
        }
        ContextWork { turns: self, device }
    }

    /// Waits for a turn, at most for `limit`. Returns false if the call needs no turn or didn't get
    /// one. If it returns true and `is_context` is set, the gate has already reported the context
    /// work.
    fn wait_for_turn(&self, device: usize, ns: u64, is_context: bool, limit: Duration) -> bool {
        let mode = self.gpu(device).map(|gpu| gpu.grant().mode);
        if thread::current().id() == self.reader || mode == Some(Mode::Unlimited) {
            return false;
        }
        let (go, gone) = mpsc::channel();
        self.request(Request::Turn(WaitingCall { device, ns, is_context, go }));
        gone.recv_timeout(limit).is_ok()
    }

    fn gpu(&self, device: usize) -> Option<&GpuGate> {
        self.end.page.gpus.get(device)
    }

    /// Makes the gate hold all gated calls that the reader takes from the ring, until the result is
    /// dropped. Earlier calls may still be running. Must not be called on the ring reader's thread,
    /// which must confirm the request.
    pub(in crate::calls) fn quiet(&self) -> Quiet<'_> {
        self.quiet.fetch_add(1, Ordering::Relaxed);
        let (go, gone) = mpsc::channel();
        self.request(Request::Quiet(go));
        // This times out if the session has ended. In that case, the reader takes neither requests
        // nor calls, so there are no calls to hold.
        let _ = gone.recv_timeout(QUIET_WITHIN);
        Quiet(self)
    }

    /// Returns a pass for writing a completion word after work that the driver already has, if the
    /// VM may use this GPU now and no [`Quiet`] exists.
    pub(in crate::calls) fn pass_for_word(&self, device: usize) -> Option<Pass> {
        let open = self.gpu(device).is_some_and(|gpu| gpu.grant().mode.is_open());
        (open && !self.is_quiet()).then(Pass::admitted)
    }

    /// Returns whether the gate must hold all gated calls, because a [`Quiet`] exists.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Acquire) > 0
    }

    fn request(&self, request: Request) {
        lock(&self.new).push(request);
        self.any.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Removes and returns the requests that were made since this function was last called.
    pub(super) fn take_new(&self) -> Vec<Request> {
        if !self.any.load(Ordering::Relaxed) || !self.any.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        std::mem::take(&mut lock(&self.new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ipc::eventfd::eventfd;
    use host_ipc::gate::{Grant, NO_END};

    #[test]
    fn time_owed_on_one_gpu_is_not_paid_on_another() {
        let end = GateEnd::private().unwrap();
        let epoch = end.page.gpus[1].grant().epoch + 1;
        end.page.gpus[1].open(Grant { epoch, mode: Mode::Closed }, NO_END, 0);
        let turns = Turns::new(Waker::new(eventfd().unwrap()).unwrap(), end);
        thread::scope(|scope| {
            let mirror = scope.spawn(|| {
                turns.wait_if_due(1, DUE - 1);
                // The VM has GPU 0 to itself, so this call owes nothing.
                turns.wait_if_due(0, DUE);
                turns.wait_if_due(1, 1);
            });
            let request = loop {
                match turns.take_new().pop() {
                    Some(request) => break request,
                    None => assert!(!mirror.is_finished(), "nothing was paid on GPU 1"),
                }
            };
            let Request::Turn(turn) = request else { panic!("another request") };
            assert_eq!((turn.device, turn.ns), (1, DUE));
            turn.give();
        });
    }
}
