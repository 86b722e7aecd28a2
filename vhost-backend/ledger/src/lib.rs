//! The ledger, in which the broker tracks device memory per VM and GPU. It doesn't use a clock or
//! do any I/O.
//!
//! Memory that a worker reserves is charged to its VM until the worker releases it or is reaped.
//! All arithmetic is checked, so no sequence of requests can bring an account below the actual
//! usage.

use std::collections::HashMap;

mod charge;
#[cfg(test)]
mod tests;

pub use charge::Charge;

/// The broker's number for a worker. Never reused.
pub type WorkerId = u64;

/// The broker's number for a VM. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VmId(pub u64);

/// A GPU's index on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuId(pub u32);

/// Bytes per kind of charge, in numeric order of the kinds.
pub type Kinds = [u64; Charge::ALL.len()];

/// A VM's memory limits on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// memory.max: the limit for all of the VM's sessions together, in bytes.
    pub max: u64,
    /// memory.session_max: the limit for a single session, in bytes. `None` if only `max` applies.
    pub session_max: Option<u64>,
}

/// A VM's account on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The VM's limits.
    pub quota: Quota,
    /// Bytes in use by all sessions. This exceeds `quota.max` only if the quota was lowered later.
    pub used: u64,
    /// The highest value that `used` has had.
    pub peak: u64,
    /// Number of requests refused because they exceeded a limit.
    pub rejected: u64,
    /// `used`, per kind of charge.
    pub kinds: Kinds,
}

/// A GPU's memory, as a session's guest process sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes out of `max` that aren't available to the session.
    pub used: u64,
    /// The lower of memory.max and memory.session_max, in bytes.
    pub max: u64,
}

/// The reason for refusing a request. A refused request changes nothing except the count of
/// refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// The request exceeds memory.max.
    #[error("refused {bytes} bytes: {used} of memory.max ({max} bytes) are in use")]
    NoRoom {
        /// Requested bytes.
        bytes: u64,
        /// Bytes in use by the VM.
        used: u64,
        /// The VM's memory.max, in bytes.
        max: u64,
    },
    /// The request exceeds memory.session_max.
    #[error("refused {bytes} bytes: {used} of memory.session_max ({max} bytes) are in use")]
    NoRoomInSession {
        /// Requested bytes.
        bytes: u64,
        /// Bytes in use by the session.
        used: u64,
        /// The VM's memory.session_max, in bytes.
        max: u64,
    },
    /// A worker tried to release more memory than it holds.
    #[error("worker {worker} tried to release {bytes} bytes of kind {}, but holds {held}", kind.name())]
    NotHeld {
        /// The worker.
        worker: WorkerId,
        /// Kind of charge that the worker tried to release.
        kind: Charge,
        /// Bytes that the worker tried to release.
        bytes: u64,
        /// Bytes of this kind that the worker holds.
        held: u64,
    },
    /// A worker used the ordinal of a device that it doesn't have.
    #[error("worker {worker} has no device {device}")]
    NoDevice {
        /// The worker.
        worker: WorkerId,
        /// The ordinal that the worker used.
        device: u32,
    },
    /// This worker has no accounts in the ledger.
    #[error("worker {0} has no account")]
    NoWorker(WorkerId),
}

impl LedgerError {
    /// Returns true if the request would exceed a limit, which is normal. All other errors are
    /// protocol violations.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::NoRoom { .. } | Self::NoRoomInSession { .. })
    }
}

/// The accounts for all VMs and workers.
#[derive(Debug, Default)]
pub struct Ledger {
    accounts: HashMap<(VmId, GpuId), Account>,
    workers: HashMap<WorkerId, Worker>,
}

#[derive(Debug)]
struct Worker {
    vm: VmId,
    /// The worker's GPUs, by device ordinal.
    devices: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    gpu: GpuId,
    used: u64,
    kinds: Kinds,
}

impl Ledger {
    /// Opens a VM's account on a GPU, or changes the limits of an existing one. While usage exceeds
    /// a limit, no more memory can be reserved.
    pub fn set(&mut self, vm: VmId, gpu: GpuId, quota: Quota) {
        let empty = Account { quota, used: 0, peak: 0, rejected: 0, kinds: Kinds::default() };
        self.accounts.entry((vm, gpu)).or_insert(empty).quota = quota;
    }

    /// Closes a VM's accounts.
    ///
    /// # Panics
    /// If a worker still has an account with the VM.
    pub fn remove(&mut self, vm: VmId) {
        assert!(
            !self.workers.values().any(|worker| worker.vm == vm),
            "all workers must have been reaped"
        );
        self.accounts.retain(|(of, _), _| *of != vm);
    }

    /// Opens accounts for a VM's worker. `gpus` is in the order of the worker's device ordinals.
    ///
    /// # Panics
    /// If the VM has no account on one of the GPUs.
    pub fn open(&mut self, worker: WorkerId, vm: VmId, gpus: &[GpuId]) {
        let has = |gpu: &GpuId| self.accounts.contains_key(&(vm, *gpu));
        assert!(gpus.iter().all(has), "the VM must have an account on each GPU");
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

    /// Reserves `bytes` of a device's memory for a worker. If they don't all fit, reserves none of
    /// them.
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
        // A worker never holds more than its VM uses. The sum for the VM above didn't overflow, so
        // this sum and those below can't overflow either.
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

    /// Releases `bytes` of the memory that a worker holds on a device.
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
        // The VM uses at least as much as its worker held, so this can't underflow.
        account.used -= bytes;
        account.kinds[kind as usize] -= bytes;
        Ok(())
    }

    /// Closes a reaped worker's accounts and releases all memory that it held. Returns the number
    /// of released bytes.
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

    /// Returns the memory of a worker's device, as its guest process sees it.
    pub fn usage_of(&mut self, worker: WorkerId, device: u32) -> Result<Usage, LedgerError> {
        let (account, held) = self.held(worker, device)?;
        let of_session = account.quota.session_max.unwrap_or(u64::MAX);
        let max = account.quota.max.min(of_session);
        let free = account.quota.max.saturating_sub(account.used);
        let free = free.min(of_session.saturating_sub(held.used));
        Ok(Usage { used: max - free.min(max), max })
    }

    /// Returns a VM's account on a GPU.
    pub fn account(&self, vm: VmId, gpu: GpuId) -> Option<Account> {
        self.accounts.get(&(vm, gpu)).copied()
    }

    /// Returns the bytes that a worker holds on each of its GPUs, by device ordinal.
    pub fn held_by(&self, worker: WorkerId) -> Vec<(GpuId, u64)> {
        let devices = self.workers.get(&worker).map_or(&[][..], |worker| &worker.devices);
        devices.iter().map(|held| (held.gpu, held.used)).collect()
    }
}
