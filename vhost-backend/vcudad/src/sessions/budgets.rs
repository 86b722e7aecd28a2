//! Budgets of the broker's time for VMs. A guest that has taken over its device process or a worker
//! can send messages as fast as the broker reads them. The messages of a VM that has used up its
//! budget wait in their sockets, and the broker handles the messages of other VMs.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use crate::reporting::rate::TokenBucket;
use crate::watches::Source;
use memory_ledger::VmId;

/// The time that a VM's messages may take at once, and in a second in the long run, in
/// microseconds. An allocation and its release take 11 us together (softgpu), so this is enough for
/// 20,000 allocations in a second.
const AT_ONCE: u32 = 250_000;
const PER_SECOND: u32 = 250_000;
/// A VM that has used up its budget waits until its budget has grown to this amount, in
/// microseconds.
const RESUME: u32 = 2_500;

/// The budgets of all VMs that have sent messages.
#[derive(Default)]
pub(crate) struct Budgets {
    vms: HashMap<VmId, TokenBucket>,
    /// The sockets that aren't watched, because their VM has used up its budget.
    held: BTreeMap<VmId, Vec<Source>>,
}

impl Budgets {
    /// Returns true if a message of this VM may be handled now. If it returns false, the caller
    /// must stop watching `source` until [`Self::resume`] returns it.
    pub(crate) fn admit(&mut self, vm: VmId, source: Source, now: Instant) -> bool {
        let has = self.vms.get_mut(&vm).is_none_or(|budget| budget.has(1, now));
        if !has {
            self.held.entry(vm).or_default().push(source);
        }
        has
    }

    /// Charges a VM for the time that one of its messages took.
    pub(crate) fn charge(&mut self, vm: VmId, spent: Duration, now: Instant) {
        let budget =
            self.vms.entry(vm).or_insert_with(|| TokenBucket::new(AT_ONCE, PER_SECOND, now));
        budget.spend(spent.as_secs_f64() * 1e6, now);
    }

    /// Returns true if the sockets of a VM aren't watched because it has used up its budget.
    pub(crate) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns the sources of VMs that have enough budget again. The caller must watch them again.
    pub(crate) fn resume(&mut self, now: Instant) -> Vec<Source> {
        let mut resumed = Vec::new();
        self.held.retain(|vm, sources| {
            let has = self.vms.get_mut(vm).is_none_or(|budget| budget.has(RESUME, now));
            if has {
                resumed.append(sources);
            }
            !has
        });
        resumed
    }

    /// Forgets a VM that has been removed.
    pub(crate) fn forget(&mut self, vm: VmId) {
        self.vms.remove(&vm);
        self.held.remove(&vm);
    }
}

/// Returns the time for which this thread has used a CPU. It doesn't advance while other threads
/// use the CPU. This calls libc, because rustix can't read clocks on a kernel without a vDSO, such
/// as user-mode Linux.
pub(crate) fn thread_time() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a local timespec, which the call may write. If the call fails, it stays
    // zero.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOUD: VmId = VmId(1);
    const QUIET: VmId = VmId(2);

    fn source(vm: VmId) -> Source {
        Source::DeviceSocket(vm)
    }

    proptest! {
        /// However long the messages of a VM take, it gets its share of the time and not more, and
        /// other VMs' messages never wait.
        #[test]
        fn a_vm_gets_no_more_than_its_budget(costs in prop::collection::vec(1..50_000u64, 1..50)) {
            let (mut budgets, start) = (Budgets::default(), Instant::now());
            let (mut now, mut used, mut waits) = (Duration::ZERO, Duration::ZERO, false);
            let mut costs = costs.into_iter().cycle().map(Duration::from_micros);
            let longest = Duration::from_micros(50_000);
            let tick = Duration::from_millis(1);
            while now < Duration::from_secs(20) {
                if waits {
                    now += tick;
                    waits = budgets.resume(start + now).is_empty();
                } else if budgets.admit(LOUD, source(LOUD), start + now) {
                    let spent = costs.next().unwrap();
                    (now, used) = (now + spent, used + spent);
                    budgets.charge(LOUD, spent, start + now);
                } else {
                    waits = true;
                }
                prop_assert!(budgets.admit(QUIET, source(QUIET), start + now));
                budgets.charge(QUIET, Duration::from_micros(10), start + now);
                let share = |at_once: Duration| at_once + now / 4;
                prop_assert!(used <= share(Duration::from_millis(250) + longest), "{used:?}");
                prop_assert!(used + longest + tick * 3 >= now / 4, "{used:?} of {now:?}");
            }
        }
    }

    #[test]
    fn sockets_wait_until_their_vm_has_time_again() {
        let (mut budgets, start) = (Budgets::default(), Instant::now());
        budgets.charge(LOUD, Duration::from_millis(300), start);
        let worker = Source::WorkerSocket(7);
        assert!(!budgets.admit(LOUD, source(LOUD), start) && !budgets.admit(LOUD, worker, start));
        assert!(budgets.admit(QUIET, source(QUIET), start));
        assert!(budgets.is_holding() && budgets.resume(start).is_empty());
        // The VM has used 50 ms more than its budget, which takes 200 ms to refill.
        assert!(budgets.resume(start + Duration::from_millis(201)).is_empty());
        let resumed = budgets.resume(start + Duration::from_millis(220));
        assert!(matches!(resumed[..], [Source::DeviceSocket(LOUD), Source::WorkerSocket(7)]));
        assert!(!budgets.is_holding());
        // A message that took very long doesn't keep the VM waiting forever.
        let later = |ms: u64| start + Duration::from_millis(1000 + ms);
        budgets.charge(LOUD, Duration::from_secs(3600), later(0));
        assert!(!budgets.admit(LOUD, source(LOUD), later(0)));
        assert!(budgets.resume(later(1000)).is_empty());
        assert_eq!(budgets.resume(later(1020)).len(), 1);
        budgets.charge(LOUD, Duration::from_secs(1), later(1020));
        assert!(!budgets.admit(LOUD, source(LOUD), later(1020)));
        budgets.forget(LOUD);
        assert!(budgets.admit(LOUD, source(LOUD), later(1020)) && !budgets.is_holding());
    }

    #[test]
    fn waiting_takes_no_time() {
        let before = thread_time();
        std::thread::sleep(Duration::from_millis(300));
        assert!(thread_time() - before < Duration::from_millis(300));
    }
}
