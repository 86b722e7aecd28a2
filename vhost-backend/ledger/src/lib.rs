//! The ledger, in which the broker tracks device memory per VM and GPU. It doesn't use a clock or
//! do any I/O.
//!
//! Memory that a worker reserves is charged to its VM until the worker releases it or is reaped. A
//! part of it can be *away*: its contents are in host memory, and the GPU's memory is free for
//! others. Memory that is away stays charged, so it counts against the VM's limits. The rest is
//! *resident*.
//!
//! Workers of a VM can share memory with one another. Shared memory is charged to the VM once,
//! until the last worker that holds it leaves it or is reaped. All arithmetic is checked, so no
//! sequence of requests can bring an account below the actual usage.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

mod charge;
mod credit;
mod pairs;
mod recent;
#[cfg(test)]
mod tests;
mod whole;

pub use charge::Charge;
pub use credit::{CREDIT, Credit, MOST_KEPT, most_kept};
pub use whole::{SessionUse, sessions_to_end};

use recent::Recent;

/// The broker's number for a worker. Never reused.
pub type WorkerId = u64;

/// The broker's number for a VM. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VmId(pub u64);

/// A GPU's index on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GpuId(pub u32);

/// The broker's number for memory that workers of a VM share. Never reused.
pub type ShareId = u64;

/// The maximum number of pieces of memory that the workers of one VM may share at once.
pub const MAX_SHARES: usize = 4096;

/// The maximum number of pieces of shared memory that the workers of one guest user may hold at
/// once. A worker without a user has this limit for itself. It leaves a part of [`MAX_SHARES`] for
/// others.
pub const MAX_SHARES_OF_ONE: usize = MAX_SHARES / 4 * 3;

/// Bytes per kind of charge, in numeric order of the kinds.
pub type Kinds = [u64; Charge::ALL.len()];

/// A VM's memory limits on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// memory.max: the limit for all of the VM's sessions together, in bytes.
    pub max: u64,
    /// memory.session_max: the limit for a single session, in bytes. `None` if only `max` applies.
    pub session_max: Option<u64>,
}

/// A VM's account on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The VM's limits.
    pub quota: Quota,
    /// Bytes charged to all sessions, including their [`Credit`]. This exceeds `quota.max` only if
    /// the quota was lowered later.
    pub used: u64,
    /// The part of `used` that is away. Never more than `used`.
    #[serde(default)]
    pub away: u64,
    /// The highest value that `used` has had.
    pub peak: u64,
    /// Number of requests refused because they exceeded a limit.
    pub rejected: u64,
    /// `used`, per kind of charge.
    pub kinds: Kinds,
    #[serde(skip)]
    recent: Recent,
}

impl Account {
    /// Returns the charged bytes that are on the GPU.
    pub fn resident(&self) -> u64 {
        self.used - self.away
    }

    fn record(&mut self) {
        self.peak = self.peak.max(self.used);
        self.recent.record(self.resident());
    }
}

/// A GPU's memory, as a session's guest process sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes out of `max` that aren't available to the session. More than `max` if the VM uses more
    /// than it may, because a limit was lowered.
    pub used: u64,
    /// The lower of memory.max and memory.session_max, in bytes.
    pub max: u64,
}

