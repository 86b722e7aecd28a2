//! The worker's access to the VM's account of device memory, which the broker keeps.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use host_ipc::messages::{Charge, ToBroker, ToWorker};
use host_ipc::seqpacket;

/// The error for a reservation that doesn't fit into the VM's quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} more bytes would exceed the VM's memory.max or memory.session_max")]
pub struct OutOfMemory {
    /// The bytes that were requested.
    pub bytes: u64,
}

/// The current state of a GPU's account, as the guest sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of `max` that are in use.
    pub used: u64,
    /// memory.max or memory.session_max, whichever is smaller.
    pub max: u64,
}

/// The VM's accounts of device memory, one per GPU. GPUs are identified by the worker's device
/// ordinals.
///
/// Reserve memory before the driver allocates it, and release it after the driver has freed it.
/// Both calls take the size after rounding. When a worker dies, the broker releases its
/// reservations once it has reaped the process.
#[derive(Clone)]
pub struct Ledger {
    /// The lock ensures that each request gets its reply before the next request is sent.
    socket: Arc<Mutex<OwnedFd>>,
}

impl Ledger {
    pub(super) fn new(socket: Arc<Mutex<OwnedFd>>) -> Self {
        Self { socket }
    }

    /// Reserves all of `bytes`, or fails. Takes about 10 us.
    pub fn reserve(&self, device: i32, bytes: u64, kind: Charge) -> Result<(), OutOfMemory> {
        match self.ask(&ToBroker::Reserve { device: device as u32, bytes, kind }) {
            ToWorker::Granted => Ok(()),
            _ => Err(OutOfMemory { bytes }),
        }
    }

    /// Releases `bytes` that this worker has reserved on the same device and for the same kind. The
    /// broker ends a worker that releases more than it has reserved.
    pub fn release(&self, device: i32, bytes: u64, kind: Charge) {
        self.ask(&ToBroker::Release { device: device as u32, bytes, kind });
    }

    /// Returns the current state of the account, for cuMemGetInfo and cuDeviceTotalMem.
    pub fn usage(&self, device: i32) -> Usage {
        match self.ask(&ToBroker::Query { device: device as u32 }) {
            ToWorker::Usage { used, max } => Usage { used, max },
            _ => Usage { used: 0, max: 0 },
        }
    }

    /// Sends a request and waits for the reply. If the broker is gone or its reply is invalid,
    /// memory can't be accounted for any more, so the worker ends.
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
