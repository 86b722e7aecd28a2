//! The definitions of `include/uapi/virtio_cuda.h` in Rust; `tests/header.rs` compares the two.
//!
//! Names are the same as in the header, without the prefix `VIRTIO_CUDA_`. All fields are
//! little-endian, as on all supported hosts.

use crate::facts::MAX_ATTRIBUTES;
use crate::plain::Plain;

#[cfg(not(target_endian = "little"))]
compile_error!("virtio-cuda supports little-endian machines only");

/// First word of the config space: the letters "CUDA".
pub const MAGIC: u32 = 0x4144_5543;
/// Major version of the protocol. A driver refuses a device with a different major version.
pub const VERSION_MAJOR: u16 = 2;
/// Minor version of the protocol.
pub const VERSION_MINOR: u16 = 0;
/// Index of the control queue.
pub const QUEUE_CONTROL: u32 = 0;
/// Index of the event queue.
pub const QUEUE_EVENT: u32 = 1;
/// Index of the command queue.
pub const QUEUE_COMMAND: u32 = 2;
/// Number of queues.
pub const NUM_QUEUES: usize = 3;
/// Capability: stream rings, through which commands are sent without a descriptor chain.
pub const CAP_RING: u32 = 1 << 0;
/// Capability: regions of kind [`REGION_PINNED`].
pub const CAP_PINNED: u32 = 1 << 1;
/// Capability: regions of kind [`REGION_USER`].
pub const CAP_USER: u32 = 1 << 2;
/// Capability: [`CTRL_QUERY`].
pub const CAP_QUERY: u32 = 1 << 3;
/// Capability: files of a vhost-user front end that is the program, in the window
/// [`FILES`](crate::windows::FILES).
pub const CAP_FILES: u32 = 1 << 4;
/// The device's virtio config space.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Equals [`MAGIC`].
    pub magic: u32,
    /// Equals [`VERSION_MAJOR`].
    pub version_major: u16,
    /// The device's minor version.
    pub version_minor: u16,
    /// Bits of `CAP_*`.
    pub capabilities: u32,
    /// Maximum number of concurrent sessions.
    pub max_sessions: u32,
    /// Maximum number of regions per session.
    pub max_regions: u32,
    /// Maximum number of segments per region.
    pub max_segments: u32,
    /// Maximum total size in bytes of all regions in a session.
    pub pinned_max: u64,
    /// Maximum size in bytes of a command in a descriptor chain.
    pub max_plain: u32,
    /// Must be 0.
    pub reserved: [u32; 7],
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Config {}

/// Message type: start a new epoch, which ends all earlier sessions.
pub const CTRL_HELLO: u32 = 1;
/// Message type: create a session.
pub const CTRL_SESSION_CREATE: u32 = 2;
/// Message type: destroy a session.
pub const CTRL_SESSION_DESTROY: u32 = 3;
/// Message type: attach a region.
pub const CTRL_REGION_ATTACH: u32 = 4;
/// Message type: detach a region.
pub const CTRL_REGION_DETACH: u32 = 5;
/// Message type: query the VM's GPUs.
pub const CTRL_QUERY: u32 = 6;
/// Status: success.
pub const OK: u32 = 0;
/// Status: malformed, out of range, or unknown type.
pub const ERR_INVALID: u32 = 1;
/// Status: no such session, or it has ended.
pub const ERR_NO_SESSION: u32 = 2;
/// Status: the id is in use.
pub const ERR_EXISTS: u32 = 3;
/// Status: a limit of the config space is exceeded.
pub const ERR_LIMIT: u32 = 4;
/// Status: the host could not start a worker.
pub const ERR_NO_WORKER: u32 = 5;
/// Status: the device doesn't have the capability that the message needs.
pub const ERR_UNSUPPORTED: u32 = 6;
/// Status: the host could not map the pages.
pub const ERR_MEMORY: u32 = 7;
/// Status: too many requests in flight; try again later.
pub const ERR_BUSY: u32 = 8;
/// Header of every message on the control queue and the command queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hdr {
    /// The message's type.
    pub kind: u32,
    /// The session's id; 0 for HELLO and QUERY.
    pub session: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Hdr {}

/// Header of every reply on the control queue and the command queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resp {
    /// [`OK`] or one of `ERR_*`.
    pub status: u32,
    /// Number of reply bytes after this structure.
    pub len: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Resp {}

