//! Calls that aren't gated, but make the GPU work while they run on a mirror. They wait for their
//! VM's window, like gated calls, and their VM is charged for the estimated time of that work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread::{self, ThreadId};

use super::end::GateEnd;
use crate::calls::lock::lock;
use crate::waker::Waker;
use host_ipc::gate::Mode;

/// The calls that have begun to wait since the gate was last polled.
pub(in crate::calls) struct Turns {
    /// The ring reader's thread, which must not wait.
    reader: ThreadId,
    waker: Waker,
    end: GateEnd,
    new: Mutex<Vec<Turn>>,
    any: AtomicBool,
}

/// A call that is waiting.
pub(super) struct Turn {
    /// The worker's ordinal for the GPU.
    pub device: usize,
    /// The estimated time on the GPU, in ns.
    pub ns: u64,
    go: mpsc::Sender<()>,
}

impl Turn {
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
        Self { reader, waker, end, new: Mutex::default(), any: AtomicBool::new(false) }
    }

    /// Waits until the VM may use the GPU with this ordinal, for an estimated `ns` ns, or until the
    /// scheduler has ended the session. Returns at once on the ring reader's thread: the calls that
    /// run there are gated, or don't make the GPU work. Also returns at once while the VM has the GPU
    /// to itself.
    pub(in crate::calls) fn wait(&self, device: usize, ns: u64) {
        let mode = self.end.page.gpus.get(device).map(|gpu| gpu.grant().mode);
        if thread::current().id() == self.reader || mode == Some(Mode::Unlimited) {
            return;
        }
        let (go, gone) = mpsc::channel();
        lock(&self.new).push(Turn { device, ns, go });
        self.any.store(true, Ordering::Release);
        self.waker.wake();
        let _ = gone.recv();
    }

    /// Removes and returns the calls that have begun to wait.
    pub(super) fn take_new(&self) -> Vec<Turn> {
        if !self.any.load(Ordering::Relaxed) || !self.any.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        std::mem::take(&mut lock(&self.new))
    }
}
