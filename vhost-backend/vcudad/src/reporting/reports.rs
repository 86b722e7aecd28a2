//! Reports for operators on VMs, sessions, GPUs, and statistics.

use std::collections::BTreeMap;

use control_api::{
    ConfigInfo, GpuInfo, Percent, SchedulerInfo, SessionInfo, SessionMemory, Stats, VmGpuStats,
    VmInfo, VmOrigin, VmState as State, VmStats, Wait, WaitReason, WorkerCounts,
};

use crate::config::{Policy, Vm};
use crate::gpu::audit::Audit;
use crate::gpu::gpus::Gpus;
use crate::gpu::leftovers::Leftovers;
use crate::gpu::scheduler::{PromisedShares, Scheduler};
use crate::reporting::activity::add;
use crate::sessions::worker::{Worker, Workers};
use crate::settings::roster::Roster;
use crate::usage::collector::Usage;
use crate::vm::placement::Capacity;
use crate::vm::vms::{VmState, Vms};
use control_server::handle::now_ms;
use host_ipc::messages::Charge;
use memory_ledger::{Account, GpuId, Ledger, VmId};

/// The promised shares that have been calculated so far, by GPU.
type Promised = BTreeMap<GpuId, PromisedShares>;

/// A read-only view of the broker's state, from which the reports are generated.
pub(crate) struct Reports<'a> {
    /// Why workers have no jail, if they have none.
    pub(crate) no_jail: Option<&'a str>,
    pub(crate) vms: &'a Vms,
    pub(crate) gpus: &'a Gpus,
    pub(crate) workers: &'a Workers,
    pub(crate) charged: &'a Ledger,
    /// The ledger without the workers' credit, which no program uses.
    pub(crate) used: Ledger,
    pub(crate) leftovers: &'a Leftovers,
    pub(crate) scheduler: &'a Scheduler,
    pub(crate) audit: &'a Audit,
    pub(crate) policy: &'a Policy,
    pub(crate) roster: &'a Roster,
    pub(crate) usage: &'a Usage,
    pub(crate) file: Option<&'a ConfigInfo>,
    /// When the broker started, in milliseconds since 1970.
    pub(crate) started_ms: u64,
}

