//! The Rust mirror of `include/uapi/virtio_cuda.h`; `tests/header.rs` holds the two together.
//!
//! Names are the header's without the prefix `VIRTIO_CUDA_`. All fields are little-endian, as is
//! every host that this project supports.

use crate::plain::Plain;

#[cfg(not(target_endian = "little"))]
compile_error!("virtio-cuda supports little-endian machines only");

/// First word of the config space: the letters "CUDA".
pub const MAGIC: u32 = 0x4144_5543;
/// Version of this protocol; a driver refuses a device with another major.
pub const VERSION_MAJOR: u16 = 2;
/// Version of this protocol; a driver refuses a device with another major.
pub const VERSION_MINOR: u16 = 0;
/// Queue control.
pub const QUEUE_CONTROL: u32 = 0;
/// Queue event.
pub const QUEUE_EVENT: u32 = 1;
/// Queue command.
pub const QUEUE_COMMAND: u32 = 2;
/// Num queues.
pub const NUM_QUEUES: usize = 3;
/// stream rings (the fast way).
pub const CAP_RING: u32 = 1 << 0;
/// VIRTIO_CUDA_REGION_PINNED.
pub const CAP_PINNED: u32 = 1 << 1;
/// VIRTIO_CUDA_REGION_USER.
pub const CAP_USER: u32 = 1 << 2;
/// VIRTIO_CUDA_CTRL_QUERY.
pub const CAP_QUERY: u32 = 1 << 3;
/// Config.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Magic.
    pub magic: u32,
    /// Version major.
    pub version_major: u16,
    /// Version minor.
    pub version_minor: u16,
    /// Capabilities.
    pub capabilities: u32,
    /// Sessions that may live at once.
    pub max_sessions: u32,
    /// Regions that one session may hold.
    pub max_regions: u32,
    /// Segments of one region.
    pub max_segments: u32,
    /// Bytes of all regions of one session.
    pub pinned_max: u64,
    /// Bytes of one command sent the plain way.
    pub max_plain: u32,
    /// Reserved.
    pub reserved: [u32; 7],
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Config {}

/// Ctrl hello.
pub const CTRL_HELLO: u32 = 1;
/// Ctrl session create.
pub const CTRL_SESSION_CREATE: u32 = 2;
/// Ctrl session destroy.
pub const CTRL_SESSION_DESTROY: u32 = 3;
/// Ctrl region attach.
pub const CTRL_REGION_ATTACH: u32 = 4;
/// Ctrl region detach.
pub const CTRL_REGION_DETACH: u32 = 5;
/// Ctrl query.
pub const CTRL_QUERY: u32 = 6;
/// Ok.
pub const OK: u32 = 0;
/// malformed, out of range, or unknown type.
pub const ERR_INVALID: u32 = 1;
/// no such session, or it has ended.
pub const ERR_NO_SESSION: u32 = 2;
/// the id is in use.
pub const ERR_EXISTS: u32 = 3;
/// one of the config space's limits.
pub const ERR_LIMIT: u32 = 4;
/// the host could not start a worker.
pub const ERR_NO_WORKER: u32 = 5;
/// not among the capabilities.
pub const ERR_UNSUPPORTED: u32 = 6;
/// the host could not map the pages.
pub const ERR_MEMORY: u32 = 7;
/// too much is under way for the session; ask again later.
pub const ERR_BUSY: u32 = 8;
/// Begins every message on the control and the command queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hdr {
    /// Type.
    pub kind: u32,
    /// 0 for HELLO and QUERY.
    pub session: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Hdr {}

/// Begins every answer.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resp {
    /// VIRTIO_CUDA_OK or VIRTIO_CUDA_ERR_*.
    pub status: u32,
    /// Bytes of answer after this structure.
    pub len: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Resp {}

/// HELLO ends all sessions of earlier epochs.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Hdr.
    pub hdr: Hdr,
    /// Epoch.
    pub epoch: u64,
    /// Version major.
    pub version_major: u16,
    /// Version minor.
    pub version_minor: u16,
    /// Reserved.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Hello {}

/// Env max.
pub const ENV_MAX: usize = 4096;
/// The driver chooses the session's id: not 0, not in use.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionCreate {
    /// Hdr.
    pub hdr: Hdr,
    /// The guest process, for the host's logs only.
    pub pid: u32,
    /// Bytes of "NAME=value\0" strings that follow.
    pub env_len: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for SessionCreate {}

/// The answer comes when the worker is gone.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionDestroy {
    /// Hdr.
    pub hdr: Hdr,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for SessionDestroy {}

/// Header page, stream ring, arena; exactly one a session.
pub const REGION_RING: u32 = 1;
/// Pages that the driver allocated, at the same address in the worker.
pub const REGION_PINNED: u32 = 2;
/// Pages of the guest program's own that the driver pinned.
pub const REGION_USER: u32 = 3;
/// Segment.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Guest-physical.
    pub addr: u64,
    /// A multiple of 4096.
    pub len: u64,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Segment {}

