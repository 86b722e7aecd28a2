//! The VMs, with their settings, GPUs, device processes, and statistics.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use control_api::{
    Activity, ApiError, Class, ErrorCode, GpuRequest, Percent, RefusedCalls, RefusedCounts,
    Sharing, VmOrigin, VmPatch, VmSpec,
};
use serde::{Deserialize, Serialize};

use crate::config::{Policy, Vm};
use crate::gpu::gpus::{Gpu, Gpus};
use crate::processes::launcher::Launcher;
use crate::processes::spawner::Processes;
use crate::reporting::activity::add;
use crate::reporting::event::BrokerEvent;
use crate::reporting::rate::{RateLimited, TokenBucket};
use crate::sessions::refusals::Refusals;
use crate::vm::cgroup::Cgroups;
use crate::vm::device::{Device, DeviceRecord};
use crate::vm::front_ends::FrontEnds;
use crate::vm::pause::Pause;
use crate::vm::placement::{Capacity, Demand, PlacementError, place};
use crate::vm::resources::Resources;
use crate::vm::socket::VmSocket;
use crate::vm::swap::Swap;
use crate::vm::touched::Touched;
use control_server::handle::Answer;
use host_ipc::messages::{Refusal, VmLimits};
use host_ipc::spawner::ProcessId;
use memory_ledger::{GpuId, VmId};

/// The rate limit on a VM's session starts: this many at once, and `STARTS_PER_SECOND` in the long
/// run. Each start makes the host start a process and initialize a driver.
const STARTS_AT_ONCE: u32 = 128;
const STARTS_PER_SECOND: u32 = 32;
/// Minimum time between two events about refused allocations, per VM and GPU.
const MEMORY_REFUSAL_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum number of different sets of GPUs for which warm workers are started.
const MAX_WARM_SETS: usize = 4;

/// A VM and its state.
pub(crate) struct VmState {
    pub(crate) vm: Vm,
    pub(crate) origin: VmOrigin,
    /// The VM's GPUs, by the guest's device ordinals. Empty if the VM couldn't be placed, so that
    /// it isn't served.
    pub(crate) gpus: Vec<GpuId>,
    pub(crate) device: Device,
    pub(crate) pause: Pause,
    pub(crate) swap: Swap,
    pub(crate) front_ends: FrontEnds,
    /// `None` if the VM can't be served.
    resources: Option<Resources>,
    sessions_total: u64,
    refused_calls: RefusedCalls,
    kernel_timeouts: BTreeMap<GpuId, u64>,
    /// Sums of the counters of the VM's past sessions.
    past: Activity,
    session_starts: TokenBucket,
    refusals: Refusals,
    memory_refusals: BTreeMap<GpuId, RateLimited>,
    /// If the VM is being removed, the pending replies to the requests for its removal. They are
    /// sent once the VM has been removed.
    removal: Option<Vec<Answer>>,
}

/// The record of a VM, for a broker that replaces this one.
#[derive(Serialize, Deserialize)]
pub(crate) struct VmRecord {
    id: VmId,
    spec: VmSpec,
    socket: PathBuf,
    uid: Option<u32>,
    origin: VmOrigin,
    gpus: Vec<GpuId>,
    device: DeviceRecord,
    pause: Pause,
    #[serde(default)]
    swap: Swap,
    #[serde(default)]
    front_ends: Option<u32>,
    has_resources: bool,
    is_leaving: bool,
    sessions_total: u64,
    #[serde(default)]
    refused: RefusedCounts,
    refused_calls: RefusedCalls,
    kernel_timeouts: Vec<(GpuId, u64)>,
    past: Activity,
}

