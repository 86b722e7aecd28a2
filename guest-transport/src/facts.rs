//! Decodes the device's reply to a query.

use crate::error::TransportError;
use crate::transport::Transport;
use protocol::plain::Plain;
use protocol::uapi::{
    Attributes, Facts, Gpu, GpuUse, LIMIT_NONE, Limits, Process, ProcessUse, QUERY_MAX,
    UTILIZATION_NONE,
};

/// The device's reply to a query: facts about the VM's GPUs at one point in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The CUDA version, as `cuDriverGetVersion` returns it.
    pub cuda_version: u32,
    /// The result of `cuModuleGetLoadingMode` on the host, or 0 if the device doesn't know it.
    pub module_loading: u32,
    pub driver: String,
    pub gpus: Vec<Gpu>,
    /// The attributes of each of the GPUs. No attribute is known if the device is of an older
    /// version.
    pub attributes: Vec<Attributes>,
    /// How the VM uses each of the GPUs. All bits are 0 if the device is of an older version.
    pub uses: Vec<GpuUse>,
    /// The VM's limits, for each of the GPUs. All values are 0 if the device is of an older
    /// version.
    pub limits: Vec<Limits>,
    pub processes: Vec<Process>,
    /// How each of the processes uses its GPU.
    pub process_uses: Vec<ProcessUse>,
}

impl Snapshot {
    /// Queries the device.
    pub fn query(transport: &dyn Transport) -> Result<Self, TransportError> {
        let mut room = vec![0; QUERY_MAX];
        let len = transport.query(&mut room)?;
        Self::read(&room[..len.min(room.len())]).ok_or_else(|| TransportError::System {
            what: "querying the GPUs",
            source: std::io::Error::other("the reply is malformed"),
        })
    }

    /// Returns a text for messages: the VM's use of device memory, and its limit, which is the
    /// host's setting memory.max.
    pub fn memory_use(&self) -> String {
        let of_gpu = |(index, gpu): (usize, &Gpu)| {
            let (used, total) = (gpu.memory_used >> 20, gpu.memory_total >> 20);
            format!("{used} of {total} MiB on GPU {index}")
        };
        self.gpus.iter().enumerate().map(of_gpu).collect::<Vec<_>>().join(", ")
    }

    /// Returns a text for messages, to be appended to [`Self::memory_use`]: the limit on each
    /// session's device memory, and how to raise the limits on device memory.
    pub fn memory_limits(&self) -> String {
        let (option, session) = match self.limits.first().map_or(0, |limits| limits.session_max) {
            LIMIT_NONE => ("", String::new()),
            0 => (
                " --memory-session-max SIZE",
                ", and the setting memory.session_max may allow this program less".into(),
            ),
            max => (
                " --memory-session-max SIZE",
                format!(
                    ", and this program may use {} MiB on each GPU (memory.session_max)",
                    max >> 20
                ),
            ),
        };
        format!(
            " (the host's setting memory.max){session}. The host's operator can raise the limits: \
             vcudactl vm set NAME --memory-max SIZE{option}"
        )
    }

    /// Queries the device for the text of [`Self::process_limits`].
    pub(crate) fn process_limits_of(transport: &dyn Transport) -> String {
        Self::query(transport).unwrap_or_default().process_limits()
    }

    /// Returns a text for messages: the limits of the VM's processes on the host, and how to raise
    /// them.
    pub fn process_limits(&self) -> String {
        let limits = self.limits.first().copied().unwrap_or_else(Limits::zeroed);
        let value = |value: u64, text: &dyn Fn(u64) -> String| match value {
            0 => "unknown".into(),
            LIMIT_NONE => "no limit".into(),
            value => text(value),
        };
        let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
        format!(
            "memory.host_max ({}) limits the memory of the VM's processes on the host, and pids.max ({}) \
             the number of their threads. To raise one, the host's operator must remove the VM and add \
             it with vcudactl vm add --host-memory-max SIZE or --pids-max N",
            value(limits.host_max, &mib),
            value(limits.pids_max, &|count| count.to_string()),
        )
    }

    /// Decodes a reply. Returns `None` if it is malformed.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let head = Facts::from_bytes(bytes)?;
        let rest = &bytes[size_of::<Facts>()..];
        let (gpus, rest) = entries::<Gpu>(rest, head.gpus, head.gpu_bytes)?;
        let (processes, _) = entries::<Process>(rest, head.processes, head.process_bytes)?;
        let (use_at, unknown) = (size_of::<Gpu>() + size_of::<Attributes>(), UTILIZATION_NONE);
        let unknown = ProcessUse { utilization: unknown, reserved: 0 };
        Some(Self {
            cuda_version: head.cuda_version,
            module_loading: head.module_loading,
            driver: text(&head.driver),
            gpus: parts(&gpus, 0, Gpu::zeroed()),
            attributes: parts(&gpus, size_of::<Gpu>(), Attributes::zeroed()),
            uses: parts(&gpus, use_at, GpuUse::zeroed()),
            limits: parts(&gpus, use_at + size_of::<GpuUse>(), Limits::zeroed()),
            processes: parts(&processes, 0, Process::zeroed()),
            process_uses: parts(&processes, size_of::<Process>(), unknown),
        })
    }
}

/// Splits off `count` entries of `each` bytes. Entries may be longer than `T` if the device is
/// newer than this library.
fn entries<T: Plain>(bytes: &[u8], count: u32, each: u32) -> Option<(Vec<&[u8]>, &[u8])> {
    let each = each as usize;
    let len = each.checked_mul(count as usize)?;
    if (each < size_of::<T>() && count > 0) || len > bytes.len() {
        return None;
    }
    let (entries, rest) = bytes.split_at(len);
    Some((entries.chunks_exact(each.max(1)).collect(), rest))
}

