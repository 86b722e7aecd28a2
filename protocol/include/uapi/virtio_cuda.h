/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Apache-2.0 */
/*
 * virtio-cuda: the interface between a guest and its device, and between a
 * guest program and its kernel driver.
 *
 * docs/device.md is the specification; this header is its C form, and
 * protocol/src/uapi.rs its Rust mirror (a test compares the two).
 *
 * All fields are little-endian. Padding and reserved fields are 0; a receiver
 * refuses a message in which they are not.
 */
#ifndef _UAPI_VIRTIO_CUDA_H
#define _UAPI_VIRTIO_CUDA_H

#include <linux/types.h>
#include <linux/ioctl.h>

/* ---- Device identification ------------------------------------------- */

/* First word of the config space: the letters "CUDA". */
#define VIRTIO_CUDA_MAGIC 0x41445543
/* Protocol version; a driver refuses a device with another major version. */
#define VIRTIO_CUDA_VERSION_MAJOR 2
#define VIRTIO_CUDA_VERSION_MINOR 0

#define VIRTIO_CUDA_QUEUE_CONTROL 0
#define VIRTIO_CUDA_QUEUE_EVENT 1
#define VIRTIO_CUDA_QUEUE_COMMAND 2
#define VIRTIO_CUDA_NUM_QUEUES 3

/* Capabilities: bits of virtio_cuda_config.capabilities. */
#define VIRTIO_CUDA_CAP_RING (1U << 0) /* stream rings for commands */
#define VIRTIO_CUDA_CAP_PINNED (1U << 1) /* VIRTIO_CUDA_REGION_PINNED */
#define VIRTIO_CUDA_CAP_USER (1U << 2) /* VIRTIO_CUDA_REGION_USER */
#define VIRTIO_CUDA_CAP_QUERY (1U << 3) /* VIRTIO_CUDA_CTRL_QUERY */
#define VIRTIO_CUDA_CAP_FILES (1U << 4) /* files of a vhost-user front end that is the program */

struct virtio_cuda_config {
	__le32 magic;
	__le16 version_major;
	__le16 version_minor;
	__le32 capabilities;
	__le32 max_sessions; /* maximum concurrent sessions */
	__le32 max_regions; /* maximum regions per session */
	__le32 max_segments; /* maximum segments per region */
	__le64 pinned_max; /* maximum total bytes of a session's regions */
	__le32 max_plain; /* maximum bytes of a command in a descriptor chain */
	__le32 reserved[7];
};

/* ---- Control queue ---------------------------------------------------- */

#define VIRTIO_CUDA_CTRL_HELLO 1
#define VIRTIO_CUDA_CTRL_SESSION_CREATE 2
#define VIRTIO_CUDA_CTRL_SESSION_DESTROY 3
#define VIRTIO_CUDA_CTRL_REGION_ATTACH 4
#define VIRTIO_CUDA_CTRL_REGION_DETACH 5
#define VIRTIO_CUDA_CTRL_QUERY 6

#define VIRTIO_CUDA_OK 0
#define VIRTIO_CUDA_ERR_INVALID 1 /* malformed, out of range, or unknown type */
#define VIRTIO_CUDA_ERR_NO_SESSION 2 /* no such session, or it has ended */
#define VIRTIO_CUDA_ERR_EXISTS 3 /* the id is in use */
#define VIRTIO_CUDA_ERR_LIMIT 4 /* a limit of the config space is exceeded */
#define VIRTIO_CUDA_ERR_NO_WORKER 5 /* the host could not start a worker */
#define VIRTIO_CUDA_ERR_UNSUPPORTED 6 /* the device lacks the capability */
#define VIRTIO_CUDA_ERR_MEMORY 7 /* the host could not map the pages */
#define VIRTIO_CUDA_ERR_BUSY 8 /* too many requests in flight; try again later */

/* Header of every message on the control queue and the command queue. */
struct virtio_cuda_hdr {
	__le32 type;
	__le32 session; /* 0 for HELLO and QUERY */
};

/* Header of every reply on the control queue and the command queue. */
struct virtio_cuda_resp {
	__le32 status; /* VIRTIO_CUDA_OK or VIRTIO_CUDA_ERR_* */
	__le32 len; /* bytes of reply after this structure */
};

