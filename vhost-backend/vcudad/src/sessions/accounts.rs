//! The accounts of device memory, with the pages on which workers see them.
//!
//! Programs call cuMemGetInfo often, and in loops, so workers don't ask the broker for its result.
//! Instead, the broker publishes the state of an account on the gate pages of all workers that it
//! concerns, before it replies to the request that has changed the account. So a program that has
//! allocated memory finds that any other session of the VM already sees the new state. A
//! worker takes nothing from its credit while its VM has other sessions.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::usage::meter::Meter;
use host_ipc::gate::{self, GateMap, MemoryUsage};
use host_ipc::messages::{Charge, WorkerId};
use memory_ledger::{CREDIT, GpuId, Ledger, LedgerError, Quota, ShareId, Usage, VmId};
use serde::{Deserialize, Serialize};

/// A change of workers' accounts, with the arguments of the ledger's method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LedgerChange {
    Open(WorkerId, VmId, Vec<GpuId>),
    Close(WorkerId),
    Reserve(WorkerId, u32, u64, Charge),
    Release(WorkerId, u32, u64, Charge),
    Share(WorkerId, u32, u64),
    Join(WorkerId, u32, ShareId),
    Leave(WorkerId, u32, ShareId),
}

impl LedgerChange {
    /// Applies a recorded change to a ledger in the state before that change.
    pub(crate) fn repeat(self, ledger: &mut Ledger) -> Result<(), LedgerError> {
        match self {
            Self::Open(worker, vm, gpus) => {
                // Check that the VM's accounts exist: the ledger would panic without them, and the
                // record may be wrong.
                if let Some(device) = gpus.iter().position(|gpu| ledger.account(vm, *gpu).is_none())
                {
                    return Err(LedgerError::NoDevice { worker, device: device as u32 });
                }
                ledger.open(worker, vm, &gpus);
                Ok(())
            }
            Self::Close(worker) => {
                ledger.close(worker);
                Ok(())
            }
            Self::Reserve(worker, device, bytes, kind) => {
                ledger.reserve(worker, device, bytes, kind)
            }
            Self::Release(worker, device, bytes, kind) => {
                ledger.release(worker, device, bytes, kind)
            }
            Self::Share(worker, device, bytes) => ledger.share(worker, device, bytes).map(drop),
            Self::Join(worker, device, share) => ledger.join(worker, device, share).map(drop),
            Self::Leave(worker, device, share) => ledger.leave(worker, device, share),
        }
    }
}

/// Credit is granted in pieces of this many bytes, the driver's granularity.
const PIECE: u64 = 2 << 20;
/// A session that makes no calls for so long gives back its credit, in ns.
const IDLE: u64 = 10_000_000_000;

/// Returns the credit of a worker on one of its GPUs: memory that is charged to it, but that its
/// program doesn't use. The worker can write anything into its page.
fn unused(ledger: &Ledger, worker: WorkerId, device: u32, page: &GateMap) -> u64 {
    let gate = page.gpus.get(device as usize);
    gate.map_or(0, |gate| gate.credit.bytes().min(ledger.memory_of(worker, device)))
}

/// Releases credit that was taken back from a worker on one of its GPUs.
fn withdraw(
    ledger: &mut Ledger,
    changes: &mut Vec<LedgerChange>,
    (worker, device): (WorkerId, u32),
    bytes: u64,
) {
    let bytes = ledger.withdraw(worker, device, bytes);
    if bytes > 0 {
        changes.push(LedgerChange::Release(worker, device, bytes, Charge::Memory));
    }
}

/// The calls that a session had made when they were last counted, and since when it has made none.
type LastCalls = (u64, u64);

/// The ledger, and the pages on which its state is published.
#[derive(Default)]
pub(crate) struct Accounts {
    ledger: Ledger,
    /// The changes of workers' accounts since the last call of `take_changes`.
    changes: Vec<LedgerChange>,
    /// The gate pages of each VM's workers.
    pages: HashMap<VmId, HashMap<WorkerId, Arc<GateMap>>>,
    /// The VM of each worker, and the guest's user, if the user's sessions have limits.
    vms: HashMap<WorkerId, (VmId, Option<u32>)>,
    calls: HashMap<WorkerId, LastCalls>,
    /// The memory of each VM, multiplied by time.
    meters: HashMap<VmId, Vec<(GpuId, Meter)>>,
}

impl Accounts {
    /// Continues with the ledger of the broker that this one replaces.
    pub(crate) fn restore(ledger: Ledger) -> Self {
        Self { ledger, ..Self::default() }
    }

