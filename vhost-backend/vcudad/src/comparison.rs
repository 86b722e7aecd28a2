//! Compares the memory that the driver reports for processes with the ledger. No I/O.

use std::collections::{HashMap, HashSet};

use super::nvml::MemorySample;
use host_ipc::messages::WorkerId;

/// A worker's account on the sampled GPU. Warm workers, which have no VM, are included with the
/// size of one context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Booked {
    /// The worker's ID.
    pub(crate) worker: WorkerId,
    pub(crate) pid: u32,
    /// Bytes that the ledger has booked for the worker.
    pub(crate) bytes: u64,
    /// True if the GPU is one of the worker's. On any other GPU, it may use no memory at all.
    pub(crate) is_own: bool,
}

/// A change that a comparison has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// A worker uses more memory than the ledger has booked for it, by more than the slack.
    Excess {
        worker: WorkerId,
        /// Bytes that the driver reports for the worker.
        seen: u64,
        /// Bytes that the ledger has booked for the worker.
        booked: u64,
    },
    /// A worker uses memory on a GPU that isn't one of its own.
    NotOwn {
        worker: WorkerId,
        /// Bytes that the driver reports for the worker.
        seen: u64,
    },
    /// A worker whose excess was reported is back within the slack.
    Settled { worker: WorkerId },
    /// Memory is in use that isn't in the ledger, and it's unknown which process uses it.
    ///
    /// This can be reported only if the driver lists none of this broker's processes, because a pid
    /// namespace hides them. Then only the GPU's total can be checked. The difference between the
    /// total and the booked bytes is compared with the lowest such difference so far. The total
    /// slack is the slack per worker times the number of workers.
    Unexplained {
        /// Unbooked bytes beyond the lowest number of unbooked bytes so far.
        bytes: u64,
    },
    /// The GPU's total is back within the slack.
    Explained,
}

/// Compares successive samples of one GPU with the ledger.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Workers that exceeded their account by more than the slack in the latest sample. An excess
    /// is reported only if it's in two samples in a row, because a worker that frees memory between
    /// the sample and the read of the ledger can appear once.
    suspects: HashSet<WorkerId>,
    /// The excess that was last reported for each worker, in bytes.
    reported: HashMap<WorkerId, u64>,
    /// The lowest number of unbooked bytes in any sample so far.
    floor: Option<u64>,
    /// Number of samples in a row whose unbooked bytes exceeded the slack.
    unexplained: u32,
}

impl Comparison {
    /// Compares a sample with the accounts, and returns the changes since the previous sample.
    /// `booked_again` is the number of bytes that are in more than one account, each time after the
    /// first. `slack` is the number of bytes that a worker may use beyond its account on a GPU of
    /// its own.
    pub(crate) fn compare(
        &mut self,
        sample: &MemorySample,
        booked: &[Booked],
        booked_again: u64,
        slack: u64,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        let seen: Vec<_> = booked
            .iter()
            .filter_map(|account| Some((account, sample.process_bytes(account.pid)?)))
            .collect();
        if seen.is_empty() && !booked.is_empty() {
            findings.extend(self.compare_total(sample.used, booked, booked_again, slack));
        }
        let mut suspects = HashSet::new();
        for (account, seen) in seen {
            let Booked { worker, bytes, is_own, .. } = *account;
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
        let sum = sum.saturating_sub(booked_again);
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
            is_own: true,
        };
        accounts.iter().map(of).collect()
    }

    #[test]
    fn a_worker_within_the_slack_is_not_reported() {
        let mut comparison = Comparison::default();
        for held in [0, 1000, 1256] {
            let found =
                comparison.compare(&sample(&[(7, held)]), &booked(&[(1, 7, 1000)]), 0, SLACK);
            assert_eq!(found, [], "{held}");
        }
    }

    #[test]
    fn an_excess_in_two_samples_in_a_row_is_reported_once() {
        let mut comparison = Comparison::default();
        let (seen, booked) = (sample(&[(7, 1257), (8, 9999)]), booked(&[(1, 7, 1000)]));
        assert_eq!(comparison.compare(&seen, &booked, 0, SLACK), []);
        let excess = Finding::Excess { worker: 1, seen: 1257 * MIB, booked: 1000 * MIB };
        assert_eq!(comparison.compare(&seen, &booked, 0, SLACK), [excess]);
        assert_eq!(comparison.compare(&seen, &booked, 0, SLACK), []);
        let settled = comparison.compare(&sample(&[(7, 1000)]), &booked, 0, SLACK);
        assert_eq!(settled, [Finding::Settled { worker: 1 }]);
    }

