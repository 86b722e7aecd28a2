//! The account of device memory: one for each VM, kept by the broker. Pure: no clock, no I/O.
//!
//! What a worker reserved counts against its VM until the worker releases it or is reaped. All
//! sums are checked, so that no sequence of requests makes the account say less than the truth.

use std::collections::HashMap;

use crate::ipc::messages::WorkerId;

/// A VM, by its place in the configuration.
pub type VmId = usize;

/// How a VM's account stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes reserved.
    pub used: u64,
    /// memory.max.
    pub max: u64,
}

/// Why a request was not booked. Nothing has changed then.
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
    /// A worker released more than it holds.
    #[error("worker {worker} released {bytes} bytes and holds {held}")]
    NotHeld {
        /// The worker.
        worker: WorkerId,
        /// Released.
        bytes: u64,
        /// Held.
        held: u64,
    },
    /// No such worker has an account.
    #[error("worker {0} has no account")]
    NoWorker(WorkerId),
}

/// The accounts.
#[derive(Debug, Default)]
pub struct Ledger {
    vms: Vec<Usage>,
    workers: HashMap<WorkerId, Held>,
}

#[derive(Debug)]
struct Held {
    vm: VmId,
    bytes: u64,
}

impl Ledger {
    /// Opens a VM's account.
    pub fn add_vm(&mut self, max: u64) -> VmId {
        self.vms.push(Usage { used: 0, max });
        self.vms.len() - 1
    }

    /// Opens a worker's account with a VM.
    ///
    /// # Panics
    /// When the VM has none.
    pub fn open(&mut self, worker: WorkerId, vm: VmId) {
        assert!(vm < self.vms.len(), "the VM has an account");
        self.workers.entry(worker).or_insert(Held { vm, bytes: 0 });
    }

    /// Books `bytes` to a worker, or nothing.
    pub fn reserve(&mut self, worker: WorkerId, bytes: u64) -> Result<(), LedgerError> {
        let held = self.workers.get_mut(&worker).ok_or(LedgerError::NoWorker(worker))?;
        let vm = &mut self.vms[held.vm];
        match vm.used.checked_add(bytes) {
            Some(used) if used <= vm.max => {
                vm.used = used;
                // A worker holds no more than its VM uses, so this sum is smaller.
                held.bytes += bytes;
                Ok(())
            }
            _ => Err(LedgerError::NoRoom { bytes, used: vm.used, max: vm.max }),
        }
    }

    /// Gives `bytes` back that a worker holds.
    pub fn release(&mut self, worker: WorkerId, bytes: u64) -> Result<(), LedgerError> {
        let held = self.workers.get_mut(&worker).ok_or(LedgerError::NoWorker(worker))?;
        let rest = held.bytes.checked_sub(bytes).ok_or(LedgerError::NotHeld {
            worker,
            bytes,
            held: held.bytes,
        })?;
        held.bytes = rest;
        // The VM uses at least what its worker held.
        self.vms[held.vm].used -= bytes;
        Ok(())
    }

    /// Closes a worker's account, once it has been reaped, and gives all back that it held.
    pub fn close(&mut self, worker: WorkerId) -> u64 {
        let Some(held) = self.workers.remove(&worker) else { return 0 };
        self.vms[held.vm].used -= held.bytes;
        held.bytes
    }

    /// How the account of a worker's VM stands.
    pub fn usage_of(&self, worker: WorkerId) -> Result<Usage, LedgerError> {
        let held = self.workers.get(&worker).ok_or(LedgerError::NoWorker(worker))?;
        Ok(self.vms[held.vm])
    }