    /// Takes the changes of workers' accounts since the last call.
    pub(crate) fn take_changes(&mut self) -> Vec<LedgerChange> {
        std::mem::take(&mut self.changes)
    }

    /// Makes a worker whose accounts are open known again, with the page on which their state is
    /// published.
    pub(crate) fn reopen(
        &mut self,
        worker: WorkerId,
        vm: VmId,
        user: Option<u32>,
        page: Arc<GateMap>,
    ) {
        self.vms.insert(worker, (vm, user));
        self.show(worker, page);
    }

    /// Returns the ledger.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the ledger without the workers' credit, which no program uses.
    pub(crate) fn used(&self) -> Ledger {
        let mut used = self.ledger.clone();
        for vm in self.pages.keys() {
            for Credited { worker, device, bytes, .. } in self.credits(*vm) {
                used.withdraw(worker, device, bytes);
            }
        }
        used
    }

    /// Like [`Ledger::begin_interval`].
    pub(crate) fn begin_interval(&mut self, gpu: GpuId) {
        self.ledger.begin_interval(gpu);
    }

    /// Opens a VM's accounts on these GPUs, or changes their limits.
    pub(crate) fn set(&mut self, vm: VmId, gpus: &[GpuId], quota: Quota) {
        gpus.iter().for_each(|gpu| self.ledger.set(vm, *gpu, quota));
        let ledger = &self.ledger;
        let used = |gpu: &GpuId| ledger.account(vm, *gpu).map_or(0, |account| account.used);
        let meter = |gpu: &GpuId| (*gpu, Meter::new(used(gpu), gate::now()));
        self.meters.entry(vm).or_insert_with(|| gpus.iter().map(meter).collect());
        let over = |credit: &Credited| !self.ledger.has_room(credit.worker, credit.device, 0);
        let credits = self.credits(vm);
        let over: Vec<_> =
            credits.into_iter().filter(over).map(|credit| (credit.worker, credit.gpu)).collect();
        self.recall(vm, |worker, gpu| over.contains(&(worker, gpu)));
    }

    /// Returns the memory that was charged to a VM since this broker has the account, multiplied by
    /// the time for which it was charged, in bytes times seconds.
    pub(crate) fn byte_seconds(&self, vm: VmId, gpu: GpuId) -> u64 {
        let meters = self.meters.get(&vm).into_iter().flatten();
        let meter = meters.into_iter().find(|(of, _)| *of == gpu);
        meter.map_or(0, |(_, meter)| meter.byte_seconds(gate::now()))
    }

    /// Closes a VM's accounts. All its workers must have been reaped.
    pub(crate) fn remove(&mut self, vm: VmId) {
        self.ledger.remove(vm);
        self.pages.remove(&vm);
        self.meters.remove(&vm);
    }

    /// Opens accounts for a VM's worker. `gpus` is in the order of the worker's device ordinals.
    pub(crate) fn open(&mut self, worker: WorkerId, vm: VmId, user: Option<u32>, gpus: &[GpuId]) {
        self.ledger.open(worker, vm, gpus);
        self.changes.push(LedgerChange::Open(worker, vm, gpus.to_vec()));
        self.vms.insert(worker, (vm, user));
    }

    /// Publishes the state of a worker's accounts on this page from now on.
    pub(crate) fn show(&mut self, worker: WorkerId, page: Arc<GateMap>) {
        let Some(&(vm, _)) = self.vms.get(&worker) else { return };
        self.pages.entry(vm).or_default().insert(worker, page);
        self.publish(vm);
    }

    /// Closes a reaped worker's accounts. Returns the number of released bytes.
    pub(crate) fn close(&mut self, worker: WorkerId) -> u64 {
        let bytes = self.ledger.close(worker);
        self.changes.push(LedgerChange::Close(worker));
        self.calls.remove(&worker);
        if let Some((vm, _)) = self.vms.remove(&worker) {
            self.pages.entry(vm).or_default().remove(&worker);
            self.publish(vm);
        }
        bytes
    }

    /// Like [`Ledger::reserve`], but withdraws all credit of the VM before it refuses a request. With
    /// memory for allocations, the worker also gets credit, if there is room without that.
    pub(crate) fn reserve(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
        kind: Charge,
    ) -> Result<(), LedgerError> {
        let had_room = self.make_room(worker, device, bytes);
        let change = LedgerChange::Reserve(worker, device, bytes, kind);
        self.change(worker, change, |ledger| ledger.reserve(worker, device, bytes, kind))?;
        if kind == Charge::Memory && had_room {
            self.grant(worker, device);
        }
        Ok(())
    }