/// The message HELLO, which starts a new epoch. All sessions from earlier epochs end.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The header, with the type [`CTRL_HELLO`].
    pub hdr: Hdr,
    /// The number of the new epoch, which the driver chooses each time it is initialized.
    pub epoch: u64,
    /// The driver's major version.
    pub version_major: u16,
    /// The driver's minor version.
    pub version_minor: u16,
    /// Must be 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Hello {}

/// Maximum size in bytes of the environment in [`SessionCreate`].
pub const ENV_MAX: usize = 4096;
/// The number of bytes of the environment that a program can use. The remaining bytes are for the
/// driver's entry.
pub const IOC_ENV_MAX: usize = ENV_MAX - 32;
/// The message SESSION_CREATE, which creates a session. The driver chooses the session's id, which
/// is not 0 and not in use.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionCreate {
    /// The header, with the type [`CTRL_SESSION_CREATE`].
    pub hdr: Hdr,
    /// The process id in the guest, for the host's logs only.
    pub pid: u32,
    /// Number of bytes of the "NAME=value\0" strings that follow.
    pub env_len: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for SessionCreate {}

/// The message SESSION_DESTROY, which destroys a session. The device replies when the worker has
/// exited.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionDestroy {
    /// The header, with the type [`CTRL_SESSION_DESTROY`].
    pub hdr: Hdr,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for SessionDestroy {}

/// Kind of region: the header page, stream ring and arena. Each session has exactly one.
pub const REGION_RING: u32 = 1;
/// Kind of region: pages that the driver allocated. They have the same address in the worker.
pub const REGION_PINNED: u32 = 2;
/// Kind of region: the guest program's own pages, which the driver pinned.
pub const REGION_USER: u32 = 3;
/// A contiguous part of a region in guest memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The guest-physical address.
    pub addr: u64,
    /// The length in bytes, a multiple of 4096.
    pub len: u64,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Segment {}

/// The message REGION_ATTACH, which attaches a region. The driver chooses the region's id, which is
/// not 0 and not in use in the session.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionAttach {
    /// The header, with the type [`CTRL_REGION_ATTACH`].
    pub hdr: Hdr,
    /// The region's id.
    pub region: u32,
    /// One of `REGION_*`.
    pub kind: u32,
    /// The region's address in the guest process, or 0 for a RING.
    pub vaddr: u64,
    /// The region's length: the sum of the segment lengths.
    pub len: u64,
    /// For a RING, the size of the ring in bytes, which is a power of two; 0 for other kinds.
    pub ring_bytes: u32,
    /// Number of [`Segment`]s that follow.
    pub nr_segments: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for RegionAttach {}

/// The message REGION_DETACH, which detaches a region. The device replies when the worker has
/// unmapped the pages.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionDetach {
    /// The header, with the type [`CTRL_REGION_DETACH`].
    pub hdr: Hdr,
    /// The region's id.
    pub region: u32,
    /// Must be 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for RegionDetach {}

/// The message QUERY, which queries the VM's GPUs and the VM's use of them, without a session.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// The header, with the type [`CTRL_QUERY`].
    pub hdr: Hdr,
    /// Must be 0.
    pub reserved: u64,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Query {}

/// The maximum length of the reply to a query, in bytes.
pub const QUERY_MAX: usize = 65536;
/// The first structure in the reply to [`Query`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Number of [`Gpu`]s that follow.
    pub gpus: u32,
    /// Size of each GPU's entry in bytes: a [`Gpu`], [`Attributes`], a [`GpuUse`], and [`Limits`].
    /// Older devices leave out the last ones of these. If the size is larger than all of them
    /// together, the guest must ignore the remaining bytes.
    pub gpu_bytes: u32,
    /// Number of [`Process`]es that follow the GPUs.
    pub processes: u32,
    /// Size of each process's entry in bytes: a [`Process`], and a [`ProcessUse`] unless the device
    /// is of an older version. If the size is larger than these, the guest must ignore the
    /// remaining bytes.
    pub process_bytes: u32,
    /// The result of cuDriverGetVersion, for example 13000.
    pub cuda_version: u32,
    /// The result of cuModuleGetLoadingMode without an environment variable, or 0 if it is unknown.
    pub module_loading: u32,
    /// The driver's version, ended by a zero byte.
    pub driver: [u8; 40],
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Facts {}