/// The driver chooses the region's id: not 0, not in use in the session.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionAttach {
    /// Hdr.
    pub hdr: Hdr,
    /// Region.
    pub region: u32,
    /// VIRTIO_CUDA_REGION_*.
    pub kind: u32,
    /// Address in the guest process; 0 for a RING.
    pub vaddr: u64,
    /// The sum of the segments'.
    pub len: u64,
    /// RING: size of the ring, a power of two; else 0.
    pub ring_bytes: u32,
    /// Struct virtio_cuda_segment that follow.
    pub nr_segments: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for RegionAttach {}

/// The answer comes when the worker has unmapped the pages.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionDetach {
    /// Hdr.
    pub hdr: Hdr,
    /// Region.
    pub region: u32,
    /// Reserved.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for RegionDetach {}

/// What the VM's GPUs are and how much of them it uses; needs no session.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Hdr.
    pub hdr: Hdr,
    /// Reserved.
    pub reserved: u64,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Query {}

/// The longest answer to a query, in bytes.
pub const QUERY_MAX: usize = 65536;
/// Begins the answer to a query.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Struct virtio_cuda_gpu that follow.
    pub gpus: u32,
    /// Bytes of each: skip what is longer than you know.
    pub gpu_bytes: u32,
    /// Struct virtio_cuda_process that follow those.
    pub processes: u32,
    /// Bytes of each.
    pub process_bytes: u32,
    /// As cuDriverGetVersion has it: 13000.
    pub cuda_version: u32,
    /// Reserved.
    pub reserved: u32,
    /// The driver's version, ended by a zero byte.
    pub driver: [u8; 40],
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Facts {}

/// its memory corrects errors.
pub const GPU_ECC: u32 = 1 << 0;
/// virtio_cuda_gpu.utilization: not known.
pub const UTILIZATION_NONE: u32 = 0xffff_ffff;
/// A GPU of the VM.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Uuid.
    pub uuid: [u8; 16],
    /// Ended by a zero byte.
    pub name: [u8; 96],
    /// Ended by a zero byte.
    pub pci_bus_id: [u8; 32],
    /// Bytes that the VM may use.
    pub memory_total: u64,
    /// Bytes that the VM uses.
    pub memory_used: u64,
    /// The VM's part of the last second, in 0.01%.
    pub utilization: u32,
    /// VIRTIO_CUDA_GPU_*.
    pub flags: u32,
    /// Compute major.
    pub compute_major: u32,
    /// Compute minor.
    pub compute_minor: u32,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// The highest; 0: not known.
    pub clock_khz: u32,
    /// The highest; 0: not known.
    pub memory_clock_khz: u32,
    /// Memory bus bits.
    pub memory_bus_bits: u32,
    /// Device << 16 | vendor; 0: not known.
    pub pci_device: u32,
    /// Likewise.
    pub pci_subsystem: u32,
    /// Reserved.
    pub reserved: [u32; 6],
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Gpu {}

/// A process of the VM on one of its GPUs.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// As in virtio_cuda_session_create.
    pub pid: u32,
    /// Session.
    pub session: u32,
    /// Its place among the GPUs.
    pub gpu: u32,
    /// Reserved.
    pub reserved: u32,
    /// Bytes.
    pub memory_used: u64,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Process {}

/// Event wake.
pub const EVENT_WAKE: u32 = 1;
/// Event ended.
pub const EVENT_ENDED: u32 = 2;
/// asked for.
pub const ENDED_DESTROYED: u32 = 1;
/// the guest broke the protocol.
pub const ENDED_PROTOCOL: u32 = 2;
/// the worker died.
pub const ENDED_WORKER: u32 = 3;
/// the operator, or the host's end.
pub const ENDED_HOST: u32 = 4;
/// Event.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Type.
    pub kind: u32,
    /// Session.
    pub session: u32,
    /// Value.
    pub value: u32,
    /// Reserved.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Event {}

