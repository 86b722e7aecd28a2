//! The ledger audit: once a second, it compares the device memory that NVML reports for each worker
//! with the bytes that the ledger has booked for that worker.

use std::collections::HashMap;
use std::os::fd::RawFd;

use control_api::EventKind;

use super::comparison::{Booked, Comparison, Finding};
use super::event::BrokerEvent;
use super::faults::Verdict;
use super::gpus::Gpus;
use super::nvml::{self, Fault, INTERVAL, MemorySample, NvmlEvent, NvmlMonitor};
use super::sessions::Sessions;
use super::vms::Vms;
use super::worker::{Worker, Workers};
use crate::config::{OnExcess, Policy};
use host_ipc::messages::WorkerId;
use host_ipc::printable::printable;
use memory_ledger::{GpuId, Ledger};

/// An action that the audit asks the coordinator to carry out.
pub(crate) enum AuditEffect {
    /// Publish an event.
    Publish(BrokerEvent),
    /// Kill a worker that uses more memory than its account.
    KillWorker { worker: WorkerId, why: String },
    /// Kill all workers that see a lost GPU.
    KillWorkersOfGpu { gpu: GpuId, why: String },
}

/// Receives NVML samples and compares them with the ledger. The audit is off if the host has no
/// NVML or if NVML doesn't list any of the broker's GPUs.
#[derive(Default)]
pub(crate) struct Audit {
    monitor: Option<NvmlMonitor>,
    comparisons: HashMap<GpuId, Comparison>,
    /// Bytes that each worker uses on each GPU, from the GPU's latest sample.
    seen: HashMap<(WorkerId, GpuId), u64>,
}

impl Audit {
    /// Starts the audit if NVML lists at least one of the GPUs.
    pub(crate) fn start(gpus: &Gpus) -> Self {
        Self { monitor: Self::start_monitor(gpus), ..Self::default() }
    }