/// GPU flag: the memory has error correction.
pub const GPU_ECC: u32 = 1 << 0;
/// Position of the bit in [`Gpu::flags`] for peer access to the first GPU. The bits for the other
/// GPUs follow.
pub const GPU_PEER_SHIFT: u32 = 16;
/// The value of [`Gpu::utilization`] and [`ProcessUse::utilization`] if it is unknown.
pub const UTILIZATION_NONE: u32 = 0xffff_ffff;
/// A GPU that the VM can use.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// The GPU's UUID.
    pub uuid: [u8; 16],
    /// The GPU's name, ended by a zero byte.
    pub name: [u8; 96],
    /// The GPU's PCI address, ended by a zero byte.
    pub pci_bus_id: [u8; 32],
    /// Number of bytes of device memory that the VM may use.
    pub memory_total: u64,
    /// Number of bytes of device memory that the VM uses.
    pub memory_used: u64,
    /// The part of the last second in which the VM used the GPU, in units of 0.01%.
    pub utilization: u32,
    /// Bits of `GPU_*`. Bit `GPU_PEER_SHIFT + i` is set if the GPU can access the memory of the GPU
    /// with index `i`.
    pub flags: u32,
    /// Major compute capability.
    pub compute_major: u32,
    /// Minor compute capability.
    pub compute_minor: u32,
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Maximum clock rate in kHz, or 0 if unknown.
    pub clock_khz: u32,
    /// Maximum memory clock rate in kHz, or 0 if unknown.
    pub memory_clock_khz: u32,
    /// Width of the memory bus in bits.
    pub memory_bus_bits: u32,
    /// PCI device id << 16 | vendor id, or 0 if unknown.
    pub pci_device: u32,
    /// PCI subsystem ids in the same form, or 0 if unknown.
    pub pci_subsystem: u32,
    /// The fastest possible PCIe link: generation << 16 | lanes, or 0 if unknown.
    pub pcie_link_max: u32,
    /// The current PCIe link in the same form, or 0 if unknown.
    pub pcie_link: u32,
    /// Number of active NVLinks that lead directly to the GPU with each index. The number at the
    /// GPU's own index is the number of its links to NVSwitches.
    pub nvlinks: [u8; 16],
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Gpu {}

/// The attributes of a GPU, which follow its [`Gpu`] in the same entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Bit N % 64 of word N / 64 is set if attribute N is known (`CUdevice_attribute`). All words
    /// are 0 if the attributes depend on the session.
    pub known: [u64; 4],
    /// The attributes, as sessions see them. Unknown ones are 0.
    pub values: [i32; MAX_ATTRIBUTES],
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Attributes {}

/// Bit of [`GpuUse::slowed`]: the other bits are known.
pub const SLOWED_KNOWN: u32 = 1 << 0;
/// Bit of [`GpuUse::slowed`]: in the last second, the VM's work has waited for GPU time that the
/// host's setting compute.max allows.
pub const SLOWED_BY_CAP: u32 = 1 << 1;
/// Bit of [`GpuUse::slowed`]: in the last second, the VM's work has waited for the VM's turn.
pub const SLOWED_BY_TURNS: u32 = 1 << 2;
/// Bit of [`GpuUse::slowed`]: the VM is paused.
pub const SLOWED_BY_PAUSE: u32 = 1 << 3;
/// How the VM uses a GPU, which follows the GPU's [`Attributes`] in the same entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuUse {
    /// Bits of `SLOWED_*`.
    pub slowed: u32,
    /// Must be 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for GpuUse {}

/// The value of a field of [`Limits`] if the operator has set no such limit.
pub const LIMIT_NONE: u64 = u64::MAX;
/// Limits that the host's operator has set for the VM, for error messages in the guest. They follow
/// each [`GpuUse`] in the same entry. A field is 0 if the limit is unknown, and [`LIMIT_NONE`] if
/// there is no such limit.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The host's setting memory.session_max: bytes of the GPU's memory that a session may use.
    pub session_max: u64,
    /// The host's setting memory.host_max: bytes of host memory that the VM's processes on the host
    /// may use.
    pub host_max: u64,
    /// The host's setting pids.max: maximum number of the VM's processes on the host, including
    /// their threads.
    pub pids_max: u64,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Limits {}

/// An entry in the reply to [`Query`]: a guest process's use of one GPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// The process id from [`SessionCreate`].
    pub pid: u32,
    /// The session's id.
    pub session: u32,
    /// The index of the GPU in the list of [`Gpu`]s.
    pub gpu: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Number of bytes of device memory that the process uses.
    pub memory_used: u64,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Process {}

/// How a process uses its GPU, which follows the [`Process`] in the same entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessUse {
    /// The part of the last second in which the process used the GPU, in units of 0.01%, or
    /// [`UTILIZATION_NONE`].
    pub utilization: u32,
    /// Must be 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for ProcessUse {}

