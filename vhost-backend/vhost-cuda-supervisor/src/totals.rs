//! Limits how many driver objects the workers of one VM have together, and how many the workers of
//! all VMs have on a GPU.
//!
//! A GPU has a limited number of channels, and every object takes memory of the host's kernel,
//! which isn't charged to anybody. All workers of a VM may be compromised, so a limit for each
//! worker wouldn't protect other VMs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::limit::Limit;

/// Maximum number of objects that a VM's workers can allocate in a second without having to wait.
/// Only objects that are reported to the broker count, because this limit protects the broker from
/// a flood of reports. Creating a context takes a tenth of a second, and libcuda allocates 24 such
/// objects for it.
const PER_SECOND: u32 = 1024;

/// The kinds of objects. Each kind is counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Channels.
    Channel(Engines),
    /// Channel groups.
    Group(Engines),
    /// Address spaces of GPUs.
    Space,
    /// All other objects, most of which are memory.
    Other,
}

/// A set of engines of a GPU, whose channels are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Engines {
    /// The driver's number of the GPU. `None` if it isn't known, because the worker created the
    /// channel group before its session: at the start of a session, a worker reports only channels
    /// that run kernels, and the objects under which they were created.
    pub gpu: Option<u32>,
    /// True for engines that run kernels, and false for all others, such as copy engines.
    pub compute: bool,
}

/// Limits on the number of objects of one kind.
struct Most {
    /// Maximum number of these objects for the workers of a VM together.
    of_vm: u32,
    /// Maximum number of these objects for all VMs together. For objects that belong to a GPU, the
    /// limit applies to each GPU.
    of_gpu: u32,
    /// Number of these objects that each VM may have even if all VMs together have reached
    /// `of_gpu`.
    always: u32,
}

impl Kind {
    /// Returns the limits for this kind. For each context, libcuda creates 8 channels in one group
    /// to run kernels, and about as many for copies. So the workers of one VM can have 128 contexts
    /// on each GPU, and the workers of all VMs together can have 192. `sessions.max` is 32 by
    /// default. A program that allocates all memory of 8 H200s in pieces of 2 MiB has 0.6 million
    /// objects of the kind `Other`.
    fn most(self) -> Most {
        match self {
            Self::Channel(Engines { gpu: None, .. }) | Self::Group(Engines { gpu: None, .. }) => {
                Most { of_vm: 256, of_gpu: 512, always: 64 }
            }
            Self::Channel(_) | Self::Group(_) => Most { of_vm: 1024, of_gpu: 1536, always: 64 },
            Self::Space => Most { of_vm: 4096, of_gpu: u32::MAX, always: u32::MAX },
            Self::Other => Most { of_vm: 1 << 20, of_gpu: u32::MAX, always: u32::MAX },
        }
    }
}

/// The numbers of objects of all workers.
#[derive(Default)]
pub struct Totals {
    counts: Mutex<Counts>,
    rates: Mutex<HashMap<u64, Weak<Mutex<Limit>>>>,
}

#[derive(Default)]
struct Counts {
    /// The number of objects of each kind, by VM. If a VM has no objects of a kind, the table has
    /// no entry.
    of_vm: HashMap<(u64, Kind), u32>,
    all: HashMap<Kind, u32>,
}

/// One counted object. Dropping this value ends the counting of the object.
pub struct Counted {
    totals: Arc<Totals>,
    vm: u64,
    kind: Kind,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Totals {
    /// Counts an object of a VM that a worker is about to allocate. Returns `None` if the VM may
    /// not have another object of this kind.
    pub fn take(self: &Arc<Self>, vm: u64, kind: Kind) -> Option<Counted> {
        let mut counts = lock(&self.counts);
        let of_vm = counts.of_vm.get(&(vm, kind)).copied().unwrap_or(0);
        let all = counts.all.get(&kind).copied().unwrap_or(0);
        let most = kind.most();
        if of_vm >= most.of_vm || (all >= most.of_gpu && of_vm >= most.always) {
            return None;
        }
        counts.add(vm, kind);
        drop(counts);
        Some(Counted { totals: self.clone(), vm, kind })
    }

    /// Counts an object that already exists, even if that exceeds a limit.
    pub fn add(self: &Arc<Self>, vm: u64, kind: Kind) -> Counted {
        lock(&self.counts).add(vm, kind);
        Counted { totals: self.clone(), vm, kind }
    }

    /// Returns the limit on how many objects a VM's workers allocate in a second.
    pub fn rate(&self, vm: u64) -> Arc<Mutex<Limit>> {
        let mut rates = lock(&self.rates);
        rates.retain(|_, rate| rate.strong_count() > 0);
        let known = rates.get(&vm).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let rate = Arc::new(Mutex::new(Limit::new(PER_SECOND)));
            rates.insert(vm, Arc::downgrade(&rate));
            rate
        })
    }
}

