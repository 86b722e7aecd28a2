//! Access to NVIDIA's NVML library through the `nvml-wrapper` crate.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use nvml_wrapper::Device;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError as LibraryError;
use nvml_wrapper::event::EventSet;
use nvml_wrapper::struct_wrappers::device::ProcessUtilizationSample;

use control_api::GpuSensors;
use host_ipc::gpu::{NvLinks, PcieLink, PcieLinks};

use super::types::{
    Fault, FaultKind, FaultSource, MemorySample, Nvml, NvmlError, ProcessMemory, Utilization,
};

/// The maximum number of NVLinks of a GPU, NVML_NVLINK_MAX_LINKS in nvml.h.
const MAX_NVLINKS: u32 = 18;
/// Maximum time that one wait for faults takes, in milliseconds.
const WAIT_MS: u32 = 1000;

/// Loads `libnvidia-ml.so.1`. The dynamic loader searches for it, so LD_LIBRARY_PATH applies.
pub(crate) fn open() -> Result<Arc<dyn Nvml>, NvmlError> {
    let nvml =
        nvml_wrapper::Nvml::init().map_err(|error| NvmlError::Unavailable(error.to_string()))?;
    // Devices and event sets borrow from the library, so leak the library to keep it loaded
    // forever.
    Ok(Arc::new(Library { nvml: Box::leak(Box::new(nvml)) }))
}

struct Library {
    nvml: &'static nvml_wrapper::Nvml,
}

fn query_error(what: &'static str) -> impl Fn(LibraryError) -> NvmlError {
    move |error| NvmlError::Query { what, reason: error.to_string() }
}

impl Library {
    fn gpu(&self, index: u32) -> Result<(String, Device<'static>), LibraryError> {
        let device = self.nvml.device_by_index(index)?;
        Ok((device.uuid()?, device))
    }
}

/// Returns the UUIDs of a GPU's MIG slices. Returns none if the GPU has no slices or doesn't
/// support MIG.
fn slices(device: &Device<'static>) -> Vec<String> {
    let count = device.mig_device_count().unwrap_or(0);
    // `count` is the maximum number of slices. An index without a slice returns an error.
    (0..count).filter_map(|index| device.mig_device_by_index(index).ok()?.uuid().ok()).collect()
}

impl Nvml for Library {
    fn uuids(&self) -> Result<Vec<String>, NvmlError> {
        let count = self.nvml.device_count().map_err(query_error("the number of GPUs"))?;
        let mut uuids = Vec::new();
        for index in 0..count {
            let (uuid, device) = self.gpu(index).map_err(query_error("a GPU's identity"))?;
            uuids.push(uuid);
            uuids.extend(slices(&device));
        }
        Ok(uuids)
    }

    fn sample(&self, uuid: &str) -> Result<MemorySample, NvmlError> {
        let to_error = |error| match error {
            LibraryError::GpuLost => NvmlError::Lost(uuid.to_owned()),
            error => query_error("the memory in use")(error),
        };
        let device = self.nvml.device_by_uuid(uuid).map_err(to_error)?;
        let used = device.memory_info().map_err(to_error)?.used;
        let mut processes = Vec::new();
        let plain = device.running_compute_processes().map_err(to_error)?;
        let mps = device.mps_running_compute_processes().unwrap_or_default();
        let graphics = device.running_graphics_processes();
        let mut is_complete = graphics.is_ok();
        for process in plain.into_iter().chain(mps).chain(graphics.unwrap_or_default()) {
            // If the driver doesn't track memory per process, it lists the process without a size.
            let UsedGpuMemory::Used(bytes) = process.used_gpu_memory else {
                is_complete = false;
                continue;
            };
            let memory = ProcessMemory { pid: process.pid, bytes };
            if !processes.contains(&memory) {
                processes.push(memory);
            }
        }
        Ok(MemorySample { used, processes, is_complete })
    }

    fn utilization(&self, uuid: &str, since_us: u64) -> Result<Vec<Utilization>, NvmlError> {
        let failed = query_error("the use of a GPU");
        let device = self.nvml.device_by_uuid(uuid).map_err(&failed)?;
        let samples = match device.process_utilization_stats(since_us) {
            // This error means that no process has used the GPU.
            Err(LibraryError::NotFound) => Vec::new(),
            samples => samples.map_err(failed)?,
        };
        let utilization = |sample: ProcessUtilizationSample| Utilization {
            pid: sample.pid,
            at_us: sample.timestamp,
            percent: sample.sm_util,
        };
        Ok(samples.into_iter().map(utilization).collect())
    }

    fn links(&self, uuid: &str) -> PcieLinks {
        let Ok(device) = self.nvml.device_by_uuid(uuid) else { return PcieLinks::default() };
        let link = |generation: Result<u32, LibraryError>, lanes: Result<u32, LibraryError>| {
            let number = |value: Result<u32, _>| value.unwrap_or(0).try_into().unwrap_or(0);
            PcieLink { generation: number(generation), lanes: number(lanes) }
        };
        PcieLinks {
            max: link(device.max_pcie_link_gen(), device.max_pcie_link_width()),
            current: link(device.current_pcie_link_gen(), device.current_pcie_link_width()),
        }
    }

