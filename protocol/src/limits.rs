//! Limits that the guest respects and the worker enforces.
//!
//! `docs/device.md` has the same numbers under "Limits and address windows"; `tests/limits.rs`
//! compares them. The limits of the ring and of the device's messages are in [`uapi`](crate::uapi).

/// Maximum size in bytes of a copy from or to pageable memory whose data is part of the command or
/// reply. Longer copies go through the arena.
pub const INLINE_COPY_MAX: usize = 16 << 10;

/// Maximum size in bytes of an image or graph that is part of the command. Longer images and graphs
/// are first sent as a blob.
pub const INLINE_IMAGE_MAX: usize = 128 << 10;

/// Maximum size in bytes of the part of a blob that one `vcudaBlobPut` sends.
pub const BLOB_PIECE_MAX: usize = 256 << 10;

/// Maximum total size in bytes of the blobs that a session has sent and no call has used yet.
pub const BLOB_BYTES_MAX: u64 = 1 << 30;

/// Maximum number of blobs that a session has sent and no call has used yet.
pub const BLOBS_MAX: usize = 1024;

/// Maximum size in bytes of the kernel output (`printf`) that one `vcudaTakeOutput` returns.
pub const OUTPUT_MAX: usize = 64 << 10;

/// Maximum length of each of the two logs of the JIT compiler, in bytes.
pub const JIT_LOG_MAX: usize = 64 << 10;

/// Maximum number of JIT options in one call.
pub const JIT_OPTIONS_MAX: usize = 64;

/// Maximum number of attributes of one launch or kernel node.
pub const LAUNCH_ATTRIBUTES_MAX: usize = 64;

/// Maximum number of stream memory operations of one graph node.
pub const MEMORY_OPERATIONS_MAX: usize = 256;

/// Maximum number of parameters of one kernel.
pub const PARAMETERS_MAX: usize = 4096;

/// Maximum size of one kernel's parameter buffer, in bytes. GPUs take at most 32,764.
pub const PARAMETER_BYTES_MAX: usize = 32 << 10;

/// Maximum number of kernel names that `vcudaLibraryKernelNames` returns.
pub const KERNEL_NAMES_MAX: usize = 1 << 16;

/// Maximum total length in bytes of the kernel names that `vcudaLibraryKernelNames` returns.
pub const KERNEL_NAME_BYTES_MAX: usize = 2 << 20;

/// Maximum number of kernels that one `vcudaLibraryGetKernels` gets in addition to the named one.
pub const MORE_KERNELS_MAX: usize = 64;

/// Maximum total length in bytes of the names of the additional kernels of one
/// `vcudaLibraryGetKernels`.
pub const MORE_KERNEL_NAME_BYTES_MAX: usize = 64 << 10;

/// Maximum number of attributes that `vcudaFuncAttributes` and `vcudaKernelAttributes` return.
pub const FUNCTION_ATTRIBUTES_MAX: usize = 32;

/// Maximum number of texture processing clusters of a GPU, for `vcudaTpcTables`.
pub const TPCS_MAX: usize = 1024;

/// Maximum number of groups into which the multiprocessors of a GPU can be split.
pub const SM_GROUPS_MAX: usize = 1024;

/// Maximum number of nodes of one graph.
pub const GRAPH_NODES_MAX: usize = 1 << 20;

/// Maximum number of values for conditional nodes in a session.
pub const GRAPH_VALUES_MAX: usize = 1 << 16;

/// Maximum nesting depth of the bodies of conditional nodes.
pub const GRAPH_DEPTH_MAX: usize = 32;

/// Maximum number of devices of one VM.
pub const DEVICES_MAX: usize = 16;

/// Maximum number of links in progress in a session.
pub const LINKS_MAX: usize = 64;

/// Maximum total size in bytes of the inputs of all links in progress in a session.
pub const LINK_BYTES_MAX: u64 = 512 << 20;

/// Maximum size in bytes of the part of a linked image that one `vcudaLinkRead` returns.
pub const LINK_PIECE_MAX: usize = 64 << 10;

/// Maximum number of handles of one kind in a session. CUDA itself has no such limit: on bare
/// metal, only the available memory limits the number.
pub const HANDLES_MAX: usize = 1 << 20;
