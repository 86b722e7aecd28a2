//! The workers that have ended, until the driver no longer reports them.
//!
//! NVIDIA's driver frees a process's memory, and stops its kernels, when the last descriptor of its
//! devices is closed (observed on an H200). A worker that a guest has taken over can pass its
//! descriptors to its VM's device process. Until all copies are closed, the driver reports the
//! memory and the GPU time of those kernels under the process ID of the ended worker. This module
//! does no I/O.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::gpu::comparison::Leftover;
use crate::gpu::nvml::MemorySample;
use crate::vm::touched::Touched;
use memory_ledger::{GpuId, VmId};

/// The memory of a worker that exits normally is freed within 0.1 s. If an ended worker is still in
/// this many samples, something keeps its memory.
const SAMPLES: u32 = 5;
/// An ended worker is forgotten once this many samples in a row don't contain it. Fewer aren't
/// enough: the first such sample may have been taken before the worker ended, and the GPU time that
/// the worker has used since the sample before that is reported only after the second one.
const GONE: u32 = 3;
/// Maximum number of entries per VM. The rate limit on session starts allows for fewer than 300
/// within the time that it takes until a VM ends.
const MAX: usize = 512;

/// An ended worker on one of its GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    pid: u32,
    gpu: GpuId,
    /// Number of samples that contain the worker.
    #[serde(skip)]
    listed: u32,
    /// Number of samples in a row that don't contain the worker.
    #[serde(skip)]
    absent: u32,
    /// Bytes in the latest sample that contains the worker.
    #[serde(skip)]
    bytes: u64,
}

/// A VM's ended workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OfVm {
    /// The VM's name, which is still needed in reports after the VM's removal.
    name: String,
    all: Vec<Entry>,
}

/// The record of the ended workers, for a broker that replaces this one.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct LeftoversRecord(Vec<(VmId, OfVm)>);

impl LeftoversRecord {
    /// Replaces the ended workers of a VM.
    pub(crate) fn change(&mut self, vm: VmId, now: OfVm) {
        self.0.retain(|(one, _)| *one != vm);
        if !now.all.is_empty() {
            self.0.push((vm, now));
        }
    }
}

/// The processes that must end, so that the driver frees the memory that a worker has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// The VM's device process and its workers must end.
    End,
    /// The VM's processes have ended, and the driver still reports the worker, so another process
    /// has the worker's descriptors. The VM must fail.
    Fail,
}

/// A VM whose ended workers the driver still reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remaining {
    pub(crate) vm: VmId,
    pub(crate) name: String,
    pub(crate) gpu: GpuId,
    /// The process ID of one of the workers.
    pub(crate) pid: u32,
    /// The memory of all of these workers, in bytes.
    pub(crate) bytes: u64,
    pub(crate) step: Step,
    /// False if all of these workers were reported before.
    pub(crate) is_new: bool,
}

/// All ended workers that the driver may still report.
#[derive(Default)]
pub(crate) struct Leftovers {
    of_vm: BTreeMap<VmId, OfVm>,
    touched: Touched<VmId>,
    /// Whether NVML delivers samples.
    is_sampled: bool,
}

impl Leftovers {
    /// Returns the record from which a broker that replaces this one continues.
    pub(crate) fn record(&self) -> LeftoversRecord {
        LeftoversRecord(self.of_vm.iter().map(|(vm, of)| (*vm, of.clone())).collect())
    }

    /// Takes over the ended workers from the broker that this one replaces.
    pub(crate) fn restore(record: LeftoversRecord) -> Self {
        Self { of_vm: record.0.into_iter().collect(), ..Self::default() }
    }

    /// Returns the VMs whose ended workers have changed since the last call, with the current ended
    /// workers.
    pub(crate) fn take_changes(&mut self) -> Vec<(VmId, OfVm)> {
        let now = |vm: VmId| (vm, self.of_vm.get(&vm).cloned().unwrap_or_default());
        // The keys are never `None`, because nothing calls `add_all` for this table.
        self.touched.take().unwrap_or_default().into_iter().map(now).collect()
    }

    /// Sets whether NVML will deliver samples. Without samples, no ended worker is added.
    pub(crate) fn set_sampled(&mut self, is_sampled: bool) {
        self.is_sampled = is_sampled;
    }

