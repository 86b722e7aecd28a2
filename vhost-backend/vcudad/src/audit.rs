//! What NVML says that the workers hold, against the ledger: once a second, for each GPU.

use std::collections::HashMap;

use control_api::EventKind;
use event_manager::EventOps;

use super::gpus::Gpus;
use super::pool::Phase;
use super::service::Service;
use super::session::Session;
use super::watches::Source;
use super::witness::compare::{Booked, Comparison, Finding};
use super::witness::watch::{INTERVAL, Testimony, Watch};
use super::witness::{self, Reading};
use crate::config::OnExcess;
use host_ipc::messages::WorkerId;
use memory_ledger::GpuId;

/// The comparison, where the host has NVML and it knows the GPUs.
pub(super) struct Audit {
    watch: Watch,
    comparisons: HashMap<GpuId, Comparison>,
    /// What the driver said last that each worker holds, in bytes.
    seen: HashMap<(WorkerId, GpuId), u64>,
}

impl Audit {
    /// Begins, if there is anything to compare with.
    pub(super) fn start(gpus: &Gpus) -> Option<Self> {
        let witness = match witness::open() {
            Ok(witness) => witness,
            Err(error) => {
                // Where there is no NVIDIA GPU, nobody expects it.
                if !gpus.iter().all(|(_, gpu)| gpu.is_software()) {
                    tracing::info!("{error}; the ledger audit is off");
                }
                return None;
            }
        };
        let known = witness.uuids().unwrap_or_default();
        let is_known = |uuid: &&str| known.iter().any(|other| other.eq_ignore_ascii_case(uuid));
        let ours = gpus.iter().map(|(_, gpu)| gpu.uuid.as_str());
        let uuids: Vec<String> = ours.filter(is_known).map(str::to_owned).collect();
        if uuids.is_empty() {
            return None;
        }
        let watch = Watch::start(witness, uuids, INTERVAL)
            .inspect_err(|error| tracing::warn!("cannot start the ledger audit: {error}"))
            .ok()?;
        let (comparisons, seen) = Default::default();
        Some(Self { watch, comparisons, seen })
    }

    /// Readable when there is something to hear.
    pub(super) fn bell(&self) -> std::os::fd::RawFd {
        self.watch.bell()
    }

    /// What the driver said last that a worker holds.
    pub(super) fn seen(&self, worker: WorkerId, gpu: GpuId) -> Option<u64> {
        self.seen.get(&(worker, gpu)).copied()
    }
}

impl Service {
    pub(super) fn watch_audit(&mut self, ops: &mut EventOps) {
        if let Some(bell) = self.audit.as_ref().map(Audit::bell) {
            self.watches.add(ops, bell, Source::Nvml);
        }
    }

    pub(super) fn witness_spoke(&mut self) {
        let Some(audit) = &self.audit else { return };
        for testimony in audit.watch.take() {
            match testimony {
                Testimony::Fault(fault) => self.gpu_fault(&fault),
                Testimony::Reading(uuid, reading) => {
                    if let Some(gpu) = self.gpus.by_uuid(&uuid) {
                        self.compare(gpu, &reading);
                    }
                }
            }
        }
    }

    fn compare(&mut self, gpu: GpuId, reading: &Reading) {
        // A warm worker holds a context on the first of its GPUs, and nothing else.
        let warm = |phase, gpus: &[GpuId]| phase == Phase::Warm && gpus.first() == Some(&gpu);
        for (_, worker) in self.workers.iter() {
            if warm(worker.phase, &worker.gpus)
                && let Some(bytes) = reading.of(worker.running.pid()).filter(|bytes| *bytes > 0)
                && let Some(found) = self.gpus.get_mut(gpu)
                && found.context_bytes != bytes
            {
                tracing::info!(gpu = gpu.0, bytes, "measured the memory of a context");
                found.context_bytes = bytes;
            }
        }
        let context = self.gpus.get(gpu).map_or(0, |gpu| gpu.context_bytes);
        let with_gpu = self.workers.iter().filter(|(_, worker)| worker.gpus.contains(&gpu));
        let booked: Vec<Booked> = with_gpu
            .map(|(id, worker)| {
                let held = self.ledger.held_by(id).into_iter().find(|(on, _)| *on == gpu);
                let idle = if worker.gpus.first() == Some(&gpu) { context } else { 0 };
                let bytes = held.map_or(idle, |(_, bytes)| bytes);
                Booked { worker: id, pid: worker.running.pid(), bytes }
            })
            .collect();
        let Some(audit) = &mut self.audit else { return };
        audit.seen.retain(|(_, on), _| *on != gpu);
        for account in &booked {
            if let Some(bytes) = reading.of(account.pid) {
                audit.seen.insert((account.worker, gpu), bytes);
            }
        }
        let slack = self.policy.memory_slack;
        let findings = audit.comparisons.entry(gpu).or_default().compare(reading, &booked, slack);
        for finding in findings {
            self.found(gpu, finding);
        }
    }

    fn found(&mut self, gpu: GpuId, finding: Finding) {
        let slack = self.policy.memory_slack;
        let (worker, says) = match finding {
            Finding::Excess { worker, seen, booked } => (
                Some(worker),
                format!(
                    "the driver reports {seen} bytes, the ledger {booked}: the difference exceeds \
                     memory.slack ({slack} bytes)"
                ),
            ),
            Finding::Unexplained { bytes } => (
                None,
                format!(
                    "{bytes} bytes are in use that the ledger doesn't explain; the owner is unknown"
                ),
            ),
            Finding::Settled { worker } => {
                return tracing::info!(gpu = gpu.0, worker, "usage is back within the limit");
            }
            Finding::Explained => {
                return tracing::info!(gpu = gpu.0, "the ledger explains all memory in use again");
            }
        };
        if let Some(found) = self.gpus.get_mut(gpu) {
            found.excesses += 1;
        }
        let session = worker.and_then(|worker| self.workers.get_mut(worker)?.session.as_ref());
        let (vm, number) = (session.map(|session| session.vm), session.map(Session::number));
        let name = vm.map_or("", |vm| self.vms.name(vm));
        tracing::warn!(gpu = gpu.0, vm = name, session = number, "{says}");
        self.publish_gpu(EventKind::MemoryExcess, vm, number, Some(gpu), says.clone());
        if let Some(worker) = worker
            && self.policy.on_excess == OnExcess::End
            && vm.is_some()
        {
            self.kill_worker(worker, &says);
        }
    }
}
