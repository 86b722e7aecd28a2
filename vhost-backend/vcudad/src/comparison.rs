//! Compares the memory that the driver reports for processes with the ledger. No I/O.
//!
//! | module | compares |
//! |---|---|
//! | this one | each worker with its account |
//! | `finding` | (the accounts, and the results) |
//! | `whole` | the workers of a VM together with the VM's charge |
//! | `unreported` | the memory that the driver reports for no process with the charges |

mod finding;
mod unreported;
mod whole;

use std::collections::{HashMap, HashSet};

use super::nvml::MemorySample;
pub(crate) use finding::{Booked, Finding};
use host_ipc::messages::WorkerId;
use memory_ledger::VmId;
use unreported::{Floor, Unreported};
use whole::Whole;

/// Compares successive samples of one GPU with the ledger.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Workers that exceeded their account by more than the slack in the latest sample. An excess
    /// is reported only if it's in two samples in a row, because a worker that frees memory between
    /// the sample and the read of the ledger can appear once.
    suspects: HashSet<WorkerId>,
    /// The excess that was last reported for each worker, in bytes.
    reported: HashMap<WorkerId, u64>,
    whole: Whole,
    unreported: Unreported,
    /// The bytes that aren't booked.
    unbooked: Floor,
}

impl Comparison {
    /// Adds VMs that have used the GPU since the last comparison, even if none of their workers is
    /// left.
    pub(crate) fn add_users(&mut self, vms: impl Iterator<Item = VmId>) {
        self.unreported.add_users(vms);
    }