    #[test]
    fn memory_freed_between_sample_and_ledger_is_not_an_excess() {
        let mut comparison = Comparison::default();
        for held in [5000, 1000, 5000, 1000] {
            let found =
                comparison.compare(&sample(&[(7, held)]), &booked(&[(1, 7, 1000)]), 0, SLACK);
            assert_eq!(found, [], "{held}");
        }
    }

    #[test]
    fn an_excess_that_grows_is_reported_again() {
        let mut comparison = Comparison::default();
        let booked = booked(&[(1, 7, 0)]);
        let mut reports = 0;
        for held in [300, 300, 400, 500, 900, 900] {
            reports += comparison.compare(&sample(&[(7, held)]), &booked, 0, SLACK).len();
        }
        assert_eq!(reports, 2);
    }

    #[test]
    fn entries_of_one_process_are_added() {
        let mut comparison = Comparison::default();
        let (seen, booked) = (sample(&[(7, 200), (7, 200)]), booked(&[(1, 7, 100)]));
        comparison.compare(&seen, &booked, 0, SLACK);
        let excess = Finding::Excess { worker: 1, seen: 400 * MIB, booked: 100 * MIB };
        assert_eq!(comparison.compare(&seen, &booked, 0, SLACK), [excess]);
    }

    #[test]
    fn a_worker_may_use_no_memory_on_a_gpu_that_is_not_its_own() {
        let mut comparison = Comparison::default();
        let (seen, account) =
            (sample(&[(7, 1)]), Booked { is_own: false, ..booked(&[(1, 7, 0)])[0] });
        assert_eq!(comparison.compare(&seen, &[account], 0, SLACK), []);
        let not_own = Finding::NotOwn { worker: 1, seen: MIB };
        assert_eq!(comparison.compare(&seen, &[account], 0, SLACK), [not_own]);
        assert_eq!(comparison.compare(&seen, &[account], 0, SLACK), []);
    }

    #[test]
    fn the_state_of_an_ended_worker_is_dropped() {
        let mut comparison = Comparison::default();
        let seen = sample(&[(7, 1000)]);
        for _ in 0..2 {
            comparison.compare(&seen, &booked(&[(1, 7, 0)]), 0, SLACK);
        }
        assert_eq!(comparison.compare(&seen, &booked(&[(2, 7, 0)]), 0, SLACK), []);
        let found = comparison.compare(&seen, &booked(&[(2, 7, 0)]), 0, SLACK);
        assert_eq!(found, [Finding::Excess { worker: 2, seen: 1000 * MIB, booked: 0 }]);
    }

    #[test]
    fn if_processes_are_hidden_the_total_is_compared() {
        let mut comparison = Comparison::default();
        let used = |mib| MemorySample { used: mib * MIB, processes: vec![] };
        let two = booked(&[(1, 7, 500), (2, 8, 500)]);
        assert_eq!(comparison.compare(&used(1600), &two, 0, SLACK), []);
        assert_eq!(comparison.compare(&used(2112), &two, 0, SLACK), []);
        assert_eq!(comparison.compare(&used(2113), &two, 0, SLACK), []);
        let found = comparison.compare(&used(2113), &two, 0, SLACK);
        assert_eq!(found, [Finding::Unexplained { bytes: 513 * MIB }]);
        assert_eq!(comparison.compare(&used(2113), &two, 0, SLACK), []);
        assert_eq!(comparison.compare(&used(1600), &two, 0, SLACK), [Finding::Explained]);
    }

    #[test]
    fn memory_that_two_workers_share_is_in_the_total_once() {
        let mut comparison = Comparison::default();
        let used = |mib| MemorySample { used: mib * MIB, processes: vec![] };
        let two = booked(&[(1, 7, 900), (2, 8, 900)]);
        assert_eq!(comparison.compare(&used(1000), &two, 800 * MIB, SLACK), []);
        let two = booked(&[(1, 7, 100), (2, 8, 900)]);
        for _ in 0..2 {
            assert_eq!(comparison.compare(&used(1000), &two, 0, SLACK), []);
        }
    }
}
