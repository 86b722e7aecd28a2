//! The ledger audit: once a second, for each GPU, it compares the memory that NVML reports for the
//! workers with the bytes that the ledger has booked for them.

use std::collections::HashMap;
use std::os::fd::RawFd;

use super::comparison::{Booked, Comparison, Finding};
use super::gpus::Gpus;
use super::nvml::{self, INTERVAL, MemorySample, NvmlEvent, NvmlMonitor};
use super::worker::{Worker, Workers};
use host_ipc::messages::WorkerId;
use memory_ledger::{GpuId, Ledger};

/// NVML's samples and their comparison with the ledger. The audit is off if the host has no NVML or
/// NVML doesn't know the GPUs.
#[derive(Default)]
pub(crate) struct Audit {
    monitor: Option<NvmlMonitor>,
    comparisons: HashMap<GpuId, Comparison>,
    /// The bytes that each worker uses on a GPU, from the latest sample.
    seen: HashMap<(WorkerId, GpuId), u64>,
}

impl Audit {
    /// Starts the audit, if NVML knows one of the GPUs.
    pub(crate) fn start(gpus: &Gpus) -> Self {
        Self { monitor: Self::start_monitor(gpus), ..Self::default() }
    }

    fn start_monitor(gpus: &Gpus) -> Option<NvmlMonitor> {
        let nvml = match nvml::open() {
            Ok(nvml) => nvml,
            Err(error) => {
                // Hosts that use only softgpu usually have no NVML.
                if !gpus.iter().all(|(_, gpu)| gpu.is_software()) {
                    tracing::info!("{error}; the ledger audit is off");
                }
                return None;
            }
        };
        let known = nvml.uuids().unwrap_or_default();
        let is_known = |uuid: &&str| known.iter().any(|other| other.eq_ignore_ascii_case(uuid));
        let ours = gpus.iter().map(|(_, gpu)| gpu.uuid());
        let uuids: Vec<String> = ours.filter(is_known).map(str::to_owned).collect();
        if uuids.is_empty() {
            return None;
        }
        NvmlMonitor::start(nvml, uuids, INTERVAL)
            .inspect_err(|error| tracing::warn!("cannot start the ledger audit: {error}"))
            .ok()
    }

    /// An eventfd that is readable while there are NVML events to take. `None` if the audit is off.
    pub(crate) fn bell(&self) -> Option<RawFd> {
        self.monitor.as_ref().map(NvmlMonitor::bell)
    }

    /// Takes the samples and faults since the last call.
    pub(crate) fn take(&self) -> Vec<NvmlEvent> {
        self.monitor.as_ref().map(NvmlMonitor::take).unwrap_or_default()
    }

    /// The bytes that the selected workers use on a GPU, from the latest sample. `None` if NVML lists
    /// none of them.
    pub(crate) fn held(
        &self,
        workers: &Workers,
        gpu: GpuId,
        is_selected: impl Fn(&Worker) -> bool,
    ) -> Option<u64> {
        let selected = workers.iter().filter(|(_, worker)| is_selected(worker));
        let held = selected.filter_map(|(id, _)| self.seen.get(&(id, gpu)).copied());
        held.reduce(u64::saturating_add)
    }

    /// Compares a sample of a GPU with the ledger. `slack` is in bytes, for each worker.
    pub(crate) fn compare(
        &mut self,
        gpu: GpuId,
        sample: &MemorySample,
        workers: &Workers,
        ledger: &Ledger,
        context_bytes: u64,
        slack: u64,
    ) -> Vec<Finding> {
        let with_gpu = workers.iter().filter(|(_, worker)| worker.gpus().contains(&gpu));
        let booked: Vec<Booked> = with_gpu
            .map(|(id, worker)| {
                let held = ledger.held_by(id).into_iter().find(|(on, _)| *on == gpu);
                let idle = if worker.gpus().first() == Some(&gpu) { context_bytes } else { 0 };
                let bytes = held.map_or(idle, |(_, bytes)| bytes);
                Booked { worker: id, pid: worker.pid(), bytes }
            })
            .collect();
        self.seen.retain(|(_, on), _| *on != gpu);
        for account in &booked {
            if let Some(bytes) = sample.process_bytes(account.pid) {
                self.seen.insert((account.worker, gpu), bytes);
            }
        }
        self.comparisons.entry(gpu).or_default().compare(sample, &booked, slack)
    }
}

/// The sizes of contexts on a GPU, from a sample. A warm worker's only memory is a context on its
/// first GPU. Returns one size per such worker.
pub(crate) fn contexts<'a>(
    gpu: GpuId,
    sample: &'a MemorySample,
    workers: &'a Workers,
) -> impl Iterator<Item = u64> + 'a {
    let warm = workers
        .iter()
        .filter(move |(_, worker)| worker.is_warm() && worker.gpus().first() == Some(&gpu));
    warm.filter_map(|(_, worker)| sample.process_bytes(worker.pid())).filter(|bytes| *bytes > 0)
}
