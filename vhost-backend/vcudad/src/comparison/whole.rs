//! Compares the memory of all workers of a VM with the VM's charge.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::finding::{Booked, Finding};
use host_ipc::messages::WorkerId;
use memory_ledger::{SessionUse, VmId, sessions_to_end};

/// Compares successive samples of one GPU with the charges of VMs.
#[derive(Debug, Default)]
pub(super) struct Whole {
    /// VMs that exceeded their charge by more than the slack in the latest sample. As for workers,
    /// an excess is reported only if it's in two samples in a row.
    suspects: HashSet<VmId>,
    /// The excess that was last reported for each VM, and the workers that should have ended.
    reported: HashMap<VmId, (u64, Vec<WorkerId>)>,
}

impl Whole {
    /// Compares workers, each with the bytes that the driver reports for it, except those in `found`,
    /// which exceed their own accounts. `charged` returns the charge of a VM, in which shared memory
    /// is once.
    pub(super) fn compare<'a>(
        &mut self,
        seen: impl Iterator<Item = (&'a Booked, u64)>,
        found: &HashSet<WorkerId>,
        charged: impl Fn(VmId) -> u64,
        slack: u64,
    ) -> Vec<Finding> {
        let mut vms: BTreeMap<VmId, Vec<(WorkerId, SessionUse)>> = BTreeMap::new();
        let mut of_found: HashMap<VmId, u64> = HashMap::new();
        for (account, seen) in seen {
            let Some(vm) = account.vm else { continue };
            if found.contains(&account.worker) {
                *of_found.entry(vm).or_default() += account.alone;
                continue;
            }
            let session = SessionUse { seen, alone: account.alone };
            vms.entry(vm).or_default().push((account.worker, session));
        }
        let mut findings = Vec::new();
        let mut suspects = HashSet::new();
        for (vm, workers) in &vms {
            let sessions: Vec<SessionUse> = workers.iter().map(|(_, session)| *session).collect();
            let of_found = of_found.get(vm).copied().unwrap_or(0);
            let charged = charged(*vm).saturating_sub(of_found);
            let ending = sessions_to_end(&sessions, charged, slack);
            if ending.is_empty() {
                continue;
            }
            suspects.insert(*vm);
            let seen = sessions.iter().fold(0u64, |sum, one| sum.saturating_add(one.seen));
            let excess = seen.saturating_sub(charged);
            let ending: Vec<_> = ending.into_iter().map(|place| workers[place].0).collect();
            // Report it again if it has grown, or if more workers must end.
            let known = self.reported.get(vm).is_some_and(|(last, ended)| {
                excess <= last.saturating_add(slack.max(1))
                    && ending.iter().all(|worker| ended.contains(worker))
            });
            if self.suspects.contains(vm) && !known {
                self.reported.insert(*vm, (excess, ending.clone()));
                findings.push(Finding::VmExcess { vm: *vm, seen, charged, workers: ending });
            }
        }
        let settled = |vm: &VmId| !suspects.contains(vm);
        let settled: Vec<_> = self.reported.keys().copied().filter(settled).collect();
        for vm in settled {
            self.reported.remove(&vm);
            findings.push(Finding::VmSettled { vm });
        }
        self.suspects = suspects;
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VM: VmId = VmId(1);
    const SLACK: u64 = 256;

    /// A worker of the VM that holds 1000 bytes that all of them share, and nothing else.
    fn sharing(worker: WorkerId) -> Booked {
        let pid = worker as u32;
        Booked { worker, pid, bytes: 1000, alone: 0, vm: Some(VM), is_own: true }
    }

    #[test]
    fn sharing_workers_exceed_their_accounts_only_together() {
        let workers: Vec<_> = (1..=7).map(sharing).collect();
        let mut whole = Whole::default();
        let mut compare = |seen: u64| {
            let seen = workers.iter().map(|worker| (worker, seen));
            whole.compare(seen, &HashSet::new(), |_| 1000, SLACK)
        };
        assert_eq!(compare(179), []);
        assert_eq!(compare(1000), []);
        let excess = |seen, workers| Finding::VmExcess { vm: VM, seen, charged: 1000, workers };
        assert_eq!(compare(1000), [excess(7000, (1..=6).collect())]);
        // They are ending.
        assert_eq!(compare(1000), []);
        assert_eq!(compare(179), [Finding::VmSettled { vm: VM }]);
        assert_eq!(compare(179), []);
    }

    #[test]
    fn others_end_if_those_that_have_ended_were_not_enough() {
        let mut whole = Whole::default();
        let workers = [sharing(1), sharing(2), sharing(3)];
        let mut compare = |seen: [u64; 3]| {
            let seen = workers.iter().zip(seen);
            let mut found = whole.compare(seen, &HashSet::new(), |_| 1000, SLACK);
            found.pop().map(|finding| match finding {
                Finding::VmExcess { workers, .. } => workers,
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(compare([900, 900, 0]), None);
        assert_eq!(compare([900, 900, 0]), Some(vec![1]));
        assert_eq!(compare([0, 900, 900]), Some(vec![2]));
        assert_eq!(compare([0, 900, 900]), None);
    }

    #[test]
    fn workers_that_exceed_their_own_accounts_are_found_alone() {
        let mut whole = Whole::default();
        let (alone, other) = (Booked { alone: 500, ..sharing(1) }, sharing(2));
        let found = HashSet::from([1]);
        for _ in 0..3 {
            let seen = [(&alone, 9000), (&other, 1000)].into_iter();
            assert_eq!(whole.compare(seen, &found, |_| 1500, SLACK), []);
        }
    }

    #[test]
    fn other_vms_and_warm_workers_are_not_affected() {
        let mut whole = Whole::default();
        let warm = Booked { vm: None, ..sharing(1) };
        let other = Booked { vm: Some(VmId(2)), alone: 500, ..sharing(2) };
        for _ in 0..3 {
            let seen = [(&warm, 9000), (&other, 700)].into_iter();
            let charged = |vm| if vm == VM { 0 } else { 500 };
            assert_eq!(whole.compare(seen, &HashSet::new(), charged, SLACK), []);
        }
    }
}
