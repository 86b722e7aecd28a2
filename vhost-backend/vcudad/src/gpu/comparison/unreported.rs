//! Compares the memory that the driver reports for no process with the charges of VMs.
//!
//! Exported memory whose creator has released it is reported for no process as long as a descriptor
//! of it is open, even if others have mapped it (measured on an H200, 580.159.04). Such memory is
//! normal if the VM is charged for it. It's included in the GPU's total. It can outlive all
//! sessions of its VM, because the descriptor may be open in the VM's device process.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::finding::{Booked, Finding, Leftover, left_bytes};
use super::suspicion::Level;
use crate::gpu::nvml::MemorySample;
use memory_ledger::VmId;

/// Bytes that the driver itself takes for each process, and reports for no process: 5 to 9 MiB on
/// an H200.
const OF_PROCESS: u64 = 16 << 20;
/// An excess is certain if it's in this many samples in a row. One sample isn't enough: the memory
/// of a process that ends is freed only after the driver has stopped listing the process.
const SAMPLES: u32 = 5;

/// Compares a number of unexplained bytes with the lowest such number so far. The lowest number
/// counts as memory that doesn't belong to VMs.
#[derive(Debug, Default)]
pub(super) struct Floor {
    lowest: Option<u64>,
    level: Level,
    is_reported: bool,
}

impl Floor {
    /// Returns how many of the unexplained `bytes` are above the lowest number so far. `all` also
    /// includes explained bytes. After the first sample, only `all` can lower the lowest number.
    /// Otherwise, a VM could lower it with charges for memory that it doesn't use, and so make
    /// other memory look like an excess.
    pub(super) fn excess(&mut self, bytes: u64, all: u64) -> u64 {
        let lowest = self.lowest.get_or_insert(bytes);
        *lowest = (*lowest).min(all);
        bytes.saturating_sub(*lowest)
    }

    /// Counts a sample. `is_above` says whether the sample is too high. Returns `Some(true)` once
    /// enough recent samples were too high, `Some(false)` once none of them was, and `None` if the
    /// answer hasn't changed.
    pub(super) fn is_above(&mut self, is_above: bool, samples: u32) -> Option<bool> {
        match is_above {
            true => self.level.raise(samples),
            false => self.level.lower(),
        }
        let reports = self.level.is_certain() || (self.is_reported && !self.level.is_zero());
        let has_changed = std::mem::replace(&mut self.is_reported, reports) != reports;
        has_changed.then_some(reports)
    }
}

/// Compares successive samples of one GPU with the charges of VMs.
#[derive(Debug, Default)]
pub(super) struct Unreported {
    floor: Floor,
    /// The VMs that have used the GPU since the last comparison.
    users: BTreeSet<VmId>,
    /// The VMs that can be responsible for an excess. They have used the GPU since the last time
    /// when no recent sample was too high.
    possible: BTreeSet<VmId>,
    /// Number of samples in a row in which only processes of VMs used the GPU.
    alone: u32,
    /// The VM that was last reported as responsible, and must end.
    ended: Option<VmId>,
    /// Whether the latest sample is too high.
    is_high: bool,
}

impl Unreported {
    /// Adds VMs that have used the GPU since the last comparison. Even if all their workers have
    /// ended, they may have memory that isn't reported for any process.
    pub(super) fn add_users(&mut self, vms: impl Iterator<Item = VmId>) {
        self.users.extend(vms);
    }

    /// Returns true if the latest sample contains memory that may belong to this VM.
    pub(super) fn is_suspect(&self, vm: VmId) -> bool {
        self.is_high && self.possible.contains(&vm)
    }