    /// How a VM's account stands.
    pub fn usage(&self, vm: VmId) -> Option<Usage> {
        self.vms.get(vm).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reserving_up_to_the_limit_works_and_past_it_changes_nothing() {
        let mut ledger = Ledger::default();
        let vm = ledger.add_vm(100);
        ledger.open(1, vm);
        ledger.open(2, vm);
        assert_eq!(ledger.reserve(1, 60), Ok(()));
        assert_eq!(
            ledger.reserve(2, 41),
            Err(LedgerError::NoRoom { bytes: 41, used: 60, max: 100 })
        );
        assert_eq!(ledger.reserve(2, 40), Ok(()));
        assert_eq!(ledger.usage(vm), Some(Usage { used: 100, max: 100 }));
    }

    #[test]
    fn sums_that_overflow_are_refused() {
        let mut ledger = Ledger::default();
        let vm = ledger.add_vm(u64::MAX);
        ledger.open(1, vm);
        assert_eq!(ledger.reserve(1, u64::MAX), Ok(()));
        assert!(ledger.reserve(1, 1).is_err());
        assert!(ledger.reserve(1, u64::MAX).is_err());
    }

    #[test]
    fn a_worker_releases_no_more_than_it_holds() {
        let mut ledger = Ledger::default();
        let vm = ledger.add_vm(100);
        ledger.open(1, vm);
        ledger.open(2, vm);
        ledger.reserve(1, 50).unwrap();
        assert_eq!(
            ledger.release(2, 1),
            Err(LedgerError::NotHeld { worker: 2, bytes: 1, held: 0 })
        );
        assert_eq!(ledger.close(1), 50);
        assert_eq!(ledger.close(1), 0);
        assert_eq!(ledger.usage(vm), Some(Usage { used: 0, max: 100 }));
    }

    #[test]
    fn unknown_workers_are_refused() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.reserve(7, 1), Err(LedgerError::NoWorker(7)));
        assert_eq!(ledger.release(7, 1), Err(LedgerError::NoWorker(7)));
        assert_eq!(ledger.usage_of(7), Err(LedgerError::NoWorker(7)));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Open(u64, usize),
        Reserve(u64, u64),
        Release(u64, u64),
        Close(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let bytes = prop_oneof![0u64..2000, Just(u64::MAX), Just(u64::MAX / 2)];
        prop_oneof![
            (0u64..6, 0usize..2).prop_map(|(worker, vm)| Step::Open(worker, vm)),
            (0u64..6, bytes.clone()).prop_map(|(worker, bytes)| Step::Reserve(worker, bytes)),
            (0u64..6, bytes).prop_map(|(worker, bytes)| Step::Release(worker, bytes)),
            (0u64..6).prop_map(Step::Close),
        ]
    }

    proptest! {
        /// Against a model of plain sums in u128: the account is exact and never above its limit.
        #[test]
        fn the_account_is_exact(steps in prop::collection::vec(step(), 0..200)) {
            let limits = [1000u64, 3000];
            let mut ledger = Ledger::default();
            for max in limits {
                ledger.add_vm(max);
            }
            let mut model: HashMap<u64, (usize, u128)> = HashMap::new();
            for step in steps {
                let used = |model: &HashMap<u64, (usize, u128)>, vm: usize| -> u128 {
                    model.values().filter(|held| held.0 == vm).map(|held| held.1).sum()
                };
                match step {
                    Step::Open(worker, vm) => {
                        ledger.open(worker, vm);
                        model.entry(worker).or_insert((vm, 0));
                    }
                    Step::Reserve(worker, bytes) => {
                        let booked = ledger.reserve(worker, bytes).is_ok();
                        let expected = model.get(&worker).is_some_and(|held| {
                            used(&model, held.0) + u128::from(bytes) <= limits[held.0].into()
                        });
                        prop_assert_eq!(booked, expected);
                        if booked {
                            model.get_mut(&worker).unwrap().1 += u128::from(bytes);
                        }
                    }
                    Step::Release(worker, bytes) => {
                        let given = ledger.release(worker, bytes).is_ok();
                        let expected =
                            model.get(&worker).is_some_and(|held| held.1 >= bytes.into());
                        prop_assert_eq!(given, expected);
                        if given {
                            model.get_mut(&worker).unwrap().1 -= u128::from(bytes);
                        }
                    }
                    Step::Close(worker) => {
                        let given = u128::from(ledger.close(worker));
                        let held = model.remove(&worker).map_or(0, |held| held.1);
                        prop_assert_eq!(given, held);
                    }
                }
                for (vm, max) in limits.into_iter().enumerate() {
                    let usage = ledger.usage(vm).unwrap();
                    prop_assert_eq!(u128::from(usage.used), used(&model, vm));
                    prop_assert!(usage.used <= max);
                }
            }
        }
    }
}
