//! The accounts of device memory, with the pages on which workers see them.
//!
//! Programs call cuMemGetInfo often, and in loops, so workers don't ask the broker for its result.
//! Instead, before the broker replies to a request that has changed an account, it publishes the
//! account's state on the gate pages of all workers that use the account. A worker adds the credit
//! that all workers of the VM have spent, which they publish on the VM's spending page. So when a
//! program has allocated memory, every other session of the VM already sees the new state.

mod residency;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) use residency::Residency;

use crate::sessions::slots::Slots;
use crate::usage::meter::Meter;
use host_ipc::gate::{self, GateMap, GpuGate, MemoryBase, MemoryUsage};
use host_ipc::messages::{Charge, WorkerId};
use memory_ledger::{
    Base, CREDIT, Credit, GpuId, Ledger, LedgerError, MOST_KEPT, Quota, ShareId, Usage, VmId,
};
use serde::{Deserialize, Serialize};

/// A change of workers' accounts, with the arguments of the ledger's method that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LedgerChange {
    Open(WorkerId, VmId, Vec<GpuId>),
    Close(WorkerId),
    Reserve(WorkerId, u32, u64, Charge),
    Release(WorkerId, u32, u64, Charge),
    Share(WorkerId, u32, u64),
    Join(WorkerId, u32, ShareId),
    Leave(WorkerId, u32, ShareId),
    SendAway(WorkerId, u32, u64),
    BringBack(WorkerId, u32, u64),
}

impl LedgerChange {
    /// Applies a recorded change to a ledger that is in the state before that change.
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
                // The charge was granted, perhaps before a limit was lowered, so ignore the limits.
                ledger.charge(worker, device, bytes, kind)
            }
            Self::Release(worker, device, bytes, kind) => {
                ledger.release(worker, device, bytes, kind)
            }
            Self::Share(worker, device, bytes) => ledger.share(worker, device, bytes).map(drop),
            Self::Join(worker, device, share) => ledger.join(worker, device, share).map(drop),
            Self::Leave(worker, device, share) => ledger.leave(worker, device, share),
            Self::SendAway(worker, device, bytes) => ledger.send_away(worker, device, bytes),
            Self::BringBack(worker, device, bytes) => ledger.bring_back(worker, device, bytes),
        }
    }
}

/// Credit is granted in pieces of this many bytes, the driver's granularity.
const PIECE: u64 = 2 << 20;
/// If a session has made no calls for this long, its credit is withdrawn, and its worker must free
/// the memory that it keeps, in ns.
const IDLE: u64 = 10_000_000_000;
/// A request waits at most this long for memory that workers keep, in ns. The driver can take long
/// to free the memory, for example if it waits for a kernel that is off the GPU.
const PATIENCE: u64 = 5_000_000_000;
/// For this long after a request has needed memory that a VM's workers kept on a GPU, they keep
/// none there, in ns.
const SHORTAGE: u64 = 2 * PATIENCE;

/// A worker's gate page, with the broker's own record of the worker's credit.
struct Shown {
    page: Arc<GateMap>,
    /// Whether the worker has a slot on its VM's spending page. Without a slot, it gets no credit.
    has_slot: bool,
    /// For each of the worker's GPUs: the bytes that were added to its credit, minus those taken
    /// back.
    granted: Vec<i64>,
}

impl Shown {
    fn gate(&self, device: u32) -> Option<&GpuGate> {
        self.page.gpus.get(device as usize)
    }

    /// Returns two numbers of bytes on one of the worker's GPUs: the memory that is charged to the
    /// worker but that its program doesn't use, and the part of it that the worker keeps. The
    /// worker must free kept memory before others can use it. The rest is credit, which the broker
    /// can withdraw. The worker can write anything into its page, so both numbers are limited to
    /// what the ledger says that it holds.
    fn unused(&self, ledger: &Ledger, worker: WorkerId, device: u32) -> (u64, u64) {
        let held = ledger.memory_of(worker, device);
        let credit = self.gate(device).map_or(0, |gate| gate.credit.bytes()).min(held);
        let kept = self.page.kept.get(device as usize).map_or(0, Credit::bytes).min(MOST_KEPT);
        let kept = kept.min(held - credit);
        (credit + kept, kept)
    }

