//! The accounts of device memory, with the pages on which workers see them.
//!
//! Programs call cuMemGetInfo often, and in loops, so workers don't ask the broker for its result.
//! Instead, the broker publishes the state of an account on the gate pages of all workers that it
//! concerns, before it replies to the request that has changed the account. So a program that has
//! allocated memory finds that any other session of the VM already sees the new state.

use std::collections::HashMap;
use std::sync::Arc;

use crate::usage::meter::Meter;
use host_ipc::gate::{self, GateMap, MemoryUsage};
use host_ipc::messages::{Charge, WorkerId};
use memory_ledger::{GpuId, Ledger, LedgerError, Quota, ShareId, Usage, VmId};
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

    /// Returns the ledger for reports.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
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
        self.publish(vm);
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
        if let Some((vm, _)) = self.vms.remove(&worker) {
            self.pages.entry(vm).or_default().remove(&worker);
            self.publish(vm);
        }
        bytes
    }

    /// Like [`Ledger::reserve`].
    pub(crate) fn reserve(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
        kind: Charge,
    ) -> Result<(), LedgerError> {
        let change = LedgerChange::Reserve(worker, device, bytes, kind);
        self.change(worker, change, |ledger| ledger.reserve(worker, device, bytes, kind))
    }

    /// Like [`Ledger::release`].
    pub(crate) fn release(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
        kind: Charge,
    ) -> Result<(), LedgerError> {
        let change = LedgerChange::Release(worker, device, bytes, kind);
        self.change(worker, change, |ledger| ledger.release(worker, device, bytes, kind))
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
        self.ledger.usage_of(worker, device)
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
        for (&worker, page) in pages {
            for (device, gpu) in (0..).zip(&page.gpus) {
                let Ok(Usage { used, max }) = self.ledger.usage_of(worker, device) else { break };
                gpu.publish_memory(MemoryUsage { used, max });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ipc::gate::GatePage;
    use memory_ledger::MAX_SHARES_OF_ONE;

    const VM: VmId = VmId(3);
    const GPUS: [GpuId; 2] = [GpuId(1), GpuId(0)];

    fn quota(max: u64, session_max: Option<u64>) -> Quota {
        Quota { max, session_max }
    }

    /// Opens an account for a worker. Returns the worker's mapping of its page.
    fn open(accounts: &mut Accounts, worker: WorkerId) -> GateMap {
        let file = GatePage::create().unwrap();
        accounts.open(worker, VM, None, &GPUS);
        accounts.show(worker, Arc::new(GateMap::map(&file).unwrap()));
        GateMap::map(&file).unwrap()
    }

    fn seen(page: &GateMap, device: usize) -> (u64, u64) {
        let MemoryUsage { used, max } = page.gpus[device].memory().unwrap();
        (used, max)
    }

    #[test]
    fn every_worker_of_a_vm_sees_each_change() {
        let mut accounts = Accounts::default();
        accounts.set(VM, &GPUS, quota(100, None));
        let (first, second) = (open(&mut accounts, 1), open(&mut accounts, 2));
        assert_eq!((seen(&first, 0), seen(&second, 1)), ((0, 100), (0, 100)));
        assert_eq!(first.gpus[2].memory(), None);
        accounts.reserve(1, 0, 30, Charge::Memory).unwrap();
        assert_eq!((seen(&first, 0), seen(&second, 0)), ((30, 100), (30, 100)));
        assert_eq!(seen(&second, 1), (0, 100));
        assert!(accounts.reserve(2, 0, 71, Charge::Memory).is_err());
        assert_eq!(seen(&second, 0), (30, 100));
        accounts.release(1, 0, 10, Charge::Memory).unwrap();
        assert_eq!(seen(&second, 0), (20, 100));
        accounts.set(VM, &GPUS, quota(50, None));
        assert_eq!((seen(&first, 0), seen(&second, 1)), ((20, 50), (0, 50)));
        assert_eq!(accounts.close(1), 20);
        assert_eq!(seen(&second, 0), (0, 50));
    }

    #[test]
    fn a_worker_sees_the_limit_of_its_own_session() {
        let mut accounts = Accounts::default();
        accounts.set(VM, &GPUS, quota(100, Some(60)));
        let (first, second) = (open(&mut accounts, 1), open(&mut accounts, 2));
        accounts.reserve(1, 0, 50, Charge::Memory).unwrap();
        assert_eq!((seen(&first, 0), seen(&second, 0)), ((50, 60), (10, 60)));
        let share = accounts.share(1, 0, 50).unwrap();
        accounts.join(2, 0, share).unwrap();
        assert_eq!((seen(&first, 0), seen(&second, 0)), ((50, 60), (50, 60)));
        accounts.leave(1, 0, share).unwrap();
        assert_eq!((seen(&first, 0), seen(&second, 0)), ((10, 60), (50, 60)));
    }

    #[test]
    fn the_sessions_of_a_user_share_memory_together_and_leave_some_to_others() {
        let mut accounts = Accounts::default();
        accounts.set(VM, &GPUS, quota(1 << 20, None));
        for (worker, user) in [(1, Some(7)), (2, Some(7)), (3, Some(8)), (4, None), (5, None)] {
            accounts.open(worker, VM, user, &GPUS);
            accounts.reserve(worker, 0, 5000, Charge::Memory).unwrap();
        }
        let share = |accounts: &mut Accounts, worker| accounts.share(worker, 0, 1);
        let first: Vec<_> =
            (0..MAX_SHARES_OF_ONE).map(|_| share(&mut accounts, 1).unwrap()).collect();
        let too_many = LedgerError::TooManySharesOfOne;
        assert_eq!(share(&mut accounts, 1), Err(too_many));
        assert_eq!(share(&mut accounts, 2), Err(too_many), "the user's other session");
        let other = share(&mut accounts, 3).unwrap();
        assert_eq!(accounts.join(2, 0, other), Err(too_many));
        assert_eq!(accounts.join(2, 0, first[0]), Ok(1), "the user holds it already");
        assert_eq!(accounts.join(3, 0, first[0]), Ok(1));
        // Sessions without a user count alone.
        for worker in [4, 5] {
            assert!(share(&mut accounts, worker).is_ok());
        }
    }

    #[test]
    fn other_vms_see_nothing() {
        let mut accounts = Accounts::default();
        accounts.set(VM, &GPUS, quota(100, None));
        accounts.set(VmId(4), &GPUS, quota(100, None));
        let page = open(&mut accounts, 1);
        accounts.open(9, VmId(4), None, &GPUS);
        accounts.reserve(9, 0, 30, Charge::Memory).unwrap();
        assert_eq!(seen(&page, 0), (0, 100));
        accounts.close(1);
        accounts.remove(VM);
        accounts.reserve(9, 0, 30, Charge::Memory).unwrap();
    }
}
