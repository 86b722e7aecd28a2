//! Calls that run on a mirror and need something from the gate.
//!
//! Some aren't gated, but make the GPU work. Like gated calls, they wait until their VM may use the
//! GPU. The gate then gives each of them a turn, which is its permission to go on, and the VM is
//! charged for the estimated time of the work. Those that create or destroy contexts wait, too,
//! because they keep the driver busy, and the scheduler is told how long they take. Others must not
//! run beside kernels, so they need the gate to hold back all gated calls for a while.

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

/// The requests of mirrors since the gate was last polled.
pub(in crate::calls) struct Turns {
    /// The ring reader's thread, which must not wait.
    reader: ThreadId,
    waker: Waker,
    end: GateEnd,
    new: Mutex<Vec<Request>>,
    any: AtomicBool,
    /// The number of `Quiet`s, including those that the gate has yet to take.
    quiet: AtomicUsize,
    /// For each GPU, the estimated time on it, in ns, of calls for which no thread has waited yet.
    owed: [AtomicU64; MAX_GPUS],
}

/// Calls that aren't gated and take less time on the GPU than this, in ns, wait only once their times
/// add up to it. Waiting for each call would delay programs that make few of them.
const DUE: u64 = 500_000;

/// How long the ring reader may take until it holds back gated calls.
const QUIET_WITHIN: Duration = Duration::from_millis(100);

/// A request from a mirror to the gate.
pub(super) enum Request {
    Turn(WaitingCall),
    /// Hold back gated calls from now on, and then send `()` through this channel.
    Quiet(mpsc::Sender<()>),
}

/// While this value exists, the gate holds back all gated calls of the session.
pub(in crate::calls) struct Quiet<'a>(&'a Turns);

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        self.0.quiet.fetch_sub(1, Ordering::Release);
        self.0.waker.wake();
    }
}

/// While this value exists, the gate page shows the scheduler that the worker is creating or
/// destroying a context.
pub(in crate::calls) struct ContextWork<'a> {
    turns: &'a Turns,
    device: usize,
}

impl Drop for ContextWork<'_> {
    fn drop(&mut self) {
        // Other VMs may be waiting.
        if self.turns.gpu(self.device).is_some_and(GpuGate::end_context)
            && let Some(bell) = &self.turns.end.bell
        {
            notify(&**bell);
        }
    }
}

/// A call that is waiting.
pub(super) struct WaitingCall {
    /// The worker's ordinal for the GPU.
    pub device: usize,
    /// The estimated time on the GPU, in ns.
    pub ns: u64,
    /// Whether the call creates or destroys a context, and must be counted before it goes on.
    pub is_context: bool,
    go: mpsc::Sender<()>,
}

impl WaitingCall {
    /// Lets the call go on.
    pub(super) fn give(self) {
        // The call waits until this is received or dropped.
        let _ = self.go.send(());
    }
}

impl Turns {
    /// Must be called on the ring reader's thread. `waker` wakes that thread.
    pub(in crate::calls) fn new(waker: Waker, end: GateEnd) -> Self {
        let reader = thread::current().id();
        let (new, any, quiet) = (Mutex::default(), AtomicBool::new(false), AtomicUsize::new(0));
        Self { reader, waker, end, new, any, quiet, owed: Default::default() }
    }

    /// Waits until the VM may use the GPU with this ordinal, for an estimated `ns` ns, or until the
    /// scheduler has ended the session. Returns at once on the ring reader's thread: the calls that
    /// run there are gated, or don't make the GPU work. Also returns at once while the VM has the GPU
    /// to itself.
    pub(in crate::calls) fn wait(&self, device: usize, ns: u64) {
        self.wait_for_turn(device, ns, false, Duration::MAX);
    }

    /// Like [`Turns::wait`], for a call that takes little time on the GPU: waits only if the time that
    /// the session owes there adds up to [`DUE`], and then for all of it. On the ring reader's thread,
    /// only adds to that time.
    pub(in crate::calls) fn wait_if_due(&self, device: usize, ns: u64) {
        let owed = self.owe(device, ns);
        if owed >= DUE && thread::current().id() != self.reader {
            self.wait(device, self.take_owed(device));
        }
    }

    /// Adds to the time that the session owes on this GPU, unless the VM has the GPU to itself. Returns
    /// the sum.
    pub(in crate::calls) fn owe(&self, device: usize, ns: u64) -> u64 {
        let (Some(of_gpu), Some(gpu)) = (self.owed.get(device), self.gpu(device)) else { return 0 };
        let ns = if gpu.grant().mode == Mode::Unlimited { 0 } else { ns };
        of_gpu.fetch_add(ns, Ordering::Relaxed).saturating_add(ns)
    }

    /// Charges the VM for all time that the session owes on this GPU, without a turn. For a session
    /// that ends.
    pub(in crate::calls) fn charge_owed(&self, device: usize) {
        if let Some(gpu) = self.gpu(device) {
            gpu.copied_ns.fetch_add(self.take_owed(device), Ordering::Relaxed);
        }
    }

    fn take_owed(&self, device: usize) -> u64 {
        self.owed.get(device).map_or(0, |owed| owed.swap(0, Ordering::Relaxed))
    }

    /// Waits like [`Turns::wait`] before a context is created or destroyed. The result must exist
    /// until that has been done.
    pub(in crate::calls) fn wait_for_context(&self, device: usize) -> ContextWork<'_> {
        self.wait_for_context_within(device, Duration::MAX)
    }

    /// Like [`Turns::wait_for_context`], but waits at most this long.
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

    /// Waits for a turn, at most for `limit`. Returns false if the call needs none or got none.
    /// With a turn, the gate has already reported the context work of a call that `is_context`.
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

    /// Holds back all gated calls that the reader takes from the ring, until the result is dropped.
    /// Calls that have begun before may still be running. Must not be called on the ring reader's
    /// thread.
    pub(in crate::calls) fn quiet(&self) -> Quiet<'_> {
        self.quiet.fetch_add(1, Ordering::Relaxed);
        let (go, gone) = mpsc::channel();
        self.request(Request::Quiet(go));
        // This times out if the session has ended. Then the reader takes neither requests nor calls
        // from the ring, so there is nothing to hold back.
        let _ = gone.recv_timeout(QUIET_WITHIN);
        Quiet(self)
    }

    /// Returns a pass for the write of a completion word behind work that the driver already has, if
    /// the VM may use this GPU now and nothing holds back gated calls.
    pub(in crate::calls) fn pass_for_word(&self, device: usize) -> Option<Pass> {
        let open = self.gpu(device).is_some_and(|gpu| gpu.grant().mode.is_open());
        (open && !self.is_quiet()).then(Pass::admitted)
    }

    /// Returns whether the gate must still hold back gated calls because of a `Quiet` that it took.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Acquire) > 0
    }

    fn request(&self, request: Request) {
        lock(&self.new).push(request);
        self.any.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Removes and returns the requests that have been made since the last call.
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
                // The VM has this GPU to itself.
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
