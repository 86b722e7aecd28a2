//! Limits that the guest keeps to and the worker enforces.
//!
//! `docs/device.md` has the same numbers under "Limits and address windows"; `tests/limits.rs`
//! compares them. The limits of the ring and of the device's messages are in [`uapi`](crate::uapi).

/// Bytes of pageable memory that a copy carries inline. Longer copies go through the arena.
pub const INLINE_COPY_MAX: usize = 16 << 10;

/// Bytes of an image or graph that a command carries inline. Longer ones are put into a blob first.
pub const INLINE_IMAGE_MAX: usize = 128 << 10;

/// Bytes of a blob that one `vcudaBlobPut` carries.
pub const BLOB_PIECE_MAX: usize = 256 << 10;

/// Bytes of all blobs of a session that no call has taken yet.
pub const BLOB_BYTES_MAX: u64 = 1 << 30;

/// Blobs of a session that no call has taken yet.
pub const BLOBS_MAX: usize = 1024;

/// Bytes of kernels' output that one `vcudaTakeOutput` brings.
pub const OUTPUT_MAX: usize = 64 << 10;

/// Bytes of each log of the JIT.
pub const JIT_LOG_MAX: usize = 64 << 10;

/// Options of the JIT in one load.
pub const JIT_OPTIONS_MAX: usize = 64;

/// Attributes of one launch or kernel node.
pub const LAUNCH_ATTRIBUTES_MAX: usize = 64;

/// Parameters of one kernel.
pub const PARAMETERS_MAX: usize = 4096;

/// Bytes of one kernel's parameter buffer. No GPU takes more than 32,764.
pub const PARAMETER_BYTES_MAX: usize = 32 << 10;

/// Kernels whose names `vcudaLibraryKernelNames` brings.
pub const KERNEL_NAMES_MAX: usize = 1 << 16;

/// Bytes of these names together.
pub const KERNEL_NAME_BYTES_MAX: usize = 2 << 20;

/// Nodes of one graph.
pub const GRAPH_NODES_MAX: usize = 1 << 20;

/// Devices of one VM.
pub const DEVICES_MAX: usize = 16;

/// Handles of one kind that a session may have. Natively memory is the limit.
pub const HANDLES_MAX: usize = 1 << 20;
