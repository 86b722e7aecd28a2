//! Messages between the broker, device processes and workers.

use serde::{Deserialize, Serialize};

use crate::gpu::{Attributes, GpuFacts, PcieLinks};

pub use memory_ledger::{CREDIT, Charge, Credit, ShareId, WorkerId, most_kept};

/// Messages from a worker to the broker.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToBroker {
    /// The worker is warm: it has loaded the driver library and created its context.
    Ready {
        /// The worker's objects of NVIDIA's driver so far: its compute channels, and the objects
        /// under which they were created. The supervisor reports objects that the worker creates
        /// while it serves a session.
        objects: Vec<DriverObject>,
    },
    /// The worker failed to start, or can't accept its assignment.
    Failed {
        /// The reason, for the log.
        reason: String,
    },
    /// The worker has accepted its assignment, and has set up its user, its limits and the session.
    Began,
    /// Requests device memory.
    Reserve {
        /// The worker's device ordinal for the GPU.
        device: u32,
        /// Bytes to reserve.
        bytes: u64,
        /// The kind of charge for the memory.
        kind: Charge,
    },
    /// Releases device memory. With 0 bytes of kind `Memory`, the broker only checks the worker's
    /// credit (the `Credit` in the gate page): it fills it up or takes back the excess.
    Release {
        /// The worker's device ordinal for the GPU.
        device: u32,
        /// Bytes to release.
        bytes: u64,
        /// The kind of charge for which the memory was reserved.
        kind: Charge,
    },
    /// Turns memory that the worker has reserved with the kind `Memory` into shared memory, which
    /// other workers of the VM can join.
    Share {
        /// The worker's device ordinal for the GPU.
        device: u32,
        /// Bytes to turn into shared memory.
        bytes: u64,
    },
    /// Adds one hold of the worker on shared memory of its VM.
    Join {
        /// The worker's device ordinal for the GPU.
        device: u32,
        /// The shared memory to hold.
        share: ShareId,
    },
    /// Removes one of the worker's holds on shared memory. The memory stays charged to the VM until
    /// no worker holds it.
    Leave {
        /// The worker's device ordinal for the GPU.
        device: u32,
        /// The shared memory.
        share: ShareId,
    },
    /// Asks how much of a GPU's memory is in use.
    Query {
        /// The worker's device ordinal for the GPU.
        device: u32,
    },
    /// Changes the kind of charge of memory that the worker has taken from its credit, which has
    /// the kind `Memory`. Workers send this only to brokers that offer credit.
    Convert {
        /// The worker's device ordinal for the GPU.
        device: u32,
        /// Bytes to change.
        bytes: u64,
        /// The new kind of charge.
        kind: Charge,
    },
    /// The worker has changed its residency words on the gate page. Workers send this only after an
    /// order to move their memory.
    Residency,
}

/// Messages from the broker to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToWorker {
    /// Assigns a session. Carries these descriptors: the stream to the device process, the worker's
    /// end of the doorbell (device process and scheduler to worker), the wake (worker to guest),
    /// the gate page, the bell (worker to scheduler), the socket to the supervisor if the worker is
    /// in a jail, and the page of the VM's spending, which brokers of the previous version don't
    /// send. The wake and the bell are eventfds, which other processes only watch, and never read
    /// or write.
    Assign(Assignment),
    /// Reply to Release, Leave, and Convert, and to Reserve if the memory is granted.
    Granted,
    /// Reply to Reserve, Share, or Join if a limit has been reached.
    Refused,
    /// Reply to Share: the number of the shared memory.
    Shared {
        /// The number with which workers of the VM join and leave the memory.
        share: ShareId,
    },
    /// Reply to Join: the size of the shared memory.
    Joined {
        /// Size of the shared memory, in bytes.
        bytes: u64,
    },
    /// Reply to Join if there is no such shared memory on that GPU of the VM.
    NoShare,
    /// Reply to Query: the GPU's memory as the session's guest process sees it.
    Usage {
        /// Bytes out of `max` that the session can't allocate.
        used: u64,
        /// The lower of memory.max and memory.session_max, in bytes.
        max: u64,
    },
    /// Reply to Reserve or Join: other workers are freeing memory that they keep, so the worker
    /// must send the request again. The broker sends this only for a short time, and only to
    /// workers that can keep memory.
    Later,
}

