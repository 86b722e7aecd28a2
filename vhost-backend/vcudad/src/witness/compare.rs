//! What the driver says that processes hold, against what the ledger has booked. Pure.

use std::collections::{HashMap, HashSet};

use super::Reading;
use host_ipc::messages::WorkerId;

/// A worker's account on the GPU that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Booked {
    /// The worker; warm ones that belong to nobody count too, with what a context takes.
    pub worker: WorkerId,
    /// Its process.
    pub pid: u32,
    /// What the ledger has for it, in bytes.
    pub bytes: u64,
}

/// What a comparison found: something that has changed since the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A worker holds more than it is charged for, by more than the slack.
    Excess {
        /// The worker.
        worker: WorkerId,
        /// What the driver says, in bytes.
        seen: u64,
        /// What the ledger has, in bytes.
        booked: u64,
    },
    /// That is over.
    Settled {
        /// The worker.
        worker: WorkerId,
    },
    /// The driver does not list this broker's processes (a pid namespace hides them), and the GPU
    /// as a whole has more in use than when nothing was booked and what is booked since, by more
    /// than the slack of each worker. Whose it is can't be told.
    Unexplained {
        /// Bytes beyond the account.
        bytes: u64,
    },
    /// That is over.
    Explained,
}

/// Compares one GPU's readings with the ledger, one after another.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Above the slack at the last reading: a process that frees between the reading and the
    /// look into the ledger seems to hold too much, but not twice in a row.
    suspects: HashSet<WorkerId>,
    /// What was told of a worker, in bytes above its account.
    told: HashMap<WorkerId, u64>,
    /// The GPU's bytes in use that the ledger does not explain, at the lowest that was seen.
    floor: Option<u64>,
    unexplained: u32,
}

impl Comparison {
    /// What is new since the last reading. `slack` is in bytes, for each worker.
    pub fn compare(&mut self, reading: &Reading, booked: &[Booked], slack: u64) -> Vec<Finding> {
        let mut findings = Vec::new();
        let seen: Vec<_> =
            booked.iter().filter_map(|b| reading.of(b.pid).map(|seen| (b, seen))).collect();
        if seen.is_empty() && !booked.is_empty() {
            self.as_a_whole(reading.used, booked, slack, &mut findings);
        }
        let mut suspects = HashSet::new();
        for (account, seen) in seen {
            let Booked { worker, bytes, .. } = *account;
            let excess = seen.saturating_sub(bytes);
            if excess > slack {
                suspects.insert(worker);
                // Told again only if it has grown by as much once more.
                let grown = self.told.get(&worker).is_none_or(|told| excess > told + slack.max(1));
                if self.suspects.contains(&worker) && grown {
                    self.told.insert(worker, excess);
                    findings.push(Finding::Excess { worker, seen, booked: bytes });
                }
            } else if self.told.remove(&worker).is_some() {
                findings.push(Finding::Settled { worker });
            }
        }
        self.suspects = suspects;
        self.told.retain(|worker, _| booked.iter().any(|b| b.worker == *worker));
        findings
    }

    fn as_a_whole(&mut self, used: u64, booked: &[Booked], slack: u64, found: &mut Vec<Finding>) {
        let sum = booked.iter().fold(0u64, |sum, b| sum.saturating_add(b.bytes));
        let beyond = used.saturating_sub(sum);
        let floor = self.floor.get_or_insert(beyond);
        *floor = (*floor).min(beyond);
        let bytes = beyond - *floor;
        if bytes > slack.saturating_mul(booked.len() as u64) {
            self.unexplained += 1;
            if self.unexplained == 2 {
                found.push(Finding::Unexplained { bytes });
            }
        } else if std::mem::take(&mut self.unexplained) >= 2 {
            found.push(Finding::Explained);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Held;
    use super::*;

    const MIB: u64 = 1 << 20;
    const SLACK: u64 = 256 * MIB;

    fn reading(processes: &[(u32, u64)]) -> Reading {
        let processes =
            processes.iter().map(|(pid, mib)| Held { pid: *pid, bytes: mib * MIB }).collect();
        Reading { used: 0, processes }
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
    fn a_worker_within_the_slack_is_not_told_of() {
        let mut comparison = Comparison::default();
        for held in [0, 1000, 1256] {
            let found = comparison.compare(&reading(&[(7, held)]), &booked(&[(1, 7, 1000)]), SLACK);
            assert_eq!(found, [], "{held}");
        }
    }

    #[test]
    fn a_worker_above_it_twice_in_a_row_is_told_of_once() {
        let mut comparison = Comparison::default();
        let (seen, booked) = (reading(&[(7, 1257), (8, 9999)]), booked(&[(1, 7, 1000)]));
        assert_eq!(comparison.compare(&seen, &booked, SLACK), []);
        let excess = Finding::Excess { worker: 1, seen: 1257 * MIB, booked: 1000 * MIB };
        assert_eq!(comparison.compare(&seen, &booked, SLACK), [excess]);
        assert_eq!(comparison.compare(&seen, &booked, SLACK), []);
        let settled = comparison.compare(&reading(&[(7, 1000)]), &booked, SLACK);
        assert_eq!(settled, [Finding::Settled { worker: 1 }]);
    }

    #[test]
    fn what_was_freed_between_the_two_looks_is_no_excess() {
        let mut comparison = Comparison::default();
        for held in [5000, 1000, 5000, 1000] {
            let found = comparison.compare(&reading(&[(7, held)]), &booked(&[(1, 7, 1000)]), SLACK);
            assert_eq!(found, [], "{held}");
        }
    }

    #[test]
    fn an_excess_that_grows_is_told_of_again() {
        let mut comparison = Comparison::default();
        let booked = booked(&[(1, 7, 0)]);
        let mut told = 0;
        for held in [300, 300, 400, 500, 900, 900] {
            told += comparison.compare(&reading(&[(7, held)]), &booked, SLACK).len();
        }
        assert_eq!(told, 2);
    }

    #[test]
    fn the_shares_of_one_process_add_up() {
        let mut comparison = Comparison::default();
        let (seen, booked) = (reading(&[(7, 200), (7, 200)]), booked(&[(1, 7, 100)]));
        comparison.compare(&seen, &booked, SLACK);
        let excess = Finding::Excess { worker: 1, seen: 400 * MIB, booked: 100 * MIB };
        assert_eq!(comparison.compare(&seen, &booked, SLACK), [excess]);
    }

    #[test]
    fn a_worker_that_is_gone_is_forgotten() {
        let mut comparison = Comparison::default();
        let seen = reading(&[(7, 1000)]);
        for _ in 0..2 {
            comparison.compare(&seen, &booked(&[(1, 7, 0)]), SLACK);
        }
        assert_eq!(comparison.compare(&seen, &booked(&[(2, 7, 0)]), SLACK), []);
        let found = comparison.compare(&seen, &booked(&[(2, 7, 0)]), SLACK);
        assert_eq!(found, [Finding::Excess { worker: 2, seen: 1000 * MIB, booked: 0 }]);
    }

    #[test]
    fn hidden_processes_are_compared_as_a_whole() {
        let mut comparison = Comparison::default();
        let used = |mib| Reading { used: mib * MIB, processes: vec![] };
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
