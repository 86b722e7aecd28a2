//! The audit, which runs once a second. It compares the device memory that NVML reports for each
//! worker, on all of the host's GPUs, with the bytes that the ledger has booked for that worker. It
//! also compares the GPU time that NVML reports for a VM's workers with the time that the scheduler
//! has charged to the VM.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::RawFd;
use std::time::Duration;

use control_api::{EventKind, Sharing, format_size};

use crate::config::{OnExcess, Policy};
use crate::gpu::comparison::{Booked, Comparison, Finding, Leftover};
use crate::gpu::faults::Verdict;
use crate::gpu::gpus::Gpus;
use crate::gpu::leftovers::{Remaining, Step};
use crate::gpu::nvml::{self, Fault, INTERVAL, MemorySample, NvmlEvent, NvmlMonitor, TimeSample};
use crate::gpu::time_account::TimeAccount;
use crate::reporting::event::BrokerEvent;
use crate::sessions::table::Sessions;
use crate::sessions::worker::{Worker, Workers};
use crate::vm::vms::Vms;
use gpu_scheduler::VmKey;
use host_ipc::messages::WorkerId;
use host_ipc::printable::printable;
use memory_ledger::{GpuId, Ledger, VmId};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// An action that the audit asks the coordinator to carry out.
pub(crate) enum AuditEffect {
    /// Publish an event.
    Publish(BrokerEvent),
    /// Kill a worker that uses more memory than its account.
    KillWorker { worker: WorkerId, why: String },
    /// End a VM's device process and its sessions. The device process starts again.
    EndVm { vm: VmId, why: String },
    /// End a VM's device process and its sessions for good. The device process isn't started again.
    FailVm { vm: VmId, why: String },
    /// Kill all workers that can use a lost GPU.
    KillWorkersOfGpu { gpu: GpuId, why: String },
}

/// Receives NVML samples and compares them with the ledger. The audit is off if the host has no
/// NVML or if NVML doesn't list any of the broker's GPUs.
#[derive(Default)]
pub(crate) struct Audit {
    monitor: Option<NvmlMonitor>,
    /// The comparisons of all GPUs that NVML lists, by UUID.
    comparisons: HashMap<String, Comparison>,
    /// The GPU time of all VMs, by their keys in the scheduler.
    times: HashMap<(VmKey, GpuId), TimeAccount>,
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
        let is_used = |uuid: &String| gpus.by_uuid(uuid).is_some();
        let (used, others): (Vec<_>, Vec<_>) = audited(known).into_iter().partition(is_used);
        if used.is_empty() {
            return None;
        }
        NvmlMonitor::start(nvml, used, others, INTERVAL)
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

    /// Returns the workers' accounts on a GPU that the broker uses. A worker that wasn't given this
    /// GPU has an account only if NVML reports memory for it there.
    fn booked(
        gpu: GpuId,
        sample: &MemorySample,
        workers: &Workers,
        ledger: &Ledger,
        context_bytes: u64,
    ) -> Vec<Booked> {
        let account = |(id, worker): (WorkerId, &Worker)| {
            if !worker.gpus().contains(&gpu) {
                return not_own(id, worker, sample);
            }
            let idle = if worker.gpus().first() == Some(&gpu) { context_bytes } else { 0 };
            let account = ledger.recent_of(id, gpu);
            let (vm, bytes, alone) =
                account.map_or((None, idle, idle), |(vm, bytes, alone)| (Some(vm), bytes, alone));
            Some(Booked { worker: id, pid: worker.pid(), bytes, alone, vm, is_own: true })
        };
        workers.iter().filter_map(account).collect()
    }

    /// Handles an NVML event: compares a sample with the ledger, or records a GPU fault.
    pub(crate) fn handle(
        &mut self,
        event: &NvmlEvent,
        gpus: &mut Gpus,
        sessions: &mut Sessions,
        vms: &Vms,
        policy: &Policy,
    ) -> Vec<AuditEffect> {
        match event {
            NvmlEvent::Fault(fault) => handle_fault(fault, gpus),
            NvmlEvent::Time(uuid, sample) => match gpus.by_uuid(uuid) {
                Some(gpu) => self.handle_time(gpu, sample, sessions, vms, policy),
                None => Vec::new(),
            },
            NvmlEvent::Links(uuid, links) => {
                if let Some(gpu) = gpus.by_uuid(uuid) {
                    gpus.set_links(gpu, *links);
                }
                Vec::new()
            }
            NvmlEvent::Sensors(uuid, sensors) => {
                if let Some(gpu) = gpus.by_uuid(uuid) {
                    gpus.set_sensors(gpu, *sensors);
                }
                Vec::new()
            }
            NvmlEvent::NvLinks(uuid, links) => {
                if let Some(gpu) = gpus.by_uuid(uuid) {
                    gpus.set_nvlinks(gpu, links.clone());
                }
                Vec::new()
            }
            NvmlEvent::Sample(uuid, sample) => {
                let mut effects = self.handle_sample(uuid, sample, gpus, sessions, vms, policy);
                if let Some(gpu) = gpus.by_uuid(uuid) {
                    sessions.begin_interval(gpu);
                    let found = sessions.leftovers_mut().add_sample(gpu, sample, is_process);
                    for remaining in found {
                        gpus.count_excess(gpu);
                        effects.extend(left_effects(&remaining, vms, policy));
                    }
                }
                effects
            }
        }
    }

