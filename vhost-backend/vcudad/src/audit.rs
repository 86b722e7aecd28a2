//! The ledger audit: once a second, for each GPU, the memory that workers hold by NVML against what
//! the ledger has booked for them.

use std::collections::HashMap;
use std::os::fd::RawFd;

use super::gpus::Gpus;
use super::witness::compare::{Booked, Comparison, Finding};
use super::witness::watch::{INTERVAL, Testimony, Watch};
use super::witness::{self, Reading};
use super::worker::{Worker, Workers};
use host_ipc::messages::WorkerId;
use memory_ledger::{GpuId, Ledger};

/// The readings of NVML and their comparison with the ledger. Off where the host has no NVML, or
/// NVML doesn't know the GPUs.
#[derive(Default)]
pub(crate) struct Audit {
    watch: Option<Watch>,
    comparisons: HashMap<GpuId, Comparison>,
    /// The bytes that each worker holds by the latest reading.
    seen: HashMap<(WorkerId, GpuId), u64>,
}

impl Audit {
    /// Starts the audit, if NVML knows one of the GPUs.
    pub(crate) fn start(gpus: &Gpus) -> Self {
        Self { watch: Self::watch(gpus), ..Self::default() }
    }

    fn watch(gpus: &Gpus) -> Option<Watch> {
        let witness = match witness::open() {
            Ok(witness) => witness,
            Err(error) => {
                // A host without NVIDIA GPUs isn't expected to have it.
                if !gpus.iter().all(|(_, gpu)| gpu.is_software()) {
                    tracing::info!("{error}; the ledger audit is off");
                }
                return None;
            }
        };
        let known = witness.uuids().unwrap_or_default();
        let is_known = |uuid: &&str| known.iter().any(|other| other.eq_ignore_ascii_case(uuid));
        let ours = gpus.iter().map(|(_, gpu)| gpu.uuid());
        let uuids: Vec<String> = ours.filter(is_known).map(str::to_owned).collect();
        if uuids.is_empty() {
            return None;
        }
        Watch::start(witness, uuids, INTERVAL)
            .inspect_err(|error| tracing::warn!("cannot start the ledger audit: {error}"))
            .ok()
    }

    /// Readable when there is something to take, if the audit is on.
    pub(crate) fn bell(&self) -> Option<RawFd> {
        self.watch.as_ref().map(Watch::bell)
    }

    /// The readings and faults since the last call.
    pub(crate) fn take(&self) -> Vec<Testimony> {
        self.watch.as_ref().map(Watch::take).unwrap_or_default()
    }

    /// The bytes that the selected workers hold on a GPU by the latest reading. `None` if NVML lists
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

    /// Compares a reading of a GPU with the ledger. `slack` is in bytes, for each worker.
    pub(crate) fn compare(
        &mut self,
        gpu: GpuId,
        reading: &Reading,
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
            if let Some(bytes) = reading.of(account.pid) {
                self.seen.insert((account.worker, gpu), bytes);
            }
        }
        self.comparisons.entry(gpu).or_default().compare(reading, &booked, slack)
    }
}

/// The size of a context on a GPU by this reading: a warm worker holds one on the first of its GPUs,
/// and nothing else. Where there are several, each one's.
pub(crate) fn contexts<'a>(
    gpu: GpuId,
    reading: &'a Reading,
    workers: &'a Workers,
) -> impl Iterator<Item = u64> + 'a {
    let warm = workers
        .iter()
        .filter(move |(_, worker)| worker.is_warm() && worker.gpus().first() == Some(&gpu));
    warm.filter_map(|(_, worker)| reading.of(worker.pid())).filter(|bytes| *bytes > 0)
}