/// Messages to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToSupervisor {
    /// From the broker: there is a new worker. Carries two descriptors: the socket on which that
    /// worker will send its listener, and the worker's pidfd.
    Worker {
        /// Names of the VM and the session, for logs.
        label: String,
        /// The worker's session, which the supervisor's reports contain.
        session: SessionOfVm,
        /// The objects that the worker created before it got its session: its channels, and the
        /// objects under which they were created.
        objects: Vec<DriverObject>,
    },
    /// From a worker: the worker has installed its system call filter, which stops some calls until
    /// the supervisor has decided about them. Carries the filter's listener (see
    /// seccomp_unotify(2)).
    Listener,
}

/// A session, by the broker's ID of its VM, and by its own number. The supervisor's messages about
/// a worker contain it. The supervisor also limits the objects of all sessions of a VM together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOfVm {
    /// The broker's ID of the VM.
    pub vm: u64,
    /// The session's number.
    pub number: u32,
}

/// Classes of [`DriverObject`]s.
pub mod class {
    /// A device: one GPU, as a client sees it (NV01_DEVICE_0).
    pub const DEVICE: u32 = 0x80;
    /// A group of channels that share a timeslice (KEPLER_CHANNEL_GROUP_A).
    pub const CHANNEL_GROUP: u32 = 0xa06c;

    /// Returns true if objects of this class are channels. Each generation of GPUs has its own
    /// class, such as 0xc86f (HOPPER_CHANNEL_GPFIFO_A).
    pub fn is_channel(class: u32) -> bool {
        class & 0xff == 0x6f
    }
}

/// An object of NVIDIA's driver that a worker has created. Only channels, and the objects under
/// which channels are created, are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverObject {
    /// Handle of the client that the object belongs to.
    pub client: u32,
    /// Handle of the object that it was created under.
    pub parent: u32,
    /// The object's handle.
    pub handle: u32,
    /// The object's class.
    pub class: u32,
    /// For a device, the driver's number of the GPU. For a channel group, its engine: 1 for
    /// compute. Otherwise, 0.
    pub detail: u32,
}

/// Messages from the supervisor to the broker.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromSupervisor {
    /// Calls of a worker have been refused since the last `Refused` message about that worker. For
    /// each worker, the supervisor sends at most one in a second, and one when the worker has
    /// exited.
    Refused {
        /// The session of the worker whose calls were refused.
        session: SessionOfVm,
        /// Number of refused system calls.
        system_calls: u64,
        /// Number of refused operations of NVIDIA's driver.
        driver_operations: u64,
        /// A description of the session's first refused call or operation. `None` if an earlier
        /// message contained it.
        first: Option<String>,
    },
    /// A worker has created an object. The supervisor sends this before it answers the worker's
    /// call. It doesn't report objects that the worker created before its session. It sends at most
    /// 1,024 `Object` messages per second for each VM, and reports at most 1,024 existing objects
    /// of each worker. The object replaces an earlier one with the same client and handle.
    Object {
        /// The worker's session.
        session: SessionOfVm,
        /// The new object.
        object: DriverObject,
    },
    /// A worker has freed an object that the broker knows from [`Self::Object`] or
    /// [`ToSupervisor::Worker`], either directly or with one of the object's parents. Sent once for
    /// each object. There is no message for objects that end with the worker.
    Freed {
        /// The worker's session.
        session: SessionOfVm,
        /// Handle of the client that the object belonged to.
        client: u32,
        /// The object's handle.
        handle: u32,
    },
}

/// The session that a worker serves, with its settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// Names of the VM and the session, for logs.
    pub label: String,
    /// ID of the guest process, for logs.
    pub pid: u32,
    /// The ID of the user and group that the worker must switch to, if any.
    pub uid: Option<u32>,
    /// The environment variables that the guest process passed, limited to those that the host
    /// allows.
    pub env: Vec<(String, String)>,
    /// Microseconds for which the worker polls an empty ring before it sleeps.
    pub spin_us: u32,
    /// Bytes to charge for each new context, by the worker's device ordinal. Contexts on devices
    /// beyond the end of this list aren't charged.
    pub context_bytes: Vec<u64>,
    /// Whether the VM was charged for the context on the first device that the worker has created
    /// in advance. If not, the worker must destroy the context, if it has created one.
    pub context_charged: bool,
}