    /// Adds `bytes`, which can be negative, to the granted credit. Updates the copy on the page,
    /// too, from which a broker that replaces this one continues.
    fn add_granted(&mut self, device: u32, bytes: i64) {
        let gate = self.page.gpus.get(device as usize);
        if let (Some(granted), Some(gate)) = (self.granted.get_mut(device as usize), gate) {
            *granted = granted.wrapping_add(bytes);
            gate.granted.store(*granted as u64, Ordering::SeqCst);
        }
    }

    /// Releases `bytes` in the ledger after they were taken from the worker's credit on one of its
    /// GPUs.
    fn withdraw(
        &mut self,
        ledger: &mut Ledger,
        changes: &mut Vec<LedgerChange>,
        (worker, device): (WorkerId, u32),
        bytes: u64,
    ) {
        let bytes = ledger.withdraw(worker, device, bytes);
        if bytes > 0 {
            self.add_granted(device, -(bytes as i64));
            changes.push(LedgerChange::Release(worker, device, bytes, Charge::Memory));
        }
    }
}

/// The number of calls that a session had made at the last check, and the time since which it has
/// made no others, in ns.
type LastCalls = (u64, u64);

/// The ledger, and the pages on which its state is published.
#[derive(Default)]
pub(crate) struct Accounts {
    ledger: Ledger,
    /// The changes of workers' accounts since the last call of `take_changes`.
    changes: Vec<LedgerChange>,
    /// The gate pages of each VM's workers.
    pages: HashMap<VmId, HashMap<WorkerId, Shown>>,
    /// The slots of each VM's workers on the VM's spending page.
    slots: HashMap<VmId, Slots>,
    /// The VM of each worker, and the ID of the guest's user, or `None` if users' sessions have no
    /// limits.
    vms: HashMap<WorkerId, (VmId, Option<u32>)>,
    calls: HashMap<WorkerId, LastCalls>,
    /// The memory of each VM, multiplied by time.
    meters: HashMap<VmId, Vec<(GpuId, Meter)>>,
    /// Whether workers may keep memory that their programs have freed.
    keeps: bool,
    /// When a request last needed memory that a VM's workers kept on a GPU. They keep none there
    /// until [`SHORTAGE`] has passed.
    shortages: HashMap<(VmId, GpuId), u64>,
}

impl Accounts {
    /// Takes over the ledger of the broker that this one replaces. `keeps` is as in
    /// [`Self::set_keeping`].
    pub(crate) fn restore(ledger: Ledger, keeps: bool) -> Self {
        Self { ledger, keeps, ..Self::default() }
    }

    pub(crate) fn keeps(&self) -> bool {
        self.keeps
    }

    /// Takes the changes of workers' accounts since the last call.
    pub(crate) fn take_changes(&mut self) -> Vec<LedgerChange> {
        std::mem::take(&mut self.changes)
    }

    /// Takes over a VM's spending page from the broker that this one replaces.
    pub(crate) fn restore_slots(&mut self, vm: VmId, slots: Slots) {
        self.slots.insert(vm, slots);
    }

    /// Registers a worker of the previous broker, whose accounts are open, with its slot and its
    /// gate page. A worker without a page will end, and its slot is taken back after that. Call
    /// [`Self::publish_all`] after all workers have been registered.
    pub(crate) fn reopen(
        &mut self,
        worker: WorkerId,
        vm: VmId,
        user: Option<u32>,
        slot: Option<u32>,
        page: Option<Arc<GateMap>>,
    ) {
        self.vms.insert(worker, (vm, user));
        if let (Some(slot), Some(slots)) = (slot, self.slots.get_mut(&vm)) {
            slots.restore(worker, slot);
        }
        if let Some(page) = page {
            self.insert(worker, vm, page);
        }
    }

    /// Publishes the state of all accounts.
    pub(crate) fn publish_all(&mut self) {
        for vm in self.pages.keys().copied().collect::<Vec<_>>() {
            self.publish(vm);
        }
    }

    /// Gives a worker a slot on its VM's spending page, if there is one left. The VM's other
    /// workers are informed of the slot first, so that they count everything that the worker
    /// spends.
    pub(crate) fn give_slot(
        &mut self,
        worker: WorkerId,
        vm: VmId,
    ) -> io::Result<Option<(BorrowedFd<'_>, u32)>> {
        let slots = match self.slots.entry(vm) {
            Entry::Occupied(slots) => slots.into_mut(),
            Entry::Vacant(slots) => slots.insert(Slots::new()?),
        };
        let Some(slot) = slots.give(worker) else { return Ok(None) };
        for shown in self.pages.get(&vm).into_iter().flat_map(HashMap::values) {
            shown.page.worker.add_slots(slots.used());
        }
        Ok(Some((slots.file(), slot)))
    }