/// the session's ring has work.
pub const CMD_DOORBELL: u32 = 1;
/// one command follows, the plain way.
pub const CMD_SUBMIT: u32 = 2;
/// Ring header bytes.
pub const RING_HEADER_BYTES: usize = 4096;
/// Ring min bytes.
pub const RING_MIN_BYTES: usize = 4096;
/// Ring max bytes.
pub const RING_MAX_BYTES: usize = 16 << 20;
/// ring the doorbell: a command, a host function's end.
pub const SLEEPS_ALL: u32 = 1;
/// ring it for a host function's end alone.
pub const SLEEPS_FULL: u32 = 2;
/// First page of a RING region; each writer has cache lines of its own.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Bytes ever written.
    pub tail: u64,
    /// Pad0.
    pub pad0: [u64; 7],
    /// 1: wake me; the worker sets it back to 0.
    pub guest_sleeps: u32,
    /// Pad1.
    pub pad1: [u32; 15],
    /// Bytes ever read.
    pub head: u64,
    /// Pad2.
    pub pad2: [u64; 7],
    /// VIRTIO_CUDA_SLEEPS_*; the guest sets it back to 0.
    pub host_sleeps: u32,
    /// Pad3.
    pub pad3: [u32; 15],
    /// First CUresult of a posted call, not yet taken.
    pub posted_error: u32,
    /// Pad4.
    pub pad4: [u32; 15],
    /// Token of the host function that the guest is to run.
    pub host_func: u64,
    /// Host functions ever handed out.
    pub host_funcs_begun: u64,
    /// Pad5.
    pub pad5: [u64; 6],
    /// Host functions that have run.
    pub host_funcs_ended: u64,
    /// Pad6.
    pub pad6: [u64; 7],
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Ring {}

/// A command, in the ring or in a descriptor chain; multiples of 8 bytes.
pub const CMD_MAX_BYTES: usize = 1 << 20;
/// an answer is written.
pub const CMD_WAITED: u32 = 1 << 0;
/// Cmd.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cmd {
    /// Bytes, this header included.
    pub len: u32,
    /// Number in the API table.
    pub opcode: u32,
    /// VIRTIO_CUDA_CMD_*.
    pub flags: u32,
    /// The guest thread.
    pub thread: u32,
    /// The thread's current context, 0 for none.
    pub ctx: u64,
    /// Offset in the arena, a multiple of 8.
    pub reply: u32,
    /// Bytes there, struct virtio_cuda_reply included.
    pub reply_len: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Cmd {}

/// In a reply's state: the answer is there.
pub const REPLY_DONE: u32 = 1 << 0;
/// In a reply's state: kernels have printed, and `vcudaTakeOutput` brings the text.
pub const REPLY_OUTPUT: u32 = 1 << 1;

/// Reply.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// VIRTIO_CUDA_REPLY_*: the guest writes 0, and the worker these bits, last of all.
    pub state: u32,
    /// CUresult.
    pub result: u32,
    /// Bytes of answer after this structure.
    pub len: u32,
    /// As in the ring's header, then taken.
    pub posted_error: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for Reply {}

/// IocInfo.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocInfo {
    /// Out.
    pub config: Config,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocInfo {}

/// Creates the session of this open file, with its ring.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocStart {
    /// In: address of env_len bytes.
    pub env: u64,
    /// In.
    pub env_len: u32,
    /// In.
    pub ring_bytes: u32,
    /// In: a multiple of 4096.
    pub arena_bytes: u64,
    /// Out: header page, ring, arena.
    pub mmap_offset: u64,
    /// Out.
    pub session: u32,
    /// In: 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocStart {}

/// Allocates pages and attaches them as a PINNED region.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocAlloc {
    /// In: where the caller will map them, page-aligned.
    pub vaddr: u64,
    /// In: a multiple of 4096.
    pub len: u64,
    /// Out.
    pub mmap_offset: u64,
    /// Out.
    pub region: u32,
    /// In: 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocAlloc {}

/// Pins the caller's own pages and attaches them as a USER region.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocPin {
    /// In: page-aligned.
    pub vaddr: u64,
    /// In: a multiple of 4096.
    pub len: u64,
    /// Out.
    pub region: u32,
    /// In: 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocPin {}

/// Detaches a region and gives its pages back.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocRelease {
    /// In.
    pub region: u32,
    /// In: 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocRelease {}

/// Sleeps until the session has been woken more than @seen times.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocWait {
    /// In: wakes the caller knows of; out: wakes so far.
    pub seen: u32,
    /// In: 0 for none; then ETIMEDOUT.
    pub timeout_ms: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocWait {}

/// Sends one command the plain way and waits for its answer.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocSubmit {
    /// In: address of struct virtio_cuda_cmd.
    pub cmd: u64,
    /// In: address of room for struct virtio_cuda_reply.
    pub reply: u64,
    /// In.
    pub cmd_len: u32,
    /// In: room; out: bytes written.
    pub reply_len: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocSubmit {}

/// Asks the device about the VM's GPUs.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IocQuery {
    /// In: address of room.
    pub answer: u64,
    /// In: room, at most QUERY_MAX; out: bytes written.
    pub answer_len: u32,
    /// In: 0.
    pub reserved: u32,
}
// SAFETY: `repr(C)`, integers only, no padding (tests/header.rs compares with the C header).
unsafe impl Plain for IocQuery {}

/// Ioc type.
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