    /// Compares a sample with the accounts, and returns the changes since the previous sample.
    /// `booked_again` is the number of bytes that are in more than one account, each time after the
    /// first. `slack` is the number of bytes that a worker may use beyond its account on a GPU of
    /// its own, and that all workers of a VM may use beyond the VM's charge. `charged` returns the
    /// latter.
    pub(crate) fn compare(
        &mut self,
        sample: &MemorySample,
        booked: &[Booked],
        booked_again: u64,
        charged: impl Fn(VmId) -> u64,
        slack: u64,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        let seen: Vec<_> = booked
            .iter()
            .filter_map(|account| Some((account, sample.process_bytes(account.pid)?)))
            .collect();
        if seen.is_empty() && !booked.is_empty() {
            findings.extend(self.compare_total(sample.used, booked, booked_again, slack));
        } else if !seen.is_empty() {
            findings.extend(self.unreported.compare(sample, booked, &charged, slack));
        }
        let mut suspects = HashSet::new();
        for (account, seen) in &seen {
            let (Booked { worker, bytes, is_own, .. }, seen) = (**account, *seen);
            let excess = seen.saturating_sub(bytes);
            let allowed = if is_own { slack } else { 0 };
            if excess > allowed {
                suspects.insert(worker);
                // Report an excess again only if it has grown by more than the slack since it was
                // last reported.
                let last = self.reported.get(&worker);
                let grown = last.is_none_or(|last| excess > last + slack.max(1));
                if self.suspects.contains(&worker) && grown {
                    self.reported.insert(worker, excess);
                    findings.push(if is_own {
                        Finding::Excess { worker, seen, booked: bytes }
                    } else {
                        Finding::NotOwn { worker, seen }
                    });
                }
            } else if self.reported.remove(&worker).is_some() {
                findings.push(Finding::Settled { worker });
            }
        }
        findings.extend(self.whole.compare(seen.into_iter(), &suspects, charged, slack));
        self.suspects = suspects;
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
        let bytes = self.unbooked.excess(beyond);
        match self.unbooked.is_above(bytes > slack.saturating_mul(booked.len() as u64), 2) {
            Some(true) => Some(Finding::Unexplained { bytes }),
            Some(false) => Some(Finding::Explained),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::nvml::ProcessMemory;
    use super::*;

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
        assert_eq!(comparison.compare(&seen, &booked, 0, NO_VM, SLACK), []);
        let excess = Finding::Excess { worker: 1, seen: 1257 * MIB, booked: 1000 * MIB };
        assert_eq!(comparison.compare(&seen, &booked, 0, NO_VM, SLACK), [excess]);
        assert_eq!(comparison.compare(&seen, &booked, 0, NO_VM, SLACK), []);
        let settled = comparison.compare(&sample(&[(7, 1000)]), &booked, 0, NO_VM, SLACK);
        assert_eq!(settled, [Finding::Settled { worker: 1 }]);
    }

    #[test]
    fn memory_freed_between_sample_and_ledger_is_not_an_excess() {
        let mut comparison = Comparison::default();
        for held in [5000, 1000, 5000, 1000] {
            let found = comparison.compare(
                &sample(&[(7, held)]),
                &booked(&[(1, 7, 1000)]),
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
            reports += comparison.compare(&sample(&[(7, held)]), &booked, 0, NO_VM, SLACK).len();
        }
        assert_eq!(reports, 2);
    }

    #[test]
    fn entries_of_one_process_are_added() {
        let mut comparison = Comparison::default();
        let (seen, booked) = (sample(&[(7, 200), (7, 200)]), booked(&[(1, 7, 100)]));
        comparison.compare(&seen, &booked, 0, NO_VM, SLACK);
        let excess = Finding::Excess { worker: 1, seen: 400 * MIB, booked: 100 * MIB };
        assert_eq!(comparison.compare(&seen, &booked, 0, NO_VM, SLACK), [excess]);
    }

    #[test]
    fn a_worker_may_use_no_memory_on_a_gpu_that_is_not_its_own() {
        let mut comparison = Comparison::default();
        let (seen, account) =
            (sample(&[(7, 1)]), Booked { is_own: false, ..booked(&[(1, 7, 0)])[0] });
        assert_eq!(comparison.compare(&seen, &[account], 0, NO_VM, SLACK), []);
        let not_own = Finding::NotOwn { worker: 1, seen: MIB };
        assert_eq!(comparison.compare(&seen, &[account], 0, NO_VM, SLACK), [not_own]);
        assert_eq!(comparison.compare(&seen, &[account], 0, NO_VM, SLACK), []);
    }

    #[test]
    fn the_state_of_an_ended_worker_is_dropped() {
        let mut comparison = Comparison::default();
        let seen = sample(&[(7, 1000)]);
        for _ in 0..2 {
            comparison.compare(&seen, &booked(&[(1, 7, 0)]), 0, NO_VM, SLACK);
        }
        assert_eq!(comparison.compare(&seen, &booked(&[(2, 7, 0)]), 0, NO_VM, SLACK), []);
        let found = comparison.compare(&seen, &booked(&[(2, 7, 0)]), 0, NO_VM, SLACK);
        assert_eq!(found, [Finding::Excess { worker: 2, seen: 1000 * MIB, booked: 0 }]);
    }

    #[test]
    fn if_processes_are_hidden_the_total_is_compared() {
        let mut comparison = Comparison::default();
        let used = |mib| MemorySample { used: mib * MIB, ..MemorySample::default() };
        let two = booked(&[(1, 7, 500), (2, 8, 500)]);
        assert_eq!(comparison.compare(&used(1600), &two, 0, NO_VM, SLACK), []);
        assert_eq!(comparison.compare(&used(2112), &two, 0, NO_VM, SLACK), []);
        assert_eq!(comparison.compare(&used(2113), &two, 0, NO_VM, SLACK), []);
        let found = comparison.compare(&used(2113), &two, 0, NO_VM, SLACK);
        assert_eq!(found, [Finding::Unexplained { bytes: 513 * MIB }]);
        assert_eq!(comparison.compare(&used(2113), &two, 0, NO_VM, SLACK), []);
        assert_eq!(comparison.compare(&used(1600), &two, 0, NO_VM, SLACK), [Finding::Explained]);
    }

    #[test]
    fn memory_that_two_workers_share_is_in_the_total_once() {
        let mut comparison = Comparison::default();
        let used = |mib| MemorySample { used: mib * MIB, ..MemorySample::default() };
        let two = booked(&[(1, 7, 900), (2, 8, 900)]);
        assert_eq!(comparison.compare(&used(1000), &two, 800 * MIB, NO_VM, SLACK), []);
        let two = booked(&[(1, 7, 100), (2, 8, 900)]);
        for _ in 0..2 {
            assert_eq!(comparison.compare(&used(1000), &two, 0, NO_VM, SLACK), []);
        }
    }
}
