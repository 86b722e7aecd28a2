//! The account of device memory: one for each VM and GPU, kept by the broker. Pure: no clock, no
//! I/O.
//!
//! What a worker reserved counts against its VM until the worker releases it or is reaped. All
//! sums are checked, so that no sequence of requests makes the account say less than the truth.

use std::collections::HashMap;

mod charge;
#[cfg(test)]
mod tests;

pub use charge::Charge;

/// A worker of the broker's, by a number that is never used again.
pub type WorkerId = u64;

/// A VM, by a number that is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VmId(pub u64);

/// A GPU, by its place among the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuId(pub u32);

/// Bytes, by what they are for.
pub type Kinds = [u64; Charge::ALL.len()];

/// What a VM may hold on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// All its sessions together: memory.max. Bytes.
    pub max: u64,
    /// One session: memory.session_max. Bytes; `None`: no bound of its own.
    pub session_max: Option<u64>,
}

/// How a VM's account on a GPU stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// What it may hold.
    pub quota: Quota,
    /// Bytes reserved. Above `quota.max` only if that was made less meanwhile.
    pub used: u64,
    /// The most that was ever reserved. Bytes.
    pub peak: u64,
    /// Requests that had no room.
    pub rejected: u64,
    /// `used`, by what it is for.
    pub kinds: Kinds,
}

/// A GPU's account as a session is to see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of `max` that are taken.
    pub used: u64,
    /// memory.max, or memory.session_max where that is less. Bytes.
    pub max: u64,
}

/// Why a request was not booked. Nothing has changed then but the count of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// memory.max has no room.
    #[error("memory.max is {max} bytes, {used} are in use, {bytes} more were asked for")]
    NoRoom {
        /// Asked for.
        bytes: u64,
        /// In use.
        used: u64,
        /// The limit.
        max: u64,
    },
    /// memory.session_max has no room.
    #[error("memory.session_max is {max} bytes, {used} are in use, {bytes} more were asked for")]
    NoRoomInSession {
        /// Asked for.
        bytes: u64,
        /// In use by the session.
        used: u64,
        /// The limit.
        max: u64,
    },
    /// A worker released more than it holds.
    #[error("worker {worker} released {bytes} bytes of {} and holds {held}", kind.name())]
    NotHeld {
        /// The worker.
        worker: WorkerId,
        /// What it was said to be for.
        kind: Charge,
        /// Released.
        bytes: u64,
        /// Held.
        held: u64,
    },
    /// A worker named a GPU that it does not have.
    #[error("worker {worker} has no device {device}")]
    NoDevice {
        /// The worker.
        worker: WorkerId,
        /// The ordinal.
        device: u32,
    },
    /// No such worker has an account.
    #[error("worker {0} has no account")]
    NoWorker(WorkerId),
}

impl LedgerError {
    /// Whether there was no room, which any worker may meet; else the worker broke the rules.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::NoRoom { .. } | Self::NoRoomInSession { .. })
    }
}

/// The accounts.
#[derive(Debug, Default)]
pub struct Ledger {
    accounts: HashMap<(VmId, GpuId), Account>,
    workers: HashMap<WorkerId, Worker>,
}

#[derive(Debug)]
struct Worker {
    vm: VmId,
    /// By the worker's ordinal.
    devices: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    gpu: GpuId,
    used: u64,
    kinds: Kinds,
}

impl Ledger {
    /// Opens a VM's account on a GPU, or changes what it may hold there: also to less than is in
    /// use, and then nothing more is booked until enough was given back.
    pub fn set(&mut self, vm: VmId, gpu: GpuId, quota: Quota) {
        let empty = Account { quota, used: 0, peak: 0, rejected: 0, kinds: Kinds::default() };
        self.accounts.entry((vm, gpu)).or_insert(empty).quota = quota;
    }

    /// Closes a VM's accounts.
    ///
    /// # Panics
    /// When a worker still has an account with the VM.
    pub fn remove(&mut self, vm: VmId) {
        assert!(!self.workers.values().any(|worker| worker.vm == vm), "its workers were reaped");
        self.accounts.retain(|(of, _), _| *of != vm);
    }