/* HELLO: starts a new epoch. All sessions from earlier epochs end. */
struct virtio_cuda_hello {
	struct virtio_cuda_hdr hdr;
	__le64 epoch;
	__le16 version_major;
	__le16 version_minor;
	__le32 reserved;
};

#define VIRTIO_CUDA_ENV_MAX 4096
/*
 * Bytes of the environment that a program can use. The other bytes are for the
 * driver's entry.
 */
#define VIRTIO_CUDA_IOC_ENV_MAX (VIRTIO_CUDA_ENV_MAX - 32)

/*
 * SESSION_CREATE: creates a session. The driver chooses an id that is not 0 and
 * not in use.
 */
struct virtio_cuda_session_create {
	struct virtio_cuda_hdr hdr;
	__le32 pid; /* the guest process, for the host's logs only */
	__le32 env_len; /* bytes of "NAME=value\0" strings that follow */
};

/*
 * SESSION_DESTROY: destroys a session. The device replies when the worker has
 * exited.
 */
struct virtio_cuda_session_destroy {
	struct virtio_cuda_hdr hdr;
};

/* Region with the header page, stream ring and arena; one per session. */
#define VIRTIO_CUDA_REGION_RING 1
/* Region of pages that the driver allocated. Same address in the worker. */
#define VIRTIO_CUDA_REGION_PINNED 2
/* Region of the guest program's own pages, which the driver pinned. */
#define VIRTIO_CUDA_REGION_USER 3

struct virtio_cuda_segment {
	__le64 addr; /* guest-physical */
	__le64 len; /* a multiple of 4096 */
};

/*
 * REGION_ATTACH: attaches a region. The driver chooses an id that is not 0 and
 * not in use in the session.
 */
struct virtio_cuda_region_attach {
	struct virtio_cuda_hdr hdr;
	__le32 region;
	__le32 kind; /* VIRTIO_CUDA_REGION_* */
	__le64 vaddr; /* address in the guest process; 0 for a RING */
	__le64 len; /* the sum of the segment lengths */
	__le32 ring_bytes; /* ring size for a RING, a power of two; otherwise 0 */
	__le32 nr_segments; /* number of struct virtio_cuda_segment that follow */
};

/*
 * REGION_DETACH: detaches a region. The device replies when the worker has
 * unmapped it.
 */
struct virtio_cuda_region_detach {
	struct virtio_cuda_hdr hdr;
	__le32 region;
	__le32 reserved;
};

/*
 * QUERY: queries the VM's GPUs and the VM's use of them, without a session. The
 * reply is a struct virtio_cuda_facts, followed by a struct virtio_cuda_gpu per
 * GPU and a struct virtio_cuda_process per process and GPU. It is at most
 * VIRTIO_CUDA_QUERY_MAX bytes long.
 */
struct virtio_cuda_query {
	struct virtio_cuda_hdr hdr;
	__le64 reserved;
};

#define VIRTIO_CUDA_QUERY_MAX 65536

struct virtio_cuda_facts {
	__le32 gpus; /* number of struct virtio_cuda_gpu that follow */
	__le32 gpu_bytes; /* size of each; ignore bytes past the known size */
	__le32 processes; /* number of struct virtio_cuda_process after them */
	__le32 process_bytes; /* size of each */
	__le32 cuda_version; /* result of cuDriverGetVersion, for example 13000 */
	__le32 module_loading; /* result of cuModuleGetLoadingMode, 0 if unknown */
	__u8 driver[40]; /* the driver's version, ended by a zero byte */
};

#define VIRTIO_CUDA_GPU_ECC (1U << 0) /* the memory has error correction */
/*
 * Position in virtio_cuda_gpu.flags of the bit for access to the first GPU's
 * memory. The bits for the other GPUs follow.
 */
#define VIRTIO_CUDA_GPU_PEER_SHIFT 16
/*
 * Value of virtio_cuda_gpu.utilization and virtio_cuda_process_use.utilization
 * if it is unknown.
 */
#define VIRTIO_CUDA_UTILIZATION_NONE 0xffffffff

