//! Compares the memory that the driver reports for processes with the ledger. No I/O.

use std::collections::{HashMap, HashSet};

use super::nvml::MemorySample;
use host_ipc::messages::WorkerId;

/// A worker's account on the sampled GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Booked {
    /// The worker. Warm workers, which have no VM, are included with the size of a context.
    pub(crate) worker: WorkerId,
    pub(crate) pid: u32,
    /// Bytes booked in the ledger.
    pub(crate) bytes: u64,
}

/// A change that a comparison found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// A worker uses more than the ledger has booked for it, by more than the slack.
    Excess {
        worker: WorkerId,
        /// Bytes that the driver reports.
        seen: u64,
        /// Bytes booked in the ledger.
        booked: u64,
    },
    /// A worker with a reported excess is within the slack again.
    Settled { worker: WorkerId },
    /// Memory is in use that the ledger doesn't explain, and its owner is unknown.
    ///
    /// This is found only if the driver lists none of this broker's processes, because a pid
    /// namespace hides them. Then only the GPU's total can be checked: how far it has grown beyond
    /// the booked bytes, compared with the lowest such difference so far. The slack is one worker's
    /// slack times the number of workers.
    Unexplained {
        /// Bytes beyond the booked ones.
        bytes: u64,
    },
    /// The ledger explains the GPU's total again.
    Explained,
}

/// Compares successive samples of one GPU with the ledger.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Workers above the slack in the latest sample. An excess is reported only in the second
    /// sample in a row: a process that frees memory between the sample and the read of the ledger
    /// seems to use too much once.
    suspects: HashSet<WorkerId>,
    /// The latest reported excess of each worker, in bytes above its account.
    reported: HashMap<WorkerId, u64>,
    /// The lowest number of unexplained bytes so far.
    floor: Option<u64>,
    /// Samples in a row with more unexplained bytes than the slack.
    unexplained: u32,
}

impl Comparison {
    /// Compares a sample with the accounts. Returns the changes since the previous sample. `slack`
    /// is in bytes, for each worker.
    pub(crate) fn compare(
        &mut self,
        sample: &MemorySample,
        booked: &[Booked],
        slack: u64,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        let seen: Vec<_> = booked
            .iter()
            .filter_map(|account| Some((account, sample.process_bytes(account.pid)?)))
            .collect();
        if seen.is_empty() && !booked.is_empty() {
            findings.extend(self.compare_total(sample.used, booked, slack));
        }
        let mut suspects = HashSet::new();
        for (account, seen) in seen {
            let Booked { worker, bytes, .. } = *account;
            let excess = seen.saturating_sub(bytes);
            if excess > slack {
                suspects.insert(worker);
                // Report it again only if it has grown by more than the slack since the last
                // report.
                let last = self.reported.get(&worker);
                let grown = last.is_none_or(|last| excess > last + slack.max(1));
                if self.suspects.contains(&worker) && grown {
                    self.reported.insert(worker, excess);
                    findings.push(Finding::Excess { worker, seen, booked: bytes });
                }
            } else if self.reported.remove(&worker).is_some() {
                findings.push(Finding::Settled { worker });
            }
        }
        self.suspects = suspects;
        self.reported.retain(|worker, _| booked.iter().any(|account| account.worker == *worker));
        findings
    }

    /// Compares the GPU's total with the sum of all accounts.
    fn compare_total(&mut self, used: u64, booked: &[Booked], slack: u64) -> Option<Finding> {
        let sum = booked.iter().fold(0u64, |sum, account| sum.saturating_add(account.bytes));
        let beyond = used.saturating_sub(sum);
        let floor = self.floor.get_or_insert(beyond);
        *floor = (*floor).min(beyond);
        let bytes = beyond - *floor;
        if bytes > slack.saturating_mul(booked.len() as u64) {
            self.unexplained += 1;
            return (self.unexplained == 2).then_some(Finding::Unexplained { bytes });
        }
        let was_reported = std::mem::take(&mut self.unexplained) >= 2;
        was_reported.then_some(Finding::Explained)
    }
}

#[cfg(test)]
mod tests {
    use super::super::nvml::ProcessMemory;
    use super::*;

    const MIB: u64 = 1 << 20;
    const SLACK: u64 = 256 * MIB;

