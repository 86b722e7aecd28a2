//! What operators see: VMs, sessions, GPUs, and what is counted.

use std::sync::atomic::Ordering;

use control_api::{
    Activity, GpuInfo, GpuState, Percent, SchedulerInfo, SessionInfo, SessionMemory, Stats,
    VmGpuStats, VmInfo, VmState as State, VmStats, WorkerCounts,
};

use super::pool::{Phase, Worker};
use super::service::Service;
use super::vms::VmState;
use control_server::handle::now_ms;
use host_ipc::gate::WorkerWords;
use host_ipc::messages::Charge;
use memory_ledger::{GpuId, VmId};

/// What a worker says that it did.
pub(super) fn activity(words: &WorkerWords) -> Activity {
    let number = |word: &std::sync::atomic::AtomicU64| word.load(Ordering::Relaxed);
    Activity {
        calls: number(&words.calls),
        launches: number(&words.launches),
        graph_launches: number(&words.graph_launches),
        bytes_h2d: number(&words.bytes_h2d),
        bytes_d2h: number(&words.bytes_d2h),
        bytes_d2d: number(&words.bytes_d2d),
        ring_depth: number(&words.ring_depth),
    }
}

/// A sum; what workers say is not to be trusted, so it can't overflow.
pub(super) fn add(sum: &mut Activity, more: &Activity) {
    let parts = [
        (&mut sum.calls, more.calls),
        (&mut sum.launches, more.launches),
        (&mut sum.graph_launches, more.graph_launches),
        (&mut sum.bytes_h2d, more.bytes_h2d),
        (&mut sum.bytes_d2h, more.bytes_d2h),
        (&mut sum.bytes_d2d, more.bytes_d2d),
        (&mut sum.ring_depth, more.ring_depth),
    ];
    for (sum, more) in parts {
        *sum = sum.saturating_add(more);
    }
}

impl Service {
    pub(super) fn vm_infos(&self) -> Vec<VmInfo> {
        let mut infos: Vec<VmInfo> =
            self.vms.iter().filter_map(|(id, _)| self.vm_info(id)).collect();
        infos.sort_by(|a, b| a.name.cmp(&b.name));
        infos
    }

    pub(super) fn vm_info(&self, id: VmId) -> Option<VmInfo> {
        let state = self.vms.get(id)?;
        Some(VmInfo {
            name: state.vm.name.clone(),
            origin: state.origin,
            state: if state.failed.is_some() { State::Failed } else { State::Running },
            failure: state.failed.clone(),
            socket: state.vm.socket.clone(),
            device_pid: state.device.as_ref().map(|device| device.pid()),
            settings: state.vm.spec.clone(),
            stats: self.vm_stats(id, state),
        })
    }

    fn vm_stats(&self, id: VmId, state: &VmState) -> VmStats {
        let mut sum = state.past;
        for (_, worker) in self.workers.of(id) {
            add(&mut sum, &worker.activity());
        }
        VmStats {
            name: state.vm.name.clone(),
            sessions: self.workers.of_vm(id) as u32,
            sessions_total: state.sessions_total,
            device_restarts: state.device_restarts,
            activity: sum,
            gpus: state.gpus.iter().map(|gpu| self.vm_gpu_stats(id, state, *gpu)).collect(),
        }
    }

    fn vm_gpu_stats(&self, id: VmId, state: &VmState, gpu: GpuId) -> VmGpuStats {
        let account = self.ledger.account(id, gpu);
        let (max, used, peak, rejected) =
            account.map_or((0, 0, 0, 0), |a| (a.quota.max, a.used, a.peak, a.rejected));
        let kinds = account.map(|account| account.kinds).unwrap_or_default();
        let by_kind = Charge::ALL.iter().zip(kinds).filter(|(_, bytes)| *bytes > 0);
        let mut stats = VmGpuStats {
            gpu: gpu.0,
            uuid: self.gpus.get(gpu).map(|gpu| gpu.uuid.clone()).unwrap_or_default(),
            memory_max: max,
            memory_used: used,
            memory_peak: peak,
            memory_by_kind: by_kind.map(|(kind, bytes)| (kind.name().into(), bytes)).collect(),
            memory_rejected: rejected,
            memory_driver: self.driver_says(gpu, |worker| worker.is_of(id)),
            kernel_timeouts: state.kernel_timeouts.get(&gpu).copied().unwrap_or(0),
            share_promised: self.share_promised(id, gpu),
            ..VmGpuStats::default()
        };
        self.add_shares(id, gpu, &mut stats);
        stats
    }

