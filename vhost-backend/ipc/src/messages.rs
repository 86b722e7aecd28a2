//! Messages between the host's processes.

use serde::{Deserialize, Serialize};

use crate::gpu::GpuFacts;

pub use memory_ledger::{Charge, WorkerId};

/// From a worker to the broker.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToBroker {
    /// The worker is warm: the driver library is loaded and the context exists.
    Ready,
    /// The worker can't become warm, or can't accept the assignment.
    Failed {
        /// The reason, for the log.
        reason: String,
    },
    /// The worker accepted the assignment: its identity, limits and session are set up.
    Began,
    /// Requests device memory.
    Reserve {
        /// The GPU, by the worker's ordinal.
        device: u32,
        /// Bytes.
        bytes: u64,
        /// The kind of charge.
        kind: Charge,
    },
    /// Returns device memory.
    Release {
        /// The GPU, by the worker's ordinal.
        device: u32,
        /// Bytes.
        bytes: u64,
        /// The kind for which it was reserved.
        kind: Charge,
    },
    /// Asks for the account's state.
    Query {
        /// The GPU, by the worker's ordinal.
        device: u32,
    },
}

/// From the broker to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToWorker {
    /// Assigns a session. Carries five descriptors: the stream to the device process, the worker's
    /// end of the doorbell (device and scheduler to worker), the wake (worker to guest), the gate
    /// page, and the bell (worker to scheduler). Wake and bell are eventfds that no other process
    /// reads or writes.
    Assign(Assignment),
    /// Answers Reserve if the memory is granted, and Release.
    Granted,
    /// Answers Reserve if a limit is reached.
    Refused,
    /// Answers Query: the GPU's memory as the guest process sees it.
    Usage {
        /// Bytes of `max` that the session can't allocate.
        used: u64,
        /// The lower of memory.max and memory.session_max, in bytes.
        max: u64,
    },
}

/// The session that a worker serves, and its settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// VM and session, for the log.
    pub label: String,
    /// The guest process, for the log.
    pub pid: u32,
    /// The VM's user ID, if the worker must switch to it.
    pub uid: Option<u32>,
    /// The VM's group ID, if the worker must switch to it.
    pub gid: Option<u32>,
    /// The session's environment variables that the host allows.
    pub env: Vec<(String, String)>,
    /// Microseconds that the ring's reader polls before it sleeps.
    pub spin_us: u32,
    /// Bytes to charge for a context, by the worker's ordinal. Devices past the end are unknown, and
    /// their contexts are not charged.
    pub context_bytes: Vec<u64>,
    /// Whether the first device's primary context, which a warm worker already has, is charged. If
    /// not, it exceeded the quota, and the worker destroys it.
    pub context_charged: bool,
}

/// From a device process to the broker.
#[derive(Debug, Serialize, Deserialize)]
pub enum DeviceToBroker {
    /// Requests a worker for a new session.
    Start {
        /// Identifies this request in the answer.
        request: u64,
        /// The session, for the log.
        session: u32,
        /// The guest process, for the log.
        pid: u32,
        /// Its environment.
        env: Vec<(String, String)>,
    },
    /// Ends a worker, or cancels its start.
    End {
        /// The request that started it.
        request: u64,
    },
    /// Asks for the VM's GPUs and their usage. Only one such request may be outstanding.
    Query {
        /// Identifies this request in the answer.
        request: u64,
    },
}

/// From the broker to a device process.
#[derive(Debug, Serialize, Deserialize)]
pub enum BrokerToDevice {
    /// The first message, with the listening socket as its descriptor.
    Setup(DeviceSetup),
    /// The worker has started. Carries three descriptors: the stream to the worker, the doorbell's
    /// ringing end, and the wake. The worker holds the wake too, so it is watched but not read.
    Started {
        /// The request.
        request: u64,
        /// The worker's process ID, for the log.
        pid: u32,
    },
    /// The worker could not be started, or it was reaped and its memory is free.
    Ended {
        /// The request that started it.
        request: u64,
        /// The reason.
        how: Ending,
    },
    /// sessions.max was changed.
    SessionsMax {
        /// The new limit.
        max: u32,
    },
    /// The VM's GPUs.
    Facts {
        /// The request.
        request: u64,
        /// The GPUs and their usage.
        facts: VmFacts,
    },
}