    fn sensors(&self, uuid: &str) -> GpuSensors {
        let Ok(device) = self.nvml.device_by_uuid(uuid) else { return GpuSensors::default() };
        GpuSensors {
            temperature_celsius: device.temperature(TemperatureSensor::Gpu).ok(),
            power_mw: device.power_usage().ok(),
            sm_clock_mhz: device.clock_info(Clock::SM).ok(),
            memory_clock_mhz: device.clock_info(Clock::Memory).ok(),
        }
    }

    fn nvlinks(&self, uuid: &str) -> NvLinks {
        let mut links = NvLinks::default();
        let Ok(device) = self.nvml.device_by_uuid(uuid) else { return links };
        for link in (0..MAX_NVLINKS).map(|link| device.link_wrapper_for(link)) {
            if !link.is_active().unwrap_or(false) {
                continue;
            }
            // In a VM, the NVSwitches aren't visible, and have an address that doesn't exist.
            let remote = link.remote_pci_info().ok();
            let remote = remote.and_then(|pci| self.nvml.device_by_pci_bus_id(pci.bus_id).ok());
            let Some(uuid) = remote.and_then(|gpu| gpu.uuid().ok()) else {
                links.to_switches += 1;
                continue;
            };
            match links.to_gpus.iter_mut().find(|(gpu, _)| *gpu == uuid) {
                Some((_, count)) => *count += 1,
                None => links.to_gpus.push((uuid, 1)),
            }
        }
        links
    }

    fn faults(&self) -> Result<Box<dyn FaultSource>, NvmlError> {
        Ok(Box::new(FaultEvents::subscribe(self)?))
    }
}

struct SendEventSet(EventSet<'static>);

// SAFETY: an event set is a handle that NVML accepts on any thread, and only the thread that owns
// this value uses it.
unsafe impl Send for SendEventSet {}

/// Returns NVML's handle for a device. Events use the same handle to identify their GPU.
fn handle(device: &Device<'_>) -> usize {
    // SAFETY: the handle is only compared with other handles, and never passed to NVML.
    unsafe { device.handle() as usize }
}

struct FaultEvents {
    library: Library,
    set: SendEventSet,
    /// The UUIDs that are affected by a fault of a GPU, by the GPU's handle: those of its MIG
    /// slices if it has any, otherwise its own. They are read in advance, because a lost GPU
    /// doesn't report its UUID.
    uuids: HashMap<usize, Vec<String>>,
    /// Faults that `next` will return. An event from a GPU with MIG slices causes one fault per
    /// slice.
    waiting: VecDeque<Fault>,
}

impl FaultEvents {
    /// Subscribes to events from all GPUs that respond. A lost GPU is left out, because it would
    /// keep an event set from reporting the other GPUs' events.
    fn subscribe(library: &Library) -> Result<Self, NvmlError> {
        let wanted = EventTypes::CRITICAL_XID_ERROR | EventTypes::DOUBLE_BIT_ECC_ERROR;
        let mut set = library.nvml.create_event_set().map_err(query_error("events"))?;
        let count = library.nvml.device_count().map_err(query_error("the number of GPUs"))?;
        let mut uuids = HashMap::new();
        for index in 0..count {
            let (uuid, device) = match library.gpu(index) {
                Err(LibraryError::GpuLost) => continue,
                found => found.map_err(query_error("a GPU's identity"))?,
            };
            let slices = slices(&device);
            let affected = if slices.is_empty() { vec![uuid] } else { slices };
            uuids.insert(handle(&device), affected);
            let supported = device.supported_event_types().unwrap_or(EventTypes::empty()) & wanted;
            if supported.is_empty() {
                continue;
            }
            set = device.register_events(supported, set).map_err(|error| NvmlError::Query {
                what: "a GPU's events",
                reason: error.to_string(),
            })?;
        }
        let library = Library { nvml: library.nvml };
        Ok(Self { library, set: SendEventSet(set), uuids, waiting: VecDeque::new() })
    }
}

impl FaultSource for FaultEvents {
    fn next(&mut self) -> Result<Option<Fault>, NvmlError> {
        if let Some(fault) = self.waiting.pop_front() {
            return Ok(Some(fault));
        }
        match self.set.0.wait(WAIT_MS) {
            Ok(event) => {
                let kind = match event.event_data {
                    Some(XidError::Value(number)) => FaultKind::Xid(number),
                    Some(XidError::Unknown) => FaultKind::Xid(999),
                    None => FaultKind::Ecc,
                };
                let fault = |uuid: &String| Fault { uuid: Some(uuid.clone()), kind };
                match self.uuids.get(&handle(&event.device)) {
                    Some(affected) => self.waiting.extend(affected.iter().map(fault)),
                    None => self.waiting.push_back(Fault { uuid: event.device.uuid().ok(), kind }),
                }
                Ok(self.waiting.pop_front())
            }
            Err(LibraryError::Timeout) => Ok(None),
            Err(LibraryError::GpuLost) => {
                // This error doesn't identify the lost GPU. The thread that samples memory reports
                // the loss instead.
                std::thread::sleep(std::time::Duration::from_millis(WAIT_MS.into()));
                let remaining = Self::subscribe(&self.library)?;
                (self.set, self.uuids) = (remaining.set, remaining.uuids);
                Ok(None)
            }
            Err(error) => Err(query_error("events")(error)),
        }
    }
}
