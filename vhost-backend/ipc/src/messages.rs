//! What the processes say to one another.

use serde::{Deserialize, Serialize};

use crate::gpu::GpuFacts;

pub use memory_ledger::{Charge, WorkerId};

/// From a worker to the broker.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToBroker {
    /// The driver library is loaded and has its context: the worker is warm.
    Ready,
    /// The worker can't become warm, or can't take the assignment.
    Failed {
        /// Why, for the log.
        reason: String,
    },
    /// The assignment is taken: identity, limits and session stand.
    Began,
    /// May so much device memory be taken?
    Reserve {
        /// The GPU, by the worker's ordinal.
        device: u32,
        /// Bytes.
        bytes: u64,
        /// What it is for.
        kind: Charge,
    },
    /// So much was given back.
    Release {
        /// The GPU, by the worker's ordinal.
        device: u32,
        /// Bytes.
        bytes: u64,
        /// What it was reserved for.
        kind: Charge,
    },
    /// How does the account stand?
    Query {
        /// The GPU, by the worker's ordinal.
        device: u32,
    },
}

/// From the broker to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToWorker {
    /// Serve this session. With five descriptors: the stream to the device process, the worker's
    /// end of the doorbell (device and scheduler to worker), the wake (worker to guest), the gate
    /// page, and the bell (worker to scheduler). Wake and bell are eventfds, which nobody else
    /// reads or writes.
    Assign(Assignment),
    /// Reserve: yes. Release: noted.
    Granted,
    /// Reserve: no room.
    Refused,
    /// Query: the GPU as the session's guest is to see it.
    Usage {
        /// Bytes of `max` that are taken.
        used: u64,
        /// memory.max, or memory.session_max where that is less.
        max: u64,
    },
}

/// Whom a worker is to serve, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// VM and session, for the log.
    pub label: String,
    /// The guest process, for the log.
    pub pid: u32,
    /// The VM's user, if the worker is to change to one.
    pub uid: Option<u32>,
    /// The VM's group, likewise.
    pub gid: Option<u32>,
    /// Variables that came with the session, as far as the host allows them.
    pub env: Vec<(String, String)>,
    /// How long the ring reader spins before it sleeps.
    pub spin_us: u32,
    /// By the worker's ordinal: what a context takes, in bytes. Devices past the end: not known,
    /// nothing is charged.
    pub context_bytes: Vec<u64>,
    /// Whether that of the first device's primary context, which a warm worker has, is charged
    /// already. Else there was no room for it, and the worker ends it.
    pub context_charged: bool,
}

/// From a device process to the broker.
#[derive(Debug, Serialize, Deserialize)]
pub enum DeviceToBroker {
    /// A worker for a new session.
    Start {
        /// Names this request in the answer.
        request: u64,
        /// The session, for the log.
        session: u32,
        /// The guest process, for the log.
        pid: u32,
        /// Its environment.
        env: Vec<(String, String)>,
    },
    /// End a worker (or the start of one that is still to come).
    End {
        /// The request that started it.
        request: u64,
    },
    /// What are the VM's GPUs, and how much of them does it use? One at a time.
    Query {
        /// Names this request in the answer.
        request: u64,
    },
}

/// From the broker to a device process.
#[derive(Debug, Serialize, Deserialize)]
pub enum BrokerToDevice {
    /// The first message, with the listening socket as its descriptor.
    Setup(DeviceSetup),
    /// The worker is there. With three descriptors: the stream to the worker, the doorbell's end to
    /// ring with, and the wake, which is the worker's too: it is watched and not read.
    Started {
        /// The request.
        request: u64,
        /// Its process id, for the log.
        pid: u32,
    },
    /// There is no worker, or it is gone: it has been reaped, and its memory is free.
    Ended {
        /// The request that started it.
        request: u64,
        /// What became of it.
        how: Ending,
    },
    /// sessions.max was changed.
    SessionsMax {
        /// So many at most.
        max: u32,
    },
    /// The VM's GPUs.
    Facts {
        /// The request.
        request: u64,
        /// What they are and how much of them is used.
        facts: VmFacts,
    },
}

