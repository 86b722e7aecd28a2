//! The worker's access to the VM's accounts of device memory, which the broker keeps.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use host_ipc::gate::{GateMap, GpuGate, MemoryUsage};
use host_ipc::messages::{Charge, ShareId, ToBroker, ToWorker};
use host_ipc::seqpacket;

/// The error when a reservation doesn't fit into the VM's quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} more bytes would exceed the VM's memory.max or memory.session_max")]
pub struct OutOfMemory {
    /// The number of bytes that didn't fit.
    pub bytes: u64,
}

/// The reason why a worker can't hold shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The memory doesn't fit into the session's limit.
    #[error("the shared memory would exceed the VM's memory.session_max")]
    OutOfMemory,
    /// No session holds the memory any more, or it is on another GPU.
    #[error("no session of the VM holds this memory on this GPU")]
    Gone,
}

/// The VM's accounts of device memory, one per GPU. GPUs are identified by the worker's device
/// ordinals.
///
/// Reserve memory before the driver allocates it, and release it after the driver has freed it.
/// Pass the number of bytes that the driver actually allocates, after its rounding. When a worker
/// dies, the broker releases its reservations once it has reaped the process.
#[derive(Clone)]
pub struct LedgerClient {
    /// The socket to the broker. It stays locked until the reply has arrived, so that requests and
    /// replies can't be mixed up.
    socket: Arc<Mutex<OwnedFd>>,
    /// The page in which the broker publishes the state of the accounts.
    page: Arc<GateMap>,
}

impl LedgerClient {
    /// Reserves memory from the broker at the other end of this socket.
    pub fn new(socket: Arc<Mutex<OwnedFd>>, page: Arc<GateMap>) -> Self {
        Self { socket, page }
    }

    /// Reserves `bytes` on a device, or fails and reserves nothing. Takes about 10 us.
    pub fn reserve(&self, device: i32, bytes: u64, kind: Charge) -> Result<(), OutOfMemory> {
        match self.ask(&ToBroker::Reserve { device: device as u32, bytes, kind }) {
            ToWorker::Granted => Ok(()),
            _ => Err(OutOfMemory { bytes }),
        }
    }

    /// Releases `bytes` that this worker has reserved on the same device for the same kind of
    /// charge. The broker ends a worker that releases more than it has reserved.
    pub fn release(&self, device: i32, bytes: u64, kind: Charge) {
        self.ask(&ToBroker::Release { device: device as u32, bytes, kind });
    }

    /// Turns `bytes` that this worker has reserved on a device for `Charge::Memory` into shared
    /// memory. Fails if the VM shares too many pieces of memory.
    pub fn share(&self, device: i32, bytes: u64) -> Result<ShareId, OutOfMemory> {
        match self.ask(&ToBroker::Share { device: device as u32, bytes }) {
            ToWorker::Shared { share } => Ok(share),
            _ => Err(OutOfMemory { bytes }),
        }
    }

    /// Makes this worker hold shared memory on a device. Returns the number of bytes.
    pub fn join(&self, device: i32, share: ShareId) -> Result<u64, JoinError> {
        match self.ask(&ToBroker::Join { device: device as u32, share }) {
            ToWorker::Joined { bytes } => Ok(bytes),
            ToWorker::NoShare => Err(JoinError::Gone),
            _ => Err(JoinError::OutOfMemory),
        }
    }

    /// Makes this worker hold shared memory once less, after the driver has freed it. The broker
    /// ends a worker that leaves memory that it doesn't hold.
    pub fn leave(&self, device: i32, share: ShareId) {
        self.ask(&ToBroker::Leave { device: device as u32, share });
    }

    /// Returns the current state of the VM's account for a device. The guest sees it in the results
    /// of cuMemGetInfo and cuDeviceTotalMem.
    ///
    /// Normally reads the state that the broker has published, because programs call cuMemGetInfo
    /// often.
    pub fn usage(&self, device: i32) -> MemoryUsage {
        let gpu = usize::try_from(device).ok().and_then(|device| self.page.gpus.get(device));
        if let Some(usage) = gpu.and_then(GpuGate::memory) {
            return usage;
        }
        match self.ask(&ToBroker::Query { device: device as u32 }) {
            ToWorker::Usage { used, max } => MemoryUsage { used, max },
            _ => MemoryUsage { used: 0, max: 0 },
        }
    }

    /// Sends a request to the broker and waits for the reply. If the broker is gone or its reply is
    /// invalid, ends the worker, because it can't account for memory any more.
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
