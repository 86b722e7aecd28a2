//! Compares the memory of all workers of a VM with the VM's charge.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::finding::{Booked, Finding, Holder};
use super::suspicion::Suspicion;
use host_ipc::messages::WorkerId;
use memory_ledger::{SessionUse, VmId, sessions_to_end};

/// A VM's excess in one sample.
pub(super) struct Excess {
    /// Bytes that the driver reports for the workers that don't exceed their own accounts.
    seen: u64,
    /// Bytes that are charged to the VM for these workers.
    charged: u64,
    /// The workers that must end.
    workers: Vec<WorkerId>,
}

/// Compares the bytes that the driver reports for all workers of a VM with the VM's charge, and
/// returns the VMs that exceed it by more than the slack. Ignores the workers in `found`, which
/// exceed their own accounts. `charged` returns the charge of a VM, which includes shared memory
/// once.
pub(super) fn excesses<'a>(
    seen: impl Iterator<Item = (&'a Booked, u64)>,
    found: &HashSet<WorkerId>,
    charged: impl Fn(VmId) -> u64,
    slack: u64,
) -> BTreeMap<VmId, Excess> {
    let mut vms: BTreeMap<VmId, Vec<(WorkerId, SessionUse)>> = BTreeMap::new();
    let mut of_found: HashMap<VmId, u64> = HashMap::new();
    for (account, seen) in seen {
        let Some(vm) = account.vm.filter(|_| account.is_own) else { continue };
        if found.contains(&account.worker) {
            *of_found.entry(vm).or_default() += account.alone;
            continue;
        }
        let session = SessionUse { seen, alone: account.alone };
        vms.entry(vm).or_default().push((account.worker, session));
    }
    let excess = |(vm, workers): (VmId, Vec<(WorkerId, SessionUse)>)| {
        let sessions: Vec<SessionUse> = workers.iter().map(|(_, session)| *session).collect();
        let of_found = of_found.get(&vm).copied().unwrap_or(0);
        let charged = charged(vm).saturating_sub(of_found);
        let ending = sessions_to_end(&sessions, charged, slack);
        let seen = sessions.iter().fold(0u64, |sum, one| sum.saturating_add(one.seen));
        let workers: Vec<_> = ending.into_iter().map(|place| workers[place].0).collect();
        (!workers.is_empty()).then_some((vm, Excess { seen, charged, workers }))
    };
    vms.into_iter().filter_map(excess).collect()
}

/// For each VM, the excess that was last reported, and the workers that must end because of it.
#[derive(Debug, Default)]
pub(super) struct Reported(HashMap<VmId, (u64, Vec<WorkerId>)>);

impl Reported {
    /// Returns a finding for each excess that must be reported, and for each VM that no longer has
    /// one.
    pub(super) fn changes(
        &mut self,
        excesses: BTreeMap<VmId, Excess>,
        suspicion: &Suspicion<Holder>,
        slack: u64,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (vm, Excess { seen, charged, workers }) in excesses {
            let excess = seen.saturating_sub(charged);
            // Report an excess again if it has grown, or if more workers must end.
            let known = self.0.get(&vm).is_some_and(|(last, ended)| {
                excess <= last.saturating_add(slack.max(1))
                    && workers.iter().all(|worker| ended.contains(worker))
            });
            if suspicion.is_certain(Holder::Vm(vm)) && !known {
                self.0.insert(vm, (excess, workers.clone()));
                findings.push(Finding::VmExcess { vm, seen, charged, workers });
            }
        }
        let settled = |vm: &VmId| suspicion.is_settled(Holder::Vm(*vm));
        let settled: Vec<_> = self.0.keys().copied().filter(settled).collect();
        for vm in settled {
            self.0.remove(&vm);
            findings.push(Finding::VmSettled { vm });
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VM: VmId = VmId(1);
    const SLACK: u64 = 256;

    /// Compares successive samples with the charges, as the audit does.
    #[derive(Default)]
    struct Whole {
        reported: Reported,
        suspicion: Suspicion<Holder>,
    }

    impl Whole {
        fn compare<'a>(
            &mut self,
            seen: impl Iterator<Item = (&'a Booked, u64)>,
            found: &HashSet<WorkerId>,
            charged: impl Fn(VmId) -> u64,
            slack: u64,
        ) -> Vec<Finding> {
            let excesses = excesses(seen, found, charged, slack);
            let high = excesses.keys().map(|vm| Holder::Vm(*vm)).collect();
            self.suspicion.add(&high, |_| false);
            self.reported.changes(excesses, &self.suspicion, slack)
        }
    }

    /// Returns the account of a worker that holds only 1000 bytes, which all workers of the VM
    /// share.
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
        // The workers in the finding are ending, so it isn't reported again.
        assert_eq!(compare(1000), []);
        for _ in 0..9 {
            assert_eq!(compare(179), []);
        }
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