    /// Adds a worker of a VM, which has ended.
    pub(crate) fn add(&mut self, vm: VmId, name: &str, pid: u32, gpus: &[GpuId]) {
        if !self.is_sampled || pid == 0 {
            return;
        }
        let of = self.of_vm.entry(vm).or_default();
        of.name = name.to_owned();
        for gpu in gpus {
            if of.all.len() >= MAX {
                // Drop the oldest worker that the driver hasn't reported.
                let Some(first) = of.all.iter().position(|one| one.listed == 0) else { break };
                of.all.remove(first);
            }
            of.all.push(Entry { pid, gpu: *gpu, listed: 0, absent: 0, bytes: 0 });
        }
        self.touched.add(vm);
    }

    /// Returns the ended workers that may use a GPU.
    pub(crate) fn on(&self, gpu: GpuId) -> impl Iterator<Item = Leftover> {
        let of = move |(vm, of): (&VmId, &OfVm)| {
            let vm = *vm;
            let on: Vec<_> = of.all.iter().filter(|one| one.gpu == gpu).collect();
            on.into_iter().map(move |one| Leftover { vm, pid: one.pid }).collect::<Vec<_>>()
        };
        self.of_vm.iter().flat_map(of)
    }

    /// Returns the bytes that ended workers still use on a GPU after the driver should have freed
    /// them.
    pub(crate) fn held(&self, gpu: GpuId) -> u64 {
        let all = self.of_vm.values().flat_map(|of| &of.all);
        let held = all.filter(|one| one.gpu == gpu && one.listed >= SAMPLES);
        held.fold(0, |sum, one| sum.saturating_add(one.bytes))
    }

    /// Adds a sample of a GPU. `is_process` returns true if a process with this ID exists, which
    /// means that the ID has been reused. Returns the VMs for which a [`Step`] is due.
    pub(crate) fn add_sample(
        &mut self,
        gpu: GpuId,
        sample: &MemorySample,
        is_process: impl Fn(u32) -> bool,
    ) -> Vec<Remaining> {
        let mut found = Vec::new();
        for (vm, of) in &mut self.of_vm {
            let before = of.all.len();
            of.all.retain_mut(|one| one.gpu != gpu || one.stays(sample, &is_process));
            if of.all.len() != before {
                self.touched.add(*vm);
            }
            let here = || of.all.iter().filter(|one| one.gpu == gpu && one.absent == 0);
            let due = here().filter(|one| one.listed > 0 && one.listed % SAMPLES == 0);
            let Some(oldest) = due.clone().max_by_key(|one| one.listed) else { continue };
            found.push(Remaining {
                vm: *vm,
                name: of.name.clone(),
                gpu,
                pid: oldest.pid,
                bytes: here().fold(0, |sum, one| sum.saturating_add(one.bytes)),
                step: if oldest.listed > SAMPLES { Step::Fail } else { Step::End },
                is_new: due.clone().any(|one| one.listed == SAMPLES),
            });
        }
        self.of_vm.retain(|_, of| !of.all.is_empty());
        found
    }
}