/// Waits if the workers of a VM have allocated too many objects in this second. All workers of the
/// VM wait, because they share the limit.
pub fn wait(rate: &Mutex<Limit>) {
    lock(rate).wait();
}

impl Counts {
    fn add(&mut self, vm: u64, kind: Kind) {
        // The counts can't overflow: each counted object occupies memory, so 2^32 objects can't
        // exist.
        *self.of_vm.entry((vm, kind)).or_default() += 1;
        *self.all.entry(kind).or_default() += 1;
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = lock(&self.totals.counts);
        decrement(counts.of_vm.entry((self.vm, self.kind)));
        decrement(counts.all.entry(self.kind));
    }
}

/// Subtracts one from an entry, and removes the entry if it becomes 0.
fn decrement<K>(entry: Entry<'_, K, u32>) {
    if let Entry::Occupied(mut entry) = entry {
        *entry.get_mut() -= 1;
        if *entry.get() == 0 {
            entry.remove();
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns true if nothing is counted.
    pub fn are_empty(totals: &Totals) -> bool {
        let counts = lock(&totals.counts);
        counts.of_vm.is_empty() && counts.all.is_empty()
    }

    impl Totals {
        pub fn number(&self, vm: u64, kind: Kind) -> u32 {
            lock(&self.counts).of_vm.get(&(vm, kind)).copied().unwrap_or(0)
        }
    }

    /// Counts objects until the limit is reached, and returns them.
    fn fill(totals: &Arc<Totals>, vm: u64, kind: Kind) -> Vec<Counted> {
        std::iter::from_fn(|| totals.take(vm, kind)).take(10_000).collect()
    }

    #[test]
    fn a_vm_has_no_more_channels_than_its_limit_and_others_keep_theirs() {
        let totals = Arc::new(Totals::default());
        let channel = |gpu, compute| Kind::Channel(Engines { gpu: Some(gpu), compute });
        let gpu = channel(0, true);
        let first = fill(&totals, 1, gpu);
        assert_eq!(first.len(), 1024);
        for other in [channel(0, false), channel(1, true)] {
            assert_eq!(fill(&totals, 1, other).len(), 1024);
        }
        let second = fill(&totals, 2, gpu);
        assert_eq!(second.len(), 512);
        // VM 3 can still have a few contexts, although all VMs together have reached their limit.
        assert_eq!(fill(&totals, 3, gpu).len(), 64);
        drop(first);
        assert_eq!(fill(&totals, 3, gpu).len(), 1024);
        drop(second);
        assert!(are_empty(&totals));
    }

    #[test]
    fn workers_of_a_vm_share_a_rate() {
        let totals = Totals::default();
        let (first, second) = (totals.rate(1), totals.rate(1));
        assert!(Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &totals.rate(2)));
        drop((first, second));
        assert!(totals.rate(3).lock().is_ok());
        assert_eq!(lock(&totals.rates).len(), 1);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Take(u64, Kind),
        Add(u64, Kind),
        Drop(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let engines = || {
            let engines = (prop::option::of(0..2u32), any::<bool>());
            engines.prop_map(|(gpu, compute)| Engines { gpu, compute })
        };
        let kind = prop_oneof![
            engines().prop_map(Kind::Channel),
            engines().prop_map(Kind::Group),
            Just(Kind::Space),
            Just(Kind::Other),
        ];
        prop_oneof![
            4 => (0..3u64, kind.clone()).prop_map(|(vm, kind)| Step::Take(vm, kind)),
            1 => (0..3u64, kind).prop_map(|(vm, kind)| Step::Add(vm, kind)),
            3 => any::<usize>().prop_map(Step::Drop),
        ]
    }

    proptest! {
        /// The counts always match the objects that exist, and are zero when none is left.
        #[test]
        fn the_counts_are_exact(steps in prop::collection::vec(step(), 0..300)) {
            let totals = Arc::new(Totals::default());
            let mut objects: Vec<Counted> = Vec::new();
            for step in steps {
                match step {
                    Step::Take(vm, kind) => objects.extend(totals.take(vm, kind)),
                    Step::Add(vm, kind) => objects.push(totals.add(vm, kind)),
                    Step::Drop(place) if !objects.is_empty() => {
                        objects.swap_remove(place % objects.len());
                    }
                    Step::Drop(_) => {}
                }
                let counts = lock(&totals.counts);
                for ((vm, kind), count) in &counts.of_vm {
                    let is = |one: &&Counted| (one.vm, one.kind) == (*vm, *kind);
                    prop_assert_eq!(*count as usize, objects.iter().filter(is).count());
                }
                prop_assert_eq!(counts.of_vm.values().sum::<u32>() as usize, objects.len());
                prop_assert_eq!(counts.all.values().sum::<u32>() as usize, objects.len());
            }
            objects.clear();
            prop_assert!(are_empty(&totals));
        }
    }
}
