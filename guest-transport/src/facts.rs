//! Decodes the device's reply to a query.

use crate::error::TransportError;
use crate::transport::Transport;
use protocol::plain::Plain;
use protocol::uapi::{Facts, Gpu, Process, QUERY_MAX};
use std::mem::offset_of;

/// The device's reply to a query: facts about the VM's GPUs at one point in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The CUDA version, as `cuDriverGetVersion` returns it.
    pub cuda_version: u32,
    /// The result of `cuModuleGetLoadingMode` on the host, or 0 if the device doesn't know it.
    pub module_loading: u32,
    pub driver: String,
    pub gpus: Vec<Gpu>,
    pub processes: Vec<Process>,
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

    /// Decodes a reply. Returns `None` if it is malformed.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let head = Facts::from_bytes(bytes)?;
        let rest = &bytes[size_of::<Facts>()..];
        let first_release = offset_of!(Gpu, known);
        let (gpus, rest) = list::<Gpu>(rest, head.gpus, head.gpu_bytes, first_release)?;
        let all = size_of::<Process>();
        let (processes, _) = list::<Process>(rest, head.processes, head.process_bytes, all)?;
        Some(Self {
            cuda_version: head.cuda_version,
            module_loading: head.module_loading,
            driver: text(&head.driver),
            gpus,
            processes,
        })
    }
}

/// Decodes `count` entries of `each` bytes, and also returns the bytes after them. Entries may be
/// longer than `T` if the device is newer than this library. If it's older, they may have only the
/// first `least` bytes, and the rest is 0.
fn list<T: Plain>(bytes: &[u8], count: u32, each: u32, least: usize) -> Option<(Vec<T>, &[u8])> {
    let each = each as usize;
    let len = each.checked_mul(count as usize)?;
    if (each < least && count > 0) || len > bytes.len() {
        return None;
    }
    let (entries, rest) = bytes.split_at(len);
    let whole = |entry: &[u8]| {
        let mut whole = entry.to_vec();
        whole.resize(each.max(size_of::<T>()), 0);
        T::from_bytes(&whole)
    };
    Some((entries.chunks_exact(each.max(1)).filter_map(whole).collect(), rest))
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
    fn attributes_that_an_older_device_does_not_report_are_unknown() {
        let older = offset_of!(Gpu, known);
        let gpu = Gpu { memory_total: 1, known: [1; 4], ..Gpu::zeroed() };
        let mut bytes = answer(older as u32, 1);
        bytes.extend_from_slice(&gpu.as_bytes()[..older]);
        let expected = Gpu { known: [0; 4], ..gpu };
        assert_eq!(Snapshot::read(&bytes).unwrap().gpus, [expected]);
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