impl Entry {
    /// Adds a sample. Returns false if the worker must be forgotten.
    fn stays(&mut self, sample: &MemorySample, is_process: impl Fn(u32) -> bool) -> bool {
        match sample.process_bytes(self.pid) {
            // The process ID was reused, so the reported memory can be that of the new process.
            Some(_) if is_process(self.pid) => return false,
            Some(bytes) => {
                (self.listed, self.absent) = (self.listed.saturating_add(1), 0);
                self.bytes = bytes;
            }
            None => self.absent += 1,
        }
        self.absent < GONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::nvml::ProcessMemory;

    const VM: VmId = VmId(1);
    const GPU: GpuId = GpuId(0);

    fn sample(pids: &[u32]) -> MemorySample {
        let processes = pids.iter().map(|pid| ProcessMemory { pid: *pid, bytes: 100 }).collect();
        MemorySample { processes, ..MemorySample::default() }
    }

    fn leftovers(pids: std::ops::Range<u32>) -> Leftovers {
        let mut leftovers = Leftovers { is_sampled: true, ..Leftovers::default() };
        pids.for_each(|pid| leftovers.add(VM, "a", pid, &[GPU]));
        leftovers
    }

    /// Adds `samples` samples that contain the processes `pids`. Returns the numbers of the samples
    /// after which a [`Step`] is due, with the step, and whether it's new.
    fn add(leftovers: &mut Leftovers, pids: &[u32], samples: usize) -> Vec<(usize, Step, bool)> {
        let mut found = Vec::new();
        for number in 1..=samples {
            for one in leftovers.add_sample(GPU, &sample(pids), |_| false) {
                found.push((number, one.step, one.is_new));
            }
        }
        found
    }

    #[test]
    fn workers_that_the_driver_frees_are_forgotten() {
        let mut leftovers = leftovers(7..9);
        assert_eq!(add(&mut leftovers, &[8], 2), []);
        assert_eq!(leftovers.on(GPU).count(), 2);
        assert_eq!(add(&mut leftovers, &[], 1), []);
        assert_eq!(leftovers.on(GPU).collect::<Vec<_>>(), [Leftover { vm: VM, pid: 8 }]);
        assert_eq!(add(&mut leftovers, &[], 2), []);
        assert!(leftovers.of_vm.is_empty() && leftovers.record().0.is_empty());
        // The change is recorded for another broker.
        assert_eq!(leftovers.take_changes(), [(VM, OfVm::default())]);
    }

    #[test]
    fn a_vm_ends_for_what_its_worker_has_left_and_then_fails() {
        let mut leftovers = leftovers(7..8);
        assert_eq!(add(&mut leftovers, &[7], 4), []);
        assert_eq!(leftovers.held(GPU), 0);
        assert_eq!(add(&mut leftovers, &[7], 1), [(1, Step::End, true)]);
        assert_eq!(leftovers.held(GPU), 100);
        assert_eq!(
            add(&mut leftovers, &[7], 10),
            [(5, Step::Fail, false), (10, Step::Fail, false)]
        );
        // Once the descriptor is closed, the driver no longer reports the worker.
        assert_eq!(add(&mut leftovers, &[], 3), []);
        assert_eq!((leftovers.on(GPU).count(), leftovers.held(GPU)), (0, 0));
    }

    #[test]
    fn a_worker_that_is_not_in_every_sample_is_not_forgotten() {
        let mut leftovers = leftovers(7..8);
        let mut found = Vec::new();
        for _ in 0..5 {
            found.extend(add(&mut leftovers, &[7], 1));
            assert_eq!(add(&mut leftovers, &[], 2), []);
        }
        assert_eq!(found, [(1, Step::End, true)]);
    }

    #[test]
    fn a_number_of_another_process_does_not_count() {
        let mut leftovers = leftovers(7..8);
        assert_eq!(leftovers.add_sample(GPU, &sample(&[7]), |pid| pid == 7), []);
        assert_eq!(leftovers.on(GPU).count(), 0);
    }

    #[test]
    fn other_gpus_say_nothing() {
        let mut leftovers = leftovers(7..8);
        for _ in 0..10 {
            assert_eq!(leftovers.add_sample(GpuId(1), &sample(&[7]), |_| false), []);
        }
        assert_eq!((leftovers.on(GPU).count(), leftovers.on(GpuId(1)).count()), (1, 0));
    }

    #[test]
    fn those_that_the_driver_reports_stay_when_there_are_too_many() {
        let mut leftovers = leftovers(1..3);
        assert_eq!(add(&mut leftovers, &[2], 1), []);
        (10..2000).for_each(|pid| leftovers.add(VM, "a", pid, &[GPU]));
        assert_eq!(leftovers.on(GPU).count(), MAX);
        assert!(leftovers.on(GPU).any(|one| one.pid == 2));
        assert!(!leftovers.on(GPU).any(|one| one.pid == 1));
        assert_eq!(add(&mut leftovers, &[2], 2), []);
        assert_eq!(add(&mut leftovers, &[2], 2), [(2, Step::End, true)]);
    }

    #[test]
    fn without_samples_nothing_is_added() {
        let mut leftovers = Leftovers::default();
        leftovers.add(VM, "a", 7, &[GPU]);
        assert_eq!(leftovers.on(GPU).count(), 0);
    }

    #[test]
    fn another_broker_continues_with_them() {
        let mut before = leftovers(7..8);
        let mut record = LeftoversRecord::default();
        for (vm, now) in before.take_changes() {
            record.change(vm, now);
        }
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(text, serde_json::to_string(&before.record()).unwrap());
        let mut after = Leftovers::restore(serde_json::from_str(&text).unwrap());
        assert_eq!(add(&mut after, &[7], 5), [(5, Step::End, true)]);
        add(&mut before, &[], 3);
        for (vm, now) in before.take_changes() {
            record.change(vm, now);
        }
        assert!(record.0.is_empty());
    }
}
