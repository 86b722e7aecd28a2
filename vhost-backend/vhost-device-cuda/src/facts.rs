//! GPU queries, which return facts about the VM's GPUs to a guest without a session. Queries are
//! rate-limited, so that a guest can't keep the broker busy.

use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol::plain::Plain;
use protocol::uapi::{self, Attributes, Facts, Gpu, GpuUse, Limits, Process, ProcessUse};

use host_ipc::gpu::PcieLink;
use host_ipc::messages::{
    MAX_FACTS_GPUS, MAX_FACTS_PROCESSES, VmFacts, VmGpu, VmGpuLinks, VmLimits, VmSlowed,
};

/// Size of the token bucket that limits queries to the broker. One token is added per `EARNED`. If
/// no token is left, a query gets the broker's last reply, which is at most `EARNED` old in that
/// case.
const BURST: u32 = 64;
const EARNED: Duration = Duration::from_millis(1);

/// The state of a VM's queries. At most one query is pending at the broker.
pub(super) struct Questions<A> {
    tokens: u32,
    counted: Instant,
    last: Option<Arc<VmFacts>>,
    /// Requesters waiting for the reply to the query that is pending at the broker.
    asked: Vec<A>,
    /// Requesters that arrived after the pending query was sent. They wait for the next query,
    /// because the pending query's reply may be out of date for them.
    waiting: Vec<A>,
}

/// How to handle a query.
pub(super) enum Verdict<A> {
    /// Send a query to the broker.
    Ask,
    /// Wait until the broker has replied to the pending query.
    Wait,
    /// Use the last reply.
    Known(A, Arc<VmFacts>),
}

impl<A: Clone> Questions<A> {
    pub(super) fn new(now: Instant) -> Self {
        Self { tokens: BURST, counted: now, last: None, asked: vec![], waiting: vec![] }
    }

    pub(super) fn ask(&mut self, asker: A, now: Instant) -> Verdict<A> {
        let earned = now.saturating_duration_since(self.counted).as_millis() / EARNED.as_millis();
        if earned > 0 {
            self.tokens = BURST.min(self.tokens.saturating_add(earned.min(BURST.into()) as u32));
            self.counted = now;
        }
        match (&self.last, self.tokens) {
            (Some(last), 0) => return Verdict::Known(asker, last.clone()),
            _ => self.tokens = self.tokens.saturating_sub(1),
        }
        if self.asked.is_empty() {
            self.asked.push(asker);
            return Verdict::Ask;
        }
        self.waiting.push(asker);
        Verdict::Wait
    }

    /// Handles the broker's reply. Returns the requesters that get this reply, and a requester on
    /// whose behalf the broker must be queried again, if any.
    pub(super) fn answered(&mut self, facts: &Arc<VmFacts>) -> (Vec<A>, Option<A>) {
        self.last = Some(facts.clone());
        let waiting = std::mem::take(&mut self.waiting);
        let next = waiting.first().cloned();
        (std::mem::replace(&mut self.asked, waiting), next)
    }
}

/// Encoded size of the entry for a GPU, in bytes.
const GPU_BYTES: usize =
    size_of::<Gpu>() + size_of::<Attributes>() + size_of::<GpuUse>() + size_of::<Limits>();
/// Encoded size of the entry for a process, in bytes.
const PROCESS_BYTES: usize = size_of::<Process>() + size_of::<ProcessUse>();

/// Encodes the facts for the guest in at most [`uapi::QUERY_MAX`] bytes.
pub(super) fn encode(facts: &VmFacts) -> Vec<u8> {
    let gpus = &facts.gpus[..facts.gpus.len().min(MAX_FACTS_GPUS)];
    let processes = &facts.processes[..facts.processes.len().min(MAX_FACTS_PROCESSES)];
    let mut head = Facts {
        gpus: gpus.len() as u32,
        gpu_bytes: GPU_BYTES as u32,
        processes: processes.len() as u32,
        process_bytes: PROCESS_BYTES as u32,
        cuda_version: facts.cuda_version,
        module_loading: facts.module_loading,
        ..Facts::zeroed()
    };
    text(&mut head.driver, &facts.driver);
    let mut bytes = head.as_bytes().to_vec();
    for (index, gpu) in gpus.iter().enumerate() {
        let links = facts.links.get(index).copied().unwrap_or_default();
        let attributes = facts.attributes.iter().find(|of| of.gpu == gpu.facts.uuid);
        let values = attributes.map_or(&[][..], |of| &of.values);
        bytes.extend_from_slice(encode_gpu(index, gpu, &links).as_bytes());
        bytes.extend_from_slice(encode_attributes(values).as_bytes());
        let slowed = encode_slowed(facts.slowed.get(index).copied().flatten());
        bytes.extend_from_slice(GpuUse { slowed, reserved: 0 }.as_bytes());
        bytes.extend_from_slice(encode_limits(&facts.limits).as_bytes());
    }
    for (index, process) in processes.iter().enumerate() {
        let share = facts.process_shares.get(index).copied().flatten();
        let utilization = share.map_or(uapi::UTILIZATION_NONE, u32::from);
        let process = Process {
            pid: process.pid,
            session: process.session,
            gpu: process.gpu,
            reserved: 0,
            memory_used: process.bytes,
        };
        bytes.extend_from_slice(process.as_bytes());
        bytes.extend_from_slice(ProcessUse { utilization, reserved: 0 }.as_bytes());
    }
    bytes
}