impl VmRecord {
    fn restore(
        self,
        launcher: &Launcher,
        processes: &mut Processes,
        cgroups: &Cgroups,
    ) -> io::Result<(VmId, VmState)> {
        let vm = Vm { socket: self.socket, uid: self.uid, ..Vm::unchecked(self.spec) };
        let spawner = launcher.spawner();
        let device = Device::restore(self.device, launcher, processes, &vm.name)?;
        let resources =
            self.has_resources.then(|| Resources::restore(spawner, cgroups, &vm, self.gpus.len()));
        let state = VmState {
            pause: self.pause,
            swap: self.swap,
            front_ends: FrontEnds::new(self.front_ends),
            removal: self.is_leaving.then(Vec::new),
            sessions_total: self.sessions_total,
            refusals: Refusals::new(self.refused),
            refused_calls: self.refused_calls,
            kernel_timeouts: self.kernel_timeouts.into_iter().collect(),
            past: self.past,
            ..VmState::new(vm, self.origin, self.gpus, device, resources)
        };
        Ok((self.id, state))
    }
}

impl VmState {
    fn record(&self, id: VmId) -> VmRecord {
        VmRecord {
            id,
            spec: self.vm.spec.clone(),
            socket: self.vm.socket.clone(),
            uid: self.vm.uid,
            origin: self.origin,
            gpus: self.gpus.clone(),
            device: self.device.record(),
            pause: self.pause.clone(),
            swap: self.swap.clone(),
            front_ends: self.front_ends.count(),
            has_resources: self.resources.is_some(),
            is_leaving: self.is_leaving(),
            sessions_total: self.sessions_total,
            refused: self.refusals.counts(),
            refused_calls: self.refused_calls,
            kernel_timeouts: self.kernel_timeouts.iter().map(|(gpu, n)| (*gpu, *n)).collect(),
            past: self.past,
        }
    }

    pub(crate) fn new(
        vm: Vm,
        origin: VmOrigin,
        gpus: Vec<GpuId>,
        device: Device,
        resources: Option<Resources>,
    ) -> Self {
        Self {
            vm,
            origin,
            gpus,
            device,
            pause: Pause::new(),
            swap: Swap::default(),
            front_ends: FrontEnds::new(Some(0)),
            resources,
            sessions_total: 0,
            refused_calls: RefusedCalls::default(),
            kernel_timeouts: BTreeMap::new(),
            past: Activity::default(),
            session_starts: TokenBucket::new(STARTS_AT_ONCE, STARTS_PER_SECOND, Instant::now()),
            refusals: Refusals::new(RefusedCounts::default()),
            memory_refusals: BTreeMap::new(),
            removal: None,
        }
    }

    /// Returns the part of the VM's quota that placement considers. It applies to each of the VM's
    /// GPUs.
    pub(crate) fn demand(&self) -> Demand {
        demand(&self.vm)
    }

    /// Returns the VM's settings after a change. The socket and the user stay the same.
    pub(crate) fn changed(&self, patch: &VmPatch) -> Result<Vm, ApiError> {
        let vm = Vm::new(patch.applied(&self.vm.spec)?)?;
        let socket = self.vm.socket.clone();
        Ok(Vm { socket, uid: self.vm.uid, ..vm })
    }

    /// Checks whether the VM's GPUs have room for the changed settings `after`. Reducing a setting
    /// is always allowed, even if more is promised on the GPU than it has.
    pub(crate) fn check_increase(
        &self,
        after: &Vm,
        capacities: &[Capacity],
    ) -> Result<(), PlacementError> {
        let (before, after) = (&self.vm.spec, &after.spec);
        for capacity in capacities.iter().filter(|capacity| self.gpus.contains(&capacity.gpu)) {
            if after.memory.max > before.memory.max {
                capacity.check_memory(after.memory.max)?;
            }
            if after.compute.min > before.compute.min {
                capacity.check_time(after.compute.min)?;
            }
        }
        Ok(())
    }

    /// Returns the VM's limits that messages in its guest mention.
    pub(crate) fn limits(&self) -> VmLimits {
        self.resources.as_ref().map(|resources| resources.limits(&self.vm)).unwrap_or_default()
    }