    /// Compares a GPU's sample with the ledger.
    fn handle_sample(
        &mut self,
        uuid: &str,
        sample: &MemorySample,
        gpus: &mut Gpus,
        sessions: &Sessions,
        vms: &Vms,
        policy: &Policy,
    ) -> Vec<AuditEffect> {
        let (workers, ledger, slack) = (sessions.workers(), sessions.ledger(), policy.memory_slack);
        let gpu = gpus.by_uuid(uuid);
        let is_left = |one: &Leftover| sample.process_bytes(one.pid).is_some();
        let left = gpu.into_iter().flat_map(|gpu| sessions.leftovers().on(gpu));
        let left: Vec<_> = left.filter(is_left).collect();
        let (booked, again) = match gpu {
            Some(gpu) => {
                for bytes in contexts(gpu, sample, workers) {
                    if gpus.set_context_bytes(gpu, bytes) {
                        tracing::info!(gpu = gpu.0, bytes, "measured the memory of a context");
                    }
                }
                let context = gpus.context_bytes(gpu);
                let booked = Self::booked(gpu, sample, workers, ledger, context);
                self.see(gpu, sample, &booked);
                (booked, ledger.counted_again(gpu))
            }
            // Until NVML has reported one of the broker's workers, the driver may be in another PID
            // namespace than the broker. NVML's process IDs could then belong to other processes.
            None if self.seen.is_empty() => return Vec::new(),
            None => {
                let account = |(id, worker)| not_own(id, worker, sample);
                (workers.iter().filter_map(account).collect(), 0)
            }
        };
        let comparison = self.comparisons.entry(uuid.to_owned()).or_default();
        let charged = |vm| gpu.map_or(0, |gpu| ledger.recent(vm, gpu));
        comparison.add_users(vms.iter().map(|(vm, _)| vm).filter(|vm| charged(*vm) > 0));
        let findings = comparison.compare(sample, &booked, &left, again, charged, slack);
        let report = Report { uuid, gpu, workers, vms, policy };
        let effects = findings.into_iter().flat_map(|finding| report.effects(finding, gpus));
        effects.collect()
    }

    /// Compares the time for which VMs have used a GPU with what was charged to them.
    fn handle_time(
        &mut self,
        gpu: GpuId,
        sample: &TimeSample,
        sessions: &Sessions,
        vms: &Vms,
        policy: &Policy,
    ) -> Vec<AuditEffect> {
        let mut charges = BTreeMap::new();
        let mut used: BTreeMap<VmKey, Vec<(Duration, WorkerId)>> = BTreeMap::new();
        let mut ended: BTreeMap<VmKey, Duration> = BTreeMap::new();
        for (vm, _) in vms.iter().filter(|(_, state)| state.gpus.contains(&gpu)) {
            let Some((key, charge)) = sessions.scheduler().charge(vm, gpu) else { continue };
            charges.insert(key, charge);
            let time_of =
                |(id, worker): (WorkerId, &Worker)| (sample.process_time(worker.pid()), id);
            used.entry(key).or_default().extend(sessions.workers().of(vm).map(time_of));
            let left = sessions.leftovers().on(gpu).filter(|one| one.vm == vm);
            let left: Duration = left.map(|one| sample.process_time(one.pid)).sum();
            *ended.entry(key).or_default() += left;
        }
        self.times.retain(|(key, on), _| *on != gpu || charges.contains_key(key));
        let mut effects = Vec::new();
        for (key, charge) in charges {
            let workers = used.remove(&key).unwrap_or_default();
            let live: Duration = workers.iter().map(|(time, _)| *time).sum();
            let sum = live + ended.remove(&key).unwrap_or_default();
            let account = self.times.entry((key, gpu)).or_default();
            // Blame the worker that has used the most GPU time in this sample.
            if let Some(excess) = account.add(sum, charge, sample.elapsed)
                && let Some((_, worker)) = workers.into_iter().max()
            {
                effects.extend(time_effects(gpu, excess, worker, sessions, vms, policy));
            }
        }
        effects
    }