struct virtio_cuda_gpu {
	__u8 uuid[16];
	__u8 name[96]; /* ended by a zero byte, as is pci_bus_id */
	__u8 pci_bus_id[32];
	__le64 memory_total; /* bytes that the VM may use */
	__le64 memory_used; /* bytes that the VM uses */
	__le32 utilization; /* the VM's GPU time in the last second, in 0.01% */
	__le32 flags; /* VIRTIO_CUDA_GPU_* */
	__le32 compute_major;
	__le32 compute_minor;
	__le32 multiprocessors;
	__le32 clock_khz; /* maximum; this and the next are 0 if unknown */
	__le32 memory_clock_khz;
	__le32 memory_bus_bits;
	__le32 pci_device; /* device << 16 | vendor; this and the next are 0 if unknown */
	__le32 pci_subsystem;
	__le32 pcie_link_max; /* generation << 16 | lanes; this and the next are 0 if unknown */
	__le32 pcie_link;
	__u8 nvlinks[16]; /* NVLinks to each GPU, and to switches at the own index */
};

/* Attributes of a GPU. Follows struct virtio_cuda_gpu in the same entry. */
struct virtio_cuda_attributes {
	__le64 known[4]; /* a bit for each known attribute; 0 if only a session can tell */
	__le32 values[160]; /* by CUdevice_attribute, as a session on the GPU has them */
};

/* Bits of virtio_cuda_gpu_use.slowed. */
#define VIRTIO_CUDA_SLOWED_KNOWN (1U << 0) /* the other bits are known */
/* In the last second, work has waited for GPU time under the VM's cap. */
#define VIRTIO_CUDA_SLOWED_BY_CAP (1U << 1)
/* In the last second, work has waited for the VM's turn. */
#define VIRTIO_CUDA_SLOWED_BY_TURNS (1U << 2)
#define VIRTIO_CUDA_SLOWED_BY_PAUSE (1U << 3) /* the VM is paused */

/*
 * The VM's use of a GPU. Follows struct virtio_cuda_attributes in the same
 * entry.
 */
struct virtio_cuda_gpu_use {
	__le32 slowed; /* VIRTIO_CUDA_SLOWED_* */
	__le32 reserved;
};

/* Value of a field of struct virtio_cuda_limits if there is no such limit. */
#define VIRTIO_CUDA_LIMIT_NONE 0xffffffffffffffff

/*
 * Limits of the VM, for error messages in the guest. Follows struct
 * virtio_cuda_gpu_use in the same entry. Unknown limits are 0.
 */
struct virtio_cuda_limits {
	__le64 session_max; /* bytes of the GPU's memory for a session */
	__le64 host_max; /* bytes of host memory for the VM's host processes */
	__le64 pids_max; /* number of those processes and their threads */
};

struct virtio_cuda_process {
	__le32 pid; /* as in virtio_cuda_session_create */
	__le32 session;
	__le32 gpu; /* index of the GPU in the reply */
	__le32 reserved;
	__le64 memory_used; /* bytes of device memory */
};

/*
 * A process's use of its GPU. Follows struct virtio_cuda_process in the same
 * entry.
 */
struct virtio_cuda_process_use {
	__le32 utilization; /* GPU time in the last second, in 0.01% */
	__le32 reserved;
};

/* ---- Event queue ------------------------------------------------------ */

#define VIRTIO_CUDA_EVENT_WAKE 1
#define VIRTIO_CUDA_EVENT_ENDED 2

/* The reason why a session ended, in virtio_cuda_event.value. */
#define VIRTIO_CUDA_ENDED_DESTROYED 1 /* the driver destroyed it */
#define VIRTIO_CUDA_ENDED_PROTOCOL 2 /* the guest broke the protocol */
#define VIRTIO_CUDA_ENDED_WORKER 3 /* the worker exited unexpectedly */
#define VIRTIO_CUDA_ENDED_HOST 4 /* the host ended it for another reason */

struct virtio_cuda_event {
	__le32 type;
	__le32 session;
	__le32 value;
	__le32 reserved;
};

/* ---- Command queue ---------------------------------------------------- */

#define VIRTIO_CUDA_CMD_DOORBELL 1 /* the session's ring has work */
#define VIRTIO_CUDA_CMD_SUBMIT 2 /* one command follows in the descriptor chain */

/* ---- Stream ring ------------------------------------------------------ */

#define VIRTIO_CUDA_RING_HEADER_BYTES 4096
#define VIRTIO_CUDA_RING_MIN_BYTES 4096
#define VIRTIO_CUDA_RING_MAX_BYTES (16 << 20)

