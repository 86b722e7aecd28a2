//! Compares the memory that the driver reports for processes with the ledger. No I/O.
//!
//! | module | compares |
//! |---|---|
//! | this one | each worker with its account |
//! | `finding` | (the accounts, and the results) |
//! | `suspicion` | (how often samples were too high) |
//! | `whole` | the workers of a VM together with the VM's charge |
//! | `unreported` | the memory that the driver reports for no process with the charges |

mod finding;
mod suspicion;
mod unreported;
mod whole;

use std::collections::{HashMap, HashSet};

use crate::gpu::nvml::MemorySample;
pub(crate) use finding::{Booked, Finding, Leftover};
use finding::{Holder, left_bytes};
use host_ipc::messages::WorkerId;
use memory_ledger::VmId;
use suspicion::{SAMPLES, Suspicion};
use unreported::{Floor, Unreported};

/// Compares successive samples of one GPU with the ledger.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// How often the samples of each VM or worker were too high. For a VM, it doesn't matter for
    /// which of its processes the driver reports the memory, because memory can move between them.
    suspicion: Suspicion<Holder>,
    /// The excess that was last reported for each worker, in bytes.
    reported: HashMap<WorkerId, u64>,
    whole: whole::Reported,
    unreported: Unreported,
    /// Compares the number of bytes that aren't booked with its lowest value so far.
    unbooked: Floor,
}

impl Comparison {
    /// Adds VMs that have used the GPU since the last comparison, even if none of their workers is
    /// left.
    pub(crate) fn add_users(&mut self, vms: impl Iterator<Item = VmId>) {
        self.unreported.add_users(vms);
    }

    /// Compares a sample with the accounts, and returns the changes since the previous sample.
    /// `left` are the ended workers that are in the sample. Memory that several accounts share is
    /// booked in each; `booked_again` is the number of bytes to subtract, so that each byte counts
    /// once. `slack` is the number of bytes that a worker may use beyond its account on a GPU of
    /// its own, and that all workers of a VM may use beyond the VM's charge. `charged` returns a
    /// VM's charge.
    pub(crate) fn compare(
        &mut self,
        sample: &MemorySample,
        booked: &[Booked],
        left: &[Leftover],
        booked_again: u64,
        charged: impl Fn(VmId) -> u64,
        slack: u64,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        let seen: Vec<_> = booked
            .iter()
            .filter_map(|account| Some((account, sample.process_bytes(account.pid)?)))
            .collect();
        if !seen.is_empty() || !left.is_empty() {
            findings.extend(self.unreported.compare(sample, booked, left, &charged, slack));
        } else if !booked.is_empty() {
            findings.extend(self.compare_total(sample.used, booked, booked_again, slack));
        }
        let is_high = |(account, seen): &&(&Booked, u64)| {
            let allowed = if account.is_own { slack } else { 0 };
            seen.saturating_sub(account.bytes) > allowed
        };
        let high: HashSet<_> = seen.iter().filter(is_high).map(|(one, _)| one.worker).collect();
        let live = |vm| charged(vm).saturating_sub(left_bytes(vm, left, sample));
        let excesses = whole::excesses(seen.iter().copied(), &high, live, slack);
        let holders = seen.iter().filter(is_high).map(|(account, _)| account.holder());
        let holders = holders.chain(excesses.keys().map(|vm| Holder::Vm(*vm))).collect();
        let Self { suspicion, unreported, .. } = self;
        suspicion.add(&holders, |one| matches!(one, Holder::Vm(vm) if unreported.is_suspect(vm)));
        for (account, seen) in seen.iter().filter(is_high) {
            let Booked { worker, bytes, is_own, .. } = **account;
            let (seen, excess) = (*seen, seen.saturating_sub(bytes));
            // Report an excess again only if it has grown by more than the slack since it was last
            // reported.
            let last = self.reported.get(&worker);
            let grown = last.is_none_or(|last| excess > last.saturating_add(slack.max(1)));
            if self.suspicion.is_certain(account.holder()) && grown {
                self.reported.insert(worker, excess);
                findings.push(match is_own {
                    true => Finding::Excess { worker, seen, booked: bytes },
                    false => Finding::NotOwn { worker, seen },
                });
            }
        }
        for account in booked {
            if self.suspicion.is_settled(account.holder())
                && self.reported.remove(&account.worker).is_some()
            {
                findings.push(Finding::Settled { worker: account.worker });
            }
        }
        findings.extend(self.whole.changes(excesses, &self.suspicion, slack));
        self.reported.retain(|worker, _| booked.iter().any(|account| account.worker == *worker));
        findings
    }