    /// Remembers how many bytes each worker uses on a GPU.
    fn see(&mut self, gpu: GpuId, sample: &MemorySample, booked: &[Booked]) {
        self.seen.retain(|(_, on), _| *on != gpu);
        for account in booked {
            if let Some(bytes) = sample.process_bytes(account.pid) {
                self.seen.insert((account.worker, gpu), bytes);
            }
        }
    }
}

/// The context of a comparison, for the log lines and events about its findings.
struct Report<'a> {
    uuid: &'a str,
    /// The GPU, if the broker uses it.
    gpu: Option<GpuId>,
    workers: &'a Workers,
    vms: &'a Vms,
    policy: &'a Policy,
}

impl Report<'_> {
    /// Logs a finding. Returns the event to publish, and the workers or the VM to end, if the
    /// policy says so.
    fn effects(&self, finding: Finding, gpus: &mut Gpus) -> Vec<AuditEffect> {
        let Self { workers, vms, policy, .. } = *self;
        let index = self.gpu.map(|gpu| gpu.0);
        let uuid = printable(self.uuid);
        let mut others = Vec::new();
        let (mut owner, mut guilty_vm) = (None, None);
        let (worker, message) = match finding {
            Finding::Excess { worker, seen, booked } => (
                Some(worker),
                format!(
                    "the driver reports {}, the ledger {}: the difference exceeds memory.slack ({})",
                    format_size(seen),
                    format_size(booked),
                    format_size(policy.memory_slack)
                ),
            ),
            Finding::NotOwn { worker, seen } => (
                Some(worker),
                format!(
                    "the driver reports {} on {uuid}, which isn't one of the session's GPUs",
                    format_size(seen)
                ),
            ),
            Finding::VmExcess { vm, seen, charged, workers } => {
                (owner, others) = (Some(vm), workers);
                let message = format!(
                    "the driver reports {} for the VM's sessions, the ledger {}: the difference \
                     exceeds memory.slack ({})",
                    format_size(seen),
                    format_size(charged),
                    format_size(policy.memory_slack)
                );
                (None, message)
            }
            Finding::Unreported { bytes, vms: all, guilty } => {
                (owner, guilty_vm) = (guilty, guilty);
                let names: Vec<_> = all.iter().map(|vm| vms.name(*vm)).collect();
                let message = format!(
                    "{} of memory are in use that the driver reports for no process and the ledger \
                     doesn't explain; the VMs on the GPU are: {}",
                    format_size(bytes),
                    names.join(", ")
                );
                (None, message)
            }
            Finding::Unexplained { bytes } => (
                None,
                format!(
                    "{} of memory are in use that the ledger doesn't explain; the owner is unknown",
                    format_size(bytes)
                ),
            ),
            Finding::Settled { worker } => {
                tracing::info!(gpu = index, worker, "usage is back within the limit");
                return Vec::new();
            }
            Finding::VmSettled { vm } => {
                let vm = vms.name(vm);
                tracing::info!(gpu = index, vm, "the VM's usage is back within the limit");
                return Vec::new();
            }
            Finding::Explained => {
                tracing::info!(gpu = index, "the ledger accounts for all memory in use again");
                return Vec::new();
            }
        };
        if let Some(gpu) = self.gpu {
            gpus.count_excess(gpu);
        }
        let session = worker.and_then(|worker| workers.get(worker)?.session());
        let (vm, number) = session.map(|session| (session.vm, session.number())).unzip();
        let vm = vm.or(owner);
        let name = vm.map_or("", |vm| vms.name(vm));
        tracing::warn!(gpu = index, vm = name, session = number, "{message}");
        let event = BrokerEvent::new(EventKind::MemoryExcess, message.clone());
        let event = BrokerEvent { vm, session: number, gpu: self.gpu, ..event };
        let mut effects = vec![AuditEffect::Publish(event)];
        if policy.on_memory_excess == OnExcess::End && vm.is_some() {
            let kill = |worker| AuditEffect::KillWorker { worker, why: message.clone() };
            effects.extend(worker.into_iter().chain(others).map(kill));
            // The VM's device process may hold the descriptor that keeps the memory allocated, so
            // end the device process, too.
            let end = |vm| AuditEffect::EndVm { vm, why: message.clone() };
            effects.extend(guilty_vm.map(end));
        }
        effects
    }
}

/// Returns true if there is a process with this number. A thread with this number doesn't count,
/// because a worker could start a thread that gets the number of an ended process.
fn is_process(pid: u32) -> bool {
    let pid = pid.try_into().ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| pidfd_open(pid, PidfdFlags::empty()).is_ok())
}