/// Messages from a device process to the broker.
#[derive(Debug, Serialize, Deserialize)]
pub enum DeviceToBroker {
    /// Requests a worker for a new session.
    Start {
        /// Identifies this request in the reply.
        request: u64,
        /// The guest's session ID, for logs and for the processes in replies to Query.
        session: u32,
        /// ID of the guest process, for logs, and for the list of processes in replies to Query.
        pid: u32,
        /// The guest process's environment variables.
        env: Vec<(String, String)>,
    },
    /// Ends a session that its guest process has closed: kills its worker, or cancels the start of
    /// one.
    End {
        /// The request that started the worker.
        request: u64,
    },
    /// Asks for facts about the VM's GPUs and their usage. Only one `Query` may be outstanding.
    Query {
        /// Identifies this request in the reply.
        request: u64,
    },
    /// Says whether the VMM has stopped the VM: true if the queues of all front ends that have
    /// sessions are stopped. Sent when the value changes. It is initially false, because a new
    /// device process has no sessions.
    Stopped(bool),
    /// Ends a session for another reason than `End`.
    Abort {
        /// The request that started the worker.
        request: u64,
        /// The reason, for logs and events.
        why: Abort,
    },
    /// The device process has refused something because of a limit.
    Refused(Refusal),
    /// The number of connected front ends. Sent after [`BrokerToDevice::CountFrontEnds`], and from
    /// then on whenever the number changes.
    FrontEnds(u32),
}

/// The name under which [`DeviceToBroker::Start`] passes on the guest process's name. No
/// environment variable has this name.
pub const PROGRAM: &str = "";

/// The name under which [`DeviceToBroker::Start`] passes on the ID of the guest's user. No
/// environment variable has this name.
pub const USER: &str = "=user";

/// Returns the ID of the user to whom the guest's driver says that a session belongs. `None` if the
/// user is privileged, or if there is no driver or an older one.
pub fn user(env: &[(String, String)]) -> Option<u32> {
    // Use the first entry: the guest driver adds its entry before those of the program, which could
    // forge one.
    env.iter().find(|(name, _)| name == USER)?.1.parse().ok()
}

/// The reason why a device process ends a session that its guest process hasn't closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Abort {
    /// The front end has disconnected.
    Disconnected,
    /// The guest has initialized its driver again, or reset the device.
    GuestReset,
    /// The guest process violated the protocol.
    Violation,
    /// The worker violated the protocol, or can't be reached.
    Worker,
}

/// A limit because of which a device process refuses a session or a front end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// A session was refused because of sessions.max.
    SessionsMax,
    /// A session was refused because the VM starts sessions too quickly. Only the broker refuses
    /// sessions for this reason.
    StartRate,
    /// A front end was refused because of connections.max.
    ConnectionsMax,
    /// A front end was refused because its memory isn't sealed against shrinking while another
    /// front end is connected, or because a front end whose memory isn't sealed is already
    /// connected.
    NotSealed,
}

impl Refusal {
    /// Explains the limit, and who can change it.
    pub fn explain(self, limits: &Limits) -> String {
        match self {
            Self::SessionsMax => {
                let max = limits.max_sessions;
                format!(
                    "sessions.max is {max}, and that many programs use a GPU; to permit \
                     more, use vcudactl vm set --sessions-max"
                )
            }
            Self::StartRate => {
                "the VM starts more sessions at once than can wait for the limit on \
                their rate, which is fixed; this limit grows with sessions.max"
                    .into()
            }
            Self::ConnectionsMax => {
                let max = limits.max_connections;
                format!(
                    "connections.max is {max}, and that many front ends (VMMs, or programs without a \
                     VM) are connected; to permit more, set it in vcudad's configuration file, have \
                     vcudad read the file again, and use vcudactl vm rm and vcudactl vm restore; for a \
                     VM that isn't in the file, use vcudactl vm rm and vcudactl vm add \
                     --connections-max"
                )
            }
            Self::NotSealed => "a front end whose memory isn't sealed against shrinking \
                (F_SEAL_SHRINK) must be the VM's only one; give it a VM of its own, or use sealed \
                memory (in QEMU, memory-backend-memfd)"
                .into(),
        }
    }
}