    /// Compares the GPU's total with the sum of all accounts, in which shared memory counts once.
    fn compare_total(
        &mut self,
        used: u64,
        booked: &[Booked],
        booked_again: u64,
        slack: u64,
    ) -> Option<Finding> {
        let sum = booked.iter().fold(0u64, |sum, account| sum.saturating_add(account.bytes));
        let beyond = used.saturating_sub(sum.saturating_sub(booked_again));
        let bytes = self.unbooked.excess(beyond, beyond);
        match self.unbooked.is_above(bytes > slack.saturating_mul(booked.len() as u64), SAMPLES) {
            Some(true) => Some(Finding::Unexplained { bytes }),
            Some(false) => Some(Finding::Explained),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::nvml::ProcessMemory;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;
    const SLACK: u64 = 256 * MIB;
    const NO_VM: fn(VmId) -> u64 = |_| 0;

    fn sample(processes: &[(u32, u64)]) -> MemorySample {
        let memory = |(pid, mib): &(u32, u64)| ProcessMemory { pid: *pid, bytes: mib * MIB };
        MemorySample { processes: processes.iter().map(memory).collect(), ..Default::default() }
    }

    fn booked(accounts: &[(WorkerId, u32, u64)]) -> Vec<Booked> {
        let of = |(worker, pid, mib): &(WorkerId, u32, u64)| Booked {
            worker: *worker,
            pid: *pid,
            bytes: mib * MIB,
            alone: mib * MIB,
            vm: None,
            is_own: true,
        };
        accounts.iter().map(of).collect()
    }

    #[test]
    fn a_worker_within_the_slack_is_not_reported() {
        let mut comparison = Comparison::default();
        for held in [0, 1000, 1256] {
            let found = comparison.compare(
                &sample(&[(7, held)]),
                &booked(&[(1, 7, 1000)]),
                &[],
                0,
                NO_VM,
                SLACK,
            );
            assert_eq!(found, [], "{held}");
        }
    }

    #[test]
    fn an_excess_in_two_samples_in_a_row_is_reported_once() {
        let mut comparison = Comparison::default();
        let (seen, booked) = (sample(&[(7, 1257), (8, 9999)]), booked(&[(1, 7, 1000)]));
        assert_eq!(comparison.compare(&seen, &booked, &[], 0, NO_VM, SLACK), []);
        let excess = Finding::Excess { worker: 1, seen: 1257 * MIB, booked: 1000 * MIB };
        assert_eq!(comparison.compare(&seen, &booked, &[], 0, NO_VM, SLACK), [excess]);
        assert_eq!(comparison.compare(&seen, &booked, &[], 0, NO_VM, SLACK), []);
        for _ in 0..9 {
            let found = comparison.compare(&sample(&[(7, 1000)]), &booked, &[], 0, NO_VM, SLACK);
            assert_eq!(found, []);
        }
        let settled = comparison.compare(&sample(&[(7, 1000)]), &booked, &[], 0, NO_VM, SLACK);
        assert_eq!(settled, [Finding::Settled { worker: 1 }]);
    }

    #[test]
    fn memory_freed_between_sample_and_ledger_is_not_an_excess() {
        let mut comparison = Comparison::default();
        for held in [5000, 1000, 5000, 1000] {
            let found = comparison.compare(
                &sample(&[(7, held)]),
                &booked(&[(1, 7, 1000)]),
                &[],
                0,
                NO_VM,
                SLACK,
            );
            assert_eq!(found, [], "{held}");
        }
    }

    #[test]
    fn an_excess_that_grows_is_reported_again() {
        let mut comparison = Comparison::default();
        let booked = booked(&[(1, 7, 0)]);
        let mut reports = 0;
        for held in [300, 300, 400, 500, 900, 900] {
            reports +=
                comparison.compare(&sample(&[(7, held)]), &booked, &[], 0, NO_VM, SLACK).len();
        }
        assert_eq!(reports, 2);
    }

    #[test]
    fn entries_of_one_process_are_added() {
        let mut comparison = Comparison::default();
        let (seen, booked) = (sample(&[(7, 200), (7, 200)]), booked(&[(1, 7, 100)]));
        comparison.compare(&seen, &booked, &[], 0, NO_VM, SLACK);
        let excess = Finding::Excess { worker: 1, seen: 400 * MIB, booked: 100 * MIB };
        assert_eq!(comparison.compare(&seen, &booked, &[], 0, NO_VM, SLACK), [excess]);
    }

    #[test]
    fn a_worker_may_use_no_memory_on_a_gpu_that_is_not_its_own() {
        let mut comparison = Comparison::default();
        let (seen, account) =
            (sample(&[(7, 1)]), Booked { is_own: false, ..booked(&[(1, 7, 0)])[0] });
        assert_eq!(comparison.compare(&seen, &[account], &[], 0, NO_VM, SLACK), []);
        let not_own = Finding::NotOwn { worker: 1, seen: MIB };
        assert_eq!(comparison.compare(&seen, &[account], &[], 0, NO_VM, SLACK), [not_own]);
        assert_eq!(comparison.compare(&seen, &[account], &[], 0, NO_VM, SLACK), []);
    }

    #[test]
    fn the_state_of_an_ended_worker_is_dropped() {
        let mut comparison = Comparison::default();
        let seen = sample(&[(7, 1000)]);
        for _ in 0..2 {
            comparison.compare(&seen, &booked(&[(1, 7, 0)]), &[], 0, NO_VM, SLACK);
        }
        assert_eq!(comparison.compare(&seen, &booked(&[(2, 7, 0)]), &[], 0, NO_VM, SLACK), []);
        let found = comparison.compare(&seen, &booked(&[(2, 7, 0)]), &[], 0, NO_VM, SLACK);
        assert_eq!(found, [Finding::Excess { worker: 2, seen: 1000 * MIB, booked: 0 }]);
    }

    #[test]
    fn if_processes_are_hidden_the_total_is_compared() {
        let mut comparison = Comparison::default();
        let used = |mib| MemorySample { used: mib * MIB, ..MemorySample::default() };
        let two = booked(&[(1, 7, 500), (2, 8, 500)]);
        assert_eq!(comparison.compare(&used(1600), &two, &[], 0, NO_VM, SLACK), []);
        assert_eq!(comparison.compare(&used(2112), &two, &[], 0, NO_VM, SLACK), []);
        assert_eq!(comparison.compare(&used(2113), &two, &[], 0, NO_VM, SLACK), []);
        let found = comparison.compare(&used(2113), &two, &[], 0, NO_VM, SLACK);
        assert_eq!(found, [Finding::Unexplained { bytes: 513 * MIB }]);
        assert_eq!(comparison.compare(&used(2113), &two, &[], 0, NO_VM, SLACK), []);
        for _ in 0..9 {
            assert_eq!(comparison.compare(&used(1600), &two, &[], 0, NO_VM, SLACK), []);
        }
        let found = comparison.compare(&used(1600), &two, &[], 0, NO_VM, SLACK);
        assert_eq!(found, [Finding::Explained]);
    }

    #[test]
    fn memory_that_two_workers_share_is_in_the_total_once() {
        let mut comparison = Comparison::default();
        let used = |mib| MemorySample { used: mib * MIB, ..MemorySample::default() };
        let two = booked(&[(1, 7, 900), (2, 8, 900)]);
        assert_eq!(comparison.compare(&used(1000), &two, &[], 800 * MIB, NO_VM, SLACK), []);
        let two = booked(&[(1, 7, 100), (2, 8, 900)]);
        for _ in 0..2 {
            assert_eq!(comparison.compare(&used(1000), &two, &[], 0, NO_VM, SLACK), []);
        }
    }

    const VM: VmId = VmId(1);

    /// Returns the accounts of two workers of a VM, which are charged for 1000 MiB each.
    fn two() -> Vec<Booked> {
        let of_vm = |account| Booked { vm: Some(VM), ..account };
        booked(&[(1, 7, 1000), (2, 8, 1000)]).into_iter().map(of_vm).collect()
    }

    /// Returns the number of the first sample with a finding.
    fn found(samples: impl Iterator<Item = MemorySample>, left: &[Leftover]) -> Option<usize> {
        let mut comparison = Comparison::default();
        let charged = |_| 2000 * MIB;
        let mut samples = samples.enumerate();
        let found = samples.find(|(_, sample)| {
            !comparison.compare(sample, &two(), left, 0, charged, SLACK).is_empty()
        });
        found.map(|(number, _)| number)
    }

    #[test]
    fn memory_that_moves_between_workers_is_found() {
        let seen = |number| match number % 2 {
            0 => sample(&[(7, 1500), (8, 500)]),
            _ => sample(&[(7, 500), (8, 1500)]),
        };
        assert_eq!(found((0..20).map(seen), &[]), Some(1));
    }

    #[test]
    fn memory_that_moves_between_a_worker_and_a_descriptor_is_found() {
        let seen = |number: u64| {
            let (bytes, hidden) = if number % 2 == 1 { (1500, 0) } else { (1000, 500) };
            let used = (1000 + bytes + hidden) * MIB;
            MemorySample { used, is_complete: true, ..sample(&[(7, bytes), (8, 1000)]) }
        };
        // The first samples, without hidden memory, show how much memory belongs to no process.
        let none = MemorySample { used: 2000 * MIB, ..seen(2) };
        let samples = (0..5).map(|_| none.clone()).chain((0..20).map(seen));
        assert_eq!(found(samples, &[]), Some(8));
    }

    #[test]
    fn memory_that_is_in_bounds_at_times_is_found() {
        for low in 1..5 {
            let seen = |number| sample(&[(7, if number % (low + 1) == 0 { 1500 } else { 1000 })]);
            assert!(found((0..100).map(seen), &[]).is_some(), "{low}");
        }
    }

    /// Memory that an ended worker has left counts as memory of its VM.
    #[test]
    fn the_memory_of_ended_workers_counts_for_their_vm() {
        let left = [Leftover { vm: VM, pid: 9 }];
        let seen = || std::iter::repeat_n(sample(&[(7, 1000), (8, 1000), (9, 300)]), 20);
        assert_eq!(found(seen(), &left), Some(1));
        assert_eq!(found(seen(), &[]), None);
        let seen = std::iter::repeat_n(sample(&[(7, 700), (8, 1000), (9, 300)]), 20);
        assert_eq!(found(seen, &left), None);
    }

    proptest! {
        /// A worker that allocates and frees at any time, and is sampled a moment before the ledger
        /// is read, never counts as exceeding its account, because memory is charged before it's
        /// allocated, and until it has been freed.
        #[test]
        fn honest_workers_are_never_found(
            changes in prop::collection::vec((0..3000u64, 0..9u32), 1..200),
        ) {
            let (mut ledger, mut comparison) = (memory_ledger::Ledger::default(), Comparison::default());
            let (gpu, mut charge) = (memory_ledger::GpuId(0), 0);
            let quota = memory_ledger::Quota { max: u64::MAX, session_max: None };
            ledger.set(VM, gpu, quota);
            ledger.open(1, VM, &[gpu]);
            let mut seen = sample(&[(7, 0)]);
            for (mib, what) in changes {
                match what {
                    // Take a sample. The ledger is read only after several later changes.
                    0 => seen = sample(&[(7, charge)]),
                    1 => {
                        let (vm, bytes, alone) = ledger.recent_of(1, gpu).unwrap();
                        let account = Booked { bytes, alone, vm: Some(vm), ..two()[0] };
                        let charged = |vm| ledger.recent(vm, gpu);
                        let found = comparison.compare(&seen, &[account], &[], 0, charged, SLACK);
                        prop_assert_eq!(found, []);
                        ledger.begin_interval(gpu);
                        seen = sample(&[(7, charge)]);
                    }
                    _ => {
                        ledger.release(1, 0, charge * MIB, memory_ledger::Charge::Memory).unwrap();
                        ledger.reserve(1, 0, mib * MIB, memory_ledger::Charge::Memory).unwrap();
                        charge = mib;
                    }
                }
            }
        }
    }
}