/// Event: a guest thread of the session must be woken.
pub const EVENT_WAKE: u32 = 1;
/// Event: the session has ended.
pub const EVENT_ENDED: u32 = 2;
/// Reason: the driver destroyed the session.
pub const ENDED_DESTROYED: u32 = 1;
/// Reason: the guest violated the protocol.
pub const ENDED_PROTOCOL: u32 = 2;
/// Reason: the worker exited unexpectedly.
pub const ENDED_WORKER: u32 = 3;
/// Reason: the host ended the session for another reason.
pub const ENDED_HOST: u32 = 4;
/// An event, which the device writes to a buffer in the event queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// One of `EVENT_*`.
    pub kind: u32,
    /// The session's id.
    pub session: u32,
    /// For [`EVENT_ENDED`], one of `ENDED_*`.
    pub value: u32,
    /// Must be 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Event {}

/// Message type: the session's ring has work.
pub const CMD_DOORBELL: u32 = 1;
/// Message type: one command follows in the descriptor chain.
pub const CMD_SUBMIT: u32 = 2;
/// Size of the header page of a RING region, in bytes.
pub const RING_HEADER_BYTES: usize = 4096;
/// Minimum size of a ring, in bytes.
pub const RING_MIN_BYTES: usize = 4096;
/// Maximum size of a ring, in bytes.
pub const RING_MAX_BYTES: usize = 16 << 20;
/// The worker wants a doorbell when there is a command or a host function has run.
pub const SLEEPS_ALL: u32 = 1;
/// The worker wants a doorbell only when a host function has run.
pub const SLEEPS_FULL: u32 = 2;
/// First page of a RING region. The guest and the worker write to separate cache lines.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Number of bytes written so far. Written by the guest.
    pub tail: u64,
    /// Padding.
    pub pad0: [u64; 7],
    /// 1 if a guest thread sleeps and must be woken. Set by the guest; the worker sets it back to
    /// 0.
    pub guest_sleeps: u32,
    /// Padding.
    pub pad1: [u32; 15],
    /// Number of bytes read so far. Written by the worker.
    pub head: u64,
    /// Padding.
    pub pad2: [u64; 7],
    /// One of `SLEEPS_*` while the worker sleeps. Set by the worker; the guest sets it back to 0.
    pub host_sleeps: u32,
    /// Padding.
    pub pad3: [u32; 15],
    /// The CUresult of the first posted call that failed and that no reply has reported to the
    /// guest yet, or 0. Written by the worker.
    pub posted_error: u32,
    /// Padding.
    pub pad4: [u32; 15],
    /// Token of the host function that the guest must run. Written by the worker.
    pub host_func: u64,
    /// Number of host functions handed out so far. Written by the worker.
    pub host_funcs_begun: u64,
    /// The time, in ns, during which work of the session has waited for the VM's turn on a GPU. 0
    /// with a worker of the previous release. Written by the worker.
    pub turn_ns: u64,
    /// Padding.
    pub pad5: [u64; 5],
    /// Number of host functions that have run. Written by the guest.
    pub host_funcs_ended: u64,
    /// Padding.
    pub pad6: [u64; 7],
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Ring {}

/// Maximum length of a command, in the ring or in a descriptor chain.
pub const CMD_MAX_BYTES: usize = 1 << 20;
/// Command flag: the worker writes a reply.
pub const CMD_WAITED: u32 = 1 << 0;
/// The header of a command, in the ring or in a descriptor chain.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cmd {
    /// Length in bytes, including this header; a multiple of 8.
    pub len: u32,
    /// The number of the call in the API table.
    pub opcode: u32,
    /// Bits of `CMD_*`, such as [`CMD_WAITED`].
    pub flags: u32,
    /// The number that the guest library gave the calling thread.
    pub thread: u32,
    /// The thread's current context, 0 for none.
    pub ctx: u64,
    /// The offset in the arena where the reply is written; a multiple of 8.
    pub reply: u32,
    /// The number of bytes available for the reply at the offset `reply`, including [`Reply`].
    pub reply_len: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Cmd {}

/// Reply state: the reply is complete.
pub const REPLY_DONE: u32 = 1 << 0;
/// Reply state: kernels have printed, and `vcudaTakeOutput` returns the text.
pub const REPLY_OUTPUT: u32 = 1 << 1;

/// The header of a reply.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Bits of `REPLY_*`: the guest writes 0, and the worker writes these bits last.
    pub state: u32,
    /// The CUresult.
    pub result: u32,
    /// Number of reply bytes after this structure.
    pub len: u32,
    /// The value of [`Ring::posted_error`], which the worker moves here and sets back to 0 in the
    /// ring's header.
    pub posted_error: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Reply {}

