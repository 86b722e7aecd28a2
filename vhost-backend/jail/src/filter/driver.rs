//! The ioctls of NVIDIA's devices that workers may make.
//!
//! Numbers are those in NVIDIA's open kernel modules (nv_escape.h, nv-ioctl-numbers.h,
//! nv-ioctl-numa.h, and uvm_ioctl.h). The lists contain the calls that libcuda made on an H200, and
//! those that it may make with other GPUs, several GPUs, or managed memory. All of them concern
//! only objects of the caller's own clients, and its own address space.
//!
//! Calls of nvidia-uvm are restricted only by their number. The supervisor can't make them for a
//! worker, because they act on the address space of the calling process.

use super::program::{Condition, equal};

/// The index of the request number among ioctl's arguments.
const NUMBER: u8 = 1;

/// Operations on many kinds of objects. The operation and the object are in memory, which a filter
/// can't read, so only the supervisor can check them. It must see each RM_FREE to know which
/// objects a worker has.
const OF_OBJECTS: [u32; 4] = [
    0x29, // RM_FREE
    0x2a, // RM_CONTROL
    0x2b, // RM_ALLOC
    0x34, // RM_DUP_OBJECT
];

/// Other calls of nvidiactl and of the GPUs' devices. The calls that are missing can affect objects
/// other than the caller's own (such as IDLE_CHANNELS, 0x41), change settings, or contain another
/// call (IOCTL_XFER_CMD, 0xd3).
const OF_DEVICES: [u32; 17] = [
    0x27, // RM_ALLOC_MEMORY
    0x4e, // RM_MAP_MEMORY
    0x4f, // RM_UNMAP_MEMORY
    0x52, // RM_GET_EVENT_DATA
    0x57, // RM_MAP_MEMORY_DMA
    0x58, // RM_UNMAP_MEMORY_DMA
    0x5e, // RM_UPDATE_DEVICE_MAPPING_INFO
    0xc8, // CARD_INFO
    0xc9, // REGISTER_FD
    0xce, // ALLOC_OS_EVENT
    0xcf, // FREE_OS_EVENT
    0xd1, // STATUS_CODE
    0xd2, // CHECK_VERSION_STR
    0xd4, // ATTACH_GPUS_TO_FD
    0xd6, // SYS_PARAMS
    0xd7, // NUMA_INFO
    0xda, // WAIT_OPEN_COMPLETE
];

/// Calls of nvidia-uvm. The list doesn't contain calls for tools, which access other processes (56
/// to 64, 67, 76, and 77), calls for tests (200 and above), and calls that concern all processes
/// (69 and 79).
const OF_UVM: [u32; 38] = [
    23,          // CREATE_RANGE_GROUP
    24,          // DESTROY_RANGE_GROUP
    25,          // REGISTER_GPU_VASPACE
    26,          // UNREGISTER_GPU_VASPACE
    27,          // REGISTER_CHANNEL
    28,          // UNREGISTER_CHANNEL
    29,          // ENABLE_PEER_ACCESS
    30,          // DISABLE_PEER_ACCESS
    31,          // SET_RANGE_GROUP
    33,          // MAP_EXTERNAL_ALLOCATION
    34,          // FREE
    35,          // MEM_MAP
    37,          // REGISTER_GPU
    38,          // UNREGISTER_GPU
    39,          // PAGEABLE_MEM_ACCESS
    40,          // PREVENT_MIGRATION_RANGE_GROUPS
    41,          // ALLOW_MIGRATION_RANGE_GROUPS
    42,          // SET_PREFERRED_LOCATION
    43,          // UNSET_PREFERRED_LOCATION
    44,          // ENABLE_READ_DUPLICATION
    45,          // DISABLE_READ_DUPLICATION
    46,          // SET_ACCESSED_BY
    47,          // UNSET_ACCESSED_BY
    51,          // MIGRATE
    53,          // MIGRATE_RANGE_GROUP
    65,          // MAP_DYNAMIC_PARALLELISM_REGION
    66,          // UNMAP_EXTERNAL
    68,          // ALLOC_SEMAPHORE_POOL
    70,          // PAGEABLE_MEM_ACCESS_ON_GPU
    71,          // POPULATE_PAGEABLE
    72,          // VALIDATE_VA_RANGE
    73,          // CREATE_EXTERNAL_RANGE
    74,          // MAP_EXTERNAL_SPARSE
    75,          // MM_INITIALIZE
    78,          // ALLOC_DEVICE_P2P
    80,          // DISCARD
    0x3000_0001, // INITIALIZE
    0x3000_0002, // DEINITIALIZE
];

/// Returns conditions on ioctl's request number, one for each call in the lists. Includes
/// [`OF_OBJECTS`] only if `objects` is true.
pub(super) fn ioctls(objects: bool) -> impl Iterator<Item = Condition> {
    let objects = OF_OBJECTS.into_iter().filter(move |_| objects);
    let devices = OF_DEVICES.into_iter().chain(objects).map(of_device);
    devices.chain(OF_UVM.into_iter().map(|number| equal(NUMBER, number)))
}

/// Returns the condition for a call of nvidiactl or a GPU's device. Its request number has the
/// direction bits for reading and writing and the type 'F'. The size bits aren't compared, because
/// the size depends on the driver's version. The driver itself uses only the low 8 bits and the
/// size.
fn of_device(number: u32) -> Condition {
    const BOTH: u32 = 3 << 30;
    let value = BOTH | u32::from(b'F') << 8 | number;
    Condition { argument: NUMBER, mask: 0xc000_ffff, value }
}