    /// Compares a sample with the charges of VMs. `charged` returns the charge of a VM.
    pub(super) fn compare(
        &mut self,
        sample: &MemorySample,
        booked: &[Booked],
        left: &[Leftover],
        charged: impl Fn(VmId) -> u64,
        slack: u64,
    ) -> Option<Finding> {
        let pids: HashSet<u32> = sample.processes.iter().map(|process| process.pid).collect();
        let bytes = |pid: u32| sample.process_bytes(pid).unwrap_or(0);
        let reported = pids.iter().fold(0u64, |sum, pid| sum.saturating_add(bytes(*pid)));
        let mut vms: BTreeMap<VmId, u64> = BTreeMap::new();
        for account in booked {
            if let Some(vm) = account.vm.filter(|_| account.is_own) {
                let seen = vms.entry(vm).or_default();
                *seen = seen.saturating_add(bytes(account.pid));
            }
        }
        for vm in left.iter().map(|one| one.vm).collect::<BTreeSet<_>>() {
            let seen = vms.entry(vm).or_default();
            *seen = seen.saturating_add(left_bytes(vm, left, sample));
        }
        let unused = |(vm, seen): (&VmId, &u64)| charged(*vm).saturating_sub(*seen);
        let explained = vms.iter().map(unused).fold(0u64, u64::saturating_add);
        let all = sample.used.saturating_sub(reported);
        let all = all.saturating_sub(OF_PROCESS * pids.len() as u64);
        let excess = self.floor.excess(all.saturating_sub(explained), all);

        let is_ours = |pid: &u32| {
            booked.iter().any(|account| account.pid == *pid)
                || left.iter().any(|one| one.pid == *pid)
        };
        let is_alone = sample.is_complete && !vms.is_empty() && pids.iter().all(is_ours);
        self.alone = if is_alone { self.alone.saturating_add(1) } else { 0 };
        self.is_high = excess > slack;
        let change = self.floor.is_above(self.is_high, SAMPLES);
        if self.floor.level.is_zero() {
            self.possible.clear();
        }
        self.possible.append(&mut self.users);
        self.possible.extend(vms.keys());
        if !self.floor.is_reported {
            self.ended = None;
            return change.map(|_| Finding::Explained);
        }
        let only = self.possible.first().copied().filter(|_| self.possible.len() == 1);
        let guilty = only.filter(|_| self.alone >= SAMPLES);
        // The excess may have been reported before without a responsible VM. If other processes
        // have ended since, only one VM may be left that can be responsible.
        let is_new = guilty.is_some() && guilty != self.ended;
        if change.is_none() && !is_new {
            return None;
        }
        self.ended = guilty;
        Some(Finding::Unreported { bytes: excess, vms: vms.into_keys().collect(), guilty })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::nvml::ProcessMemory;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;
    const SLACK: u64 = 256 * MIB;
    const A: VmId = VmId(1);
    const B: VmId = VmId(2);

    /// Returns the account of a worker that uses 1 GiB, for which its VM is charged.
    fn worker(pid: u32, vm: Option<VmId>) -> Booked {
        let bytes = 1024 * MIB;
        Booked { worker: pid.into(), pid, bytes, alone: bytes, vm, is_own: true }
    }

    /// Returns a sample in which each process uses 1 GiB, and `more` bytes are in use that the
    /// driver reports for no process.
    fn sample(pids: &[u32], more: u64) -> MemorySample {
        let bytes = 1024 * MIB;
        let processes = pids.iter().map(|pid| ProcessMemory { pid: *pid, bytes }).collect();
        let used = (bytes + 6 * MIB) * pids.len() as u64 + more;
        MemorySample { used, processes, is_complete: true }
    }

    /// Compares a sample up to 20 times. Returns the first finding, and the number of samples until
    /// then.
    fn first(
        unreported: &mut Unreported,
        sample: &MemorySample,
        booked: &[Booked],
        charged: u64,
    ) -> Option<(Finding, u32)> {
        let next = |n| Some((unreported.compare(sample, booked, &[], |_| charged, SLACK)?, n));
        (1..=20).find_map(next)
    }

    /// Returns the VM that a finding holds responsible, and that must end.
    fn ended(found: Option<(Finding, u32)>) -> Option<Option<VmId>> {
        found.map(|(finding, _)| match finding {
            Finding::Unreported { guilty, .. } => guilty,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn the_only_vm_that_can_have_hidden_memory_ends() {
        let mut unreported = Unreported::default();
        let booked = [worker(1, Some(A)), worker(2, Some(A)), worker(3, None)];
        let charged = 2048 * MIB;
        assert_eq!(first(&mut unreported, &sample(&[1, 2, 3], 0), &booked, charged), None);
        assert_eq!(first(&mut unreported, &sample(&[1, 2, 3], SLACK), &booked, charged), None);
        let much = sample(&[1, 2, 3], 2 * SLACK);
        let (finding, samples) = first(&mut unreported, &much, &booked, charged).unwrap();
        let Finding::Unreported { vms, guilty, .. } = finding else { panic!("{finding:?}") };
        assert_eq!((vms, guilty, samples), (vec![A], Some(A), SAMPLES));
        assert_eq!(first(&mut unreported, &much, &booked, charged), None);
        let settled = first(&mut unreported, &sample(&[3], 0), &booked[2..], 0);
        assert_eq!(settled, Some((Finding::Explained, 10)));
    }

    #[test]
    fn nobody_ends_if_it_can_be_another_program() {
        let booked = vec![worker(1, Some(A))];
        let much = |pids: &[u32]| sample(pids, 2 * SLACK);
        let unknown = MemorySample { is_complete: false, ..much(&[1]) };
        for sampled in [much(&[1, 9]), unknown] {
            let mut unreported = Unreported::default();
            let before = MemorySample { used: sampled.used - 2 * SLACK, ..sampled.clone() };
            assert_eq!(first(&mut unreported, &before, &booked, 1024 * MIB), None);
            assert_eq!(ended(first(&mut unreported, &sampled, &booked, 1024 * MIB)), Some(None));
            assert_eq!(first(&mut unreported, &sampled, &booked, 1024 * MIB), None);
            // Now only VM A can be responsible.
            let found = first(&mut unreported, &much(&[1]), &booked, 1024 * MIB);
            assert_eq!(ended(found), Some(Some(A)));
        }
    }

    /// A VM's device process can hold a descriptor of memory whose creator has ended.
    #[test]
    fn nobody_ends_for_memory_that_another_vm_may_have_left() {
        let (both, last) = ([worker(1, Some(A)), worker(2, Some(B))], [worker(2, Some(B))]);
        let charged = 1024 * MIB;
        let is_nobody = |unreported: &mut Unreported| {
            let much = sample(&[2], 2 * SLACK);
            assert_eq!(ended(first(unreported, &much, &last, charged)), Some(None));
            assert_eq!(first(unreported, &much, &last, charged), None);
        };
        // No VM is blamed if VM A has a worker when the memory appears, if A's last worker ends at
        // that time, or if A had a worker only between two samples.
        let mut unreported = Unreported::default();
        assert_eq!(first(&mut unreported, &sample(&[1, 2], 0), &both, charged), None);
        let much = sample(&[1, 2], 2 * SLACK);
        assert_eq!(ended(first(&mut unreported, &much, &both, charged)), Some(None));
        assert_eq!(first(&mut unreported, &sample(&[2], 2 * SLACK), &last, charged), None);
        let mut unreported = Unreported::default();
        assert_eq!(first(&mut unreported, &sample(&[1, 2], 0), &both, charged), None);
        is_nobody(&mut unreported);
        let mut unreported = Unreported::default();
        assert_eq!(first(&mut unreported, &sample(&[2], 0), &last, charged), None);
        unreported.add_users([A].into_iter());
        is_nobody(&mut unreported);
        // Once the excess is gone, new memory can only belong to VM B.
        let settled = first(&mut unreported, &sample(&[2], 0), &last, charged);
        assert_eq!(settled, Some((Finding::Explained, 10)));
        assert_eq!(first(&mut unreported, &sample(&[2], 0), &last, charged), None);
        let found = first(&mut unreported, &sample(&[2], 2 * SLACK), &last, charged);
        assert_eq!(ended(found), Some(Some(B)));
    }

    #[test]
    fn memory_that_was_in_use_before_is_not_the_vms() {
        let mut unreported = Unreported::default();
        assert_eq!(first(&mut unreported, &sample(&[3], 9 * SLACK), &[worker(3, None)], 0), None);
        let booked = [worker(1, Some(A)), worker(3, None)];
        let sampled = sample(&[1, 3], 9 * SLACK);
        assert_eq!(first(&mut unreported, &sampled, &booked, 1024 * MIB), None);
    }

    /// If the driver still reports an ended worker of the VM, that worker doesn't count as another
    /// program.
    #[test]
    fn an_ended_worker_is_no_other_program() {
        let (booked, left) = ([worker(1, Some(A))], [Leftover { vm: A, pid: 9 }]);
        let mut unreported = Unreported::default();
        let mut found = |more| {
            let sample = sample(&[1, 9], more);
            let mut next = |_| unreported.compare(&sample, &booked, &left, |_| 0, SLACK);
            (0..10).find_map(&mut next)
        };
        assert_eq!(found(0), None);
        let guilty = ended(found(2 * SLACK).map(|finding| (finding, 0)));
        assert_eq!(guilty, Some(Some(A)));
    }

    /// A VM's charges for memory that it doesn't use don't lower the number of bytes that count as
    /// memory of no VM.
    #[test]
    fn charges_without_use_do_not_lower_what_belongs_to_nobody() {
        let (booked, nobodys) = ([worker(1, Some(A))], 2 * SLACK);
        let mut unreported = Unreported::default();
        assert_eq!(first(&mut unreported, &sample(&[1], nobodys), &booked, 1024 * MIB), None);
        assert_eq!(first(&mut unreported, &sample(&[1], nobodys), &booked, 9999 * MIB), None);
        assert_eq!(first(&mut unreported, &sample(&[1], nobodys), &booked, 1024 * MIB), None);
    }

    proptest! {
        /// Memory that VMs are charged for may be reported for any of their processes or for none,
        /// and every process may take a little more.
        #[test]
        fn charged_memory_is_explained(
            steps in prop::collection::vec((0..2048u64, 0..2048u64, 0..=100u64, 5..9u64), 1..40),
        ) {
            let mut unreported = Unreported::default();
            for (alone, shared, reported, of_process) in steps {
                let seen = alone + shared * reported / 100;
                let processes = vec![ProcessMemory { pid: 1, bytes: seen * MIB }];
                let used = (alone + shared + of_process) * MIB;
                let sample = MemorySample { used, processes, is_complete: true };
                let booked = [worker(1, Some(A))];
                let charged = |_| (alone + shared) * MIB;
                for _ in 0..SAMPLES {
                    prop_assert_eq!(unreported.compare(&sample, &booked, &[], charged, SLACK), None);
                }
            }
        }
    }
}