/// Messages from the broker to a device process.
#[derive(Debug, Serialize, Deserialize)]
pub enum BrokerToDevice {
    /// The first message to a device process. Carries the listening vhost-user socket as its
    /// descriptor.
    Setup(DeviceSetup),
    /// The worker has started. Carries three descriptors: the stream to the worker, the ringing end
    /// of the doorbell, and the wake. The worker holds the wake too, so the device process watches
    /// it without reading it.
    Started {
        /// The request that this replies to.
        request: u64,
        /// The worker's process ID, for logs.
        pid: u32,
    },
    /// The worker couldn't be started, or it has been reaped and its memory is free.
    Ended {
        /// The request that started the worker.
        request: u64,
        /// The reason why the session has no worker.
        how: Ending,
    },
    /// The VM's limit on sessions has changed.
    SessionsMax {
        /// The new value of sessions.max.
        max: u32,
    },
    /// Reply to Query.
    Facts {
        /// The request that this replies to.
        request: u64,
        /// The GPUs and their usage.
        facts: VmFacts,
    },
    /// Asks for [`DeviceToBroker::FrontEnds`] from now on. The broker sends this only to device
    /// processes that it has started itself. One that an older broker has started may be of an
    /// older version, which doesn't know this message.
    CountFrontEnds,
}

/// Maximum number of GPUs that are reported to a guest.
pub const MAX_FACTS_GPUS: usize = 16;
/// Maximum number of processes that are reported to a guest. If there are more, those that use the
/// most memory are included.
pub const MAX_FACTS_PROCESSES: usize = 256;

/// Facts about the VM's GPUs that a guest can query without a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmFacts {
    /// The result of `cuDriverGetVersion` on the host.
    pub cuda_version: u32,
    /// Version of the host's driver.
    pub driver: String,
    /// The VM's GPUs, in the order of the sessions' device ordinals. At most [`MAX_FACTS_GPUS`].
    pub gpus: Vec<VmGpu>,
    /// The memory that each session uses on each GPU. At most [`MAX_FACTS_PROCESSES`] entries.
    pub processes: Vec<VmProcess>,
    /// How the GPUs reach one another, in the order of `gpus`. New fields must come last: a device
    /// process of an older version ignores the fields after those that it knows.
    pub links: Vec<VmGpuLinks>,
    /// The attributes of each GPU, as sessions see them. A GPU's attributes are missing if they
    /// depend on the session, or if the message would be too long.
    pub attributes: Vec<Attributes>,
    /// The result of `cuModuleGetLoadingMode` on the host. 0 if unknown.
    pub module_loading: u32,
    /// The causes that slow the VM down on each GPU, in the order of `gpus`. `None` if unknown.
    pub slowed: Vec<Option<VmSlowed>>,
    /// The fraction of its GPU's time that each of `processes` has used in the last second, in
    /// units of 0.01%. `None` if unknown.
    pub process_shares: Vec<Option<u16>>,
    /// The VM's limits, for error messages in the guest.
    pub limits: VmLimits,
}

/// Limits of a VM, for error messages in its guest. Each is `None` if the VM has no such limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmLimits {
    /// `memory.session_max`, in bytes.
    pub session_max: Option<u64>,
    /// `memory.host_max`, in bytes.
    pub host_max: Option<u64>,
    /// `pids.max`.
    pub pids_max: Option<u64>,
}

/// The causes that slow a VM down on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmSlowed {
    /// In the last second, the VM's work has waited because of `compute.max`.
    pub by_cap: bool,
    /// In the last second, the VM's work has waited for the VM's turn on the GPU.
    pub by_turns: bool,
    /// The VM is paused.
    pub by_pause: bool,
}

/// How a GPU reaches the VM's other GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmGpuLinks {
    /// Whether the GPU can access the memory of each of the VM's GPUs.
    pub peers: [bool; MAX_FACTS_GPUS],
    /// Number of NVLinks that lead directly to each of the VM's GPUs.
    pub nvlinks: [u8; MAX_FACTS_GPUS],
    /// Number of NVLinks that lead to NVSwitches.
    pub switch_nvlinks: u8,
}

/// A GPU, as the VM sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmGpu {
    /// Facts about the GPU that never change.
    pub facts: GpuFacts,
    /// The VM's memory limit, in bytes.
    pub total: u64,
    /// Memory that the VM uses, in bytes.
    pub used: u64,
    /// Fraction of the GPU's time that the VM has used in the last second, in units of 0.01%.
    /// `None` if unknown.
    pub utilization: Option<u32>,
    /// The GPU's PCIe links.
    pub links: PcieLinks,
}

