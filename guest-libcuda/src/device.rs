//! The devices, as the host describes them. That usually needs no worker, so a program that only
//! asks for devices starts no session.

use crate::error::{CuError, CuResult};
use crate::gpu_files;
use crate::log::say;
use crate::objects::Context;
use crate::session::Session;
use crate::transport::facts::Snapshot;
use cuda_api::devices::visible;
use cuda_api::sys::CUdevice_attribute as A;
use parking_lot::Mutex;
use protocol::calls::VcudaFacts;
use protocol::facts::{DeviceFacts, MAX_ATTRIBUTES};
use protocol::limits::DEVICES_MAX;
use protocol::uapi::{Attributes, Gpu};
use std::sync::OnceLock;

/// The values of attributes for features that this library does not support, whatever the GPU
/// supports. docs/differences.md explains them.
const OVERRIDES: &[(A, i32)] = &[
    (A::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0),
    (A::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0),
    // The GPU may access registered memory at another address than the program does.
    (A::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 0),
    (A::CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH, 0),
    // The L2 cache is shared with other VMs, so a program can't set aside a part of it.
    (A::CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 0),
    (A::CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0),
    (A::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0),
    (A::CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 0),
    (A::CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 0),
    (A::CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, 0),
    (A::CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, 0),
    (A::CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 0),
    (A::CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, 0),
    // This value is CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.
    (A::CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 1),
    (A::CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, 0),
    (A::CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0),
    (A::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0),
    (A::CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 0),
    (A::CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0),
    (A::CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK, 0),
    (A::CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH, 0),
    (A::CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0),
    (A::CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED, 0),
    (A::CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED, 0),
    (A::CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, 0),
];

/// A device's primary context.
pub struct Primary {
    /// The number of retains that haven't been released yet.
    pub count: u32,
}

/// A device that is visible to the program.
pub struct Device {
    /// The device's ordinal in the worker's driver.
    pub number: i32,
    facts: DeviceFacts,
    pub primary: Mutex<Primary>,
    /// The device's primary context. The object and its handle stay the same as long as the process
    /// runs.
    pub primary_context: &'static Context,
    /// The least and the greatest priority of streams.
    pub priorities: OnceLock<(i32, i32)>,
    /// The granularities of `cuMemCreate`, by `CUmemAllocationGranularity_flags`.
    pub granularities: [OnceLock<usize>; 2],
}

/// The maximum grid and block dimensions of a launch.
#[derive(Clone, Copy)]
pub struct LaunchLimits {
    pub threads: u32,
    pub block: [u32; 3],
    pub grid: [u32; 3],
}

impl Device {
    /// Implements `cuDeviceGetAttribute`.
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

    /// Returns the size in bytes of the device memory that the program may allocate.
    pub fn total_memory(&self) -> u64 {
        self.facts.total_memory
    }

    /// Returns the device's UUID.
    pub fn uuid(&self) -> [u8; 16] {
        self.facts.uuid
    }

    /// Returns the device's name.
    pub fn name(&self) -> &[u8] {
        until_zero(&self.facts.name)
    }