    /// Returns the ledger.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the ledger without the workers' credit and without the memory that they keep. No
    /// program uses either.
    pub(crate) fn used(&self) -> Ledger {
        let mut used = self.ledger.clone();
        for vm in self.pages.keys() {
            for Credited { worker, device, bytes, .. } in self.credits(*vm) {
                used.withdraw(worker, device, bytes);
            }
        }
        used
    }

    /// See [`Ledger::begin_interval`].
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
        // Recall all kept memory, because the limit on what workers keep depends on the VM's limit.
        self.recall_kept(vm, |_, _| true);
        self.recall(vm, |worker, gpu| over.contains(&(worker, gpu)));
    }

    /// Sets whether workers may keep memory that their programs have freed. They must not while the
    /// GPUs' memory is overcommitted, because another VM may need the memory.
    pub(crate) fn set_keeping(&mut self, keeps: bool) {
        if self.keeps == keeps {
            return;
        }
        self.keeps = keeps;
        for vm in self.pages.keys().copied().collect::<Vec<_>>() {
            self.recall_kept(vm, |_, _| !keeps);
            self.publish(vm);
        }
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
        self.slots.remove(&vm);
        self.meters.remove(&vm);
        self.shortages.retain(|(of, _), _| *of != vm);
    }

    /// Opens accounts for a VM's worker. `gpus` is in the order of the worker's device ordinals.
    pub(crate) fn open(&mut self, worker: WorkerId, vm: VmId, user: Option<u32>, gpus: &[GpuId]) {
        self.ledger.open(worker, vm, gpus);
        self.changes.push(LedgerChange::Open(worker, vm, gpus.to_vec()));
        self.vms.insert(worker, (vm, user));
    }

    /// Publishes the state of a worker's accounts on this page from now on.
    pub(crate) fn show(&mut self, worker: WorkerId, page: Arc<GateMap>) {
        if let Some(&(vm, _)) = self.vms.get(&worker) {
            self.insert(worker, vm, page);
            self.publish(vm);
        }
    }

    fn insert(&mut self, worker: WorkerId, vm: VmId, page: Arc<GateMap>) {
        let slots = self.slots.get(&vm).filter(|slots| slots.has(worker));
        page.worker.add_slots(slots.map_or(0, Slots::used));
        let gates = page.gpus.iter().zip(self.ledger.held_by(worker));
        // A worker without a slot may be of the previous version, which writes other values to
        // `granted`.
        let granted = |gate: &GpuGate| slots.map_or(0, |_| gate.granted.load(Ordering::SeqCst));
        let granted = gates.map(|(gate, _)| granted(gate) as i64).collect();
        let has_slot = slots.is_some();
        self.pages.entry(vm).or_default().insert(worker, Shown { page, has_slot, granted });
    }

    /// Closes a reaped worker's accounts. Returns the number of released bytes.
    pub(crate) fn close(&mut self, worker: WorkerId) -> u64 {
        let bytes = self.ledger.close(worker);
        self.changes.push(LedgerChange::Close(worker));
        self.calls.remove(&worker);
        if let Some((vm, _)) = self.vms.remove(&worker) {
            let pages = self.pages.entry(vm).or_default();
            pages.remove(&worker);
            // Begin the change of the other workers' pages here, because the worker's charge and
            // the amount that it has spent must disappear at the same time for them.
            for (&other, shown) in pages.iter() {
                let count = self.ledger.held_by(other).len();
                shown.page.gpus.iter().take(count).for_each(GpuGate::begin_memory);
            }
            self.slots.entry(vm).and_modify(|slots| slots.take_back(worker));
            self.publish(vm);
        }
        bytes
    }

    /// Does the same as [`Ledger::reserve`], but withdraws all credit of the VM before it refuses a
    /// request. If the memory is for allocations and fits without that withdrawal, also gives the
    /// worker credit.
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

    /// Like [`Self::reserve`], but doesn't count a refusal, because the program hasn't asked for
    /// the memory. Returns whether the memory is reserved.
    pub(crate) fn reserve_if_room(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
        kind: Charge,
    ) -> bool {
        let has_room =
            self.make_room(worker, device, bytes) || self.ledger.has_room(worker, device, bytes);
        has_room && self.reserve(worker, device, bytes, kind).is_ok()
    }

    fn vm_of(&self, worker: WorkerId) -> Option<VmId> {
        self.vms.get(&worker).map(|(vm, _)| *vm)
    }

    /// If a worker can't be charged for `bytes`, withdraws all credit of its VM on the GPU. Returns
    /// whether there was room before that.
    fn make_room(&mut self, worker: WorkerId, device: u32, bytes: u64) -> bool {
        let has_room = self.ledger.has_room(worker, device, bytes);
        if let (false, Some(vm)) = (has_room, self.vm_of(worker))
            && let Some(gpu) = self.ledger.gpu_of(worker, device)
        {
            self.recall(vm, |_, of| of == gpu);
        }
        has_room
    }

    /// Returns whether a worker's request for `bytes` doesn't fit now, but may fit once the VM's
    /// workers have freed the memory that they keep on the GPU. If so, recalls that memory, and the
    /// worker must ask again. `joins` says that the bytes are shared memory, for which the VM is
    /// charged already.
    ///
    /// The broker itself doesn't wait. If the workers haven't freed the memory after [`PATIENCE`],
    /// this returns false, so that requests are refused.
    pub(crate) fn must_wait(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
        joins: bool,
        now: u64,
    ) -> bool {
        let Some(vm) = self.vm_of(worker) else { return false };
        let Some(gpu) = self.ledger.gpu_of(worker, device) else { return false };
        let credits = self.credits(vm);
        let on_gpu = || credits.iter().filter(|credit| credit.gpu == gpu);
        let own = || on_gpu().filter(|credit| credit.worker == worker);
        let fits_without = |less: fn(&Credited) -> u64| {
            let less = (sum(own().map(less)), sum(on_gpu().map(less)));
            self.ledger.base_of(worker, device, less).is_ok_and(|Base { vm, session, max }| {
                let fits = |used: i64| i128::from(used) + i128::from(bytes) <= i128::from(max);
                (joins || fits(vm)) && fits(session)
            })
        };
        if fits_without(|credit| credit.bytes - credit.kept) || !fits_without(|of| of.bytes) {
            return false;
        }
        let since = self.shortages.entry((vm, gpu)).or_insert(now);
        if now.saturating_sub(*since) >= SHORTAGE {
            *since = now;
        }
        let waits = now.saturating_sub(*since) < PATIENCE;
        self.recall_kept(vm, |_, of| of == gpu);
        let shown = self.pages.get(&vm).and_then(|pages| pages.get(&worker));
        let kept = shown.and_then(|shown| shown.page.kept.get(device as usize));
        waits && kept.is_some_and(Credit::is_known)
    }

    /// Does the same as [`Self::must_wait`] for a request to hold shared memory.
    pub(crate) fn must_wait_to_join(
        &mut self,
        worker: WorkerId,
        device: u32,
        share: ShareId,
        now: u64,
    ) -> bool {
        let bytes = self.ledger.joins(worker, share);
        bytes.is_some_and(|bytes| self.must_wait(worker, device, bytes, true, now))
    }

    /// Has a VM's workers free the memory that they keep, on each worker and GPU for which `wanted`
    /// returns true.
    fn recall_kept(&mut self, vm: VmId, wanted: impl Fn(WorkerId, GpuId) -> bool) {
        for (worker, shown) in self.pages.get(&vm).into_iter().flatten() {
            let gpus = self.ledger.held_by(*worker);
            let on = shown.page.kept.iter().zip(gpus).filter(|(_, (gpu, _))| wanted(*worker, *gpu));
            // Withdraw the offers for all GPUs before the worker is woken, so that it sees all of
            // them.
            let recalled: Vec<_> = on.map(|(kept, _)| (kept.offer(false), kept.bytes())).collect();
            if recalled.iter().any(|(_, bytes)| *bytes > 0) {
                shown.page.worker.recall_kept();
            }
        }
    }

    /// Adjusts a worker's credit to [`CREDIT`], as far as there is room, and publishes the state of
    /// its VM.
    fn grant(&mut self, worker: WorkerId, device: u32) {
        let Some(vm) = self.vm_of(worker) else { return };
        let has_room = self.ledger.has_room(worker, device, 0);
        let shown = self.pages.get_mut(&vm).and_then(|pages| pages.get_mut(&worker));
        if let Some(shown) = shown
            && let Some(credit) = shown.page.clone().gpus.get(device as usize).map(|g| &g.credit)
            && credit.is_known()
        {
            // Without room, withdraw all credit. The worker may have credit because it has freed
            // memory that it kept when a limit was lowered.
            let excess = if has_room { credit.take_excess() } else { credit.withdraw() };
            shown.withdraw(&mut self.ledger, &mut self.changes, (worker, device), excess);
            let lacking = match credit.is_offered() {
                true => CREDIT.saturating_sub(credit.bytes()),
                false => 0,
            };
            let more = self.ledger.advance(worker, device, lacking, PIECE);
            if more > 0 {
                self.changes.push(LedgerChange::Reserve(worker, device, more, Charge::Memory));
                shown.add_granted(device, more as i64);
                credit.add(more);
            }
        }
        self.publish(vm);
    }

    /// Withdraws the credit of a VM's workers, on each worker and GPU for which `wanted` returns
    /// true. Other sessions of the VM can then use the memory.
    fn recall(&mut self, vm: VmId, wanted: impl Fn(WorkerId, GpuId) -> bool) {
        for (worker, shown) in self.pages.get_mut(&vm).into_iter().flatten() {
            for (device, gate) in (0..).zip(&shown.page.clone().gpus) {
                let Some(gpu) = self.ledger.gpu_of(*worker, device) else { break };
                if wanted(*worker, gpu) {
                    let bytes = gate.credit.withdraw();
                    let of = (*worker, device);
                    shown.withdraw(&mut self.ledger, &mut self.changes, of, bytes);
                }
            }
        }
        self.publish(vm);
    }

    /// Withdraws the credit of sessions that have made no calls for a while, and recalls the memory
    /// that their workers keep.
    pub(crate) fn recall_idle(&mut self, now: u64) {
        let is_over = |_: &_, since: &mut u64| now.saturating_sub(*since) >= SHORTAGE;
        let over: Vec<_> = self.shortages.extract_if(is_over).collect();
        let (mut idle, mut late) = (Vec::new(), Vec::new());
        for (vm, pages) in &self.pages {
            for (worker, Shown { page, .. }) in pages {
                let calls = page.worker.calls.load(Ordering::Relaxed);
                let (last, since) = self.calls.entry(*worker).or_insert((calls, now));
                if *last != calls {
                    (*last, *since) = (calls, now);
                }
                let has_credit = page.gpus.iter().any(|gate| gate.credit.bytes() > 0);
                let keeps = |of: &Credit| of.bytes() > 0;
                let has_kept = page.kept.iter().any(keeps);
                if page.kept.iter().any(|of| keeps(of) && !of.is_offered()) {
                    late.push((*vm, *worker));
                }
                if (has_credit || has_kept) && now.saturating_sub(*since) >= IDLE {
                    idle.push((*vm, *worker));
                }
            }
        }
        for (vm, worker) in idle {
            self.recall(vm, |of, _| of == worker);
            self.recall_kept(vm, |of, _| of == worker);
        }
        for (vm, worker) in late {
            // The worker keeps memory without an offer. The offer may have ended without a recall
            // because the VM was beyond a limit, so recall the memory now.
            self.pages[&vm][&worker].page.worker.recall_kept();
        }
        for ((vm, _), _) in over {
            self.publish(vm);
        }
    }

    /// Turns memory that a worker has taken from its credit into another kind of charge.
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

    /// Does the same as [`Ledger::release`], and then adjusts the worker's credit to [`CREDIT`].
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

    /// Does the same as [`Ledger::check_shares`] for the workers of the same user as this one, or
    /// for this worker alone if it has no user.
    fn check_shares(&self, worker: WorkerId, share: Option<ShareId>) -> Result<(), LedgerError> {
        let Some(&(vm, user)) = self.vms.get(&worker) else { return Ok(()) };
        let of_user = |one| self.vms.get(&one).is_some_and(|(_, of)| user.is_some() && *of == user);
        self.ledger.check_shares(vm, share, |one| one == worker || of_user(one))
    }

    /// Does the same as [`Ledger::share`]. The usage of the VM and its sessions stays the same, so
    /// there is nothing to publish.
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

    /// Does the same as [`Ledger::join`], but withdraws credit first if there is no room.
    pub(crate) fn join(
        &mut self,
        worker: WorkerId,
        device: u32,
        share: ShareId,
    ) -> Result<u64, LedgerError> {
        self.check_shares(worker, Some(share))?;
        if let Some(bytes) = self.ledger.joins(worker, share) {
            // The VM is already charged for these bytes, so only memory.session_max can be
            // exceeded.
            self.make_room(worker, device, bytes);
        }
        let change = LedgerChange::Join(worker, device, share);
        self.change(worker, change, |ledger| ledger.join(worker, device, share))
    }

    /// See [`Ledger::leave`].
    pub(crate) fn leave(
        &mut self,
        worker: WorkerId,
        device: u32,
        share: ShareId,
    ) -> Result<(), LedgerError> {
        let change = LedgerChange::Leave(worker, device, share);
        self.change(worker, change, |ledger| ledger.leave(worker, device, share))
    }

    /// Does the same as [`Ledger::usage_of`] with the credit that workers have now.
    pub(crate) fn usage_of(&self, worker: WorkerId, device: u32) -> Result<Usage, LedgerError> {
        let vm = self.vm_of(worker);
        let credits = vm.map(|vm| self.credits(vm)).unwrap_or_default();
        let gpu = self.ledger.gpu_of(worker, device);
        let all = credits.iter().filter(|credit| Some(credit.gpu) == gpu);
        let own = all.clone().filter(|credit| credit.worker == worker);
        let [all, own] = [sum(all.map(|c| c.bytes)), sum(own.map(|c| c.bytes))];
        self.ledger.usage_of(worker, device, (own, all))
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
        let (mut unused, mut granted) = (HashMap::new(), HashMap::new());
        for Credited { gpu, bytes, granted: of_worker, .. } in self.credits(vm) {
            *unused.entry(gpu).or_default() += i128::from(bytes);
            *granted.entry(gpu).or_default() += i128::from(of_worker);
        }
        let all = |sums: &HashMap<GpuId, i128>, gpu: GpuId| sums.get(&gpu).copied().unwrap_or(0);
        for (&worker, shown) in pages {
            for ((device, gate), (gpu, _)) in
                (0..).zip(&shown.page.gpus).zip(self.ledger.held_by(worker))
            {
                let has_room = self.ledger.has_room(worker, device, 0);
                // Don't offer credit while the VM is beyond a lowered limit: memory that is freed
                // then must not be used again.
                gate.credit.offer(shown.has_slot && has_room);
                if let Some(kept) = shown.page.kept.get(device as usize) {
                    let may_keep = self.keeps && !self.shortages.contains_key(&(vm, gpu));
                    // Don't renew the offer during a recall, which lasts until the worker keeps
                    // nothing.
                    let is_recalled = !kept.is_offered() && kept.bytes() > 0;
                    kept.offer(shown.has_slot && has_room && may_keep && !is_recalled);
                }
                if shown.has_slot {
                    let own = shown.granted.get(device as usize).copied().unwrap_or(0).into();
                    let base = self.ledger.base_of(worker, device, (own, all(&granted, gpu)));
                    if let Ok(Base { vm, session, max }) = base {
                        gate.publish_base(MemoryBase { vm, session, max });
                    }
                } else {
                    // A worker without a slot subtracts its own unused memory, so subtract only
                    // that of the other workers here.
                    let own: i128 = shown.unused(&self.ledger, worker, device).0.into();
                    let others = all(&unused, gpu) - own;
                    let usage = self.ledger.usage_of(worker, device, (0, others));
                    if let Ok(Usage { used, max }) = usage {
                        gate.publish_memory(MemoryUsage { used, max });
                    }
                }
            }
        }
    }

    /// Returns, for each of a VM's workers on each of its GPUs, its credit and the memory that it
    /// keeps.
    fn credits(&self, vm: VmId) -> Vec<Credited> {
        let mut credits = Vec::new();
        for (&worker, shown) in self.pages.get(&vm).into_iter().flatten() {
            for (device, &granted) in (0..).zip(&shown.granted) {
                let Some(gpu) = self.ledger.gpu_of(worker, device) else { break };
                let (bytes, kept) = shown.unused(&self.ledger, worker, device);
                credits.push(Credited { worker, device, gpu, bytes, kept, granted });
            }
        }
        credits
    }
}

/// The credit of a worker on one of its GPUs, and the memory that it keeps there.
struct Credited {
    worker: WorkerId,
    device: u32,
    gpu: GpuId,
    /// Bytes of credit and of kept memory together.
    bytes: u64,
    /// The part of `bytes` that the worker keeps.
    kept: u64,
    granted: i64,
}

fn sum(bytes: impl Iterator<Item = u64>) -> i128 {
    bytes.map(i128::from).sum()
}

#[cfg(test)]
mod tests;