const _: () = assert!(
    size_of::<Facts>() + MAX_FACTS_GPUS * GPU_BYTES + MAX_FACTS_PROCESSES * PROCESS_BYTES
        <= uapi::QUERY_MAX
);

fn encode_gpu(index: usize, gpu: &VmGpu, links: &VmGpuLinks) -> Gpu {
    let facts = &gpu.facts;
    let peers = links.peers.iter().rev().fold(0, |bits, peer| bits << 1 | u32::from(*peer));
    let ecc = if facts.ecc { uapi::GPU_ECC } else { 0 };
    let mut nvlinks = links.nvlinks;
    nvlinks[index] = links.switch_nvlinks;
    let mut out = Gpu {
        uuid: facts.uuid,
        memory_total: gpu.total,
        memory_used: gpu.used,
        utilization: gpu.utilization.unwrap_or(uapi::UTILIZATION_NONE),
        flags: ecc | peers << uapi::GPU_PEER_SHIFT,
        compute_major: facts.compute_capability[0],
        compute_minor: facts.compute_capability[1],
        multiprocessors: facts.multiprocessors,
        clock_khz: facts.clock_khz,
        memory_clock_khz: facts.memory_clock_khz,
        memory_bus_bits: facts.memory_bus_bits,
        pci_device: facts.pci_device,
        pci_subsystem: facts.pci_subsystem,
        pcie_link_max: encode_link(gpu.links.max),
        pcie_link: encode_link(gpu.links.current),
        nvlinks,
        ..Gpu::zeroed()
    };
    text(&mut out.name, &facts.name);
    text(&mut out.pci_bus_id, &facts.pci_bus_id);
    out
}

fn encode_attributes(values: &[(u8, i32)]) -> Attributes {
    let mut out = Attributes::zeroed();
    for (number, value) in values {
        let number = usize::from(*number);
        if let Some(attribute) = out.values.get_mut(number) {
            *attribute = *value;
            out.known[number / 64] |= 1 << (number % 64);
        }
    }
    out
}

fn encode_slowed(slowed: Option<VmSlowed>) -> u32 {
    let Some(VmSlowed { by_cap, by_turns, by_pause }) = slowed else { return 0 };
    let bits = [
        (true, uapi::SLOWED_KNOWN),
        (by_cap, uapi::SLOWED_BY_CAP),
        (by_turns, uapi::SLOWED_BY_TURNS),
        (by_pause, uapi::SLOWED_BY_PAUSE),
    ];
    bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum()
}

fn encode_limits(limits: &VmLimits) -> Limits {
    let limit = |value: Option<u64>| value.unwrap_or(uapi::LIMIT_NONE);
    Limits {
        session_max: limit(limits.session_max),
        host_max: limit(limits.host_max),
        pids_max: limit(limits.pids_max),
    }
}

fn encode_link(link: PcieLink) -> u32 {
    u32::from(link.generation) << 16 | u32::from(link.lanes)
}