    /// Returns the compute capability, such as 90 for 9.0.
    pub fn capability(&self) -> u32 {
        let part = |attribute: A| self.facts.attributes[attribute.0 as usize].max(0) as u32;
        10 * part(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
            + part(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    }

    /// Returns the device's PCI address.
    pub fn pci_bus_id(&self) -> &[u8] {
        until_zero(&self.facts.pci_bus_id)
    }

    /// Returns the maximum grid and block dimensions of a launch on this device.
    pub fn launch_limits(&self) -> LaunchLimits {
        let limit = |attribute: A| self.facts.attributes[attribute.0 as usize].max(1) as u32;
        LaunchLimits {
            threads: limit(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
            block: [
                limit(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                limit(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                limit(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z),
            ],
            grid: [
                limit(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                limit(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                limit(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z),
            ],
        }
    }
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Facts that the host announced before the session started.
struct Announced {
    driver_version: u32,
    module_loading: u32,
    devices: Vec<DeviceFacts>,
}

static ANNOUNCED: OnceLock<Announced> = OnceLock::new();

/// Queries the devices, and returns those that are visible to the program. If the host can't answer
/// without a worker, starts the session.
pub fn fetch(session: &Session) -> CuResult<Vec<Device>> {
    let (driver_version, mut facts) = match session.query().and_then(announced) {
        Some(announced) => {
            let announced = ANNOUNCED.get_or_init(|| announced);
            (announced.driver_version, announced.devices.clone())
        }
        None => facts_of_worker(session)?,
    };
    let mut numbers: Vec<i32> = (0..facts.len() as i32).collect();
    if let Some(given) = gpu_files::given() {
        numbers.retain(|number| given.contains(number));
        facts = numbers.iter().map(|&number| facts[number as usize]).collect();
    }
    if std::env::var("CUDA_DEVICE_ORDER").is_ok_and(|order| order == "PCI_BUS_ID") {
        let mut both: Vec<_> = numbers.into_iter().zip(facts).collect();
        both.sort_by_key(|(_, facts)| facts.pci_bus_id);
        (numbers, facts) = both.into_iter().unzip();
    }
    let wanted = std::env::var("CUDA_VISIBLE_DEVICES").ok();
    let uuids: Vec<[u8; 16]> = facts.iter().map(|facts| facts.uuid).collect();
    let devices: Vec<Device> = visible(wanted.as_deref(), &uuids)?
        .into_iter()
        .enumerate()
        .map(|(seen_as, place)| {
            let mut facts = facts[place];
            for &(attribute, value) in OVERRIDES {
                facts.attributes[attribute.0 as usize] = value;
            }
            let context = Context::new(session.mint(), seen_as as i32, true, 0);
            context.end();
            Device {
                number: numbers[place],
                facts,
                primary: Mutex::new(Primary { count: 0 }),
                primary_context: context,
                priorities: OnceLock::new(),
                granularities: Default::default(),
            }
        })
        .collect();
    say!(Info, "{} of {} devices, driver {driver_version}", devices.len(), facts.len());
    Ok(devices)
}

/// Returns the facts in the host's reply to a query for devices. Returns `None` if the host doesn't
/// know the attributes of all devices.
fn announced(snapshot: Snapshot) -> Option<Announced> {
    let facts = |(gpu, attributes): (&Gpu, &Attributes)| {
        let mut facts = DeviceFacts {
            total_memory: gpu.memory_total,
            uuid: gpu.uuid,
            pci_bus_id: gpu.pci_bus_id,
            known: attributes.known,
            attributes: attributes.values,
            ..DeviceFacts::default()
        };
        facts.name[..gpu.name.len()].copy_from_slice(&gpu.name);
        (attributes.known != [0; 4]).then_some(facts)
    };
    let gpus = snapshot.gpus.iter().zip(&snapshot.attributes);
    let devices: Vec<_> = gpus.map(facts).collect::<Option<_>>()?;
    let Snapshot { cuda_version: driver_version, module_loading, .. } = snapshot;
    (!devices.is_empty()).then_some(Announced { driver_version, module_loading, devices })
}

/// Returns the driver's version and the devices as the worker sees them.
fn facts_of_worker(session: &Session) -> CuResult<(u32, Vec<DeviceFacts>)> {
    let room = DEVICES_MAX * size_of::<DeviceFacts>() + 64;
    let answer = session.call_with_room(&VcudaFacts {}, room)?;
    Ok((answer.driver_version, answer.devices))
}

/// Checks that the worker's devices are those that the host announced.
pub fn check(session: &Session) -> CuResult {
    let Some(announced) = ANNOUNCED.get() else { return Ok(()) };
    let (_, facts) = facts_of_worker(session)?;
    let announced = &announced.devices;
    if !facts.iter().map(|facts| facts.uuid).eq(announced.iter().map(|facts| facts.uuid)) {
        say!(Error, "the VM's GPUs have changed since cuInit: start the program again");
        return Err(CuError::DEVICE_UNAVAILABLE);
    }
    for (facts, announced) in facts.iter().zip(announced) {
        if (facts.known, facts.attributes) != (announced.known, announced.attributes) {
            say!(Warn, "the worker's GPU has other attributes than the host announced");
        }
    }
    Ok(())
}

/// Returns the result of `cuModuleGetLoadingMode`, if the host announced it and the program doesn't
/// change it.
pub fn module_loading() -> Option<u32> {
    let announced = ANNOUNCED.get()?.module_loading;
    (announced != 0 && std::env::var_os("CUDA_MODULE_LOADING").is_none()).then_some(announced)
}