    /// Raises the default limits in the VM's cgroup after a change of its settings.
    pub(crate) fn raise_limits(&mut self, cgroups: &Cgroups) {
        if let Some(resources) = &mut self.resources {
            resources.raise_limits(cgroups, &self.vm, self.gpus.len());
        }
    }

    /// Starts the VM's device process. Returns its socket, which the caller must watch.
    pub(crate) fn start_device(&mut self, launcher: &Launcher) -> Result<Option<RawFd>, String> {
        self.device.start(launcher, &self.vm)
    }

    /// Handles that the device process has started.
    pub(crate) fn set_device_started(&mut self, pid: u32, pidfd: OwnedFd) {
        self.device.set_started(pid, pidfd, &self.vm, &self.gpus);
    }

    /// Removes the socket, the cgroup, and the shared memory of a VM that has failed.
    pub(crate) fn release(&mut self) {
        self.resources = None;
    }

    /// Serves a failed VM again, with this socket and these resources.
    pub(crate) fn serve_again(
        &mut self,
        vm: Vm,
        gpus: Vec<GpuId>,
        socket: VmSocket,
        resources: Resources,
    ) {
        self.device = self.device.again(socket);
        (self.vm, self.gpus, self.resources) = (vm, gpus, Some(resources));
    }

    /// Removes the files that the VM's workers have left in their shared memory. Called when the VM
    /// has no workers any more.
    pub(crate) fn clear_shared_memory(&self) {
        self.resources.iter().for_each(Resources::clear_shared_memory);
    }

    /// Moves a worker to the VM's cgroup, if there is one, and gives it the VM's shared memory.
    pub(crate) fn take_process(&self, process: ProcessId) -> Result<(), String> {
        self.resources.as_ref().map_or(Ok(()), |resources| resources.take(process))
    }

    /// Takes a token from the rate limit on session starts. Returns true if a session may start
    /// now.
    pub(crate) fn take_session_start(&mut self) -> bool {
        self.session_starts.take(Instant::now())
    }

    /// Counts a refused session or front end. If it must be reported, returns the event.
    pub(crate) fn count_refusal(
        &mut self,
        id: VmId,
        session: Option<u32>,
        refusal: Refusal,
    ) -> Option<BrokerEvent> {
        let (kind, before) = self.refusals.count(refusal)?;
        let why = refusal.explain(&self.vm.limits);
        tracing::warn!(vm = self.vm.name, session, before, "{}: {why}", kind.name());
        let text = match before {
            0 => why,
            _ => format!("{why} ({before} more since the last event)"),
        };
        Some(BrokerEvent { session, ..BrokerEvent::of_vm(kind, id, text) })
    }

    /// Applies the rate limit to events about refused allocations. If this refusal must not be
    /// reported, returns `None`. Otherwise, returns the number of refusals suppressed since the
    /// last event.
    pub(crate) fn report_memory_refusal(&mut self, gpu: GpuId) -> Option<u64> {
        let limited = self.memory_refusals.entry(gpu);
        let limited = limited.or_insert_with(|| RateLimited::new(MEMORY_REFUSAL_INTERVAL));
        limited.allow(Instant::now())
    }

    pub(crate) fn count_session(&mut self) {
        self.sessions_total += 1;
    }

    pub(crate) fn refused(&self) -> RefusedCounts {
        self.refusals.counts()
    }

    pub(crate) fn sessions_total(&self) -> u64 {
        self.sessions_total
    }

    /// Counts calls of the VM's workers that were refused.
    pub(crate) fn count_refused_calls(&mut self, system_calls: u64, driver_operations: u64) {
        let count = &mut self.refused_calls;
        count.system_calls = count.system_calls.saturating_add(system_calls);
        count.driver_operations = count.driver_operations.saturating_add(driver_operations);
    }

    pub(crate) fn refused_calls(&self) -> RefusedCalls {
        self.refused_calls
    }