    /// Opens a worker's accounts with a VM; `gpus` by the worker's ordinal.
    ///
    /// # Panics
    /// When the VM has no account on one of them.
    pub fn open(&mut self, worker: WorkerId, vm: VmId, gpus: &[GpuId]) {
        let has = |gpu: &GpuId| self.accounts.contains_key(&(vm, *gpu));
        assert!(gpus.iter().all(has), "the VM has an account on each of its GPUs");
        self.workers.entry(worker).or_insert_with(|| {
            let held = |&gpu| Held { gpu, used: 0, kinds: Kinds::default() };
            Worker { vm, devices: gpus.iter().map(held).collect() }
        });
    }

    fn held(
        &mut self,
        worker: WorkerId,
        device: u32,
    ) -> Result<(&mut Account, &mut Held), LedgerError> {
        let Worker { vm, devices } =
            self.workers.get_mut(&worker).ok_or(LedgerError::NoWorker(worker))?;
        let no_device = LedgerError::NoDevice { worker, device };
        let held = devices.get_mut(device as usize).ok_or(no_device)?;
        let account = self.accounts.get_mut(&(*vm, held.gpu)).ok_or(no_device)?;
        Ok((account, held))
    }

    /// Books `bytes` to a worker, or nothing.
    pub fn reserve(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
        kind: Charge,
    ) -> Result<(), LedgerError> {
        let (account, held) = self.held(worker, device)?;
        let Quota { max, session_max } = account.quota;
        let Some(used) = account.used.checked_add(bytes).filter(|used| *used <= max) else {
            account.rejected += 1;
            return Err(LedgerError::NoRoom { bytes, used: account.used, max });
        };
        // A worker holds no more than its VM uses, so this and the sums below are no larger.
        let own = held.used + bytes;
        if let Some(max) = session_max
            && own > max
        {
            account.rejected += 1;
            return Err(LedgerError::NoRoomInSession { bytes, used: held.used, max });
        }
        account.used = used;
        account.peak = account.peak.max(used);
        account.kinds[kind as usize] += bytes;
        held.used = own;
        held.kinds[kind as usize] += bytes;
        Ok(())
    }

    /// Gives `bytes` back that a worker holds.
    pub fn release(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
        kind: Charge,
    ) -> Result<(), LedgerError> {
        let (account, holds) = self.held(worker, device)?;
        let held = holds.kinds[kind as usize];
        let rest =
            held.checked_sub(bytes).ok_or(LedgerError::NotHeld { worker, kind, bytes, held })?;
        holds.kinds[kind as usize] = rest;
        holds.used -= bytes;
        // The VM uses at least what its worker held.
        account.used -= bytes;
        account.kinds[kind as usize] -= bytes;
        Ok(())
    }

    /// Closes a worker's accounts, once it has been reaped, and gives all back that it held.
    pub fn close(&mut self, worker: WorkerId) -> u64 {
        let Some(Worker { vm, devices }) = self.workers.remove(&worker) else { return 0 };
        let mut bytes = 0u64;
        for held in devices {
            let Some(account) = self.accounts.get_mut(&(vm, held.gpu)) else { continue };
            account.used -= held.used;
            for (sum, part) in account.kinds.iter_mut().zip(held.kinds) {
                *sum -= part;
            }
            bytes = bytes.saturating_add(held.used);
        }
        bytes
    }

    /// A GPU's account as a worker's guest is to see it.
    pub fn usage_of(&mut self, worker: WorkerId, device: u32) -> Result<Usage, LedgerError> {
        let (account, held) = self.held(worker, device)?;
        let of_session = account.quota.session_max.unwrap_or(u64::MAX);
        let max = account.quota.max.min(of_session);
        let free = account.quota.max.saturating_sub(account.used);
        let free = free.min(of_session.saturating_sub(held.used));
        Ok(Usage { used: max - free.min(max), max })
    }

    /// How a VM's account on a GPU stands.
    pub fn account(&self, vm: VmId, gpu: GpuId) -> Option<Account> {
        self.accounts.get(&(vm, gpu)).copied()
    }

    /// What a worker holds: each GPU with its bytes, by the worker's ordinal.
    pub fn held_by(&self, worker: WorkerId) -> Vec<(GpuId, u64)> {
        let devices = self.workers.get(&worker).map_or(&[][..], |worker| &worker.devices);
        devices.iter().map(|held| (held.gpu, held.used)).collect()
    }
}