    /// What the driver says that workers hold on a GPU; `None`: nothing of any of them.
    fn driver_says(&self, gpu: GpuId, of: impl Fn(&Worker) -> bool) -> Option<u64> {
        let audit = self.audit.as_ref()?;
        let workers = self.workers.iter().filter(|(_, worker)| of(worker));
        workers.filter_map(|(id, _)| audit.seen(id, gpu)).reduce(u64::saturating_add)
    }

    pub(super) fn session_infos(&self, of: Option<VmId>) -> Vec<SessionInfo> {
        let mut infos = Vec::new();
        for (vm, state) in self.vms.iter().filter(|(vm, _)| of.is_none_or(|of| of == *vm)) {
            for (id, worker) in self.workers.of(vm) {
                let Some(session) = &worker.session else { continue };
                let memory = self.ledger.held_by(id).into_iter();
                infos.push(SessionInfo {
                    vm: state.vm.name.clone(),
                    id: session.number(),
                    worker_pid: worker.running.pid(),
                    started_ms: worker.taken_ms,
                    memory: memory
                        .map(|(gpu, bytes)| SessionMemory { gpu: gpu.0, bytes })
                        .collect(),
                    activity: worker.activity(),
                });
            }
        }
        infos.sort_by(|a, b| (&a.vm, a.id).cmp(&(&b.vm, b.id)));
        infos
    }

    pub(super) fn gpu_infos(&self) -> Vec<GpuInfo> {
        let rooms = self.rooms(None);
        let infos = self.gpus.iter().zip(&rooms).map(|((id, gpu), room)| {
            let vms = || self.vms.iter().filter(|(_, state)| state.gpus.contains(&id));
            let used: u64 = vms()
                .filter_map(|(vm, _)| self.ledger.account(vm, id))
                .map(|account| account.used)
                .sum();
            // Warm workers are nobody's, and have a context on the first of their GPUs.
            let warm = |w: &Worker| w.session.is_none() && w.gpus.first() == Some(&id);
            let booked = used + self.workers.count(warm) as u64 * gpu.context_bytes;
            let ours = self.driver_says(id, |_| true);
            GpuInfo {
                index: id.0,
                uuid: gpu.uuid.clone(),
                name: gpu.facts.name.clone(),
                pci_bus_id: gpu.facts.pci_bus_id.clone(),
                state: match gpu.last_fault {
                    Some(_) => GpuState::Faulty,
                    None => GpuState::Healthy,
                },
                memory_total: gpu.facts.memory,
                memory_reserved: self.reserve(id),
                memory_promised: room.memory_promised,
                memory_used: used,
                memory_driver: ours,
                memory_difference: ours.map(|ours| ours as i64 - booked as i64),
                memory_excesses: gpu.excesses,
                compute_min: Percent::from_basis_points(room.time_promised as u32),
                compute_weight: room.weights,
                faults: gpu.faults,
                last_fault: gpu.last_fault.clone(),
                vms: vms().map(|(_, state)| state.vm.name.clone()).collect(),
            }
        });
        infos.collect()
    }

    pub(super) fn stats(&self) -> Stats {
        let mut vms: Vec<VmStats> =
            self.vms.iter().map(|(id, state)| self.vm_stats(id, state)).collect();
        vms.sort_by(|a, b| a.name.cmp(&b.name));
        let count = |is: fn(&Worker) -> bool| self.workers.count(is) as u32;
        let ending = |worker: &Worker| worker.phase == Phase::Ending;
        Stats {
            time_ms: now_ms(),
            started_ms: self.started_ms,
            vms,
            gpus: self.gpu_infos(),
            workers: WorkerCounts {
                warm: count(|w| w.session.is_none() && w.phase != Phase::Ending),
                assigned: count(|w| w.session.is_some() && w.phase != Phase::Ending),
                ending: count(ending),
                started_total: self.workers.started(),
                killed_total: self.killed,
            },
            scheduler: SchedulerInfo {
                on: self.policy.scheduler,
                restarts: self.compute.restarts(),
            },
        }
    }
}
