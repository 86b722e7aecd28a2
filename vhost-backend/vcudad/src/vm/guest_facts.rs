//! Collects the facts about a VM's GPUs that its guest may query. They come from the ledger and
//! from probing the driver library.

use control_api::Sharing;
use host_ipc::gpu::{Attributes, GpuFacts, NvLinks, PcieLinks, PeerAccess, Probed};
use host_ipc::messages::{
    MAX_FACTS_GPUS, MAX_FACTS_PROCESSES, VmFacts, VmGpu, VmGpuLinks, VmLimits, VmProcess, VmSlowed,
    WorkerId,
};
use memory_ledger::{GpuId, Ledger, VmId};

/// A session of the VM: its worker, the guest's session ID, and the guest process.
pub(crate) struct Serving {
    pub(crate) worker: WorkerId,
    pub(crate) session: u32,
    pub(crate) pid: u32,
    /// The fraction of the last second for which the session had work on each of the VM's GPUs, in
    /// units of 0.01%. It can be more than the VM's share of the GPU, because the worker counts it
    /// and includes time in which its kernels are evicted.
    pub(crate) shares: Vec<u32>,
}

/// Room for the attributes of a VM's GPUs in a message, in bytes. The attributes of one GPU take
/// about 400 bytes.
const ATTRIBUTES_ROOM: usize = 4000;

/// Collects the facts for one VM, without its GPUs' attributes and its limits. `gpus` is in the
/// order of the device ordinals in the VM's sessions. `time` returns the VM's share of a GPU's time
/// over the last second, in units of 0.01%, and the reasons for which the VM is slowed down there.
/// `links` returns the GPU's PCIe links and NVLinks.
pub(crate) fn collect(
    driver: &Probed,
    ledger: &Ledger,
    vm: VmId,
    gpus: &[GpuId],
    sessions: impl Iterator<Item = Serving>,
    time: impl Fn(GpuId) -> (Option<u32>, Option<VmSlowed>),
    links: impl Fn(GpuId) -> (PcieLinks, NvLinks),
) -> VmFacts {
    let known = gpus.iter().filter_map(|gpu| Some((*gpu, driver.gpus.get(gpu.0 as usize)?)));
    let of_gpus = known.take(MAX_FACTS_GPUS).map(|(gpu, facts)| {
        let (max, used) =
            ledger.account(vm, gpu).map_or((0, 0), |account| (account.quota.max, account.used));
        // Report the same total as cuDeviceTotalMem does in the guest.
        let total = max.min(facts.memory);
        let ((utilization, slowed), (links, nvlinks)) = (time(gpu), links(gpu));
        (VmGpu { facts: facts.clone(), total, used, utilization, links }, (nvlinks, slowed))
    });
    let (gpus, (nvlinks, slowed)): (Vec<VmGpu>, (Vec<NvLinks>, Vec<_>)) = of_gpus.unzip();
    let links = gpus.iter().zip(&nvlinks).map(|(gpu, nvlinks)| {
        links_of(&gpu.facts, nvlinks, gpus.iter().map(|gpu| &gpu.facts), &driver.peers)
    });
    let links = links.collect();
    let sessions: Vec<Serving> = sessions.collect();
    let mut processes: Vec<(VmProcess, Option<u16>)> = Vec::new();
    for (index, gpu) in gpus.iter().enumerate() {
        let claims: Vec<u32> =
            sessions.iter().map(|s| s.shares.get(index).copied().unwrap_or(0)).collect();
        let shares = divided(gpu.utilization, &claims);
        for (serving, share) in sessions.iter().zip(shares) {
            let held = ledger.held_by(serving.worker);
            let bytes = held.get(index).map_or(0, |(_, bytes)| *bytes);
            let (pid, session) = (serving.pid, serving.session);
            processes.push((VmProcess { pid, session, gpu: index as u32, bytes }, share));
        }
    }
    processes.retain(|(process, _)| process.bytes > 0);
    processes.sort_by_key(|(process, _)| (std::cmp::Reverse(process.bytes), process.pid));
    processes.truncate(MAX_FACTS_PROCESSES);
    let (processes, process_shares): (Vec<_>, Vec<_>) = processes.into_iter().unzip();
    VmFacts {
        cuda_version: driver.cuda_version,
        driver: driver.driver.clone(),
        gpus,
        processes,
        links,
        attributes: Vec::new(),
        module_loading: driver.module_loading,
        slowed,
        process_shares,
        limits: VmLimits::default(),
    }
}

/// Divides a VM's share of a GPU's time among its sessions, in proportion to their claims. No
/// session gets more than it claims. All values are in units of 0.01%.
fn divided(share: Option<u32>, claims: &[u32]) -> Vec<Option<u16>> {
    let total: u64 = claims.iter().map(|claim| u64::from(*claim)).sum();
    let part = |share: u32, claim: u32| {
        let part = u64::from(claim) * u64::from(share) / total.max(share.into()).max(1);
        u16::try_from(part).unwrap_or(u16::MAX)
    };
    claims.iter().map(|claim| share.map(|share| part(share, *claim))).collect()
}

/// Returns the attributes of GPUs, as far as they fit into a message. With MPS, returns none,
/// because a session may use only some of the multiprocessors, so the attributes depend on the
/// session.
pub(crate) fn attributes_of(driver: &Probed, gpus: &[VmGpu], sharing: Sharing) -> Vec<Attributes> {
    let of = |gpu: &VmGpu| driver.attributes.iter().find(|of| of.gpu == gpu.facts.uuid).cloned();
    let mut room = ATTRIBUTES_ROOM;
    let fits = |of: &Attributes| {
        let length: usize = of.values.iter().map(|(_, value)| encoded_length(*value)).sum();
        let left = room.checked_sub(length + 24);
        room = left.unwrap_or(room);
        left.is_some()
    };
    match sharing {
        Sharing::Exclusive => gpus.iter().filter_map(of).filter(fits).collect(),
        Sharing::Mps => Vec::new(),
    }
}