    pub(crate) fn count_kernel_timeout(&mut self, gpu: GpuId) {
        *self.kernel_timeouts.entry(gpu).or_default() += 1;
    }

    pub(crate) fn kernel_timeouts(&self, gpu: GpuId) -> u64 {
        self.kernel_timeouts.get(&gpu).copied().unwrap_or(0)
    }

    /// Adds the counters of a session that has ended.
    pub(crate) fn add_activity(&mut self, activity: &Activity) {
        add(&mut self.past, activity);
    }

    /// Returns the sums of the counters of the VM's past sessions.
    pub(crate) fn past_activity(&self) -> Activity {
        self.past
    }

    /// Returns true if the VM is being removed.
    pub(crate) fn is_leaving(&self) -> bool {
        self.removal.is_some()
    }

    /// Starts the removal of the VM. No request waits for the removal.
    pub(crate) fn leave(&mut self) {
        self.removal.get_or_insert_default();
    }

    /// Starts the removal of the VM, or adds a request for it. `answer` is sent once the VM has
    /// been removed.
    pub(crate) fn add_removal(&mut self, answer: Answer) {
        self.removal.get_or_insert_default().push(answer);
    }

    /// Returns the ID of the user who was first to request the VM's removal.
    pub(crate) fn remover(&self) -> Option<u32> {
        self.removal.as_ref().and_then(|answers| answers.first()).and_then(Answer::uid)
    }