#define VIRTIO_CUDA_SLEEPS_ALL 1 /* wake for commands and finished host functions */
#define VIRTIO_CUDA_SLEEPS_FULL 2 /* wake only for finished host functions */

/* First page of a RING region. Guest and worker write to separate cache lines. */
struct virtio_cuda_ring {
	/* The guest writes tail. Both sides write guest_sleeps. */
	__le64 tail; /* bytes written so far */
	__le64 pad0[7];
	__le32 guest_sleeps; /* 1 if a guest thread must be woken; the worker clears it */
	__le32 pad1[15];
	/* The worker writes these fields. The guest also clears host_sleeps. */
	__le64 head; /* bytes read so far */
	__le64 pad2[7];
	__le32 host_sleeps; /* VIRTIO_CUDA_SLEEPS_*, or 0; the guest clears it */
	__le32 pad3[15];
	__le32 posted_error; /* first error of a posted call that no reply has reported */
	__le32 pad4[15];
	__le64 host_func; /* token of the host function that the guest must run */
	__le64 host_funcs_begun; /* host functions handed out so far */
	__le64 turn_ns; /* time that work has waited for the VM's turn on a GPU */
	__le64 pad5[5];
	/* Written by the guest. */
	__le64 host_funcs_ended; /* host functions that have run */
	__le64 pad6[7];
};

/* Maximum size of a command, in the ring or in a descriptor chain. */
#define VIRTIO_CUDA_CMD_MAX_BYTES (1 << 20)
#define VIRTIO_CUDA_CMD_WAITED (1U << 0) /* a reply is written */

struct virtio_cuda_cmd {
	__le32 len; /* bytes, including this header; a multiple of 8 */
	__le32 opcode; /* number in the API table */
	__le32 flags; /* VIRTIO_CUDA_CMD_* */
	__le32 thread; /* number of the calling guest thread */
	__le64 ctx; /* the thread's current context, 0 for none */
	__le32 reply; /* offset of the reply in the arena, a multiple of 8 */
	__le32 reply_len; /* room there, including struct virtio_cuda_reply */
};

/* Bits of virtio_cuda_reply.state, which the worker writes last. */
#define VIRTIO_CUDA_REPLY_DONE (1U << 0) /* the reply is complete */
#define VIRTIO_CUDA_REPLY_OUTPUT (1U << 1) /* kernels have printed */

struct virtio_cuda_reply {
	__le32 state; /* VIRTIO_CUDA_REPLY_* */
	__le32 result; /* CUresult */
	__le32 len; /* bytes of reply after this structure */
	__le32 posted_error; /* moved here from the ring's header */
};

/* ---- /dev/virtio-cudaN ------------------------------------------------ */

/*
 * An open file is one session of the process that opened it. Other processes
 * that get the file, such as a child after fork(), get EPERM. The session ends
 * when the last reference to the file is closed (mappings are references), when
 * the last mapping of the ring is unmapped, or when the process's address space
 * is torn down.
 *
 * Errors with the same meaning for all ioctls: EPERM the caller is not the
 * process that opened the file ENOTCONN this file has no session yet EPIPE the
 * session has ended ENODEV the device is gone, was replaced, or was suspended:
 * open it again EINVAL a size, an address, an id or a reserved field is
 * invalid, or the device rejected the request as malformed EDQUOT a limit of
 * the device is exceeded, such as pinned_max ENOMEM not enough memory, or too
 * fragmented for the device EINTR a signal arrived; only WAIT ends for signals
 * other than SIGKILL EAGAIN too many requests in flight, or the device was
 * replaced: try again later EPROTO the device's reply is invalid START also
 * returns EBUSY if the session has already been started, and EREMOTEIO if the
 * host could not start a worker. START may be retried after EDQUOT, EREMOTEIO,
 * EAGAIN and EINVAL. PIN also returns EFAULT for pages that are missing or
 * read-only. PIN, ALLOC and QUERY return EOPNOTSUPP if the device lacks the
 * capability. QUERY needs no START.
 *
 * mmap() takes the offset from START or ALLOC and MAP_SHARED, and maps any part
 * of the region. A mapping keeps the region's pages allocated, even after
 * RELEASE or after the session has ended. Children do not inherit mappings.
 */

struct virtio_cuda_ioc_info {
	struct virtio_cuda_config config; /* out */
};

/*
 * Creates the session of this open file. The session has a ring and an arena
 * unless ring_bytes and arena_bytes are both 0.
 */
