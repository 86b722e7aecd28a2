//! The host's GPUs, as the broker sees them.

use control_api::GpuRequest;

use super::rate::Seldom;
use super::service::SECOND;
use host_ipc::gpu::{GpuFacts, Probed};
use memory_ledger::GpuId;

/// What a context takes of a GPU, until NVML has told what a warm worker holds: about what it is on
/// an H200. softgpu's take nothing, unless an NVML says otherwise.
const CONTEXT: u64 = 528 << 20;

/// One of them, or a MIG slice of one.
#[derive(Clone, Debug)]
pub(super) struct Gpu {
    pub(super) facts: GpuFacts,
    /// As CUDA_VISIBLE_DEVICES takes it: `GPU-…` or `MIG-…`.
    pub(super) uuid: String,
    /// What a context takes, in bytes.
    pub(super) context_bytes: u64,
    /// How often a worker was found to hold more than its account and the slack.
    pub(super) excesses: u64,
    /// Faults since the start.
    pub(super) faults: u64,
    /// It is gone.
    pub(super) lost: bool,
    /// The last of them; no VM is placed here then.
    pub(super) last_fault: Option<String>,
    /// What programs cause is told of seldom: a guest could do it all the time.
    pub(super) program_faults: Seldom,
}

impl Gpu {
    /// softgpu's.
    pub(super) fn is_software(&self) -> bool {
        self.facts.name == "softgpu"
    }
}

/// All of them, by [`GpuId`].
#[derive(Clone, Debug)]
pub(super) struct Gpus(Vec<Gpu>);

impl Gpus {
    /// Those that the driver library finds, and slices that were asked for by name.
    pub(super) fn new(probed: &Probed, slices: Vec<(String, GpuFacts)>) -> Self {
        let whole = probed.gpus.iter().map(|facts| (facts.uuid_text(), facts.clone()));
        // With MIG on, the library finds the first slice by itself.
        let is_slice = |facts: &GpuFacts| slices.iter().any(|(_, slice)| slice.uuid == facts.uuid);
        let whole: Vec<_> = whole.filter(|(_, facts)| !is_slice(facts)).collect();
        let gpu = |(uuid, facts): (String, GpuFacts)| {
            let gpu = Gpu {
                facts,
                uuid,
                context_bytes: 0,
                excesses: 0,
                faults: 0,
                lost: false,
                last_fault: None,
                program_faults: Seldom::new(SECOND),
            };
            Gpu { context_bytes: if gpu.is_software() { 0 } else { CONTEXT }, ..gpu }
        };
        Self(whole.into_iter().chain(slices).map(gpu).collect())
    }

    pub(super) fn get(&self, id: GpuId) -> Option<&Gpu> {
        self.0.get(id.0 as usize)
    }

    pub(super) fn get_mut(&mut self, id: GpuId) -> Option<&mut Gpu> {
        self.0.get_mut(id.0 as usize)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (GpuId, &Gpu)> {
        self.0.iter().enumerate().map(|(index, gpu)| (GpuId(index as u32), gpu))
    }

    /// The GPU of that UUID.
    pub(super) fn by_uuid(&self, uuid: &str) -> Option<GpuId> {
        let same = |(_, gpu): &(GpuId, &Gpu)| gpu.uuid.eq_ignore_ascii_case(uuid);
        self.iter().find(same).map(|(id, _)| id)
    }

    /// What CUDA_VISIBLE_DEVICES is for these, in this order.
    pub(super) fn visible(&self, gpus: &[GpuId]) -> String {
        let uuids: Vec<&str> =
            gpus.iter().filter_map(|id| self.get(*id)).map(|gpu| gpu.uuid.as_str()).collect();
        uuids.join(",")
    }
}

/// The MIG slices that VMs ask for by name.
pub(super) fn slices_named<'a>(requests: impl IntoIterator<Item = &'a GpuRequest>) -> Vec<String> {
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

    fn facts(byte: u8) -> GpuFacts {
        GpuFacts { uuid: [byte; 16], ..GpuFacts::default() }
    }

    #[test]
    fn a_slice_that_the_driver_finds_by_itself_is_there_once() {
        let probed = Probed {
            library: "libcuda.so.1".into(),
            cuda_version: 13000,
            driver: "1".into(),
            gpus: vec![facts(1), facts(2)],
        };
        let gpus = Gpus::new(&probed, vec![("MIG-x".into(), facts(2)), ("MIG-y".into(), facts(3))]);
        let uuids: Vec<&str> = gpus.iter().map(|(_, gpu)| gpu.uuid.as_str()).collect();
        assert_eq!(uuids, ["GPU-01010101-0101-0101-0101-010101010101", "MIG-x", "MIG-y"]);
        assert_eq!(gpus.by_uuid("mig-Y"), Some(GpuId(2)));
        assert_eq!(gpus.visible(&[GpuId(2), GpuId(1)]), "MIG-y,MIG-x");
    }
}