/// Logs that the driver still reports workers that have ended. Returns the event to publish, and
/// whether to end or fail the VM.
fn left_effects(remaining: &Remaining, vms: &Vms, policy: &Policy) -> Vec<AuditEffect> {
    let Remaining { vm, ref name, gpu, pid, bytes, step, is_new } = *remaining;
    let state = vms.get(vm);
    // It isn't known how the driver reports the clients of an MPS server, so don't end a VM that
    // uses MPS.
    let is_mps = state.is_some_and(|state| state.vm.spec.sharing == Sharing::Mps);
    let ends = policy.on_memory_excess == OnExcess::End && !is_mps && state.is_some();
    let mut effects = Vec::new();
    if step == Step::End || is_new || ends {
        let holder = match (state.is_some(), step) {
            (true, Step::End) => "another process of the VM has its descriptors",
            // The VM's processes have ended, so they can't have the descriptors.
            _ => {
                "a program outside of vcudad has its descriptors, such as the VMM: stop that program"
            }
        };
        let message = format!(
            "the driver still reports worker {pid} of VM '{name}', which has ended, with {bytes} \
             bytes; {holder}"
        );
        let has_failed = state.is_some_and(|state| state.device.failure().is_some());
        if !has_failed {
            tracing::warn!(gpu = gpu.0, vm = name, "{message}");
            let event = BrokerEvent::of_gpu(EventKind::MemoryExcess, gpu, message.clone());
            effects.push(AuditEffect::Publish(BrokerEvent { vm: state.map(|_| vm), ..event }));
        }
        let end = match step {
            Step::End => AuditEffect::EndVm { vm, why: message },
            Step::Fail => AuditEffect::FailVm {
                vm,
                why: format!("{message}, and restart the VM with vcudactl vm restart"),
            },
        };
        effects.extend(ends.then_some(end));
    }
    effects
}

/// Logs that a VM has used more GPU time than was charged to it. Returns the event to publish, and
/// whether to kill `worker`.
fn time_effects(
    gpu: GpuId,
    excess: Duration,
    worker: WorkerId,
    sessions: &Sessions,
    vms: &Vms,
    policy: &Policy,
) -> Vec<AuditEffect> {
    let session = sessions.workers().get(worker).and_then(Worker::session);
    let Some((vm, number)) = session.map(|session| (session.vm, session.number())) else {
        return Vec::new();
    };
    let message = format!(
        "the driver reports {:.1} s more GPU time for the VM than was charged to it",
        excess.as_secs_f64()
    );
    tracing::warn!(gpu = gpu.0, vm = vms.name(vm), session = number, "{message}");
    let event = BrokerEvent::of_gpu(EventKind::TimeExcess, gpu, message.clone());
    let event = BrokerEvent { vm: Some(vm), session: Some(number), ..event };
    // MPS clients use the GPU at the same time, and it isn't known how NVML divides the time among
    // them, so don't kill a worker that uses MPS.
    let is_mps = vms.get(vm).is_some_and(|state| state.vm.spec.sharing == Sharing::Mps);
    let kill = policy.on_time_excess == OnExcess::End && !is_mps;
    let kill = kill.then_some(AuditEffect::KillWorker { worker, why: message });
    std::iter::once(AuditEffect::Publish(event)).chain(kill).collect()
}

/// Returns a worker's account on a GPU that wasn't given to it, if the worker uses memory there.
fn not_own(id: WorkerId, worker: &Worker, sample: &MemorySample) -> Option<Booked> {
    let pid = worker.pid();
    let uses = pid != 0 && sample.process_bytes(pid).is_some_and(|bytes| bytes > 0);
    let vm = worker.session().map(|session| session.vm);
    let none = Booked { worker: id, pid, bytes: 0, alone: 0, vm, is_own: false };
    uses.then_some(none)
}

/// Chooses the GPUs and MIG slices whose memory is sampled. `all` contains the UUIDs of all of
/// them, each GPU followed by its slices. A GPU that has slices is left out, because the memory
/// that its slices use is reported for the GPU, too.
fn audited(all: Vec<String>) -> Vec<String> {
    let is_slice = |uuid: Option<&String>| uuid.is_some_and(|uuid| uuid.starts_with("MIG-"));
    let has_slices = |index: usize| !is_slice(all.get(index)) && is_slice(all.get(index + 1));
    let chosen = (0..all.len()).filter(|index| !has_slices(*index));
    chosen.map(|index| all[index].clone()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_gpu_with_mig_slices_only_the_slices_are_sampled() {
        let all = ["GPU-a", "GPU-b", "MIG-c", "MIG-d", "GPU-e"].map(str::to_owned).to_vec();
        assert_eq!(audited(all), ["GPU-a", "MIG-c", "MIG-d", "GPU-e"]);
        assert_eq!(audited(vec![]), [] as [String; 0]);
    }
}