    fn vm_of(&self, worker: WorkerId) -> Option<VmId> {
        self.vms.get(&worker).map(|(vm, _)| *vm)
    }

    /// If a worker can't be charged for `bytes`, withdraws all credit of its VM on the GPU. Returns
    /// whether there was room.
    fn make_room(&mut self, worker: WorkerId, device: u32, bytes: u64) -> bool {
        let has_room = self.ledger.has_room(worker, device, bytes);
        if let (false, Some(vm)) = (has_room, self.vm_of(worker))
            && let Some(gpu) = self.ledger.gpu_of(worker, device)
        {
            self.recall(vm, |_, of| of == gpu);
        }
        has_room
    }

    /// Gives a worker the credit that it should have, as far as there is room, and publishes the
    /// state of its VM.
    fn grant(&mut self, worker: WorkerId, device: u32) {
        let Some(vm) = self.vm_of(worker) else { return };
        let page = self.pages.get(&vm).and_then(|pages| pages.get(&worker));
        let gate = page.and_then(|page| page.gpus.get(device as usize));
        if let Some(gate) = gate.filter(|gate| gate.credit.is_taken()) {
            gate.begin_memory();
            let excess = gate.credit.take_excess();
            withdraw(&mut self.ledger, &mut self.changes, (worker, device), excess);
            let lacking = CREDIT.saturating_sub(gate.credit.bytes());
            let more = self.ledger.advance(worker, device, lacking, PIECE);
            if more > 0 {
                self.changes.push(LedgerChange::Reserve(worker, device, more, Charge::Memory));
                gate.credit.add(more);
            }
        }
        self.publish(vm);
    }

    /// Withdraws the credit of a VM's workers on its GPUs, as far as they are `wanted`. Other sessions
    /// of the VM can then use the memory.
    fn recall(&mut self, vm: VmId, wanted: impl Fn(WorkerId, GpuId) -> bool) {
        for (worker, page) in self.pages.get(&vm).into_iter().flatten() {
            for (device, gate) in (0..).zip(&page.gpus) {
                let Some(gpu) = self.ledger.gpu_of(*worker, device) else { break };
                if !wanted(*worker, gpu) {
                    continue;
                }
                gate.begin_memory();
                let bytes = gate.credit.withdraw();
                withdraw(&mut self.ledger, &mut self.changes, (*worker, device), bytes);
            }
        }
        self.publish(vm);
    }

    /// Withdraws the credit of VMs whose sessions have made no calls for a while.
    pub(crate) fn recall_idle(&mut self, now: u64) {
        let mut idle = Vec::new();
        for (vm, pages) in &self.pages {
            for (worker, page) in pages {
                let calls = page.worker.calls.load(Ordering::Relaxed);
                let (last, since) = self.calls.entry(*worker).or_insert((calls, now));
                if *last != calls {
                    (*last, *since) = (calls, now);
                }
                let has_credit = page.gpus.iter().any(|gate| gate.credit.bytes() > 0);
                if has_credit && now.saturating_sub(*since) >= IDLE {
                    idle.push((*vm, *worker));
                }
            }
        }
        for (vm, worker) in idle {
            self.recall(vm, |of, _| of == worker);
        }
    }

    /// Turns memory of a worker's credit, which the worker has taken, into another kind.
    pub(crate) fn convert(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
        kind: Charge,
    ) -> Result<(), LedgerError> {
        self.ledger.convert(worker, device, bytes, kind)?;
        self.changes.push(LedgerChange::Release(worker, device, bytes, Charge::Memory));
        self.changes.push(LedgerChange::Reserve(worker, device, bytes, kind));
        Ok(())
    }

    /// Like [`Ledger::release`]. Afterwards, gives the worker the credit that it should have.
    pub(crate) fn release(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
        kind: Charge,
    ) -> Result<(), LedgerError> {
        self.ledger.release(worker, device, bytes, kind)?;
        if bytes > 0 {
            self.changes.push(LedgerChange::Release(worker, device, bytes, kind));
        }
        self.grant(worker, device);
        Ok(())
    }

    /// Like [`Ledger::check_shares`], for the workers of the same user as this one, or for this one
    /// if it has no user.
    fn check_shares(&self, worker: WorkerId, share: Option<ShareId>) -> Result<(), LedgerError> {
        let Some(&(vm, user)) = self.vms.get(&worker) else { return Ok(()) };
        let of_user = |one| self.vms.get(&one).is_some_and(|(_, of)| user.is_some() && *of == user);
        self.ledger.check_shares(vm, share, |one| one == worker || of_user(one))
    }

