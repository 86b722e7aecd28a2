//! Collects the facts about a VM's GPUs that its guest may query. They come from the ledger and
//! from probing the driver library.

use host_ipc::gpu::{PcieLinks, Probed};
use host_ipc::messages::{
    MAX_FACTS_GPUS, MAX_FACTS_PROCESSES, VmFacts, VmGpu, VmProcess, WorkerId,
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
/// 0.01%, and `links` the GPU's PCIe links.
pub(crate) fn collect(
    driver: &Probed,
    ledger: &Ledger,
    vm: VmId,
    gpus: &[GpuId],
    sessions: impl Iterator<Item = Serving>,
    utilization: impl Fn(GpuId) -> Option<u32>,
    links: impl Fn(GpuId) -> PcieLinks,
) -> VmFacts {
    let known = gpus.iter().filter_map(|gpu| Some((*gpu, driver.gpus.get(gpu.0 as usize)?)));
    let gpus: Vec<VmGpu> = known
        .take(MAX_FACTS_GPUS)
        .map(|(gpu, facts)| {
            let (max, used) =
                ledger.account(vm, gpu).map_or((0, 0), |account| (account.quota.max, account.used));
            // This is the total that cuDeviceTotalMem reports in the guest.
            let total = max.min(facts.memory);
            let (utilization, links) = (utilization(gpu), links(gpu));
            VmGpu { facts: facts.clone(), total, used, utilization, links }
        })
        .collect();
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
    VmFacts { cuda_version: driver.cuda_version, driver: driver.driver.clone(), gpus, processes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ipc::gpu::{Eviction, GpuFacts, PcieLink};
    use host_ipc::messages::Charge;
    use memory_ledger::Quota;

    fn driver(memory: &[u64]) -> Probed {
        let gpu = |memory: &u64| GpuFacts { memory: *memory, ..GpuFacts::default() };
        Probed {
            library: "libcuda.so.1".into(),
            cuda_version: 13000,
            driver: "1.2".into(),
            eviction: Eviction::Works,
            gpus: memory.iter().map(gpu).collect(),
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
            PcieLinks { max, ..PcieLinks::default() }
        };
        let (driver, sessions) = (driver(&[40, 500]), sessions.into_iter());
        let facts = collect(&driver, &ledger, VmId(1), &gpus, sessions, |_| None, link);
        assert_eq!(facts.gpus[0].links, link(GpuId(1)));
        let sums: Vec<_> = facts.gpus.iter().map(|gpu| (gpu.total, gpu.used)).collect();
        assert_eq!(sums, [(100, 15), (40, 0)]);
        let process = |pid, session, bytes| VmProcess { pid, session, gpu: 0, bytes };
        assert_eq!(facts.processes, [process(80, 2, 8), process(70, 1, 7)]);
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
        let facts = VmFacts {
            gpus: vec![gpu; MAX_FACTS_GPUS],
            processes: vec![process; MAX_FACTS_PROCESSES],
            ..VmFacts::default()
        };
        let (ours, theirs) = host_ipc::seqpacket::pair().unwrap();
        let message = host_ipc::messages::BrokerToDevice::Facts { request: u64::MAX, facts };
        host_ipc::seqpacket::send(&ours, &message, &[]).unwrap();
        drop(theirs);
    }
}