/// The most GPUs that a VM's guest is told of.
pub const MAX_FACTS_GPUS: usize = 16;
/// The most processes likewise: those that use most.
pub const MAX_FACTS_PROCESSES: usize = 256;

/// What a guest may know of its GPUs without a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmFacts {
    /// `cuDriverGetVersion`.
    pub cuda_version: u32,
    /// The driver's version.
    pub driver: String,
    /// By the sessions' ordinal; [`MAX_FACTS_GPUS`] at most.
    pub gpus: Vec<VmGpu>,
    /// What each session holds on each GPU; [`MAX_FACTS_PROCESSES`] at most.
    pub processes: Vec<VmProcess>,
}

/// A GPU of a VM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmGpu {
    /// What does not change.
    pub facts: GpuFacts,
    /// Bytes that the VM may use.
    pub total: u64,
    /// Bytes that it uses.
    pub used: u64,
    /// Its part of the last second, in 0.01%, if that is known.
    pub utilization: Option<u32>,
}

/// A session's use of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmProcess {
    /// The guest process.
    pub pid: u32,
    /// The guest's id of the session.
    pub session: u32,
    /// The GPU's place among the VM's.
    pub gpu: u32,
    /// Bytes.
    pub bytes: u64,
}

/// What became of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// sessions.max.
    Limit,
    /// It never served the session; why.
    NoWorker(String),
    /// It ended; how, for the log.
    Died(String),
}

/// What a device process has to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceSetup {
    /// The VM's name, for the log.
    pub name: String,
    /// The user to become.
    pub uid: Option<u32>,
    /// The group to become.
    pub gid: Option<u32>,
    /// Limits that stand in the config space, and those of the process itself.
    pub limits: Limits,
}

/// Limits of one VM's device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Sessions that may live at once.
    pub max_sessions: u32,
    /// Regions of one session.
    pub max_regions: u32,
    /// Segments of one region.
    pub max_segments: u32,
    /// Bytes of all regions of one session.
    pub pinned_max: u64,
    /// Bytes of one command sent the plain way.
    pub max_plain: u32,
    /// Front ends that may be connected at once.
    pub max_connections: u32,
}

/// From a device process to a worker, on the stream. A `Memory` message comes with a descriptor.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeviceToWorker {
    /// A file with guest memory, to be named by `slot`.
    Memory {
        /// Its name.
        slot: u32,
    },
    /// A file that later segments will not name.
    Forget {
        /// Its name.
        slot: u32,
    },
    /// Map a region.
    Attach {
        /// Names this request in the answer.
        request: u64,
        /// The region's id.
        region: u32,
        /// Its kind, as in the uAPI.
        kind: u32,
        /// Its address in the guest process.
        vaddr: u64,
        /// RING: bytes of the ring.
        ring_bytes: u32,
        /// Slot, offset and length of each piece.
        pieces: Vec<(u32, u64, u64)>,
    },
    /// Unmap a region.
    Detach {
        /// Names this request in the answer.
        request: u64,
        /// The region's id.
        region: u32,
    },
    /// A command of the plain way; its bytes are the frame's body.
    Submit {
        /// Names this request in the answer.
        request: u64,
        /// Room for the reply and its answer.
        room: u32,
    },
}

/// From a worker to its device process, on the stream.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerToDevice {
    /// A region is mapped, unmapped, or could not be.
    Done {
        /// The request.
        request: u64,
        /// A status of the uAPI.
        status: u32,
    },
    /// A command of the plain way is answered; the reply and its answer are the frame's body.
    Answer {
        /// The request.
        request: u64,
    },
    /// The guest process broke the protocol; the worker ends.
    Broken {
        /// How, for the log.
        reason: String,
    },
}