    /// Like [`Ledger::share`], which doesn't change the usage of anyone.
    pub(crate) fn share(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
    ) -> Result<ShareId, LedgerError> {
        self.check_shares(worker, None)?;
        let share = self.ledger.share(worker, device, bytes)?;
        self.changes.push(LedgerChange::Share(worker, device, bytes));
        Ok(share)
    }

    /// Like [`Ledger::join`].
    pub(crate) fn join(
        &mut self,
        worker: WorkerId,
        device: u32,
        share: ShareId,
    ) -> Result<u64, LedgerError> {
        self.check_shares(worker, Some(share))?;
        if let Some(bytes) = self.ledger.joins(worker, share) {
            // Only memory.session_max limits this.
            self.make_room(worker, device, bytes);
        }
        let change = LedgerChange::Join(worker, device, share);
        self.change(worker, change, |ledger| ledger.join(worker, device, share))
    }

    /// Like [`Ledger::leave`].
    pub(crate) fn leave(
        &mut self,
        worker: WorkerId,
        device: u32,
        share: ShareId,
    ) -> Result<(), LedgerError> {
        let change = LedgerChange::Leave(worker, device, share);
        self.change(worker, change, |ledger| ledger.leave(worker, device, share))
    }

    /// Like [`Ledger::usage_of`].
    pub(crate) fn usage_of(&mut self, worker: WorkerId, device: u32) -> Result<Usage, LedgerError> {
        let vm = self.vm_of(worker);
        let credits = vm.map(|vm| self.credits(vm)).unwrap_or_default();
        let gpu = self.ledger.gpu_of(worker, device);
        let all = credits.iter().filter(|credit| Some(credit.gpu) == gpu);
        let own = all.clone().filter(|credit| credit.worker == worker);
        let [all, own] = [sum(all), sum(own)];
        let Usage { used, max } = self.ledger.usage_of(worker, device, all.saturating_sub(own))?;
        Ok(Usage { used: used.saturating_sub(own), max })
    }

    /// Changes the accounts of a worker and of its VM, and publishes them.
    fn change<T>(
        &mut self,
        worker: WorkerId,
        change: LedgerChange,
        make: impl FnOnce(&mut Ledger) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let changed = make(&mut self.ledger)?;
        self.changes.push(change);
        if let Some(&(vm, _)) = self.vms.get(&worker) {
            self.publish(vm);
        }
        Ok(changed)
    }

    /// Publishes the state of a VM's accounts on the pages of all its workers, and passes the used
    /// bytes to the VM's meters.
    fn publish(&mut self, vm: VmId) {
        for (gpu, meter) in self.meters.get_mut(&vm).into_iter().flatten() {
            let account = self.ledger.account(vm, *gpu);
            meter.set(account.map_or(0, |account| account.used), gate::now());
        }
        let Some(pages) = self.pages.get(&vm) else { return };
        let credits = self.credits(vm);
        let mut all: HashMap<GpuId, u64> = HashMap::new();
        for credit in &credits {
            let sum = all.entry(credit.gpu).or_default();
            *sum = sum.saturating_add(credit.bytes);
        }
        for &Credited { worker, device, gpu, bytes } in &credits {
            let others = all.get(&gpu).map_or(0, |all| all.saturating_sub(bytes));
            let usage = self.ledger.usage_of(worker, device, others);
            let gate = pages.get(&worker).and_then(|page| page.gpus.get(device as usize));
            if let (Ok(Usage { used, max }), Some(gate)) = (usage, gate) {
                // Memory that is freed while the VM is beyond a lowered limit must not be used again.
                gate.credit.offer(self.ledger.has_room(worker, device, 0));
                gate.credit.set_watched(pages.len() > 1);
                gate.publish_memory(MemoryUsage { used, max });
            }
        }
    }

    /// Returns the credit of a VM's workers on each of their GPUs.
    fn credits(&self, vm: VmId) -> Vec<Credited> {
        let mut credits = Vec::new();
        for (&worker, page) in self.pages.get(&vm).into_iter().flatten() {
            for device in 0.. {
                let Some(gpu) = self.ledger.gpu_of(worker, device) else { break };
                let bytes = unused(&self.ledger, worker, device, page);
                credits.push(Credited { worker, device, gpu, bytes });
            }
        }
        credits
    }
}

/// The credit of a worker on one of its GPUs.
struct Credited {
    worker: WorkerId,
    device: u32,
    gpu: GpuId,
    bytes: u64,
}

fn sum<'a>(credits: impl Iterator<Item = &'a Credited>) -> u64 {
    credits.fold(0, |sum, credit| sum.saturating_add(credit.bytes))
}

#[cfg(test)]
mod tests;
