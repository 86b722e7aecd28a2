//! The VMs: what each was promised, and its processes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use control_api::{Activity, GpuRequest, Percent, VmOrigin};

use super::cgroup::VmCgroup;
use super::gpus::Gpus;
use super::placement::{Demand, PlacementError, Room, place};
use super::rate::{Bucket, Seldom};
use super::socket::VmSocket;
use super::spawn::Running;
use crate::config::{Policy, Vm};
use control_server::handle::Answer;
use memory_ledger::{GpuId, VmId};

/// Session starts of one VM: at once, and a second in the long run. Each costs the host the start
/// of a process, and of a driver.
const STARTS_AT_ONCE: u32 = 128;
const STARTS_PER_SECOND: u32 = 32;

/// One VM.
pub(super) struct VmState {
    pub(super) vm: Vm,
    pub(super) origin: VmOrigin,
    /// By the guest's ordinal; none, if the VM could not be placed and is not served.
    pub(super) gpus: Vec<GpuId>,
    pub(super) socket: Option<VmSocket>,
    pub(super) cgroup: Option<VmCgroup>,
    pub(super) device: Option<Running>,
    /// When the device process was started, of late.
    pub(super) starts: Vec<Instant>,
    /// Why there is no device process, and none is started any more.
    pub(super) failed: Option<String>,
    pub(super) device_restarts: u64,
    pub(super) sessions_total: u64,
    pub(super) kernel_timeouts: BTreeMap<GpuId, u64>,
    /// What the sessions did that are over.
    pub(super) past: Activity,
    pub(super) session_starts: Bucket,
    pub(super) refusals: Seldom,
    /// By GPU.
    pub(super) memory_refusals: BTreeMap<GpuId, Seldom>,
    /// It is being removed; who waits for that.
    pub(super) leaving: Option<Vec<Answer>>,
}

impl VmState {
    pub(super) fn new(
        vm: Vm,
        origin: VmOrigin,
        gpus: Vec<GpuId>,
        socket: Option<VmSocket>,
    ) -> Self {
        Self {
            vm,
            origin,
            gpus,
            socket,
            cgroup: None,
            device: None,
            starts: Vec::new(),
            failed: None,
            device_restarts: 0,
            sessions_total: 0,
            kernel_timeouts: BTreeMap::new(),
            past: Activity::default(),
            session_starts: Bucket::new(STARTS_AT_ONCE, STARTS_PER_SECOND, Instant::now()),
            refusals: Seldom::new(Duration::from_secs(10)),
            memory_refusals: BTreeMap::new(),
            leaving: None,
        }
    }

    /// What it is promised of each of its GPUs.
    pub(super) fn demand(&self) -> Demand {
        demand(&self.vm)
    }
}

pub(super) fn demand(vm: &Vm) -> Demand {
    Demand { memory: vm.spec.memory.max, min: vm.spec.compute.min }
}

/// All VMs, in the order in which they came.
#[derive(Default)]
pub(super) struct Vms {
    last: u64,
    all: BTreeMap<VmId, VmState>,
}

impl Vms {
    pub(super) fn add(&mut self, state: VmState) -> VmId {
        self.last += 1;
        let id = VmId(self.last);
        self.all.insert(id, state);
        id
    }

    pub(super) fn get(&self, id: VmId) -> Option<&VmState> {
        self.all.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: VmId) -> Option<&mut VmState> {
        self.all.get_mut(&id)
    }

    pub(super) fn remove(&mut self, id: VmId) -> Option<VmState> {
        self.all.remove(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (VmId, &VmState)> {
        self.all.iter().map(|(id, state)| (*id, state))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (VmId, &mut VmState)> {
        self.all.iter_mut().map(|(id, state)| (*id, state))
    }

    pub(super) fn ids(&self) -> Vec<VmId> {
        self.all.keys().copied().collect()
    }

    /// The VM of that name, also one that is being removed.
    pub(super) fn named(&self, name: &str) -> Option<VmId> {
        self.iter().find(|(_, state)| state.vm.name == name).map(|(id, _)| id)
    }

    pub(super) fn name(&self, id: VmId) -> &str {
        self.get(id).map_or("", |state| &state.vm.name)
    }

    /// What the GPUs have promised; without what `except` was promised.
    pub(super) fn rooms(
        &self,
        gpus: &Gpus,
        policy: &Policy,
        reserve: impl Fn(GpuId) -> u64,
        except: Option<VmId>,
    ) -> Vec<Room> {
        let room = |(id, gpu): (GpuId, &super::gpus::Gpu)| {
            let has = |state: &&VmState| state.gpus.contains(&id);
            let others = || {
                let all = self.iter().filter(|(vm, _)| Some(*vm) != except);
                all.map(|(_, state)| state).filter(has)
            };
            let bytes = others().fold(0u64, |sum, state| sum.saturating_add(state.demand().memory));
            Room {
                gpu: id,
                uuid: gpu.uuid.clone(),
                memory: policy.memory_overcommit.of(gpu.facts.memory.saturating_sub(reserve(id))),
                memory_promised: bytes,
                time: policy.compute_overcommit.of(Percent::ALL.basis_points().into()),
                time_promised: others().map(|s| u64::from(s.demand().min.basis_points())).sum(),
                weights: others().map(|s| u64::from(s.vm.spec.compute.weight)).sum(),
                faulty: gpu.last_fault.is_some(),
            }
        };
        gpus.iter().map(room).collect()
    }
}

/// Where a new VM goes. One whose memory.max is only a default takes what there is.
pub(super) fn place_vm(
    rooms: &[Room],
    vm: &mut Vm,
    memory_is_default: bool,
) -> Result<Vec<GpuId>, PlacementError> {
    let requests: &[GpuRequest] = &vm.spec.gpus;
    let placed = place(rooms, requests, &demand(vm));
    match placed {
        Err(error) if memory_is_default && error.field() == "memory.max" => {
            let free = |room: &Room| room.memory.saturating_sub(room.memory_promised);
            let most = rooms.iter().map(free).filter(|free| *free > 0).min();
            let Some(most) = most else { return Err(error) };
            vm.spec.memory.max = most.min(vm.spec.memory.max);
            place(rooms, &vm.spec.gpus, &demand(vm))
        }
        placed => placed,
    }
}
