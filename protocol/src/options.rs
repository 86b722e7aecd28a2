//! The numbers of the options and attributes that a guest may send. All other options and
//! attributes have values that are pointers or handles in the guest process, which aren't valid in
//! the worker.

/// The attributes (`CUlaunchAttributeID`) that a launch may have. Only [`ACCESS_POLICY_WINDOW`]
/// contains an address, which the worker checks as it checks other addresses.
///
/// In order, they are ACCESS_POLICY_WINDOW, COOPERATIVE, SYNCHRONIZATION_POLICY, CLUSTER_DIMENSION,
/// CLUSTER_SCHEDULING_POLICY_PREFERENCE, PROGRAMMATIC_STREAM_SERIALIZATION, PRIORITY,
/// MEM_SYNC_DOMAIN_MAP, MEM_SYNC_DOMAIN, PREFERRED_CLUSTER_DIMENSION,
/// PREFERRED_SHARED_MEMORY_CARVEOUT and NVLINK_UTIL_CENTRIC_SCHEDULING.
pub const LAUNCH_ATTRIBUTES: &[u32] = &[ACCESS_POLICY_WINDOW, 2, 3, 4, 5, 6, 8, 9, 10, 11, 14, 16];

/// `CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW`: its value begins with an address and a length.
pub const ACCESS_POLICY_WINDOW: u32 = 1;

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT`. Its value contains an event's handle, so separate
/// calls, `vcudaLaunchEvent` and `vcudaLaunchEvents`, send it.
pub const PROGRAMMATIC_EVENT: u32 = 7;

/// `CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT`. Its value contains an event's handle, so the same
/// calls send it.
pub const LAUNCH_COMPLETION_EVENT: u32 = 12;

/// The `CUlaunchAttributeID`s of streams that a guest may send: ACCESS_POLICY_WINDOW, whose address
/// the worker checks, SYNCHRONIZATION_POLICY, PRIORITY, MEM_SYNC_DOMAIN_MAP and MEM_SYNC_DOMAIN.
pub const STREAM_ATTRIBUTES: &[u32] = &[ACCESS_POLICY_WINDOW, 3, 8, 9, 10];

/// The `CUmemAllocationHandleType`s with which physical memory may be created: NONE and
/// POSIX_FILE_DESCRIPTOR. POSIX_FILE_DESCRIPTOR is needed although little memory is shared, because
/// programs that share some of their memory request it for all of it.
pub const MEMORY_HANDLE_TYPES: &[u32] = &[0, 1];

/// `CUjit_option`s whose value is a plain number.
///
/// They are MAX_REGISTERS, THREADS_PER_BLOCK, OPTIMIZATION_LEVEL, TARGET_FROM_CUCONTEXT, TARGET,
/// FALLBACK_STRATEGY, GENERATE_DEBUG_INFO, LOG_VERBOSE, GENERATE_LINE_INFO, CACHE_MODE,
/// NEW_SM3X_OPT, FAST_COMPILE, LTO, FTZ, PREC_DIV, PREC_SQRT, FMA, POSITION_INDEPENDENT_CODE,
/// MIN_CTA_PER_SM, MAX_THREADS_PER_BLOCK and OVERRIDE_DIRECTIVE_VALUES.
pub const JIT_OPTIONS: &[u32] =
    &[0, 1, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 21, 22, 23, 24, 30, 31, 32, 33];

/// The `CUgraphInstantiate_flags` that are supported: AUTO_FREE_ON_LAUNCH and USE_NODE_PRIORITY.
/// UPLOAD isn't included because uploading is a separate call. DEVICE_LAUNCH isn't included because
/// launches from the device aren't supported.
pub const GRAPH_INSTANTIATE_FLAGS: u64 = 1 | 8;

/// Numbers that select the CUDA function that `vcudaOccupancyClusters` calls.
pub mod clusters {
    /// Selects `cuOccupancyMaxActiveClusters`.
    pub const MAX_ACTIVE: u32 = 0;
    /// Selects `cuOccupancyMaxPotentialClusterSize`.
    pub const MAX_POTENTIAL_SIZE: u32 = 1;
}
