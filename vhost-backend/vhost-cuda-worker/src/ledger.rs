//! The worker's end of the VM's account of device memory, which the broker keeps.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use host_ipc::messages::{Charge, ToBroker, ToWorker};
use host_ipc::seqpacket;

/// The VM has no room for so much device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the VM's memory.max, or memory.session_max, has no room for {bytes} bytes more")]
pub struct OutOfMemory {
    /// What was asked for.
    pub bytes: u64,
}

/// A GPU's account as it stands, as the guest is to see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of `max` that are taken.
    pub used: u64,
    /// memory.max, or memory.session_max where that is less.
    pub max: u64,
}

/// The VM's account of each of its GPUs, which are named by the worker's ordinals. Reserve before device memory is taken, release after it was given back, both
/// in what it really takes (its granularity). What is reserved when the worker dies is given back
/// once it has been reaped.
#[derive(Clone)]
pub struct Ledger {
    /// One question at a time: each is answered before the next is asked.
    socket: Arc<Mutex<OwnedFd>>,
}

impl Ledger {
    pub(super) fn new(socket: Arc<Mutex<OwnedFd>>) -> Self {
        Self { socket }
    }

    /// Takes `bytes` of the account, or nothing. Costs about 10 us.
    pub fn reserve(&self, device: i32, bytes: u64, kind: Charge) -> Result<(), OutOfMemory> {
        match self.ask(&ToBroker::Reserve { device: device as u32, bytes, kind }) {
            ToWorker::Granted => Ok(()),
            _ => Err(OutOfMemory { bytes }),
        }
    }

    /// Gives `bytes` back that were reserved by this worker, for the same device and kind. More
    /// than that breaks the broker's rules, and it ends the worker.
    pub fn release(&self, device: i32, bytes: u64, kind: Charge) {
        self.ask(&ToBroker::Release { device: device as u32, bytes, kind });
    }

    /// The account as it stands: what cuMemGetInfo and cuDeviceTotalMem tell.
    pub fn usage(&self, device: i32) -> Usage {
        match self.ask(&ToBroker::Query { device: device as u32 }) {
            ToWorker::Usage { used, max } => Usage { used, max },
            _ => Usage { used: 0, max: 0 },
        }
    }

    /// A broker that is gone, or answers nonsense, means that nobody keeps the account: then
    /// nothing may run, and the worker ends.
    fn ask(&self, question: &ToBroker) -> ToWorker {
        let socket = self.socket.lock().unwrap_or_else(|error| error.into_inner());
        let answer = seqpacket::send(&*socket, question, &[])
            .and_then(|()| seqpacket::receive::<ToWorker>(&*socket));
        match answer {
            Ok(Some((answer, _))) => answer,
            Ok(None) => super::end::end("the broker exited"),
            Err(error) => super::end::end(&format!("the broker does not answer: {error}")),
        }
    }
}