/// Returns how many bytes an attribute takes in a message: one for its number, and one for each
/// seven bits of its value and its sign.
fn encoded_length(value: i32) -> usize {
    let bits = 33 - value.unsigned_abs().leading_zeros();
    1 + bits.div_ceil(7) as usize
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
            module_loading: 0,
            attributes: vec![],
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
        let sessions = [(7, 1, 70, 6000), (8, 2, 80, 3000)];
        let sessions = sessions.map(|(worker, session, pid, share)| Serving {
            worker,
            session,
            pid,
            shares: vec![share, 0],
        });
        let link = |gpu: GpuId| {
            let max = PcieLink { generation: 5, lanes: 16 + gpu.0 as u16 };
            (PcieLinks { max, ..PcieLinks::default() }, NvLinks::default())
        };
        let (driver, sessions) = (driver(&[40, 500]), sessions.into_iter());
        let capped = Some(VmSlowed { by_cap: true, ..VmSlowed::default() });
        let time = |gpu| if gpu == GpuId(1) { (Some(900), capped) } else { (None, None) };
        let facts = collect(&driver, &ledger, VmId(1), &gpus, sessions, time, link);
        assert_eq!(facts.gpus[0].links, link(GpuId(1)).0);
        let sums: Vec<_> = facts.gpus.iter().map(|gpu| (gpu.total, gpu.used)).collect();
        assert_eq!(sums, [(100, 15), (40, 0)]);
        let process = |pid, session, bytes| VmProcess { pid, session, gpu: 0, bytes };
        assert_eq!(facts.processes, [process(80, 2, 8), process(70, 1, 7)]);
        let shares: Vec<_> = facts.gpus.iter().map(|gpu| gpu.utilization).collect();
        assert_eq!((shares, facts.slowed), (vec![Some(900), None], vec![capped, None]));
        assert_eq!(facts.process_shares, [Some(300), Some(600)]);
    }

    #[test]
    fn a_vms_time_is_divided_among_its_sessions() {
        let all = |share, claims: &[u32]| -> Vec<u16> {
            divided(Some(share), claims).into_iter().flatten().collect()
        };
        assert_eq!(all(9000, &[4000, 1000]), [4000, 1000]);
        assert_eq!(all(1000, &[10000, 10000, 0]), [500, 500, 0]);
        assert_eq!(all(0, &[10000, 0]), [0, 0]);
        assert_eq!(all(10000, &[u32::MAX; 3]), [3333; 3]);
        assert_eq!(divided(None, &[5, 0]), [None, None]);
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
    fn attributes_of_mps_sessions_and_those_beyond_a_message_are_left_out() {
        let mut driver = driver(&[]);
        let values: Vec<_> = (0..150).map(|number| (number, 1 << (number % 12))).collect();
        let facts = |byte| GpuFacts { uuid: [byte; 16], ..GpuFacts::default() };
        driver.attributes =
            (0..16).map(|byte| Attributes { gpu: [byte; 16], values: values.clone() }).collect();
        let gpu = |byte| {
            let links = PcieLinks::default();
            VmGpu { facts: facts(byte), total: 0, used: 0, utilization: None, links }
        };
        let gpus: Vec<_> = [3, 1, 99].map(gpu).into();
        let found = attributes_of(&driver, &gpus, Sharing::Exclusive);
        assert_eq!(found, [3, 1].map(|gpu| Attributes { gpu: [gpu; 16], values: values.clone() }));
        assert_eq!(attributes_of(&driver, &gpus, Sharing::Mps), []);
        let all: Vec<_> = (0..16).map(gpu).collect();
        let some = attributes_of(&driver, &all, Sharing::Exclusive);
        assert!((8..16).contains(&some.len()), "{}", some.len());
        let lengths = [0, -63, 63, 64, i32::MAX].map(encoded_length);
        assert_eq!(lengths, [2, 2, 2, 3, 6]);
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
        let gpu_index = MAX_FACTS_GPUS as u32 - 1;
        let process =
            VmProcess { pid: u32::MAX, session: u32::MAX, gpu: gpu_index, bytes: u64::MAX };
        let links_to = VmGpuLinks {
            peers: [true; MAX_FACTS_GPUS],
            nvlinks: [u8::MAX; MAX_FACTS_GPUS],
            switch_nvlinks: u8::MAX,
        };
        let gpus = vec![gpu; MAX_FACTS_GPUS];
        let longest = (0..160).map(|number| (number, i32::MIN)).collect();
        let mut driver = driver(&[]);
        driver.attributes = vec![Attributes { gpu: [0; 16], values: longest }];
        let facts = VmFacts {
            gpus: gpus.clone(),
            processes: vec![process; MAX_FACTS_PROCESSES],
            links: vec![links_to; MAX_FACTS_GPUS],
            slowed: vec![Some(VmSlowed::default()); MAX_FACTS_GPUS],
            process_shares: vec![Some(10000); MAX_FACTS_PROCESSES],
            limits: VmLimits { session_max: Some(max), host_max: Some(max), pids_max: Some(max) },
            attributes: attributes_of(&driver, &gpus, Sharing::Exclusive),
            ..VmFacts::default()
        };
        let (ours, theirs) = host_ipc::seqpacket::pair().unwrap();
        let message = host_ipc::messages::BrokerToDevice::Facts { request: u64::MAX, facts };
        host_ipc::seqpacket::send(&ours, &message, &[]).unwrap();
        drop(theirs);
    }
}