/// Copies a string into `to`, truncated so that a zero byte follows it.
fn text(to: &mut [u8], from: &str) {
    let len = from.len().min(to.len() - 1);
    to[..len].copy_from_slice(&from.as_bytes()[..len]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ipc::gpu::{self, GpuFacts, PcieLinks};
    use host_ipc::messages::VmProcess;

    #[test]
    fn a_query_behind_another_gets_a_newer_answer() {
        let start = Instant::now();
        let mut questions = Questions::new(start);
        assert!(matches!(questions.ask(1, start), Verdict::Ask));
        assert!(matches!(questions.ask(2, start), Verdict::Wait));
        assert!(matches!(questions.ask(3, start), Verdict::Wait));
        let facts = Arc::new(VmFacts::default());
        assert_eq!(questions.answered(&facts), (vec![1], Some(2)));
        assert_eq!(questions.answered(&facts), (vec![2, 3], None));
        assert!(matches!(questions.ask(4, start), Verdict::Ask));
    }

    #[test]
    fn a_flood_reaches_the_broker_at_most_a_thousand_times_a_second() {
        let start = Instant::now();
        let mut questions = Questions::new(start);
        let facts = Arc::new(VmFacts::default());
        let mut asked = 0;
        for step in 0..1_000_000u64 {
            let now = start + Duration::from_micros(step);
            if matches!(questions.ask((), now), Verdict::Ask) {
                asked += 1;
                questions.answered(&facts);
            }
        }
        assert!((900..=1000 + BURST).contains(&asked), "{asked}");
    }

    #[test]
    fn the_answer_is_bounded_and_texts_are_zero_terminated() {
        let long = "n".repeat(1000);
        let gpu = VmGpu {
            facts: GpuFacts { name: long.clone(), pci_bus_id: long.clone(), ..GpuFacts::default() },
            total: 2,
            used: 1,
            utilization: None,
            links: PcieLinks {
                max: PcieLink { generation: 5, lanes: 16 },
                current: PcieLink { generation: 1, lanes: 8 },
            },
        };
        let process = VmProcess { pid: 1, session: 2, gpu: 0, bytes: 3 };
        let mut links = VmGpuLinks { switch_nvlinks: 18, ..VmGpuLinks::default() };
        (links.peers[1], links.peers[15]) = (true, true);
        (links.nvlinks[0], links.nvlinks[15]) = (1, 4);
        let facts = VmFacts {
            cuda_version: 13000,
            driver: long,
            gpus: vec![gpu; 100],
            processes: vec![process; 10_000],
            links: vec![links],
            attributes: vec![gpu::Attributes {
                gpu: [0; 16],
                values: vec![(1, 1024), (159, -1), (200, 3)],
            }],
            module_loading: 2,
            slowed: vec![Some(VmSlowed { by_cap: true, ..VmSlowed::default() }), None],
            process_shares: vec![Some(1234), None],
            limits: VmLimits { session_max: None, host_max: Some(5), pids_max: Some(6) },
        };
        let bytes = encode(&facts);
        assert!(bytes.len() <= uapi::QUERY_MAX);
        let head = Facts::from_bytes(&bytes).unwrap();
        assert_eq!((head.gpus, head.processes, head.module_loading), (16, 256, 2));
        assert_eq!(head.driver.last(), Some(&0));
        let gpu = Gpu::from_bytes(&bytes[size_of::<Facts>()..]).unwrap();
        assert_eq!((gpu.name[95], gpu.pci_bus_id[31]), (0, 0));
        assert_eq!(gpu.utilization, uapi::UTILIZATION_NONE);
        assert_eq!(gpu.flags, 1 << 17 | 1 << 31);
        assert_eq!((gpu.nvlinks[0], gpu.nvlinks[1], gpu.nvlinks[15]), (18, 0, 4));
        assert_eq!((gpu.pcie_link_max, gpu.pcie_link), (5 << 16 | 16, 1 << 16 | 8));
        let after = size_of::<Facts>() + size_of::<Gpu>();
        let attributes = uapi::Attributes::from_bytes(&bytes[after..]).unwrap();
        assert_eq!((attributes.values[1], attributes.values[159]), (1024, -1));
        assert_eq!(attributes.known, [2, 0, 1 << 31, 0]);
        let after = after + size_of::<uapi::Attributes>();
        let slowed = |gpu| {
            GpuUse::from_bytes(&bytes[after + gpu * head.gpu_bytes as usize..]).unwrap().slowed
        };
        let known = uapi::SLOWED_KNOWN | uapi::SLOWED_BY_CAP;
        assert_eq!([slowed(0), slowed(1), slowed(15)], [known, 0, 0]);
        let limits = Limits::from_bytes(&bytes[after + size_of::<GpuUse>()..]).unwrap();
        let expected = Limits { session_max: uapi::LIMIT_NONE, host_max: 5, pids_max: 6 };
        assert_eq!(limits, expected);
        let processes = &bytes[size_of::<Facts>() + 16 * head.gpu_bytes as usize..];
        let shares = processes.chunks_exact(head.process_bytes as usize).map(|entry| {
            ProcessUse::from_bytes(&entry[size_of::<Process>()..]).unwrap().utilization
        });
        assert_eq!(shares.take(2).collect::<Vec<_>>(), [1234, uapi::UTILIZATION_NONE]);
    }
}
