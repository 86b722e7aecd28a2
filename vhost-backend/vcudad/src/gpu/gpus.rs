//! The host's GPUs: their properties, health, and fault counts.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use control_api::{GpuRequest, GpuSensors, GpuState};
use serde::{Deserialize, Serialize};

use crate::gpu::devices;
use crate::gpu::faults::{Verdict, judge};
use crate::gpu::nvml::Fault;
use crate::reporting::rate::RateLimited;
use host_ipc::gpu::{GpuFacts, NvLinks, PcieLinks, Probed};
use memory_ledger::GpuId;

/// The assumed size of a CUDA context until NVML has reported the size of a warm worker's context:
/// about the size on an H200. Contexts on softgpu count as zero unless NVML reports a size: softgpu
/// reports 8 MiB less free memory for a context, but each process has a device's memory to itself,
/// so its contexts take no memory from other VMs.
const CONTEXT: u64 = 528 << 20;
/// Minimum time between two reports of faults caused by programs. A guest can cause such faults as
/// often as it wants.
const PROGRAM_FAULT_INTERVAL: Duration = Duration::from_secs(1);

/// A GPU, or a MIG slice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Gpu {
    facts: GpuFacts,
    /// The GPU's name in CUDA_VISIBLE_DEVICES: `GPU-…` or `MIG-…`.
    uuid: String,
    /// Size of a CUDA context on this GPU, in bytes.
    context_bytes: u64,
    /// The PCIe links that NVML reported last.
    links: PcieLinks,
    /// The last readings from NVML. They aren't recorded, because the next broker reads them again.
    #[serde(skip)]
    sensors: GpuSensors,
    /// The active NVLinks that NVML has reported.
    #[serde(default)]
    nvlinks: NvLinks,
    /// How often a worker was found to use more memory than its account plus the slack.
    excesses: u64,
    /// Number of GPU faults since the broker started, not counting faults caused by programs.
    faults: u64,
    lost: bool,
    /// The latest fault that wasn't caused by a program. No VM is placed on a GPU after such a
    /// fault.
    last_fault: Option<String>,
    #[serde(skip, default = "program_faults")]
    program_faults: RateLimited,
    /// The reason why kernels can't be taken off the GPU, or `None` if they can.
    no_eviction: Option<String>,
}

fn program_faults() -> RateLimited {
    RateLimited::new(PROGRAM_FAULT_INTERVAL)
}

impl Gpu {
    fn new(facts: GpuFacts, uuid: String) -> Self {
        let mut gpu = Self {
            facts,
            uuid,
            context_bytes: CONTEXT,
            links: PcieLinks::default(),
            sensors: GpuSensors::default(),
            nvlinks: NvLinks::default(),
            excesses: 0,
            faults: 0,
            lost: false,
            last_fault: None,
            program_faults: program_faults(),
            no_eviction: None,
        };
        if gpu.is_software() {
            gpu.context_bytes = 0;
        }
        gpu
    }

    pub(crate) fn facts(&self) -> &GpuFacts {
        &self.facts
    }

    pub(crate) fn sensors(&self) -> GpuSensors {
        self.sensors
    }

    pub(crate) fn uuid(&self) -> &str {
        &self.uuid
    }

    pub(crate) fn excesses(&self) -> u64 {
        self.excesses
    }

    pub(crate) fn faults(&self) -> u64 {
        self.faults
    }

    pub(crate) fn last_fault(&self) -> Option<&str> {
        self.last_fault.as_deref()
    }

    /// Returns the reason why kernels can't be taken off the GPU, or `None` if they can.
    pub(crate) fn no_eviction(&self) -> Option<&str> {
        self.no_eviction.as_deref()
    }

    /// Returns true if VMs and workers may be placed on this GPU.
    pub(crate) fn is_healthy(&self) -> bool {
        self.last_fault.is_none()
    }

    pub(crate) fn state(&self) -> GpuState {
        if self.is_healthy() { GpuState::Healthy } else { GpuState::Faulty }
    }