impl Reports<'_> {
    /// Returns the memory on a GPU that isn't available for promises to VMs: the memory for warm
    /// workers, and memory that ended workers still hold.
    fn reserved(&self, gpu: GpuId) -> u64 {
        let warm = self.workers.warm_bytes(self.gpus.context_bytes(gpu));
        warm.saturating_add(self.leftovers.held(gpu))
    }

    /// Returns each GPU's capacity and promises. Promises to the VM `except` aren't counted.
    pub(crate) fn capacities(&self, except: Option<VmId>) -> Vec<Capacity> {
        let reserve = |gpu| self.reserved(gpu);
        self.vms.capacities(self.gpus, self.policy, reserve, except)
    }

    pub(crate) fn vm_infos(&self) -> Vec<VmInfo> {
        let mut infos: Vec<VmInfo> =
            self.vms.iter().filter_map(|(id, _)| self.vm_info(id)).collect();
        let names = self.roster.file().iter().map(|spec| &spec.name);
        infos.extend(names.filter_map(|name| self.not_added(name)));
        infos.sort_by(|a, b| a.name.cmp(&b.name));
        infos
    }

    /// Returns a VM that is in the configuration file, but isn't served.
    pub(crate) fn not_added(&self, name: &str) -> Option<VmInfo> {
        let reason = self.roster.why_not_added(name)?;
        let spec = self.roster.in_file(name).filter(|_| self.vms.named(name).is_none())?;
        let socket = Vm::new(spec.clone()).map(|vm| vm.socket).unwrap_or_default();
        Some(VmInfo {
            name: name.to_owned(),
            origin: VmOrigin::File,
            state: State::NotAdded,
            paused_by: Vec::new(),
            failure: Some(reason),
            differs_from_file: BTreeMap::new(),
            socket,
            device_pid: None,
            settings: spec.clone(),
            stats: VmStats { name: name.to_owned(), ..VmStats::default() },
        })
    }

    pub(crate) fn vm_info(&self, id: VmId) -> Option<VmInfo> {
        let state = self.vms.get(id)?;
        Some(VmInfo {
            name: state.vm.name.clone(),
            origin: state.origin,
            state: match state.device.failure() {
                Some(_) => State::Failed,
                None if state.pause.is_paused() => State::Paused,
                None => State::Running,
            },
            paused_by: state.pause.paused_by(),
            failure: state.device.failure().map(str::to_owned),
            differs_from_file: self.roster.differs_from_file(&state.vm.spec, state.origin),
            socket: state.vm.socket.clone(),
            device_pid: state.device.pid(),
            settings: state.vm.spec.clone(),
            stats: self.vm_stats(id, state, &mut BTreeMap::new()),
        })
    }

    fn vm_stats(&self, id: VmId, state: &VmState, promised: &mut Promised) -> VmStats {
        let mut sum = state.past_activity();
        for (_, worker) in self.workers.of(id) {
            add(&mut sum, &worker.activity());
        }
        VmStats {
            name: state.vm.name.clone(),
            paused: state.pause.is_paused(),
            swap: state.swap.state(),
            sessions: self.workers.count_of_vm(id) as u32,
            sessions_total: state.sessions_total(),
            sessions_max: state.vm.limits.max_sessions,
            connections_max: state.vm.limits.max_connections,
            compute: state.vm.spec.compute.clone(),
            connections: state.front_ends.count(),
            refused: state.refused(),
            failed: state.device.failure().is_some(),
            device_restarts: state.device.restarts(),
            refused_calls: state.refused_calls(),
            activity: sum,
            gpus: state
                .gpus
                .iter()
                .map(|gpu| self.vm_gpu_stats(id, state, *gpu, promised))
                .collect(),
        }
    }

    fn vm_gpu_stats(
        &self,
        id: VmId,
        state: &VmState,
        gpu: GpuId,
        promised: &mut Promised,
    ) -> VmGpuStats {
        let account = self.used.account(id, gpu);
        let charged = self.charged.account(id, gpu);
        let (charged, resident) =
            charged.map_or((0, 0), |account| (account.used, account.resident()));
        let (max, used, peak, rejected) =
            account.map_or((0, 0, 0, 0), |a| (a.quota.max, a.used, a.peak, a.rejected));
        let kinds = account.map(|account| account.kinds).unwrap_or_default();
        let by_kind = Charge::ALL.iter().zip(kinds).filter(|(_, bytes)| *bytes > 0);
        let uuid = self.gpus.get(gpu).map(|gpu| gpu.uuid().to_owned()).unwrap_or_default();
        let total = self.usage.record().total(&state.vm.name, &uuid);
        let mut stats = VmGpuStats {
            gpu: gpu.0,
            uuid,
            gpu_ns: total.gpu_ns,
            copied_ns: total.copied_ns,
            throttled_ns: total.throttled_ns,
            windows: total.windows,
            handovers: total.handovers,
            handover_ns: total.handover_ns,
            evictions: total.evictions,
            memory_byte_seconds: total.memory_byte_seconds,
            memory_max: max,
            memory_used: used,
            memory_charged: charged,
            memory_resident: resident,
            memory_peak: peak,
            memory_by_kind: by_kind.map(|(kind, bytes)| (kind.name().into(), bytes)).collect(),
            memory_rejected: rejected,
            memory_driver: self.audit.held(self.workers, gpu, |worker| worker.is_of(id)),
            kernel_timeouts: state.kernel_timeouts(gpu),
            share_promised: promised
                .entry(gpu)
                .or_insert_with(|| self.scheduler.promised_shares(self.vms, gpu))
                .of(id),
            ..VmGpuStats::default()
        };
        self.scheduler.fill_stats(id, gpu, self.vms, &mut stats);
        if state.swap.is_off() {
            stats.waits_for = Some(Wait { reason: WaitReason::SwappedOut, vm: None });
        }
        if state.pause.is_paused() {
            // Under MPS, the scheduler doesn't know which single VMs are paused.
            stats.waits_for = Some(Wait { reason: WaitReason::Paused, vm: None });
        }
        stats
    }

    pub(crate) fn session_infos(&self, of: Option<VmId>) -> Vec<SessionInfo> {
        let mut infos = Vec::new();
        for (vm, state) in self.vms.iter().filter(|(vm, _)| of.is_none_or(|of| of == *vm)) {
            for (id, worker) in self.workers.of(vm) {
                let Some(session) = worker.session() else { continue };
                let memory = self.used.held_by(id).into_iter().zip(self.used.away(id));
                infos.push(SessionInfo {
                    vm: state.vm.name.clone(),
                    id: session.number(),
                    worker_pid: worker.pid(),
                    started_ms: worker.assigned_ms(),
                    memory: memory
                        .map(|((gpu, bytes), (_, away))| SessionMemory {
                            gpu: gpu.0,
                            bytes,
                            resident: bytes - away,
                        })
                        .collect(),
                    guest_pid: session.pid,
                    program: session.program.clone(),
                    gpu_ns: worker.gpu_ns(),
                    activity: worker.activity(),
                });
            }
        }
        infos.sort_by(|a, b| (&a.vm, a.id).cmp(&(&b.vm, b.id)));
        infos
    }

    pub(crate) fn gpu_infos(&self) -> Vec<GpuInfo> {
        let capacities = self.capacities(None);
        let infos = self.gpus.iter().zip(&capacities).map(|((id, gpu), capacity)| {
            let vms = || self.vms.iter().filter(|(_, state)| state.gpus.contains(&id));
            let sum = |ledger: &Ledger, bytes: fn(&Account) -> u64| -> u64 {
                let accounts = vms().filter_map(|(vm, _)| ledger.account(vm, id));
                accounts.map(|account| bytes(&account)).sum()
            };
            let charged = sum(self.charged, |account| account.used);
            let resident = sum(self.charged, Account::resident);
            // A worker without a session has one context, on its first GPU, which is charged to no
            // VM.
            let warm = |w: &Worker| w.session().is_none() && w.gpus().first() == Some(&id);
            let booked = resident + self.workers.count(warm) as u64 * self.gpus.context_bytes(id);
            let ours = self.audit.held(self.workers, id, |_| true);
            GpuInfo {
                index: id.0,
                uuid: gpu.uuid().to_owned(),
                name: gpu.facts().name.clone(),
                pci_bus_id: gpu.facts().pci_bus_id.clone(),
                state: gpu.state(),
                memory_total: gpu.facts().memory,
                memory_reserved: self.reserved(id),
                memory_promised: capacity.memory_promised,
                memory_used: sum(&self.used, |account| account.used),
                memory_charged: charged,
                memory_resident: resident,
                memory_driver: ours,
                memory_difference: ours.map(|ours| ours as i64 - booked as i64),
                memory_excesses: gpu.excesses(),
                compute_min: Percent::from_basis_points(capacity.time_promised as u32),
                compute_weight: capacity.weights,
                faults: gpu.faults(),
                last_fault: gpu.last_fault().map(str::to_owned),
                eviction: gpu.no_eviction().is_none(),
                eviction_unavailable: gpu.no_eviction().map(str::to_owned),
                sensors: gpu.sensors(),
                jail: self.no_jail.is_none(),
                jail_unavailable: self.no_jail.map(str::to_owned),
                vms: vms().map(|(_, state)| state.vm.name.clone()).collect(),
            }
        });
        infos.collect()
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut promised = Promised::new();
        let all = self.vms.iter();
        let mut vms: Vec<VmStats> =
            all.map(|(id, state)| self.vm_stats(id, state, &mut promised)).collect();
        vms.sort_by(|a, b| a.name.cmp(&b.name));
        let count = |is: fn(&Worker) -> bool| self.workers.count(is) as u32;
        Stats {
            time_ms: now_ms(),
            started_ms: self.started_ms,
            vms,
            gpus: self.gpu_infos(),
            workers: WorkerCounts {
                warm: count(|w| w.session().is_none() && !w.is_ending()),
                assigned: count(|w| w.session().is_some() && !w.is_ending()),
                ending: count(Worker::is_ending),
                started_total: self.workers.started(),
                killed_total: self.workers.killed(),
            },
            scheduler: SchedulerInfo {
                on: self.scheduler.is_enabled(),
                restarts: self.scheduler.restarts(),
            },
            config: self.file.cloned(),
            usage: self.usage.saving(),
        }
    }
}