/// A session's memory on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmProcess {
    /// ID of the guest process.
    pub pid: u32,
    /// The guest's session ID.
    pub session: u32,
    /// Index of the GPU in the VM's list of GPUs.
    pub gpu: u32,
    /// Memory that the session uses on the GPU, in bytes.
    pub bytes: u64,
}

/// The reason why a session has no worker, or no longer has one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// The VM is at its sessions.max.
    Limit,
    /// No worker could serve the session. Contains the reason, for logs.
    NoWorker(String),
    /// The session's worker exited. Contains the reason, for logs.
    Died(String),
}

/// Settings for a device process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceSetup {
    /// The VM's name, for logs.
    pub name: String,
    /// Limits for the VM's device.
    pub limits: Limits,
}

/// Limits for one VM's device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Maximum number of sessions that exist at once.
    pub max_sessions: u32,
    /// Maximum number of guest memory regions per session.
    pub max_regions: u32,
    /// Maximum number of segments per memory region.
    pub max_segments: u32,
    /// Maximum total size of a session's memory regions, in bytes.
    pub pinned_max: u64,
    /// Maximum size of one command on the command queue, in bytes.
    pub max_plain: u32,
    /// Maximum number of front ends connected at once.
    pub max_connections: u32,
}

/// Names memory or an event that a worker has exported: 256 random bits. A worker of the same VM
/// that knows the name can import the memory or event.
pub type Token = [u64; 4];

/// Maximum number of memory allocations and events that the workers of one VM can export at once.
pub const MAX_EXPORTS: usize = 8192;

/// Maximum number of memory allocations and events that one worker, or all workers of one user of
/// the guest together, can export at once. Lower than [`MAX_EXPORTS`], so that other users of the
/// VM can export some, too.
pub const MAX_EXPORTS_OF_ONE: usize = MAX_EXPORTS / 4 * 3;

/// Memory or an event that a worker has exported. A worker that imports it gets this description
/// from the exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exported {
    /// Device memory. To map it, the importer fetches a descriptor from the exporter.
    Memory {
        /// The number of the memory in the broker's ledger.
        share: ShareId,
        /// The exporter's device ordinal for the GPU.
        device: u32,
        /// Size of the memory, in bytes.
        bytes: u64,
        /// The CUmemAllocationHandleTypes that the program requested for the memory.
        handle_types: u32,
        /// The memory's CUmemAllocationCompType.
        compression: u32,
    },
    /// An event. Contains the driver's CUipcEventHandle, which guests don't see.
    Event {
        /// The 64 bytes of the handle.
        handle: [u64; 8],
    },
}

/// Messages from a device process to a worker, sent on the stream. A `Memory` message,
/// and a `Fetched` message with `found`, carry a descriptor.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeviceToWorker {
    /// Passes a file that contains guest memory to the worker, as the message's descriptor.
    Memory {
        /// Number by which later messages refer to the file.
        slot: u32,
    },
    /// Announces that no later message will refer to a file, so the worker can close it.
    Forget {
        /// The file's number, as given in `Memory`.
        slot: u32,
    },
    /// Maps a region of guest memory.
    Attach {
        /// Identifies this request in the reply.
        request: u64,
        /// The region's ID.
        region: u32,
        /// The region's kind, as in the uAPI.
        kind: u32,
        /// The region's address in the guest process.
        vaddr: u64,
        /// Size of the ring, in bytes, if `kind` is RING.
        ring_bytes: u32,
        /// The region's pieces, in order. Each is given by the file's slot, and the offset and
        /// length in that file, in bytes.
        pieces: Vec<(u32, u64, u64)>,
    },
    /// Unmaps a region of guest memory.
    Detach {
        /// Identifies this request in the reply.
        request: u64,
        /// The region's ID.
        region: u32,
    },
    /// Passes on a command from the command queue. The frame's body contains the command.
    Submit {
        /// Identifies this request in the reply.
        request: u64,
        /// Maximum size of the reply, including its header, in bytes.
        room: u32,
    },
    /// Reply to Export.
    Exported {
        /// The request that this replies to.
        request: u64,
        /// Whether the export succeeded, so that workers can import it. False if the VM has reached
        /// its maximum number of exports.
        done: bool,
    },
    /// Reply to Import.
    Imported {
        /// The request that this replies to.
        request: u64,
        /// The exported memory or event, or `None` if nothing with this name is exported.
        thing: Option<Exported>,
    },
    /// Requests a descriptor of memory that the worker has exported. Another worker needs it to map
    /// the memory.
    Fetch {
        /// Identifies this request in the reply.
        request: u64,
        /// The name of the memory.
        token: Token,
    },
    /// Reply to [`WorkerToDevice::Fetch`].
    Fetched {
        /// The request that this replies to.
        request: u64,
        /// Whether the message carries the descriptor.
        found: bool,
    },
}