/// Most GPUs that a guest gets facts about.
pub const MAX_FACTS_GPUS: usize = 16;
/// Most processes that a guest gets facts about; those that use the most memory.
pub const MAX_FACTS_PROCESSES: usize = 256;

/// Facts about its GPUs that a guest can query without a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmFacts {
    /// `cuDriverGetVersion`.
    pub cuda_version: u32,
    /// The driver's version.
    pub driver: String,
    /// The GPUs, by the sessions' ordinal; at most [`MAX_FACTS_GPUS`].
    pub gpus: Vec<VmGpu>,
    /// The memory that each session holds on each GPU; at most [`MAX_FACTS_PROCESSES`].
    pub processes: Vec<VmProcess>,
}

/// A GPU of a VM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmGpu {
    /// Facts that don't change.
    pub facts: GpuFacts,
    /// The VM's memory limit, in bytes.
    pub total: u64,
    /// Memory that the VM uses, in bytes.
    pub used: u64,
    /// The VM's share of GPU time over the last second, in 0.01%, if known.
    pub utilization: Option<u32>,
}

/// A session's use of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmProcess {
    /// The guest process.
    pub pid: u32,
    /// The guest's ID of the session.
    pub session: u32,
    /// The GPU's index among the VM's GPUs.
    pub gpu: u32,
    /// Memory that the session holds, in bytes.
    pub bytes: u64,
}

/// Why a session has no worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// sessions.max was reached.
    Limit,
    /// The worker never served the session, for this reason.
    NoWorker(String),
    /// The worker ended, for this reason (for the log).
    Died(String),
}

/// Settings of a device process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceSetup {
    /// The VM's name, for the log.
    pub name: String,
    /// User ID to switch to.
    pub uid: Option<u32>,
    /// Group ID to switch to.
    pub gid: Option<u32>,
    /// Limits that the config space announces, and those of the process itself.
    pub limits: Limits,
}

/// Limits of one VM's device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Most sessions at once.
    pub max_sessions: u32,
    /// Most regions of one session.
    pub max_regions: u32,
    /// Most segments of one region.
    pub max_segments: u32,
    /// Size limit of all regions of one session, in bytes.
    pub pinned_max: u64,
    /// Size limit of one command on the command queue, in bytes.
    pub max_plain: u32,
    /// Most front ends connected at once.
    pub max_connections: u32,
}

/// From a device process to a worker, on the stream. A `Memory` message comes with a descriptor.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeviceToWorker {
    /// Provides a file with guest memory.
    Memory {
        /// Identifies the file in later messages.
        slot: u32,
    },
    /// Announces that no later segment uses a file.
    Forget {
        /// The file.
        slot: u32,
    },
    /// Maps a region.
    Attach {
        /// Identifies this request in the answer.
        request: u64,
        /// The region's ID.
        region: u32,
        /// Its kind, as in the uAPI.
        kind: u32,
        /// Its address in the guest process.
        vaddr: u64,
        /// Size of the ring, in bytes, if `kind` is RING.
        ring_bytes: u32,
        /// Slot, offset and length of each piece.
        pieces: Vec<(u32, u64, u64)>,
    },
    /// Unmaps a region.
    Detach {
        /// Identifies this request in the answer.
        request: u64,
        /// The region's ID.
        region: u32,
    },
    /// A command from the command queue. The frame's body holds its bytes.
    Submit {
        /// Identifies this request in the answer.
        request: u64,
        /// Size limit of the reply and its answer, in bytes.
        room: u32,
    },
}

/// From a worker to its device process, on the stream.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerToDevice {
    /// Answers Attach or Detach.
    Done {
        /// The request.
        request: u64,
        /// A status of the uAPI.
        status: u32,
    },
    /// Answers Submit. The frame's body holds the reply and its answer.
    Answer {
        /// The request.
        request: u64,
    },
    /// The guest process violated the protocol, so the worker ends.
    Broken {
        /// The violation, for the log.
        reason: String,
    },
}
