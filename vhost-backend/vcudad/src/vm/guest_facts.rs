//! Collects the facts about a VM's GPUs that its guest may query. They come from the ledger and
//! from probing the driver library.

use host_ipc::gpu::{GpuFacts, NvLinks, PcieLinks, PeerAccess, Probed};
use host_ipc::messages::{
    MAX_FACTS_GPUS, MAX_FACTS_PROCESSES, VmFacts, VmGpu, VmGpuLinks, VmProcess, WorkerId,
};
use memory_ledger::{GpuId, Ledger, VmId};

/// A session of the VM: its worker, the guest's session ID, and the guest process.
pub(crate) struct Serving {
    pub(crate) worker: WorkerId,
    pub(crate) session: u32,
    pub(crate) pid: u32,
}

/// Collects the facts for one VM. `gpus` is in the order of the device ordinals in the VM's
/// sessions. `utilization` returns the VM's share of a GPU's time over the last second, in units of
/// 0.01%, and `links` the GPU's PCIe links and NVLinks.
pub(crate) fn collect(
    driver: &Probed,
    ledger: &Ledger,
    vm: VmId,
    gpus: &[GpuId],
    sessions: impl Iterator<Item = Serving>,
    utilization: impl Fn(GpuId) -> Option<u32>,
    links: impl Fn(GpuId) -> (PcieLinks, NvLinks),
) -> VmFacts {
    let known = gpus.iter().filter_map(|gpu| Some((*gpu, driver.gpus.get(gpu.0 as usize)?)));
    let (gpus, nvlinks): (Vec<VmGpu>, Vec<NvLinks>) = known
        .take(MAX_FACTS_GPUS)
        .map(|(gpu, facts)| {
            let (max, used) =
                ledger.account(vm, gpu).map_or((0, 0), |account| (account.quota.max, account.used));
            // This is the total that cuDeviceTotalMem reports in the guest.
            let total = max.min(facts.memory);
            let (utilization, (links, nvlinks)) = (utilization(gpu), links(gpu));
            (VmGpu { facts: facts.clone(), total, used, utilization, links }, nvlinks)
        })
        .unzip();
    let links = gpus.iter().zip(&nvlinks).map(|(gpu, nvlinks)| {
        links_of(&gpu.facts, nvlinks, gpus.iter().map(|gpu| &gpu.facts), &driver.peers)
    });
    let links = links.collect();
    let mut processes: Vec<VmProcess> = sessions
        .flat_map(|serving| {
            let held = ledger.held_by(serving.worker).into_iter().enumerate();
            held.map(move |(gpu, (_, bytes))| VmProcess {
                pid: serving.pid,
                session: serving.session,
                gpu: gpu as u32,
                bytes,
            })
        })
        .filter(|process| (process.gpu as usize) < gpus.len() && process.bytes > 0)
        .collect();
    processes.sort_by_key(|process| (std::cmp::Reverse(process.bytes), process.pid));
    processes.truncate(MAX_FACTS_PROCESSES);
    VmFacts {
        cuda_version: driver.cuda_version,
        driver: driver.driver.clone(),
        gpus,
        processes,
        links,
    }
}