    /// Returns true if this is one of softgpu's simulated GPUs.
    pub(crate) fn is_software(&self) -> bool {
        self.facts.name == "softgpu"
    }
}

/// All GPUs, indexed by [`GpuId`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Gpus(Vec<Gpu>);

impl Gpus {
    /// Lists the GPUs that the driver library found, followed by the MIG slices that VMs request by
    /// UUID.
    pub(crate) fn new(probed: &Probed, slices: Vec<(String, GpuFacts)>) -> Self {
        let whole = probed.gpus.iter().map(|facts| (facts.uuid_text(), facts.clone()));
        // If MIG is on, the driver library lists the first slice as a GPU. Don't list that slice
        // twice.
        let is_slice = |facts: &GpuFacts| slices.iter().any(|(_, slice)| slice.uuid == facts.uuid);
        let whole: Vec<_> = whole.filter(|(_, facts)| !is_slice(facts)).collect();
        let all = whole.into_iter().chain(slices);
        Self(all.map(|(uuid, facts)| Gpu::new(facts, uuid)).collect())
    }

    pub(crate) fn get(&self, id: GpuId) -> Option<&Gpu> {
        self.0.get(id.0 as usize)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (GpuId, &Gpu)> {
        self.0.iter().enumerate().map(|(index, gpu)| (GpuId(index as u32), gpu))
    }

    /// Returns true if VMs and workers may be placed on the GPU.
    pub(crate) fn is_healthy(&self, id: GpuId) -> bool {
        self.get(id).is_some_and(Gpu::is_healthy)
    }

    /// Records that kernels can't be taken off a GPU.
    pub(crate) fn set_no_eviction(&mut self, id: GpuId, reason: String) {
        if let Some(gpu) = self.0.get_mut(id.0 as usize) {
            gpu.no_eviction = Some(reason);
        }
    }

    /// Returns whether one of these GPUs is a MIG slice.
    pub(crate) fn has_slice(&self, gpus: &[GpuId]) -> bool {
        gpus.iter().filter_map(|id| self.get(*id)).any(|gpu| gpu.uuid.starts_with("MIG-"))
    }

    /// Returns the size of a CUDA context on the GPU, in bytes.
    pub(crate) fn context_bytes(&self, id: GpuId) -> u64 {
        self.get(id).map_or(0, |gpu| gpu.context_bytes)
    }

    /// Sets the size of a CUDA context on the GPU. Returns true if the size has changed.
    pub(crate) fn set_context_bytes(&mut self, id: GpuId, bytes: u64) -> bool {
        let found = self.0.get_mut(id.0 as usize).filter(|gpu| gpu.context_bytes != bytes);
        found.map(|gpu| gpu.context_bytes = bytes).is_some()
    }

    /// Sets the GPU's temperature, power, and clocks.
    pub(crate) fn set_sensors(&mut self, id: GpuId, sensors: GpuSensors) {
        if let Some(gpu) = self.0.get_mut(id.0 as usize) {
            gpu.sensors = sensors;
        }
    }

    /// Returns the GPU's PCIe links.
    pub(crate) fn links(&self, id: GpuId) -> PcieLinks {
        self.get(id).map_or(PcieLinks::default(), |gpu| gpu.links)
    }

    /// Sets the GPU's PCIe links.
    pub(crate) fn set_links(&mut self, id: GpuId, links: PcieLinks) {
        if let Some(gpu) = self.0.get_mut(id.0 as usize) {
            gpu.links = links;
        }
    }

    /// Returns the GPU's active NVLinks.
    pub(crate) fn nvlinks(&self, id: GpuId) -> Option<&NvLinks> {
        self.get(id).map(|gpu| &gpu.nvlinks)
    }

    /// Sets the GPU's active NVLinks.
    pub(crate) fn set_nvlinks(&mut self, id: GpuId, links: NvLinks) {
        if let Some(gpu) = self.0.get_mut(id.0 as usize) {
            gpu.nvlinks = links;
        }
    }

    /// Counts a worker that was found to use more memory than its account plus the slack.
    pub(crate) fn count_excess(&mut self, id: GpuId) {
        if let Some(gpu) = self.0.get_mut(id.0 as usize) {
            gpu.excesses += 1;
        }
    }

    /// Records a fault for its GPU, unless a program caused the fault or the GPU isn't in this
    /// list. Returns the GPU, if it's in the list, and the verdict on the fault.
    pub(crate) fn record_fault(&mut self, fault: &Fault) -> (Option<GpuId>, Verdict) {
        let verdict = judge(fault.kind);
        let gpu = fault.uuid.as_deref().and_then(|uuid| self.by_uuid(uuid));
        if verdict != Verdict::Program
            && let Some(found) = gpu.and_then(|gpu| self.0.get_mut(gpu.0 as usize))
        {
            if verdict == Verdict::Lost && std::mem::replace(&mut found.lost, true) {
                return (gpu, Verdict::Known);
            }
            found.faults += 1;
            found.last_fault = Some(fault.kind.to_string());
        }
        (gpu, verdict)
    }

    /// Applies the rate limit to reports of faults caused by programs. If this fault must not be
    /// reported, returns `None`. Otherwise, returns the number of faults suppressed since the last
    /// report.
    pub(crate) fn report_program_fault(&mut self, id: GpuId) -> Option<u64> {
        self.0.get_mut(id.0 as usize)?.program_faults.allow(Instant::now())
    }

    /// Returns the GPU with this UUID.
    pub(crate) fn by_uuid(&self, uuid: &str) -> Option<GpuId> {
        let same = |(_, gpu): &(GpuId, &Gpu)| gpu.uuid.eq_ignore_ascii_case(uuid);
        self.iter().find(same).map(|(id, _)| id)
    }

    /// Returns the UUIDs of these GPUs.
    pub(crate) fn uuids(&self, gpus: &[GpuId]) -> Vec<String> {
        gpus.iter().filter_map(|id| self.get(*id)).map(|gpu| gpu.uuid.clone()).collect()
    }

    /// Returns the value of CUDA_VISIBLE_DEVICES that selects these GPUs, in this order.
    pub(crate) fn visible(&self, gpus: &[GpuId]) -> String {
        self.uuids(gpus).join(",")
    }
}

/// The access to GPUs that workers have from a jail.
impl Gpus {
    /// Returns the device files that a worker needs to use these GPUs.
    pub(crate) fn devices(&self, gpus: &[GpuId]) -> Vec<PathBuf> {
        let found = gpus.iter().filter_map(|id| self.get(*id));
        let addresses = found.map(|gpu| gpu.facts().pci_bus_id.as_str());
        devices::devices(addresses, self.has_slice(gpus))
    }
}

/// Returns the UUIDs of the MIG slices that VMs request.
pub(crate) fn slices_named<'a>(requests: impl IntoIterator<Item = &'a GpuRequest>) -> Vec<String> {
    let mut named = Vec::new();
    for request in requests {
        if let GpuRequest::Uuid(uuid) = request
            && uuid.starts_with("MIG-")
            && !named.contains(uuid)
        {
            named.push(uuid.clone());
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Policy, Vm};
    use crate::gpu::nvml::{FaultKind, FaultSource, NvmlError};
    use crate::vm::placement::PlacementError;
    use crate::vm::vms::{Vms, place_vm};
    use host_ipc::gpu::Eviction;

    fn facts(byte: u8) -> GpuFacts {
        GpuFacts { uuid: [byte; 16], ..GpuFacts::default() }
    }

    #[test]
    fn a_slice_that_the_driver_lists_appears_once() {
        let probed = Probed {
            library: "libcuda.so.1".into(),
            cuda_version: 13000,
            driver: "1".into(),
            eviction: Eviction::Works,
            no_eviction: Vec::new(),
            gpus: vec![facts(1), facts(2)],
            peers: vec![],
            module_loading: 0,
            attributes: vec![],
        };
        let gpus = Gpus::new(&probed, vec![("MIG-x".into(), facts(2)), ("MIG-y".into(), facts(3))]);
        let uuids: Vec<&str> = gpus.iter().map(|(_, gpu)| gpu.uuid.as_str()).collect();
        assert_eq!(uuids, ["GPU-01010101-0101-0101-0101-010101010101", "MIG-x", "MIG-y"]);
        assert_eq!(gpus.by_uuid("mig-Y"), Some(GpuId(2)));
        assert!(!gpus.has_slice(&[GpuId(0)]) && gpus.has_slice(&[GpuId(0), GpuId(2)]));
        assert_eq!(gpus.visible(&[GpuId(2), GpuId(1)]), "MIG-y,MIG-x");
    }

    /// A source of faults that returns the given ones, starting with the last.
    struct FakeFaults(Vec<Fault>);

    impl FaultSource for FakeFaults {
        fn next(&mut self) -> Result<Option<Fault>, NvmlError> {
            Ok(self.0.pop())
        }
    }

    #[test]
    fn no_vm_is_placed_on_a_gpu_that_failed() {
        let facts = |byte| GpuFacts { uuid: [byte; 16], memory: 100, ..GpuFacts::default() };
        let mut gpus = Gpus::new(
            &Probed {
                library: "libcuda.so.1".into(),
                cuda_version: 13000,
                driver: "1".into(),
                eviction: Eviction::Works,
                no_eviction: Vec::new(),
                gpus: vec![facts(1), facts(2)],
                peers: vec![],
                module_loading: 0,
                attributes: vec![],
            },
            Vec::new(),
        );
        let uuid = |byte| Some(facts(byte).uuid_text());
        let mut source = FakeFaults(vec![
            Fault { uuid: uuid(1), kind: FaultKind::Xid(31) },
            Fault { uuid: uuid(2), kind: FaultKind::Ecc },
            Fault { uuid: uuid(9), kind: FaultKind::Lost },
        ]);
        let mut verdicts = Vec::new();
        while let Ok(Some(fault)) = source.next() {
            verdicts.push(gpus.record_fault(&fault));
        }
        let second = Some(GpuId(1));
        let expected =
            [(None, Verdict::Lost), (second, Verdict::Faulty), (Some(GpuId(0)), Verdict::Program)];
        assert_eq!(verdicts, expected);
        let capacities = Vms::default().capacities(&gpus, &Policy::default(), |_| 0, None);
        let mut vm = Vm::unchecked(control_api::VmSpec::new("a", 50));
        assert_eq!(place_vm(&capacities, &mut vm, false), Ok(vec![GpuId(0)]));
        vm.spec.gpus = vec![GpuRequest::Index(1)];
        let refused = place_vm(&capacities, &mut vm, false);
        assert_eq!(refused, Err(PlacementError::Faulty { gpu: GpuId(1) }));
    }

    #[test]
    fn the_loss_of_a_gpu_is_counted_once() {
        let probed = Probed {
            library: "libcuda.so.1".into(),
            cuda_version: 13000,
            driver: "1".into(),
            eviction: Eviction::Works,
            no_eviction: Vec::new(),
            gpus: vec![GpuFacts::default()],
            peers: vec![],
            module_loading: 0,
            attributes: vec![],
        };
        let mut gpus = Gpus::new(&probed, Vec::new());
        let uuid = gpus.get(GpuId(0)).map(|gpu| gpu.uuid.clone());
        let mut verdict = |kind| gpus.record_fault(&Fault { uuid: uuid.clone(), kind }).1;
        let verdicts = [FaultKind::Xid(79), FaultKind::Lost, FaultKind::Lost].map(&mut verdict);
        assert_eq!(verdicts, [Verdict::Lost, Verdict::Known, Verdict::Known]);
        assert_eq!(gpus.get(GpuId(0)).map(|gpu| gpu.faults), Some(1));
    }
}