/// A GPU's memory that isn't available to a session: the higher of two numbers, each of which may
/// be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    /// The memory that isn't available because of memory.max.
    pub vm: i64,
    /// The memory that isn't available because of memory.session_max.
    pub session: i64,
    /// The lower of the two limits, in bytes.
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
    /// A worker tried to release more memory than it holds. Memory that is away can't be released.
    #[error("worker {worker} tried to release {bytes} bytes of kind {}, but can release only {held}", kind.name())]
    NotHeld {
        /// The worker.
        worker: WorkerId,
        /// Kind of charge that the worker tried to release.
        kind: Charge,
        /// Bytes that the worker tried to release.
        bytes: u64,
        /// Bytes of this kind that the worker holds and that aren't away.
        held: u64,
    },
    /// A worker's memory can't return, because less of it is away.
    #[error("can't return {bytes} bytes of worker {worker} to the GPU: only {away} are away")]
    NotAway {
        /// The worker.
        worker: WorkerId,
        /// Bytes that would return.
        bytes: u64,
        /// Bytes that are away.
        away: u64,
    },
    /// The VM already shares as many pieces of memory as it may.
    #[error("a VM can share at most {MAX_SHARES} pieces of memory")]
    TooManyShares,
    /// The workers of one user, or a worker without a user, already hold as many pieces of shared
    /// memory as they may.
    #[error(
        "a session, or the sessions of a guest's user, can hold at most {MAX_SHARES_OF_ONE} pieces of shared memory"
    )]
    TooManySharesOfOne,
    /// There is no such shared memory, or it isn't on this GPU of the worker's VM.
    #[error("worker {worker} has no access to shared memory {share}")]
    NoShare {
        /// The worker.
        worker: WorkerId,
        /// The number that the worker used.
        share: ShareId,
    },
    /// A worker tried to leave shared memory that it doesn't hold.
    #[error("worker {worker} tried to leave shared memory {share}, which it does not hold")]
    NotJoined {
        /// The worker.
        worker: WorkerId,
        /// The number that the worker used.
        share: ShareId,
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
    /// Returns true if the request would exceed a limit, which is normal.
    pub fn is_full(&self) -> bool {
        matches!(
            self,
            Self::NoRoom { .. }
                | Self::NoRoomInSession { .. }
                | Self::TooManyShares
                | Self::TooManySharesOfOne
        )
    }
}

/// The accounts for all VMs and workers. When another broker replaces this one, it gets them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ledger {
    #[serde(with = "pairs")]
    accounts: HashMap<(VmId, GpuId), Account>,
    workers: HashMap<WorkerId, Worker>,
    /// The shared memory of each VM.
    shares: HashMap<VmId, HashMap<ShareId, SharedMemory>>,
    last_share: ShareId,
}