struct virtio_cuda_ioc_start {
	__u64 env; /* in: address of env_len bytes */
	__u32 env_len; /* in: at most IOC_ENV_MAX */
	__u32 ring_bytes; /* in */
	__u64 arena_bytes; /* in: a multiple of 4096 */
	__u64 mmap_offset; /* out: to map header page, ring and arena */
	__u32 session; /* out */
	__u32 reserved; /* in: 0 */
};

/* Allocates pages and attaches them as a PINNED region. */
struct virtio_cuda_ioc_alloc {
	__u64 vaddr; /* in: where the caller will map them, page-aligned */
	__u64 len; /* in: a multiple of 4096 */
	__u64 mmap_offset; /* out */
	__u32 region; /* out */
	__u32 reserved; /* in: 0 */
};

/* Pins the caller's own pages and attaches them as a USER region. */
struct virtio_cuda_ioc_pin {
	__u64 vaddr; /* in: page-aligned */
	__u64 len; /* in: a multiple of 4096 */
	__u32 region; /* out */
	__u32 reserved; /* in: 0 */
};

/* Detaches a region and releases its pages. */
struct virtio_cuda_ioc_release {
	__u32 region; /* in */
	__u32 reserved; /* in: 0 */
};

/*
 * Sleeps until the session has been woken more than @seen times (the counts may
 * wrap) or has ended. If WAIT fails with EINTR or ETIMEDOUT, it doesn't change
 * @seen.
 */
struct virtio_cuda_ioc_wait {
	__u32 seen; /* in: number of wakes already seen; out: wakes so far */
	__u32 timeout_ms; /* in: time limit (then ETIMEDOUT), or 0 for none */
};

/*
 * Sends a command as a descriptor chain and waits for the reply. The command
 * and the buffer for the reply have at most max_plain bytes each; the command's
 * length is a multiple of 8.
 */
struct virtio_cuda_ioc_submit {
	__u64 cmd; /* in: address of struct virtio_cuda_cmd */
	__u64 reply; /* in: address of the buffer for struct virtio_cuda_reply */
	__u32 cmd_len; /* in */
	__u32 reply_len; /* in: size of the buffer; out: bytes written */
};

/*
 * Queries the VM's GPUs. The reply is described at struct virtio_cuda_query.
 * Fails with EDQUOT if the reply is longer than the buffer.
 */
struct virtio_cuda_ioc_query {
	__u64 answer; /* in: address of the buffer */
	__u32 answer_len; /* in: buffer size, at most QUERY_MAX; out: bytes written */
	__u32 reserved; /* in: 0 */
};

#define VIRTIO_CUDA_IOC_TYPE 0xC5
#define VIRTIO_CUDA_IOC_INFO \
	_IOR(VIRTIO_CUDA_IOC_TYPE, 0, struct virtio_cuda_ioc_info)
#define VIRTIO_CUDA_IOC_START \
	_IOWR(VIRTIO_CUDA_IOC_TYPE, 1, struct virtio_cuda_ioc_start)
#define VIRTIO_CUDA_IOC_ALLOC \
	_IOWR(VIRTIO_CUDA_IOC_TYPE, 2, struct virtio_cuda_ioc_alloc)
#define VIRTIO_CUDA_IOC_PIN \
	_IOWR(VIRTIO_CUDA_IOC_TYPE, 3, struct virtio_cuda_ioc_pin)
#define VIRTIO_CUDA_IOC_RELEASE \
	_IOW(VIRTIO_CUDA_IOC_TYPE, 4, struct virtio_cuda_ioc_release)
#define VIRTIO_CUDA_IOC_KICK _IO(VIRTIO_CUDA_IOC_TYPE, 5)
#define VIRTIO_CUDA_IOC_WAIT \
	_IOWR(VIRTIO_CUDA_IOC_TYPE, 6, struct virtio_cuda_ioc_wait)
#define VIRTIO_CUDA_IOC_SUBMIT \
	_IOWR(VIRTIO_CUDA_IOC_TYPE, 7, struct virtio_cuda_ioc_submit)
#define VIRTIO_CUDA_IOC_QUERY \
	_IOWR(VIRTIO_CUDA_IOC_TYPE, 8, struct virtio_cuda_ioc_query)

#endif /* _UAPI_VIRTIO_CUDA_H */