/// Messages from a worker to its device process, sent on the stream. A `Fetched` message with
/// `found` carries a descriptor.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerToDevice {
    /// Reply to Attach or Detach.
    Done {
        /// The request that this replies to.
        request: u64,
        /// Status code from the uAPI.
        status: u32,
    },
    /// Reply to Submit. The command's reply is in the frame's body.
    Answer {
        /// The request that this replies to.
        request: u64,
    },
    /// Lets the VM's other workers import memory or an event, until this worker withdraws it or
    /// exits.
    Export {
        /// Identifies this request in the reply.
        request: u64,
        /// The name of the export, which the worker has chosen.
        token: Token,
        /// The memory or event.
        thing: Exported,
    },
    /// Requests the description of memory or an event that a worker of the VM has exported.
    Import {
        /// Identifies this request in the reply.
        request: u64,
        /// The name of the memory or event.
        token: Token,
    },
    /// Requests a descriptor of memory that a worker of the VM has exported.
    Fetch {
        /// Identifies this request in the reply.
        request: u64,
        /// The name of the memory.
        token: Token,
    },
    /// Reply to [`DeviceToWorker::Fetch`].
    Fetched {
        /// The request that this replies to.
        request: u64,
        /// Whether the message carries the descriptor. False if the memory has been freed.
        found: bool,
    },
    /// Ends an export. Workers that have already imported the memory or event can continue to use
    /// it.
    Withdraw {
        /// The name of the memory or event.
        token: Token,
    },
    /// The guest process violated the protocol, so the worker exits.
    Broken {
        /// The violation, for logs.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seqpacket;

    /// For each context, NVIDIA's driver creates 10 objects that a worker reports: a device, a
    /// channel group for compute, and 8 channels. The test sends four times as many for each of 16
    /// GPUs.
    #[test]
    fn the_objects_of_a_worker_with_many_gpus_fit_into_a_message() {
        let (worker, broker) = seqpacket::pair().unwrap();
        let object = DriverObject {
            client: 0xc1d0_014b,
            parent: 0x5c00_0015,
            handle: 0x5c00_0016,
            class: 0xc86f,
            detail: 0,
        };
        let objects = vec![object; 16 * 40];
        seqpacket::send(&worker, &ToBroker::Ready { objects: objects.clone() }, &[]).unwrap();
        let received = seqpacket::receive(&broker).unwrap();
        let Some((ToBroker::Ready { objects: received }, _)) = received else {
            panic!("{received:?}")
        };
        assert_eq!(received, objects);
    }

    /// A device process keeps running when vcudad is upgraded, so it must accept messages with
    /// fields that it doesn't know.
    #[test]
    fn a_device_process_of_the_previous_version_ignores_links() {
        #[derive(Debug, Deserialize)]
        enum Previous {
            Other,
            Facts { request: u64, facts: PreviousFacts },
        }
        #[derive(Debug, Deserialize)]
        struct PreviousFacts {
            cuda_version: u32,
            driver: String,
            gpus: Vec<VmGpu>,
            processes: Vec<VmProcess>,
        }
        let process = VmProcess { pid: 1, session: 2, gpu: 0, bytes: 3 };
        let facts = VmFacts {
            cuda_version: 13000,
            driver: "580".into(),
            processes: vec![process],
            links: vec![VmGpuLinks::default()],
            ..VmFacts::default()
        };
        let mut bytes = postcard::to_stdvec(&BrokerToDevice::Facts { request: 7, facts }).unwrap();
        // In `Previous`, the variant `Facts` has index 1.
        bytes[0] = 1;
        let Previous::Facts { request, facts } = postcard::from_bytes(&bytes).unwrap() else {
            panic!("{bytes:?}")
        };
        assert_eq!((request, facts.cuda_version, facts.driver.as_str()), (7, 13000, "580"));
        assert_eq!((facts.gpus.len(), &facts.processes[..]), (0, &[process][..]));
    }
}