/// Decodes the structure at this offset of each entry. If an entry is too short, because the device
/// is older, returns `missing` for it.
fn parts<T: Plain>(entries: &[&[u8]], at: usize, missing: T) -> Vec<T> {
    let part = |entry: &&[u8]| entry.get(at..).and_then(T::from_bytes).unwrap_or(missing);
    entries.iter().map(part).collect()
}

/// Decodes text that ends at the first zero byte or at the end of the bytes.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(gpu_bytes: u32, gpus: u32) -> Vec<u8> {
        let head = Facts { gpus, gpu_bytes, ..Facts::zeroed() };
        head.as_bytes().to_vec()
    }

    #[test]
    fn longer_entries_of_a_newer_device_are_decoded() {
        let mut bytes = answer(size_of::<Gpu>() as u32 + 8, 2);
        for total in [1, 2] {
            let gpu = Gpu { memory_total: total, ..Gpu::zeroed() };
            bytes.extend_from_slice(gpu.as_bytes());
            bytes.extend_from_slice(&[0xff; 8]);
        }
        let read = Snapshot::read(&bytes).unwrap();
        let totals: Vec<u64> = read.gpus.iter().map(|gpu| gpu.memory_total).collect();
        assert_eq!(totals, [1, 2]);
    }

    #[test]
    fn the_memory_of_each_gpu_is_described() {
        let gpu = |memory_used: u64, memory_total: u64| Gpu {
            memory_used: memory_used << 20,
            memory_total: memory_total << 20,
            ..Gpu::zeroed()
        };
        let gpus = vec![gpu(4, 1024), gpu(0, 2)];
        let text = Snapshot { gpus, ..Snapshot::default() }.memory_use();
        assert_eq!(text, "4 of 1024 MiB on GPU 0, 0 of 2 MiB on GPU 1");
    }

    #[test]
    fn each_limit_is_described_with_its_value_and_its_option() {
        let of = |session_max, host_max, pids_max| {
            let limits = vec![Limits { session_max, host_max, pids_max }];
            let snapshot = Snapshot { limits, ..Snapshot::default() };
            (snapshot.memory_limits(), snapshot.process_limits())
        };
        let (memory, processes) = of(512 << 20, 4096 << 20, 77);
        for words in
            ["512 MiB on each GPU (memory.session_max)", "--memory-session-max", "--memory-max"]
        {
            assert!(memory.contains(words), "{memory}");
        }
        for words in
            ["memory.host_max (4096 MiB)", "pids.max (77)", "--host-memory-max", "--pids-max"]
        {
            assert!(processes.contains(words), "{processes}");
        }
        let (memory, processes) = of(LIMIT_NONE, LIMIT_NONE, LIMIT_NONE);
        assert!(!memory.contains("session_max") && memory.contains("--memory-max"), "{memory}");
        assert!(processes.contains("pids.max (no limit)"), "{processes}");
        // An older device sends shorter entries, or none.
        let (memory, processes) = of(0, 0, 0);
        assert!(memory.contains("may allow this program less"), "{memory}");
        assert!(processes.contains("memory.host_max (unknown)"), "{processes}");
    }

    #[test]
    fn attributes_that_an_older_device_does_not_report_are_unknown() {
        let attributes = Attributes { known: [1; 4], ..Attributes::zeroed() };
        let whole = size_of::<Gpu>() + size_of::<Attributes>();
        for (each, expected) in [(size_of::<Gpu>(), Attributes::zeroed()), (whole, attributes)] {
            let mut bytes = answer(each as u32, 1);
            let entry = [Gpu::zeroed().as_bytes(), attributes.as_bytes()].concat();
            bytes.extend_from_slice(&entry[..each]);
            assert_eq!(Snapshot::read(&bytes).unwrap().attributes, [expected]);
        }
    }

    #[test]
    fn uses_that_an_older_device_does_not_report_are_unknown() {
        let slowed = GpuUse { slowed: 3, reserved: 0 };
        let share = |utilization| ProcessUse { utilization, reserved: 0 };
        let gpu = [Gpu::zeroed().as_bytes(), Attributes::zeroed().as_bytes()].concat();
        let process = Process::zeroed().as_bytes().to_vec();
        let whole_gpu = [&gpu, slowed.as_bytes()].concat();
        let whole_process = [&process, share(50).as_bytes()].concat();
        for (gpu, process, expected) in [
            (&gpu, &process, (GpuUse::zeroed(), share(UTILIZATION_NONE))),
            (&whole_gpu, &whole_process, (slowed, share(50))),
        ] {
            let (gpu_bytes, process_bytes) = (gpu.len() as u32, process.len() as u32);
            let counts = Facts { gpus: 2, processes: 2, ..Facts::zeroed() };
            let head = Facts { gpu_bytes, process_bytes, ..counts };
            let bytes = [head.as_bytes(), gpu, gpu, process, process].concat();
            let read = Snapshot::read(&bytes).unwrap();
            assert_eq!((read.uses, read.process_uses), (vec![expected.0; 2], vec![expected.1; 2]));
        }
    }

    #[test]
    fn malformed_answers_are_refused() {
        assert_eq!(Snapshot::read(&[0; 63]), None);
        assert_eq!(Snapshot::read(&answer(8, 1)), None);
        assert_eq!(Snapshot::read(&answer(size_of::<Gpu>() as u32, 1)), None);
        assert_eq!(Snapshot::read(&answer(u32::MAX, u32::MAX)), None);
        assert_eq!(Snapshot::read(&[0; 64]), Some(Snapshot::default()));
    }
}