    fn start_monitor(gpus: &Gpus) -> Option<NvmlMonitor> {
        let nvml = match nvml::open() {
            Ok(nvml) => nvml,
            Err(error) => {
                // A missing NVML is normal on hosts that use only softgpu, so log it only if
                // there's another GPU.
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

    /// Returns an eventfd that is readable while NVML events are queued, or `None` if the audit is
    /// off.
    pub(crate) fn bell(&self) -> Option<RawFd> {
        self.monitor.as_ref().map(NvmlMonitor::bell)
    }

    /// Takes the samples and faults that were queued since the last call.
    pub(crate) fn take(&self) -> Vec<NvmlEvent> {
        self.monitor.as_ref().map(NvmlMonitor::take).unwrap_or_default()
    }

    /// Returns the total bytes that the selected workers use on a GPU, from the latest sample.
    /// Returns `None` if NVML lists none of these workers.
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

    /// Compares a GPU's sample with the ledger. `slack` is the number of bytes per worker that
    /// isn't counted as an excess.
    fn compare(
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
        let again = ledger.counted_again(gpu);
        self.seen.retain(|(_, on), _| *on != gpu);
        for account in &booked {
            if let Some(bytes) = sample.process_bytes(account.pid) {
                self.seen.insert((account.worker, gpu), bytes);
            }
        }
        self.comparisons.entry(gpu).or_default().compare(sample, &booked, again, slack)
    }

    /// Handles an NVML event: compares a sample with the ledger, or records a GPU fault.
    pub(crate) fn handle(
        &mut self,
        event: &NvmlEvent,
        gpus: &mut Gpus,
        sessions: &Sessions,
        vms: &Vms,
        policy: &Policy,
    ) -> Vec<AuditEffect> {
        match event {
            NvmlEvent::Fault(fault) => handle_fault(fault, gpus),
            NvmlEvent::Links(uuid, links) => {
                if let Some(gpu) = gpus.by_uuid(uuid) {
                    gpus.set_links(gpu, *links);
                }
                Vec::new()
            }
            NvmlEvent::Sample(uuid, sample) => match gpus.by_uuid(uuid) {
                Some(gpu) => self.handle_sample(gpu, sample, gpus, sessions, vms, policy),
                None => Vec::new(),
            },
        }
    }

    fn handle_sample(
        &mut self,
        gpu: GpuId,
        sample: &MemorySample,
        gpus: &mut Gpus,
        sessions: &Sessions,
        vms: &Vms,
        policy: &Policy,
    ) -> Vec<AuditEffect> {
        let (workers, ledger) = (sessions.workers(), sessions.ledger());
        for bytes in contexts(gpu, sample, workers) {
            if gpus.set_context_bytes(gpu, bytes) {
                tracing::info!(gpu = gpu.0, bytes, "measured the memory of a context");
            }
        }
        let (context, slack) = (gpus.context_bytes(gpu), policy.memory_slack);
        let mut effects = Vec::new();
        for finding in self.compare(gpu, sample, workers, ledger, context, slack) {
            let (worker, message) = match finding {
                Finding::Excess { worker, seen, booked } => (
                    Some(worker),
                    format!(
                        "the driver reports {seen} bytes, the ledger {booked}: the difference \
                         exceeds memory.slack ({slack} bytes)"
                    ),
                ),
                Finding::Unexplained { bytes } => (
                    None,
                    format!(
                        "{bytes} bytes are in use that the ledger doesn't explain; the owner is \
                         unknown"
                    ),
                ),
                Finding::Settled { worker } => {
                    tracing::info!(gpu = gpu.0, worker, "usage is back within the limit");
                    continue;
                }
                Finding::Explained => {
                    tracing::info!(gpu = gpu.0, "the ledger accounts for all memory in use again");
                    continue;
                }
            };
            gpus.count_excess(gpu);
            let session = worker.and_then(|worker| workers.get(worker)?.session());
            let (vm, number) = session.map(|session| (session.vm, session.number())).unzip();
            let name = vm.map_or("", |vm| vms.name(vm));
            tracing::warn!(gpu = gpu.0, vm = name, session = number, "{message}");
            let event = BrokerEvent::of_gpu(EventKind::MemoryExcess, gpu, message.clone());
            let event = BrokerEvent { vm, session: number, ..event };
            effects.push(AuditEffect::Publish(event));
            if let Some(worker) = worker
                && policy.on_excess == OnExcess::End
                && vm.is_some()
            {
                effects.push(AuditEffect::KillWorker { worker, why: message });
            }
        }
        effects
    }
}

/// Returns the sizes of the contexts on a GPU, as seen in a sample. The only device memory that a
/// warm worker uses is a context on its first GPU, so this returns one size per warm worker whose
/// first GPU is `gpu`.
fn contexts<'a>(
    gpu: GpuId,
    sample: &'a MemorySample,
    workers: &'a Workers,
) -> impl Iterator<Item = u64> + 'a {
    let warm = workers
        .iter()
        .filter(move |(_, worker)| worker.is_warm() && worker.gpus().first() == Some(&gpu));
    warm.filter_map(|(_, worker)| sample.process_bytes(worker.pid())).filter(|bytes| *bytes > 0)
}

/// Records a GPU fault. After a fault that no program caused, no more VMs are placed on the GPU. If
/// the GPU is lost, its workers are killed, too. Sessions get the error from the driver.
fn handle_fault(fault: &Fault, gpus: &mut Gpus) -> Vec<AuditEffect> {
    let message = fault.kind.to_string();
    let (gpu, verdict) = gpus.record_fault(fault);
    let Some(gpu) = gpu else {
        if verdict == Verdict::Program {
            return Vec::new();
        }
        // NVML didn't identify the GPU, or the broker doesn't use that GPU.
        let name = printable(fault.uuid.as_deref().unwrap_or("a GPU"));
        tracing::warn!("{name}: {message}");
        let event = BrokerEvent::new(EventKind::GpuFault, format!("{name}: {message}"));
        return vec![AuditEffect::Publish(event)];
    };
    match verdict {
        Verdict::Program => {
            let Some(before) = gpus.report_program_fault(gpu) else { return Vec::new() };
            let mut message = format!("{message}, caused by a program");
            if before > 0 {
                message += &format!(" ({before} more since the last event)");
            }
            tracing::info!(gpu = gpu.0, "{message}");
            let event = BrokerEvent::of_gpu(EventKind::ProgramFault, gpu, message);
            vec![AuditEffect::Publish(event)]
        }
        Verdict::Known => Vec::new(),
        Verdict::Faulty | Verdict::Lost => {
            tracing::error!(
                gpu = gpu.0,
                "{message}; the GPU takes no new VMs until vcudad is restarted"
            );
            let event = BrokerEvent::of_gpu(EventKind::GpuFault, gpu, message.clone());
            let mut effects = vec![AuditEffect::Publish(event)];
            if verdict == Verdict::Lost {
                effects.push(AuditEffect::KillWorkersOfGpu { gpu, why: message });
            }
            effects
        }
    }
}
