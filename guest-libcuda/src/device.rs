//! The devices, as the worker described them once.

use crate::error::{CuError, CuResult};
use crate::log::say;
use crate::objects::Context;
use crate::session::Session;
use cuda_api::devices::visible;
use parking_lot::Mutex;
use protocol::calls::VcudaFacts;
use protocol::facts::{DeviceFacts, MAX_ATTRIBUTES};
use protocol::limits::DEVICES_MAX;

/// Attributes of what this library does not do, whatever the GPU could. They read 0, or the value
/// given. docs/differences.md explains them.
const OVERRIDES: &[(u32, i32)] = &[
    (83, 0),  // MANAGED_MEMORY
    (88, 0),  // PAGEABLE_MEMORY_ACCESS
    (89, 0),  // CONCURRENT_MANAGED_ACCESS
    (91, 0),  // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM: the worker may have to use an alias
    (92, 0),  // CAN_USE_STREAM_MEM_OPS_V1
    (93, 0),  // CAN_USE_64_BIT_STREAM_MEM_OPS_V1
    (94, 0),  // CAN_USE_STREAM_WAIT_VALUE_NOR_V1
    (96, 0),  // COOPERATIVE_MULTI_DEVICE_LAUNCH
    (98, 0),  // CAN_FLUSH_REMOTE_WRITES
    (100, 0), // PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
    (101, 0), // DIRECT_MANAGED_MEM_ACCESS_FROM_HOST
    (102, 0), // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    (103, 0), // HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
    (110, 0), // GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
    (112, 0), // SPARSE_CUDA_ARRAY_SUPPORTED
    (113, 0), // READ_ONLY_HOST_REGISTER_SUPPORTED
    (114, 0), // TIMELINE_SEMAPHORE_INTEROP_SUPPORTED
    (115, 0), // MEMORY_POOLS_SUPPORTED
    (116, 0), // GPU_DIRECT_RDMA_SUPPORTED
    (117, 0), // GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS
    (119, 0), // MEMPOOL_SUPPORTED_HANDLE_TYPES
    (121, 0), // DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED
    (122, 0), // CAN_USE_64_BIT_STREAM_MEM_OPS
    (123, 0), // CAN_USE_STREAM_WAIT_VALUE_NOR
    (124, 0), // DMA_BUF_SUPPORTED
    (125, 0), // IPC_EVENT_SUPPORTED
    (128, 0), // HANDLE_TYPE_FABRIC_SUPPORTED
    (129, 0), // UNIFIED_FUNCTION_POINTERS
    (132, 0), // MULTICAST_SUPPORTED
    (136, 0), // MEM_DECOMPRESS_ALGORITHM_MASK
    (137, 0), // MEM_DECOMPRESS_MAXIMUM_LENGTH
    (141, 0), // HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    (142, 0), // HOST_NUMA_MEMORY_POOLS_SUPPORTED
    (143, 0), // HOST_NUMA_MULTINODE_IPC_SUPPORTED
    (144, 0), // HOST_MEMORY_POOLS_SUPPORTED
];

/// A device's primary context.
pub struct Primary {
    /// How often the program has retained it.
    pub count: u32,
}

/// A device that the program sees.
pub struct Device {
    /// Its number in the worker.
    pub number: i32,
    facts: DeviceFacts,
    pub primary: Mutex<Primary>,
    /// The same object, and so the same handle, for as long as the process lives.
    pub primary_context: &'static Context,
}

/// Attributes that launches are checked against.
#[derive(Clone, Copy)]
pub struct LaunchLimits {
    pub threads: u32,
    pub block: [u32; 3],
    pub grid: [u32; 3],
}

impl Device {
    /// `cuDeviceGetAttribute`.
    pub fn attribute(&self, number: u32) -> CuResult<i32> {
        let index = number as usize;
        if index == 0 || index >= MAX_ATTRIBUTES {
            return Err(CuError::INVALID_VALUE);
        }
        if self.facts.known[index / 64] >> (index % 64) & 1 == 0 {
            return Err(CuError::INVALID_VALUE);
        }
        Ok(self.facts.attributes[index])
    }

    /// Device memory that the program may have.
    pub fn total_memory(&self) -> u64 {
        self.facts.total_memory
    }

    pub fn uuid(&self) -> [u8; 16] {
        self.facts.uuid
    }

    pub fn name(&self) -> &[u8] {
        until_zero(&self.facts.name)
    }

    pub fn pci_bus_id(&self) -> &[u8] {
        until_zero(&self.facts.pci_bus_id)
    }

    /// What a launch may ask for.
    pub fn launch_limits(&self) -> LaunchLimits {
        let limit = |index: usize| self.facts.attributes[index].max(1) as u32;
        LaunchLimits {
            threads: limit(1),
            block: [limit(2), limit(3), limit(4)],
            grid: [limit(5), limit(6), limit(7)],
        }
    }
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Asks the worker for its devices; gives those that the program sees.
pub fn fetch(session: &Session) -> CuResult<Vec<Device>> {
    let answer =
        session.call_with_room(&VcudaFacts {}, DEVICES_MAX * size_of::<DeviceFacts>() + 64)?;
    let mut facts = answer.devices;
    let mut numbers: Vec<i32> = (0..facts.len() as i32).collect();
    if std::env::var("CUDA_DEVICE_ORDER").is_ok_and(|order| order == "PCI_BUS_ID") {
        numbers.sort_by_key(|&number| facts[number as usize].pci_bus_id);
        facts.sort_by_key(|facts| facts.pci_bus_id);
    }
    let wanted = std::env::var("CUDA_VISIBLE_DEVICES").ok();
    let uuids: Vec<[u8; 16]> = facts.iter().map(|facts| facts.uuid).collect();
    let devices: Vec<Device> = visible(wanted.as_deref(), &uuids)
        .into_iter()
        .enumerate()
        .map(|(seen_as, place)| {
            let mut facts = facts[place];
            for &(attribute, value) in OVERRIDES {
                facts.attributes[attribute as usize] = value;
            }
            let context = Context::new(session.mint(), seen_as as i32, true, 0);
            context.end();
            Device {
                number: numbers[place],
                facts,
                primary: Mutex::new(Primary { count: 0 }),
                primary_context: context,
            }
        })
        .collect();
    say!(Info, "{} of {} devices, driver {}", devices.len(), facts.len(), answer.driver_version);
    Ok(devices)
}