    fn sample(processes: &[(u32, u64)]) -> MemorySample {
        let memory = |(pid, mib): &(u32, u64)| ProcessMemory { pid: *pid, bytes: mib * MIB };
        MemorySample { used: 0, processes: processes.iter().map(memory).collect() }
    }

    fn booked(accounts: &[(WorkerId, u32, u64)]) -> Vec<Booked> {
        let of = |(worker, pid, mib): &(WorkerId, u32, u64)| Booked {
            worker: *worker,
            pid: *pid,
            bytes: mib * MIB,
        };
        accounts.iter().map(of).collect()
    }

    #[test]
    fn a_worker_within_the_slack_is_not_reported() {
        let mut comparison = Comparison::default();
        for held in [0, 1000, 1256] {
            let found = comparison.compare(&sample(&[(7, held)]), &booked(&[(1, 7, 1000)]), SLACK);
            assert_eq!(found, [], "{held}");
        }
    }

    #[test]
    fn an_excess_in_two_samples_in_a_row_is_reported_once() {
        let mut comparison = Comparison::default();
        let (seen, booked) = (sample(&[(7, 1257), (8, 9999)]), booked(&[(1, 7, 1000)]));
        assert_eq!(comparison.compare(&seen, &booked, SLACK), []);
        let excess = Finding::Excess { worker: 1, seen: 1257 * MIB, booked: 1000 * MIB };
        assert_eq!(comparison.compare(&seen, &booked, SLACK), [excess]);
        assert_eq!(comparison.compare(&seen, &booked, SLACK), []);
        let settled = comparison.compare(&sample(&[(7, 1000)]), &booked, SLACK);
        assert_eq!(settled, [Finding::Settled { worker: 1 }]);
    }

    #[test]
    fn memory_freed_between_sample_and_ledger_is_not_an_excess() {
        let mut comparison = Comparison::default();
        for held in [5000, 1000, 5000, 1000] {
            let found = comparison.compare(&sample(&[(7, held)]), &booked(&[(1, 7, 1000)]), SLACK);
            assert_eq!(found, [], "{held}");
        }
    }

    #[test]
    fn an_excess_that_grows_is_reported_again() {
        let mut comparison = Comparison::default();
        let booked = booked(&[(1, 7, 0)]);
        let mut reports = 0;
        for held in [300, 300, 400, 500, 900, 900] {
            reports += comparison.compare(&sample(&[(7, held)]), &booked, SLACK).len();
        }
        assert_eq!(reports, 2);
    }

    #[test]
    fn entries_of_one_process_are_added() {
        let mut comparison = Comparison::default();
        let (seen, booked) = (sample(&[(7, 200), (7, 200)]), booked(&[(1, 7, 100)]));
        comparison.compare(&seen, &booked, SLACK);
        let excess = Finding::Excess { worker: 1, seen: 400 * MIB, booked: 100 * MIB };
        assert_eq!(comparison.compare(&seen, &booked, SLACK), [excess]);
    }

    #[test]
    fn the_state_of_an_ended_worker_is_dropped() {
        let mut comparison = Comparison::default();
        let seen = sample(&[(7, 1000)]);
        for _ in 0..2 {
            comparison.compare(&seen, &booked(&[(1, 7, 0)]), SLACK);
        }
        assert_eq!(comparison.compare(&seen, &booked(&[(2, 7, 0)]), SLACK), []);
        let found = comparison.compare(&seen, &booked(&[(2, 7, 0)]), SLACK);
        assert_eq!(found, [Finding::Excess { worker: 2, seen: 1000 * MIB, booked: 0 }]);
    }

    #[test]
    fn if_processes_are_hidden_the_total_is_compared() {
        let mut comparison = Comparison::default();
        let used = |mib| MemorySample { used: mib * MIB, processes: vec![] };
        let two = booked(&[(1, 7, 500), (2, 8, 500)]);
        assert_eq!(comparison.compare(&used(1600), &two, SLACK), []);
        assert_eq!(comparison.compare(&used(2112), &two, SLACK), []);
        assert_eq!(comparison.compare(&used(2113), &two, SLACK), []);
        let found = comparison.compare(&used(2113), &two, SLACK);
        assert_eq!(found, [Finding::Unexplained { bytes: 513 * MIB }]);
        assert_eq!(comparison.compare(&used(2113), &two, SLACK), []);
        assert_eq!(comparison.compare(&used(1600), &two, SLACK), [Finding::Explained]);
    }
}
