//! NVIDIA's own library.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::event::EventSet;
use nvml_wrapper::{Device, Nvml};

use super::{Fault, FaultKind, Faults, Held, Reading, Witness, WitnessError};

/// How long a wait for faults lasts, in milliseconds.
const WAIT_MS: u32 = 1000;

/// Loads `libnvidia-ml.so.1`, which the dynamic loader finds (LD_LIBRARY_PATH counts).
pub fn open() -> Result<Arc<dyn Witness>, WitnessError> {
    let nvml = Nvml::init().map_err(|error| WitnessError::Absent(error.to_string()))?;
    // It lives as long as the process: what it hands out refers to it.
    Ok(Arc::new(Library { nvml: Box::leak(Box::new(nvml)) }))
}

struct Library {
    nvml: &'static Nvml,
}

fn refused(what: &'static str) -> impl Fn(NvmlError) -> WitnessError {
    move |error| WitnessError::Refused { what, reason: error.to_string() }
}

impl Library {
    fn whole(&self, index: u32) -> Result<(String, Device<'static>), NvmlError> {
        let device = self.nvml.device_by_index(index)?;
        Ok((device.uuid()?, device))
    }
}

/// The slices of a GPU; none where it has none, or knows nothing of slices.
fn slices(device: &Device<'static>) -> Vec<String> {
    let count = device.mig_device_count().unwrap_or(0);
    // Numbers of slices that are not made answer with an error.
    (0..count).filter_map(|index| device.mig_device_by_index(index).ok()?.uuid().ok()).collect()
}

impl Witness for Library {
    fn uuids(&self) -> Result<Vec<String>, WitnessError> {
        let count = self.nvml.device_count().map_err(refused("the number of GPUs"))?;
        let mut uuids = Vec::new();
        for index in 0..count {
            let (uuid, device) = self.whole(index).map_err(refused("a GPU's identity"))?;
            uuids.push(uuid);
            uuids.extend(slices(&device));
        }
        Ok(uuids)
    }

    fn read(&self, uuid: &str) -> Result<Reading, WitnessError> {
        let lost = |error| match error {
            NvmlError::GpuLost => WitnessError::Lost(uuid.to_owned()),
            error => refused("the memory in use")(error),
        };
        let device = self.nvml.device_by_uuid(uuid).map_err(lost)?;
        let used = device.memory_info().map_err(lost)?.used;
        let mut processes = Vec::new();
        let plain = device.running_compute_processes().map_err(lost)?;
        let mps = device.mps_running_compute_processes().unwrap_or_default();
        for process in plain.into_iter().chain(mps) {
            // A driver that can't tell a process's share lists it without one.
            if let UsedGpuMemory::Used(bytes) = process.used_gpu_memory {
                let held = Held { pid: process.pid, bytes };
                if !processes.contains(&held) {
                    processes.push(held);
                }
            }
        }
        Ok(Reading { used, processes })
    }

    fn faults(&self) -> Result<Box<dyn Faults>, WitnessError> {
        Ok(Box::new(Events::of(self)?))
    }
}

struct Set(EventSet<'static>);

// SAFETY: an event set is a handle of the library's, which may be used on any thread; only one
// thread at a time has this one.
unsafe impl Send for Set {}

/// What the library calls a device: the same each time.
fn handle(device: &Device<'_>) -> usize {
    // SAFETY: it is compared, and nothing else.
    unsafe { device.handle() as usize }
}

struct Events {
    library: Library,
    set: Set,
    /// By their handles, what fails with each: its slices, or itself. A GPU that is lost does not
    /// tell any more.
    uuids: HashMap<usize, Vec<String>>,
    /// Of a GPU with several slices, what is to be told next.
    waiting: VecDeque<Fault>,
}

impl Events {
    /// Of all GPUs that answer: a set with one that is lost tells nothing of the others.
    fn of(library: &Library) -> Result<Self, WitnessError> {
        let wanted = EventTypes::CRITICAL_XID_ERROR | EventTypes::DOUBLE_BIT_ECC_ERROR;
        let mut set = library.nvml.create_event_set().map_err(refused("events"))?;
        let count = library.nvml.device_count().map_err(refused("the number of GPUs"))?;
        let mut uuids = HashMap::new();
        for index in 0..count {
            let (uuid, device) = match library.whole(index) {
                Err(NvmlError::GpuLost) => continue,
                found => found.map_err(refused("a GPU's identity"))?,
            };
            let slices = slices(&device);
            let fails = if slices.is_empty() { vec![uuid] } else { slices };
            uuids.insert(handle(&device), fails);
            let known = device.supported_event_types().unwrap_or(EventTypes::empty()) & wanted;
            if known.is_empty() {
                continue;
            }
            set = device.register_events(known, set).map_err(|error| WitnessError::Refused {
                what: "a GPU's events",
                reason: error.to_string(),
            })?;
        }
        let library = Library { nvml: library.nvml };
        Ok(Self { library, set: Set(set), uuids, waiting: VecDeque::new() })
    }
}

impl Faults for Events {
    fn next(&mut self) -> Result<Option<Fault>, WitnessError> {
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
                    Some(fails) => self.waiting.extend(fails.iter().map(fault)),
                    None => self.waiting.push_back(Fault { uuid: event.device.uuid().ok(), kind }),
                }
                Ok(self.waiting.pop_front())
            }
            Err(NvmlError::Timeout) => Ok(None),
            Err(NvmlError::GpuLost) => {
                // Which one is told by who reads them.
                std::thread::sleep(std::time::Duration::from_millis(WAIT_MS.into()));
                let rest = Self::of(&self.library)?;
                (self.set, self.uuids) = (rest.set, rest.uuids);
                Ok(None)
            }
            Err(error) => Err(refused("events")(error)),
        }
    }
}