    /// Takes the pending replies to the requests to remove the VM.
    pub(crate) fn take_removals(&mut self) -> Vec<Answer> {
        self.removal.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

fn demand(vm: &Vm) -> Demand {
    Demand { memory: vm.spec.memory.max, min: vm.spec.compute.min }
}

/// All VMs, in the order in which they were added.
#[derive(Default)]
pub(crate) struct Vms {
    last: u64,
    all: BTreeMap<VmId, VmState>,
    touched: Touched<VmId>,
}

/// The record of all VMs, for a broker that replaces this one.
#[derive(Serialize, Deserialize)]
pub(crate) struct VmsRecord {
    last: u64,
    all: Vec<VmRecord>,
}

impl VmsRecord {
    /// Replaces the record of a VM by a newer one.
    pub(crate) fn change(&mut self, vm: VmRecord) -> Result<(), String> {
        let place = self.all.iter_mut().find(|one| one.id == vm.id);
        *place.ok_or("an unknown VM has changed")? = vm;
        Ok(())
    }
}

impl Vms {
    /// Returns the records of the VMs that may have changed since the last call. Returns `None` if
    /// VMs were added or removed, so that all VMs must be recorded.
    pub(crate) fn take_changes(&mut self) -> Option<Vec<VmRecord>> {
        let touched = self.touched.take()?;
        let record = |id: VmId| self.all.get(&id).map(|state| state.record(id));
        Some(touched.into_iter().filter_map(record).collect())
    }

    /// Returns the record from which a broker that replaces this one continues.
    pub(crate) fn record(&self) -> VmsRecord {
        let all = self.iter().map(|(id, state)| state.record(id)).collect();
        VmsRecord { last: self.last, all }
    }

    /// Takes over the VMs of the broker that this one replaces.
    pub(crate) fn restore(
        record: VmsRecord,
        launcher: &Launcher,
        processes: &mut Processes,
        cgroups: &Cgroups,
    ) -> io::Result<Self> {
        let all = record.all.into_iter().map(|vm| vm.restore(launcher, processes, cgroups));
        let all = all.collect::<io::Result<_>>()?;
        Ok(Self { last: record.last, all, touched: Touched::default() })
    }

    /// Takes the VMs' spending pages, which the previous broker had the spawner keep.
    pub(crate) fn take_spending(&mut self) -> Vec<(VmId, OwnedFd)> {
        let all = self.all.iter_mut();
        all.filter_map(|(id, state)| Some((*id, state.device.take_spending()?))).collect()
    }

    pub(crate) fn add(&mut self, state: VmState) -> VmId {
        self.last += 1;
        let id = VmId(self.last);
        self.all.insert(id, state);
        self.touched.add_all();
        id
    }

    pub(crate) fn get(&self, id: VmId) -> Option<&VmState> {
        self.all.get(&id)
    }

    /// Returns a VM, and marks it to be recorded again, because the caller may change it.
    pub(crate) fn get_mut(&mut self, id: VmId) -> Option<&mut VmState> {
        let state = self.all.get_mut(&id)?;
        self.touched.add(id);
        Some(state)
    }

    /// Returns a VM, to change only state that isn't in its record, such as rate limits.
    pub(crate) fn unrecorded(&mut self, id: VmId) -> Option<&mut VmState> {
        self.all.get_mut(&id)
    }

    pub(crate) fn remove(&mut self, id: VmId) -> Option<VmState> {
        self.touched.add_all();
        self.all.remove(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (VmId, &VmState)> {
        self.all.iter().map(|(id, state)| (*id, state))
    }

    pub(crate) fn ids(&self) -> Vec<VmId> {
        self.all.keys().copied().collect()
    }

    /// Returns the VM with this name, even if it is being removed.
    pub(crate) fn named(&self, name: &str) -> Option<VmId> {
        self.iter().find(|(_, state)| state.vm.name == name).map(|(id, _)| id)
    }

    /// Returns the user IDs of all VMs.
    pub(crate) fn uids(&self) -> Vec<u32> {
        self.iter().filter_map(|(_, state)| state.vm.uid).collect()
    }

    /// Checks that a new VM doesn't conflict with any other.
    pub(crate) fn check_unique(&self, vm: &Vm) -> Result<(), ApiError> {
        for (_, state) in self.iter() {
            if state.is_leaving() && state.vm.name == vm.name {
                let message = format!("VM '{}' is still being removed; try again", vm.name);
                return Err(ApiError::new(ErrorCode::Conflict, message).of("name"));
            }
            vm.check_apart(&state.vm)?;
        }
        Ok(())
    }

    /// Returns the sets of GPUs for which warm workers should be kept: the sets of the VMs that
    /// were added first, up to [`MAX_WARM_SETS`] sets.
    pub(crate) fn warm_sets(&self, gpus: &Gpus) -> Vec<Vec<GpuId>> {
        let mut sets: Vec<Vec<GpuId>> = Vec::new();
        for (_, state) in self.iter() {
            let healthy = state.gpus.iter().all(|gpu| gpus.is_healthy(*gpu));
            let served = healthy
                && !state.gpus.is_empty()
                && !state.is_leaving()
                && state.device.failure().is_none();
            // A VM with MPS can't use warm workers, because the driver reads the session's MPS
            // limits when a worker starts.
            let warm = state.vm.spec.sharing == Sharing::Exclusive;
            if served && warm && sets.len() < MAX_WARM_SETS && !sets.contains(&state.gpus) {
                sets.push(state.gpus.clone());
            }
        }
        sets
    }

    /// Returns true if a VM with the class latency uses one of these GPUs.
    pub(crate) fn has_latency_vm(&self, gpus: &[GpuId]) -> bool {
        let mut latency = self.iter().filter(|(_, state)| state.vm.spec.class == Class::Latency);
        latency.any(|(_, state)| state.gpus.iter().any(|gpu| gpus.contains(gpu)))
    }

    /// Returns the sets of GPUs on which VMs use MPS.
    pub(crate) fn mps_sets(&self) -> Vec<Vec<GpuId>> {
        let shared = self.iter().filter(|(_, state)| state.vm.spec.sharing == Sharing::Mps);
        shared.map(|(_, state)| state.gpus.clone()).collect()
    }

    /// Returns a VM's name. If the VM doesn't exist, returns an empty string.
    pub(crate) fn name(&self, id: VmId) -> &str {
        self.get(id).map_or("", |state| &state.vm.name)
    }

    /// Returns each GPU's capacity and promises. Promises to the VM `except` aren't counted.
    /// `reserve` returns the bytes to keep free on a GPU.
    pub(crate) fn capacities(
        &self,
        gpus: &Gpus,
        policy: &Policy,
        reserve: impl Fn(GpuId) -> u64,
        except: Option<VmId>,
    ) -> Vec<Capacity> {
        let capacity = |(id, gpu): (GpuId, &Gpu)| {
            let has = |state: &&VmState| state.gpus.contains(&id);
            let others = || {
                let all = self.iter().filter(|(vm, _)| Some(*vm) != except);
                all.map(|(_, state)| state).filter(has)
            };
            let bytes = others().fold(0u64, |sum, state| sum.saturating_add(state.demand().memory));
            Capacity {
                gpu: id,
                uuid: gpu.uuid().to_owned(),
                memory: policy.memory_overcommit.of(gpu.facts().memory.saturating_sub(reserve(id))),
                memory_promised: bytes,
                time: policy.compute_overcommit.of(Percent::ALL.basis_points().into()),
                time_promised: others().map(|s| u64::from(s.demand().min.basis_points())).sum(),
                weights: others().map(|s| u64::from(s.vm.spec.compute.weight)).sum(),
                faulty: !gpu.is_healthy(),
            }
        };
        gpus.iter().map(capacity).collect()
    }
}

/// The GPUs that were chosen for a VM.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) gpus: Vec<GpuId>,
    /// The reason why these aren't the GPUs that the VM had before, or `None` if they are or the VM
    /// is new.
    pub(crate) moved: Option<String>,
}

impl Placed {
    /// If the VM gets other GPUs than it had before, logs that.
    pub(crate) fn report(&self, vm: &Vm) {
        if let Some(reason) = &self.moved {
            let gpus: Vec<u32> = self.gpus.iter().map(|gpu| gpu.0).collect();
            tracing::warn!(vm = vm.name, ?gpus, "the VM gets other GPUs than before: {reason}");
        }
    }
}

/// Chooses the GPUs for a VM. If it requests a GPU with `any`, it gets the GPUs that it had before,
/// whose UUIDs are in `before`, as long as they exist and have room. See [`place_vm`].
pub(crate) fn place_again(
    capacities: &[Capacity],
    vm: &mut Vm,
    memory_is_default: bool,
    before: &[String],
) -> Result<Placed, PlacementError> {
    let requests = &vm.spec.gpus;
    let mut moved = None;
    if requests.contains(&GpuRequest::Any) && requests.len() == before.len() {
        let same = |(request, uuid): (&GpuRequest, &String)| match request {
            GpuRequest::Any => GpuRequest::Uuid(uuid.clone()),
            named => named.clone(),
        };
        let same: Vec<GpuRequest> = requests.iter().zip(before).map(same).collect();
        match place(capacities, &same, &demand(vm)) {
            Ok(gpus) => return Ok(Placed { gpus, moved: None }),
            Err(error) => moved = Some(error.to_string()),
        }
    }
    let gpus = place_vm(capacities, vm, memory_is_default)?;
    Ok(Placed { gpus, moved })
}

/// Chooses the GPUs for a new VM. If memory.max doesn't fit and is only the default, reduces it.
pub(crate) fn place_vm(
    capacities: &[Capacity],
    vm: &mut Vm,
    memory_is_default: bool,
) -> Result<Vec<GpuId>, PlacementError> {
    let requests: &[GpuRequest] = &vm.spec.gpus;
    let placed = place(capacities, requests, &demand(vm));
    match placed {
        Err(error) if memory_is_default && error.field() == "memory.max" => {
            let most = capacities.iter().map(Capacity::free_memory).filter(|free| *free > 0).min();
            let Some(most) = most else { return Err(error) };
            vm.spec.memory.max = most.min(vm.spec.memory.max);
            place(capacities, &vm.spec.gpus, &demand(vm))
        }
        placed => placed,
    }
}