/// Memory that one or more workers of a VM hold together. Its kind of charge is `Memory`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SharedMemory {
    gpu: GpuId,
    bytes: u64,
    /// How many times each worker holds it.
    holders: BTreeMap<WorkerId, u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Worker {
    vm: VmId,
    /// The worker's GPUs, by device ordinal.
    devices: Vec<DeviceUse>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct DeviceUse {
    gpu: GpuId,
    /// Bytes that only this worker holds, plus the shared bytes that it holds.
    used: u64,
    /// Bytes that only this worker holds, per kind of charge.
    kinds: Kinds,
    /// The part of the kind `Memory` in `kinds` that is away.
    #[serde(default)]
    away: u64,
    /// The highest numbers of resident bytes in recent intervals.
    #[serde(skip)]
    recent: Recent,
}

impl DeviceUse {
    fn resident(&self) -> u64 {
        self.used - self.away
    }

    fn set(&mut self, used: u64) {
        self.used = used;
        self.recent.record(self.resident());
    }

    /// Returns the bytes of a kind that only this worker holds and that aren't away.
    fn at_hand(&self, kind: Charge) -> u64 {
        let away = if kind == Charge::Memory { self.away } else { 0 };
        self.kinds[kind as usize] - away
    }

    /// Fails unless this worker alone holds `bytes` of a kind that aren't away.
    fn check(&self, worker: WorkerId, bytes: u64, kind: Charge) -> Result<(), LedgerError> {
        let held = self.at_hand(kind);
        if bytes > held {
            return Err(LedgerError::NotHeld { worker, kind, bytes, held });
        }
        Ok(())
    }
}

/// Charges a worker and its VM. If a limit would be exceeded, returns an error and changes nothing.
fn book(
    account: &mut Account,
    held: &mut DeviceUse,
    bytes: u64,
    kind: Charge,
) -> Result<(), LedgerError> {
    let Quota { max, session_max } = account.quota;
    if account.used.checked_add(bytes).is_none_or(|used| used > max) {
        return Err(LedgerError::NoRoom { bytes, used: account.used, max });
    }
    // A worker never holds more than its VM uses, and the VM's sum was checked above, so these sums
    // can't overflow.
    let own = held.used + bytes;
    if let Some(max) = session_max
        && own > max
    {
        return Err(LedgerError::NoRoomInSession { bytes, used: held.used, max });
    }
    add(account, held, bytes, kind);
    Ok(())
}

/// Charges a worker and its VM, whatever the limits are. The VM's sum must not overflow.
fn add(account: &mut Account, held: &mut DeviceUse, bytes: u64, kind: Charge) {
    account.used += bytes;
    account.record();
    account.kinds[kind as usize] += bytes;
    held.set(held.used + bytes);
    held.kinds[kind as usize] += bytes;
}

impl Ledger {
    /// Opens a VM's account on a GPU, or changes the limits of an existing one. While usage exceeds
    /// a limit, no more memory can be reserved.
    pub fn set(&mut self, vm: VmId, gpu: GpuId, quota: Quota) {
        let empty = Account {
            quota,
            used: 0,
            away: 0,
            peak: 0,
            rejected: 0,
            kinds: Kinds::default(),
            recent: Recent::default(),
        };
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
        self.shares.remove(&vm);
    }

    /// Opens accounts for a VM's worker. `gpus` is in the order of the worker's device ordinals.
    ///
    /// # Panics
    /// If the VM has no account on one of the GPUs.
    pub fn open(&mut self, worker: WorkerId, vm: VmId, gpus: &[GpuId]) {
        let has = |gpu: &GpuId| self.accounts.contains_key(&(vm, *gpu));
        assert!(gpus.iter().all(has), "the VM must have an account on each GPU");
        self.workers.entry(worker).or_insert_with(|| {
            let held = |&gpu| DeviceUse {
                gpu,
                used: 0,
                kinds: Kinds::default(),
                away: 0,
                recent: Recent::default(),
            };
            Worker { vm, devices: gpus.iter().map(held).collect() }
        });
    }

    fn held(
        &mut self,
        worker: WorkerId,
        device: u32,
    ) -> Result<(&mut Account, &mut DeviceUse), LedgerError> {
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
        let booked = book(account, held, bytes, kind);
        account.rejected += u64::from(booked.is_err());
        booked
    }

    /// Grants a worker credit: charges it for as much of `bytes` as fits. Returns the number of
    /// bytes, which is 0 or a multiple of `unit`.
    pub fn advance(&mut self, worker: WorkerId, device: u32, bytes: u64, unit: u64) -> u64 {
        let Ok((account, held)) = self.held(worker, device) else { return 0 };
        let Quota { max, session_max } = account.quota;
        let of_session = session_max.map_or(u64::MAX, |max| max.saturating_sub(held.used));
        let room = max.saturating_sub(account.used).min(of_session).min(bytes);
        let bytes = room - room.checked_rem(unit).unwrap_or(room);
        if bytes == 0 || book(account, held, bytes, Charge::Memory).is_err() {
            return 0;
        }
        bytes
    }

    /// Releases credit that was withdrawn from a worker. The worker can write wrong values into its
    /// credit, so this releases no more than the worker holds as `Memory`. Returns the number of
    /// bytes.
    pub fn withdraw(&mut self, worker: WorkerId, device: u32, bytes: u64) -> u64 {
        let bytes = bytes.min(self.memory_of(worker, device));
        match self.release(worker, device, bytes, Charge::Memory) {
            Ok(()) => bytes,
            Err(_) => 0,
        }
    }

    /// Returns the resident bytes of kind `Memory` that a worker holds alone, which include its
    /// credit.
    pub fn memory_of(&self, worker: WorkerId, device: u32) -> u64 {
        let held = self.workers.get(&worker).and_then(|of| of.devices.get(device as usize));
        held.map_or(0, |held| held.at_hand(Charge::Memory))
    }

    /// Records that `bytes` of the memory of kind `Memory` that a worker holds alone are away.
    pub fn send_away(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
    ) -> Result<(), LedgerError> {
        let (account, holds) = self.held(worker, device)?;
        holds.check(worker, bytes, Charge::Memory)?;
        // `away` never exceeds the charged bytes, so these sums can't overflow.
        holds.away += bytes;
        account.away += bytes;
        Ok(())
    }

    /// Records that `bytes` of a worker's memory are no longer away. Must be called before the
    /// worker allocates the memory on the GPU again.
    pub fn bring_back(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
    ) -> Result<(), LedgerError> {
        let (account, holds) = self.held(worker, device)?;
        let away = holds.away;
        holds.away = away.checked_sub(bytes).ok_or(LedgerError::NotAway { worker, bytes, away })?;
        account.away -= bytes;
        holds.set(holds.used);
        account.record();
        Ok(())
    }

    /// Returns the bytes of a worker's memory that are away, on each of its GPUs, by device
    /// ordinal.
    pub fn away(&self, worker: WorkerId) -> Vec<(GpuId, u64)> {
        let devices = self.workers.get(&worker).map_or(&[][..], |worker| &worker.devices);
        devices.iter().map(|held| (held.gpu, held.away)).collect()
    }

    /// Turns `bytes` of kind `Memory` that a worker holds alone, and doesn't use, into another
    /// kind.
    pub fn convert(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
        kind: Charge,
    ) -> Result<(), LedgerError> {
        self.release(worker, device, bytes, Charge::Memory)?;
        // `charge` doesn't check the limits, which may be lower now. The sums end up as they were
        // before.
        self.charge(worker, device, bytes, kind)
    }

    /// Charges a worker for memory that it has already been granted. A limit may have been lowered
    /// since, so this doesn't check the limits. It refuses the charge only if the VM's sum would
    /// overflow.
    pub fn charge(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
        kind: Charge,
    ) -> Result<(), LedgerError> {
        let (account, held) = self.held(worker, device)?;
        if account.used.checked_add(bytes).is_none() {
            let (used, max) = (account.used, account.quota.max);
            return Err(LedgerError::NoRoom { bytes, used, max });
        }
        add(account, held, bytes, kind);
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
        holds.check(worker, bytes, kind)?;
        holds.kinds[kind as usize] -= bytes;
        holds.used -= bytes;
        // The VM uses at least as much as its worker held, so this can't underflow.
        account.used -= bytes;
        account.kinds[kind as usize] -= bytes;
        Ok(())
    }

    /// Checks that some workers of a VM, those for which `is_one` returns true, may hold another
    /// piece of shared memory: `share`, or a new piece if `share` is `None`. These workers belong
    /// to one user.
    pub fn check_shares(
        &self,
        vm: VmId,
        share: Option<ShareId>,
        is_one: impl Fn(WorkerId) -> bool,
    ) -> Result<(), LedgerError> {
        let Some(shares) = self.shares.get(&vm) else { return Ok(()) };
        let is_held = |shared: &&SharedMemory| shared.holders.keys().any(|worker| is_one(*worker));
        let is_held_already =
            || share.and_then(|share| shares.get(&share)).is_some_and(|s| is_held(&s));
        let is_full = shares.len() >= MAX_SHARES_OF_ONE
            && shares.values().filter(is_held).count() >= MAX_SHARES_OF_ONE
            && !is_held_already();
        if is_full { Err(LedgerError::TooManySharesOfOne) } else { Ok(()) }
    }

    /// Turns `bytes` of kind `Memory` that a worker holds alone into shared memory, which the
    /// worker holds once. The VM's usage doesn't change.
    pub fn share(
        &mut self,
        worker: WorkerId,
        device: u32,
        bytes: u64,
    ) -> Result<ShareId, LedgerError> {
        let kind = Charge::Memory;
        let (_, holds) = self.held(worker, device)?;
        let gpu = holds.gpu;
        holds.check(worker, bytes, kind)?;
        let vm = self.workers.get(&worker).ok_or(LedgerError::NoWorker(worker))?.vm;
        let shares = self.shares.entry(vm).or_default();
        if shares.len() >= MAX_SHARES {
            return Err(LedgerError::TooManyShares);
        }
        self.last_share += 1;
        let holders = BTreeMap::from([(worker, 1)]);
        shares.insert(self.last_share, SharedMemory { gpu, bytes, holders });
        // Only the worker's `kinds` change: its `used` includes shared memory.
        self.held(worker, device)?.1.kinds[kind as usize] -= bytes;
        Ok(self.last_share)
    }

    /// Makes a worker hold shared memory of its VM, or hold it one more time. Returns the number of
    /// bytes. A worker that doesn't hold the memory yet needs room for it in memory.session_max.
    pub fn join(
        &mut self,
        worker: WorkerId,
        device: u32,
        share: ShareId,
    ) -> Result<u64, LedgerError> {
        let no_share = LedgerError::NoShare { worker, share };
        let vm = self.workers.get(&worker).ok_or(LedgerError::NoWorker(worker))?.vm;
        let (account, holds) = self.held(worker, device)?;
        let (gpu, used, session_max) = (holds.gpu, holds.used, account.quota.session_max);
        let shares = self.shares.get_mut(&vm).ok_or(no_share)?;
        let shared = shares.get_mut(&share).filter(|shared| shared.gpu == gpu).ok_or(no_share)?;
        let bytes = shared.bytes;
        if let Some(times) = shared.holders.get_mut(&worker) {
            *times = times.checked_add(1).ok_or(no_share)?;
            return Ok(bytes);
        }
        // The VM's usage includes these shared bytes and those that the worker holds, so this sum
        // can't overflow.
        let own = used + bytes;
        if let Some(max) = session_max
            && own > max
        {
            self.held(worker, device)?.0.rejected += 1;
            return Err(LedgerError::NoRoomInSession { bytes, used, max });
        }
        shared.holders.insert(worker, 1);
        self.held(worker, device)?.1.set(own);
        Ok(bytes)
    }

    /// Makes a worker hold shared memory one time less. Releases the memory once no worker holds
    /// it.
    pub fn leave(
        &mut self,
        worker: WorkerId,
        device: u32,
        share: ShareId,
    ) -> Result<(), LedgerError> {
        let not_joined = LedgerError::NotJoined { worker, share };
        let gpu = self.held(worker, device)?.1.gpu;
        let vm = self.workers.get(&worker).ok_or(LedgerError::NoWorker(worker))?.vm;
        let shares = self.shares.get_mut(&vm).ok_or(not_joined)?;
        let shared = shares.get_mut(&share).filter(|shared| shared.gpu == gpu).ok_or(not_joined)?;
        let times = shared.holders.get_mut(&worker).ok_or(not_joined)?;
        *times -= 1;
        if *times > 0 {
            return Ok(());
        }
        shared.holders.remove(&worker);
        let (bytes, is_last) = (shared.bytes, shared.holders.is_empty());
        if is_last {
            shares.remove(&share);
        }
        let (account, holds) = self.held(worker, device)?;
        holds.used -= bytes;
        if is_last {
            account.used -= bytes;
            account.kinds[Charge::Memory as usize] -= bytes;
        }
        Ok(())
    }

    /// Closes a reaped worker's accounts and releases all memory that it held, except shared memory
    /// that other workers hold. Returns the number of released bytes.
    pub fn close(&mut self, worker: WorkerId) -> u64 {
        let Some(Worker { vm, devices }) = self.workers.remove(&worker) else { return 0 };
        let mut bytes = 0u64;
        for held in devices {
            let Some(account) = self.accounts.get_mut(&(vm, held.gpu)) else { continue };
            let mut kinds = held.kinds;
            account.away -= held.away;
            self.shares.entry(vm).or_default().retain(|_, shared| {
                let left = shared.gpu == held.gpu && shared.holders.remove(&worker).is_some();
                if left && shared.holders.is_empty() {
                    kinds[Charge::Memory as usize] += shared.bytes;
                }
                !shared.holders.is_empty()
            });
            for (sum, part) in account.kinds.iter_mut().zip(kinds) {
                *sum -= part;
                account.used -= part;
                bytes = bytes.saturating_add(part);
            }
        }
        bytes
    }

    /// Returns the used and total memory of a worker's device, as its guest process sees them.
    /// `unused` is the credit of all of the VM's workers on this GPU, and `own` is this worker's
    /// credit.
    pub fn usage_of(
        &self,
        worker: WorkerId,
        device: u32,
        (own, unused): (i128, i128),
    ) -> Result<Usage, LedgerError> {
        let Base { vm, session, max } = self.base_of(worker, device, (own, unused))?;
        Ok(Usage { used: vm.max(session).max(0) as u64, max })
    }

    /// Returns the two numbers whose maximum [`Self::usage_of`] reports: one for the VM's limit,
    /// and one for the session's. The credits `own` and `all` are subtracted, and can have any
    /// value.
    pub fn base_of(
        &self,
        worker: WorkerId,
        device: u32,
        (own, all): (i128, i128),
    ) -> Result<Base, LedgerError> {
        let of = self.workers.get(&worker).ok_or(LedgerError::NoWorker(worker))?;
        let no_device = LedgerError::NoDevice { worker, device };
        let held = of.devices.get(device as usize).ok_or(no_device)?;
        let account = self.accounts.get(&(of.vm, held.gpu)).ok_or(no_device)?;
        let of_vm = account.quota.max;
        let of_session = account.quota.session_max.unwrap_or(u64::MAX);
        let max = of_vm.min(of_session);
        // The session's total is `max`, the lower limit. Subtract the rest of a higher limit, so
        // that the total minus the result is the room below that limit.
        let part = |used: u64, less: i128, limit: u64| {
            let part = i128::from(used) - less - i128::from(limit - max);
            part.clamp(i64::MIN.into(), i64::MAX.into()) as i64
        };
        let vm = part(account.used, all, of_vm);
        Ok(Base { vm, session: part(held.used, own, of_session), max })
    }

    /// Returns whether a worker can reserve `bytes` now.
    pub fn has_room(&self, worker: WorkerId, device: u32, bytes: u64) -> bool {
        let Some(of) = self.workers.get(&worker) else { return false };
        let Some(held) = of.devices.get(device as usize) else { return false };
        let Some(account) = self.accounts.get(&(of.vm, held.gpu)) else { return false };
        let fits = |used: u64, max: u64| used.checked_add(bytes).is_some_and(|used| used <= max);
        let Quota { max, session_max } = account.quota;
        fits(account.used, max) && session_max.is_none_or(|max| fits(held.used, max))
    }

    /// Returns the size of shared memory in bytes. Returns `None` if the worker already holds it,
    /// or if its VM doesn't have it.
    pub fn joins(&self, worker: WorkerId, share: ShareId) -> Option<u64> {
        let vm = self.workers.get(&worker)?.vm;
        let shared = self.shares.get(&vm)?.get(&share)?;
        (!shared.holders.contains_key(&worker)).then_some(shared.bytes)
    }

    /// Returns the GPU of one of a worker's devices.
    pub fn gpu_of(&self, worker: WorkerId, device: u32) -> Option<GpuId> {
        self.workers.get(&worker)?.devices.get(device as usize).map(|held| held.gpu)
    }

    /// Returns a VM's account on a GPU.
    pub fn account(&self, vm: VmId, gpu: GpuId) -> Option<Account> {
        self.accounts.get(&(vm, gpu)).copied()
    }

    /// Returns the shared bytes on a GPU that the accounts of several workers contain, multiplied
    /// by the number of these workers minus one: the amount by which the sum of all accounts
    /// exceeds the memory.
    pub fn counted_again(&self, gpu: GpuId) -> u64 {
        let shares = self.shares.values().flat_map(HashMap::values);
        let shares = shares.filter(|shared| shared.gpu == gpu);
        let again = |shared: &SharedMemory| {
            shared.bytes.saturating_mul((shared.holders.len() as u64).saturating_sub(1))
        };
        shares.fold(0, |sum, shared| sum.saturating_add(again(shared)))
    }

    /// Begins an interval on a GPU. [`Self::recent`] and [`Self::recent_of`] cover the current
    /// interval and the one before.
    pub fn begin_interval(&mut self, gpu: GpuId) {
        for ((_, of), account) in &mut self.accounts {
            if *of == gpu {
                account.recent.begin(account.resident());
            }
        }
        let held = self.workers.values_mut().flat_map(|worker| &mut worker.devices);
        for held in held.filter(|held| held.gpu == gpu) {
            held.recent.begin(held.resident());
        }
    }

    /// Returns three facts about a worker on a GPU: its VM; the maximum number of resident bytes
    /// that it has held there in this interval and the one before, including shared memory; and the
    /// resident bytes that it holds there now without shared memory. `None` if the worker has no
    /// account there.
    pub fn recent_of(&self, worker: WorkerId, gpu: GpuId) -> Option<(VmId, u64, u64)> {
        let worker = self.workers.get(&worker)?;
        let held = worker.devices.iter().find(|held| held.gpu == gpu)?;
        let alone = held.kinds.iter().sum::<u64>() - held.away;
        Some((worker.vm, held.recent.highest(held.resident()), alone))
    }

    /// Returns the most resident bytes that a VM has had on a GPU in this interval and the one
    /// before.
    pub fn recent(&self, vm: VmId, gpu: GpuId) -> u64 {
        self.account(vm, gpu).map_or(0, |account| account.recent.highest(account.resident()))
    }

    /// Returns the bytes that a worker holds on each of its GPUs, by device ordinal, including
    /// shared memory.
    pub fn held_by(&self, worker: WorkerId) -> Vec<(GpuId, u64)> {
        let devices = self.workers.get(&worker).map_or(&[][..], |worker| &worker.devices);
        devices.iter().map(|held| (held.gpu, held.used)).collect()
    }
}