/// The argument of the ioctl INFO, which returns the config space.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocInfo {
    /// Out: the config space.
    pub config: Config,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocInfo {}

/// The argument of the ioctl START, which creates the session of an open file. The session has a
/// ring and an arena unless both sizes are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocStart {
    /// In: the address of the environment.
    pub env: u64,
    /// In: the length of the environment in bytes.
    pub env_len: u32,
    /// In: the size of the ring.
    pub ring_bytes: u32,
    /// In: the size of the arena, a multiple of 4096.
    pub arena_bytes: u64,
    /// Out: the mmap offset for mapping the header page, the ring and the arena.
    pub mmap_offset: u64,
    /// Out: the session's id.
    pub session: u32,
    /// In: must be 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocStart {}

/// The argument of the ioctl ALLOC, which allocates pages and attaches them as a PINNED region.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocAlloc {
    /// In: the address where the caller will map the pages, page-aligned.
    pub vaddr: u64,
    /// In: the length, a multiple of 4096.
    pub len: u64,
    /// Out: the offset for mmap.
    pub mmap_offset: u64,
    /// Out: the region's id.
    pub region: u32,
    /// In: must be 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocAlloc {}

/// The argument of the ioctl PIN, which pins the caller's own pages and attaches them as a USER
/// region.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocPin {
    /// In: the address of the pages.
    pub vaddr: u64,
    /// In: the length, a multiple of 4096.
    pub len: u64,
    /// Out: the region's id.
    pub region: u32,
    /// In: must be 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocPin {}

/// The argument of the ioctl RELEASE, which detaches a region and releases its pages.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocRelease {
    /// In: the region's id.
    pub region: u32,
    /// In: must be 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocRelease {}

/// The argument of the ioctl WAIT, which sleeps until the session has been woken more than `seen`
/// times, or has ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocWait {
    /// In: the number of wakes that the caller has seen. Out: the number of wakes so far.
    pub seen: u32,
    /// In: the time limit, after which the ioctl fails with ETIMEDOUT; 0 for no limit.
    pub timeout_ms: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocWait {}

/// The argument of the ioctl SUBMIT, which sends a command as a descriptor chain and waits for the
/// reply.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocSubmit {
    /// In: the address of the command, which begins with [`Cmd`].
    pub cmd: u64,
    /// In: the address of the buffer for the reply, which begins with [`Reply`].
    pub reply: u64,
    /// In: the length of the command.
    pub cmd_len: u32,
    /// In: the size of the buffer. Out: the number of bytes written to it.
    pub reply_len: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocSubmit {}

/// The argument of the ioctl QUERY, which queries the VM's GPUs.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocQuery {
    /// In: the address of the buffer for the reply.
    pub answer: u64,
    /// In: the size of the buffer, at most [`QUERY_MAX`]. Out: the number of bytes written to it.
    pub answer_len: u32,
    /// In: must be 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocQuery {}

/// Type number of all ioctls.
pub const IOC_TYPE: u32 = 0xC5;
const fn ioc(dir: u32, nr: u32, size: usize) -> u64 {
    ((dir << 30) | ((size as u32) << 16) | (IOC_TYPE << 8) | nr) as u64
}
const W: u32 = 1;
const R: u32 = 2;

/// Number of the ioctl INFO.
pub const IOC_INFO: u64 = ioc(R, 0, size_of::<IocInfo>());
/// Number of the ioctl START.
pub const IOC_START: u64 = ioc(R | W, 1, size_of::<IocStart>());
/// Number of the ioctl ALLOC.
pub const IOC_ALLOC: u64 = ioc(R | W, 2, size_of::<IocAlloc>());
/// Number of the ioctl PIN.
pub const IOC_PIN: u64 = ioc(R | W, 3, size_of::<IocPin>());
/// Number of the ioctl RELEASE.
pub const IOC_RELEASE: u64 = ioc(W, 4, size_of::<IocRelease>());
/// Number of the ioctl KICK.
pub const IOC_KICK: u64 = ioc(0, 5, 0);
/// Number of the ioctl WAIT.
pub const IOC_WAIT: u64 = ioc(R | W, 6, size_of::<IocWait>());
/// Number of the ioctl SUBMIT.
pub const IOC_SUBMIT: u64 = ioc(R | W, 7, size_of::<IocSubmit>());
/// Number of the ioctl QUERY.
pub const IOC_QUERY: u64 = ioc(R | W, 8, size_of::<IocQuery>());