/// Returns how a GPU reaches the other GPUs `all` of the VM.
fn links_of<'a>(
    gpu: &GpuFacts,
    nvlinks: &NvLinks,
    all: impl Iterator<Item = &'a GpuFacts>,
    peers: &[PeerAccess],
) -> VmGpuLinks {
    let mut links = VmGpuLinks { switch_nvlinks: nvlinks.to_switches, ..VmGpuLinks::default() };
    for (index, other) in all.enumerate() {
        let access = PeerAccess { gpu: gpu.uuid, peer: other.uuid };
        links.peers[index] = peers.contains(&access);
        let uuid = other.uuid_text();
        let found = nvlinks.to_gpus.iter().find(|(to, _)| *to == uuid);
        links.nvlinks[index] = found.map_or(0, |(_, count)| *count);
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ipc::gpu::{Eviction, PcieLink};
    use host_ipc::messages::Charge;
    use memory_ledger::Quota;

    fn driver(memory: &[u64]) -> Probed {
        let gpu = |memory: &u64| GpuFacts { memory: *memory, ..GpuFacts::default() };
        Probed {
            library: "libcuda.so.1".into(),
            cuda_version: 13000,
            driver: "1.2".into(),
            eviction: Eviction::Works,
            no_eviction: Vec::new(),
            gpus: memory.iter().map(gpu).collect(),
            peers: vec![],
        }
    }

    #[test]
    fn a_vm_gets_its_own_quota_and_usage_but_no_other_vms() {
        let (mut ledger, gpus) = (Ledger::default(), [GpuId(1), GpuId(0)]);
        for (vm, max) in [(VmId(1), 100), (VmId(2), 1000)] {
            for gpu in gpus {
                ledger.set(vm, gpu, Quota { max, session_max: None });
            }
        }
        for (worker, vm) in [(7, VmId(1)), (8, VmId(1)), (9, VmId(2))] {
            ledger.open(worker, vm, &gpus);
            ledger.reserve(worker, 0, worker, Charge::Memory).unwrap();
        }
        let sessions =
            [(7, 1, 70), (8, 2, 80)].map(|(worker, session, pid)| Serving { worker, session, pid });
        let link = |gpu: GpuId| {
            let max = PcieLink { generation: 5, lanes: 16 + gpu.0 as u16 };
            (PcieLinks { max, ..PcieLinks::default() }, NvLinks::default())
        };
        let (driver, sessions) = (driver(&[40, 500]), sessions.into_iter());
        let facts = collect(&driver, &ledger, VmId(1), &gpus, sessions, |_| None, link);
        assert_eq!(facts.gpus[0].links, link(GpuId(1)).0);
        let sums: Vec<_> = facts.gpus.iter().map(|gpu| (gpu.total, gpu.used)).collect();
        assert_eq!(sums, [(100, 15), (40, 0)]);
        let process = |pid, session, bytes| VmProcess { pid, session, gpu: 0, bytes };
        assert_eq!(facts.processes, [process(80, 2, 8), process(70, 1, 7)]);
    }

    #[test]
    fn links_lead_to_gpus_of_the_vm_only() {
        let facts = |byte| GpuFacts { uuid: [byte; 16], ..GpuFacts::default() };
        let all = [facts(1), facts(2)];
        let to_gpus = vec![(facts(3).uuid_text(), 4), (facts(2).uuid_text(), 2)];
        let nvlinks = NvLinks { to_switches: 6, to_gpus };
        let peers = [(1, 3), (1, 2), (3, 1)]
            .map(|(gpu, peer)| PeerAccess { gpu: [gpu; 16], peer: [peer; 16] });
        let links = links_of(&all[0], &nvlinks, all.iter(), &peers);
        let mut expected = VmGpuLinks { switch_nvlinks: 6, ..VmGpuLinks::default() };
        (expected.peers[1], expected.nvlinks[1]) = (true, 2);
        assert_eq!(links, expected);
        let links = links_of(&all[1], &NvLinks::default(), all.iter(), &peers);
        assert_eq!(links, VmGpuLinks::default());
    }

    #[test]
    fn the_longest_answer_fits_into_a_message() {
        let text = "x".repeat(128);
        let gpu = GpuFacts {
            name: text.clone(),
            pci_bus_id: text,
            memory: u64::MAX,
            pci_device: u32::MAX,
            ..GpuFacts::default()
        };
        let link = PcieLink { generation: u16::MAX, lanes: u16::MAX };
        let links = PcieLinks { max: link, current: link };
        let (max, utilization) = (u64::MAX, Some(10000));
        let gpu = VmGpu { facts: gpu, total: max, used: max, utilization, links };
        let process =
            VmProcess { pid: u32::MAX, session: u32::MAX, gpu: u32::MAX, bytes: u64::MAX };
        let links_to = VmGpuLinks {
            peers: [true; MAX_FACTS_GPUS],
            nvlinks: [u8::MAX; MAX_FACTS_GPUS],
            switch_nvlinks: u8::MAX,
        };
        let facts = VmFacts {
            gpus: vec![gpu; MAX_FACTS_GPUS],
            processes: vec![process; MAX_FACTS_PROCESSES],
            links: vec![links_to; MAX_FACTS_GPUS],
            ..VmFacts::default()
        };
        let (ours, theirs) = host_ipc::seqpacket::pair().unwrap();
        let message = host_ipc::messages::BrokerToDevice::Facts { request: u64::MAX, facts };
        host_ipc::seqpacket::send(&ours, &message, &[]).unwrap();
        drop(theirs);
    }
}
