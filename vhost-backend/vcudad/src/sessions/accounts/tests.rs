//! Tests of credit, and of the state of a VM's accounts that each session sees.

use super::*;
use host_ipc::residency::{Place, Report};
use host_ipc::spending::Spending;
use memory_ledger::{Credit, MAX_SHARES_OF_ONE};
use proptest::prelude::*;

const VM: VmId = VmId(3);
const GPUS: [GpuId; 2] = [GpuId(1), GpuId(0)];

fn quota(max: u64, session_max: Option<u64>) -> Quota {
    Quota { max, session_max }
}

/// A worker's mappings of its gate page and of its VM's spending page.
struct Ends {
    page: Arc<GateMap>,
    spending: Spending,
}

/// Opens an account for a worker.
fn open(accounts: &mut Accounts, worker: WorkerId) -> Ends {
    let file = GateMap::create().unwrap();
    accounts.open(worker, VM, None, &GPUS);
    let (spending, slot) = accounts.give_slot(worker, VM).unwrap().unwrap();
    let page = Arc::new(GateMap::map(&file).unwrap());
    page.worker.set_slot(slot);
    let spending = Spending::map(spending, &page).unwrap().unwrap();
    accounts.show(worker, Arc::new(GateMap::map(&file).unwrap()));
    Ends { page, spending }
}

/// Opens an account for a worker of the previous version, which doesn't support credit.
fn open_older(accounts: &mut Accounts, worker: WorkerId) -> GateMap {
    let file = GateMap::create().unwrap();
    accounts.open(worker, VM, None, &GPUS);
    accounts.show(worker, Arc::new(GateMap::map(&file).unwrap()));
    GateMap::map(&file).unwrap()
}

fn seen(ends: &Ends, device: usize) -> (u64, u64) {
    let MemoryUsage { used, max } = ends.spending.memory(device).unwrap();
    (used, max)
}

fn seen_by_older(page: &GateMap) -> (u64, u64) {
    let MemoryUsage { used, max } = page.gpus[0].memory(|| (0, 0)).unwrap();
    (used, max)
}

#[test]
fn every_worker_of_a_vm_sees_each_change() {
    let mut accounts = Accounts::default();
    accounts.set(VM, &GPUS, quota(100, None));
    let (first, second) = (open(&mut accounts, 1), open(&mut accounts, 2));
    assert_eq!((seen(&first, 0), seen(&second, 1)), ((0, 100), (0, 100)));
    assert_eq!(first.spending.memory(2), None);
    accounts.reserve(1, 0, 30, Charge::Memory).unwrap();
    assert_eq!((seen(&first, 0), seen(&second, 0)), ((30, 100), (30, 100)));
    assert_eq!(seen(&second, 1), (0, 100));
    assert!(accounts.reserve(2, 0, 71, Charge::Memory).is_err());
    assert_eq!(seen(&second, 0), (30, 100));
    accounts.release(1, 0, 10, Charge::Memory).unwrap();
    assert_eq!(seen(&second, 0), (20, 100));
    accounts.set(VM, &GPUS, quota(50, None));
    assert_eq!((seen(&first, 0), seen(&second, 1)), ((20, 50), (0, 50)));
    assert_eq!(accounts.close(1), 20);
    assert_eq!(seen(&second, 0), (0, 50));
}

#[test]
fn a_worker_sees_the_limit_of_its_own_session() {
    let mut accounts = Accounts::default();
    accounts.set(VM, &GPUS, quota(100, Some(60)));
    let (first, second) = (open(&mut accounts, 1), open(&mut accounts, 2));
    accounts.reserve(1, 0, 50, Charge::Memory).unwrap();
    assert_eq!((seen(&first, 0), seen(&second, 0)), ((50, 60), (10, 60)));
    let share = accounts.share(1, 0, 50).unwrap();
    accounts.join(2, 0, share).unwrap();
    assert_eq!((seen(&first, 0), seen(&second, 0)), ((50, 60), (50, 60)));
    accounts.leave(1, 0, share).unwrap();
    assert_eq!((seen(&first, 0), seen(&second, 0)), ((10, 60), (50, 60)));
}

#[test]
fn the_sessions_of_a_user_share_memory_together_and_leave_some_to_others() {
    let mut accounts = Accounts::default();
    accounts.set(VM, &GPUS, quota(1 << 20, None));
    for (worker, user) in [(1, Some(7)), (2, Some(7)), (3, Some(8)), (4, None), (5, None)] {
        accounts.open(worker, VM, user, &GPUS);
        accounts.reserve(worker, 0, 5000, Charge::Memory).unwrap();
    }
    let share = |accounts: &mut Accounts, worker| accounts.share(worker, 0, 1);
    let first: Vec<_> = (0..MAX_SHARES_OF_ONE).map(|_| share(&mut accounts, 1).unwrap()).collect();
    let too_many = LedgerError::TooManySharesOfOne;
    assert_eq!(share(&mut accounts, 1), Err(too_many));
    assert_eq!(share(&mut accounts, 2), Err(too_many), "the user's other session");
    let other = share(&mut accounts, 3).unwrap();
    assert_eq!(accounts.join(2, 0, other), Err(too_many));
    assert_eq!(accounts.join(2, 0, first[0]), Ok(1), "the user holds it already");
    assert_eq!(accounts.join(3, 0, first[0]), Ok(1));
    // Each session without a user has a limit of its own.
    for worker in [4, 5] {
        assert!(share(&mut accounts, worker).is_ok());
    }
}

#[test]
fn other_vms_see_nothing() {
    let mut accounts = Accounts::default();
    accounts.set(VM, &GPUS, quota(100, None));
    accounts.set(VmId(4), &GPUS, quota(100, None));
    let page = open(&mut accounts, 1);
    accounts.open(9, VmId(4), None, &GPUS);
    accounts.reserve(9, 0, 30, Charge::Memory).unwrap();
    assert_eq!(seen(&page, 0), (0, 100));
    accounts.close(1);
    accounts.remove(VM);
    accounts.reserve(9, 0, 30, Charge::Memory).unwrap();
}

/// A compromised worker can write anything into its words.
#[test]
fn reports_count_only_for_the_latest_order_and_for_what_the_worker_holds() {
    let mut accounts = Accounts::default();
    accounts.set(VM, &GPUS, quota(100, None));
    let (first, second) = (open(&mut accounts, 1), open(&mut accounts, 2));
    accounts.reserve(1, 0, 50, Charge::Memory).unwrap();
    accounts.reserve(1, 0, 10, Charge::Context).unwrap();
    let resident = |accounts: &Accounts| accounts.ledger().account(VM, GPUS[0]).unwrap().resident();
    let report = |ends: &Ends, number, bytes, failed| {
        let words = &ends.page.residency;
        words.set_away(0, bytes);
        words.set_report(Report { number, place: Place::Away, failed });
    };
    accounts.order(VM, Place::Away);
    report(&first, 7, 50, false);
    assert_eq!((accounts.take_reports(VM).waits, resident(&accounts)), (true, 60));
    report(&first, 1, u64::MAX, false);
    report(&second, 1, 1 << 40, false);
    let away = Residency { away: 50, ..Residency::default() };
    for _ in 0..2 {
        assert_eq!((accounts.take_reports(VM), resident(&accounts)), (away, 10));
    }
    assert!(accounts.release(1, 0, 1, Charge::Memory).is_err(), "it's away");
    report(&first, 1, 0, true);
    assert_eq!(accounts.take_reports(VM), Residency { failed: true, ..away });
    first.page.residency.set_needs(true);
    second.page.gpus[0].held.store(1, Ordering::SeqCst);
    assert_eq!(
        accounts.take_reports(VM),
        Residency { failed: true, needs: true, holds: true, ..away }
    );
    // The memory counts as resident before a worker can begin to put it back.
    accounts.order(VM, Place::OnGpu);
    assert_eq!(resident(&accounts), 60);
}

#[test]
fn a_broker_that_replaces_another_finds_the_orders_on_the_pages() {
    let mut accounts = Accounts::default();
    accounts.set(VM, &GPUS, quota(100, None));
    let (first, second) = (open(&mut accounts, 1), open(&mut accounts, 2));
    accounts.reserve(1, 0, 50, Charge::Memory).unwrap();
    assert!(!accounts.reconcile(VM));
    accounts.order(VM, Place::Away);
    first.page.residency.set_away(0, 50);
    first.page.residency.set_report(Report { number: 1, place: Place::Away, failed: false });
    accounts.take_reports(VM);
    assert!(accounts.reconcile(VM));
    let away = |accounts: &Accounts| accounts.ledger().account(VM, GPUS[0]).unwrap().away;
    assert_eq!(away(&accounts), 50);
    // The other broker ended after it had given orders, and before it had recorded them.
    for ends in [&first, &second] {
        ends.page.residency.give_order(Place::OnGpu);
    }
    assert!(!accounts.reconcile(VM));
    assert_eq!(away(&accounts), 0);
}

const MIB: u64 = 1 << 20;
const WORKERS: u64 = 3;

/// A simulated worker that uses credit.
struct Side {
    ends: Ends,
    /// The bytes that the worker's program uses.
    used: u64,
    /// The bytes that the worker has taken from its credit for streams, and not yet reported to the
    /// broker. They are part of `used`.
    streams: u64,
    /// The bytes that the worker keeps after its program has freed them.
    kept: u64,
    /// The number of recalls up to the last one that the worker has followed.
    recalls: u32,
}

impl Side {
    fn credit(&self) -> &Credit {
        &self.ends.page.gpus[0].credit
    }

    fn keeping(&self) -> &Credit {
        &self.ends.page.kept[0]
    }
}

/// Returns accounts of workers that may keep memory.
fn keeping(ledger: Ledger) -> Accounts {
    Accounts::restore(ledger, true)
}

/// A VM whose workers use credit.
struct Sessions {
    accounts: Accounts,
    /// The ledger that another broker would read from the record.
    record: Ledger,
    workers: HashMap<WorkerId, Side>,
    quota: Quota,
    now: u64,
}

impl Sessions {
    fn new(quota: Quota) -> Self {
        let (mut accounts, mut record) = (keeping(Ledger::default()), Ledger::default());
        accounts.set(VM, &GPUS, quota);
        GPUS.iter().for_each(|gpu| record.set(VM, *gpu, quota));
        Self { accounts, record, workers: HashMap::new(), quota, now: 0 }
    }

    fn set(&mut self, quota: Quota) {
        self.quota = quota;
        // After an operator's change, the broker writes the whole record again.
        self.accounts.set(VM, &GPUS, quota);
        self.accounts.take_changes();
        self.record = self.accounts.ledger().clone();
    }

    fn open(&mut self, worker: WorkerId) {
        let ends = open(&mut self.accounts, worker);
        ends.page.gpus[0].credit.take_offers();
        ends.page.kept[0].take_offers();
        let side = Side { ends, used: 0, streams: 0, kept: 0, recalls: 0 };
        self.workers.insert(worker, side);
    }

    /// Replaces the broker by another one, to which the previous one has left the record, the
    /// pages, and the workers' slots. The page of `lost` is missing, so this worker ends.
    fn restart(&mut self, lost: Option<WorkerId>) {
        self.verify();
        let before = self.workers.iter().map(|(worker, side)| (*worker, seen(&side.ends, 0)));
        let before: HashMap<_, _> = before.collect();
        let file = self.accounts.slots.remove(&VM).map(|slots| slots.file().try_clone_to_owned());
        self.accounts = keeping(self.record.clone());
        if let Some(file) = file {
            self.accounts.restore_slots(VM, Slots::with(file.unwrap()).unwrap());
        }
        self.accounts.set(VM, &GPUS, self.quota);
        for (&worker, side) in &self.workers {
            let slot = side.ends.page.worker.slot();
            let page = (lost != Some(worker)).then(|| side.ends.page.clone());
            self.accounts.reopen(worker, VM, None, slot, page);
            // The workers continue during the restart, and see the same state as before.
            for (worker, side) in &self.workers {
                assert_eq!(seen(&side.ends, 0), before[worker]);
            }
        }
        self.accounts.publish_all();
        if let Some(lost) = lost {
            self.close(lost);
        }
    }

    fn close(&mut self, worker: WorkerId) {
        self.workers.remove(&worker);
        self.accounts.close(worker);
    }

    fn used(&self) -> u64 {
        self.workers.values().map(|side| side.used).sum()
    }

    /// Takes memory from a worker's credit, as the worker does.
    fn spend(&mut self, worker: WorkerId, bytes: u64) -> bool {
        let side = self.workers.get_mut(&worker).unwrap();
        let spends = side.credit().is_taken() && side.credit().spend(bytes);
        if spends {
            side.ends.spending.spent(0, bytes);
            side.used += bytes;
        }
        spends
    }

    /// Allocates as a worker does. Returns whether there was room.
    fn allocate(&mut self, worker: WorkerId, bytes: u64) -> bool {
        if self.spend(worker, bytes) {
            self.verify();
            self.check(worker);
            return true;
        }
        // Between two tries of the request, the other workers free the memory that they keep.
        while self.accounts.must_wait(worker, 0, bytes, false, self.now) {
            self.verify();
            assert!(self.follow_recalls(), "the broker waits for nothing");
            self.now += 1;
        }
        let reserved = self.accounts.reserve(worker, 0, bytes, Charge::Memory);
        let done = reserved.inspect_err(|error| assert!(error.is_full(), "{error}")).is_ok();
        self.workers.get_mut(&worker).unwrap().used += if done { bytes } else { 0 };
        done
    }

    /// Returns how many of `bytes` a worker can free.
    fn freeable(&self, worker: WorkerId, bytes: u64) -> u64 {
        let held = self.accounts.used().memory_of(worker, 0);
        bytes.min(held - self.workers[&worker].streams)
    }

    fn free(&mut self, worker: WorkerId, bytes: u64) {
        let side = self.workers.get_mut(&worker).unwrap();
        side.used -= bytes;
        if side.credit().is_taken() {
            assert!(side.credit().add(bytes));
            side.ends.spending.saved(0, bytes);
            self.verify();
            self.check(worker);
        } else {
            self.accounts.release(worker, 0, bytes, Charge::Memory).unwrap();
        }
    }

    /// Keeps freed memory as a worker does, if the worker may. Returns whether it keeps the memory.
    fn keep(&mut self, worker: WorkerId, bytes: u64) -> bool {
        let side = self.workers.get_mut(&worker).unwrap();
        if side.kept > 0 || !side.keeping().is_taken() {
            return false;
        }
        assert!(side.keeping().add(bytes));
        side.ends.spending.saved(0, bytes);
        side.used -= bytes;
        side.kept = bytes;
        true
    }

    /// Lets a worker's program use the memory that the worker keeps, if that wasn't recalled.
    fn reuse(&mut self, worker: WorkerId) {
        let side = self.workers.get_mut(&worker).unwrap();
        let bytes = side.kept;
        if bytes > 0 && side.keeping().is_taken() {
            assert!(side.keeping().spend(bytes));
            side.ends.spending.spent(0, bytes);
            side.used += bytes;
            side.kept = 0;
        }
    }

    /// Makes all workers whose memory was recalled free it. Returns whether there were any.
    fn follow_recalls(&mut self) -> bool {
        let mut any = false;
        for worker in self.workers.keys().copied().collect::<Vec<_>>() {
            let side = self.workers.get_mut(&worker).unwrap();
            let bytes = side.kept;
            if bytes == 0 || side.keeping().is_taken() {
                continue;
            }
            let recalls = side.ends.page.worker.changed_recalls(side.recalls);
            assert!(side.credit().add(bytes));
            side.recalls = recalls;
            assert!(side.keeping().spend(bytes));
            side.kept = 0;
            self.verify();
            self.accounts.release(worker, 0, 0, Charge::Memory).unwrap();
            self.verify();
            any = true;
        }
        any
    }

    /// Creates streams with memory from a worker's credit. The broker learns of this later.
    fn create_streams(&mut self, worker: WorkerId, bytes: u64) {
        if self.spend(worker, bytes) {
            self.workers.get_mut(&worker).unwrap().streams += bytes;
        }
    }

    fn convert(&mut self, worker: WorkerId) {
        let bytes = std::mem::take(&mut self.workers.get_mut(&worker).unwrap().streams);
        if bytes > 0 {
            self.accounts.convert(worker, 0, bytes, Charge::Stream).unwrap();
        }
    }

    /// Has the broker adjust a worker's credit if it's too low or too high, as workers do.
    fn check(&mut self, worker: WorkerId) {
        let credit = self.workers[&worker].credit();
        if credit.bytes() < CREDIT / 2 || credit.bytes() > CREDIT {
            self.accounts.release(worker, 0, 0, Charge::Memory).unwrap();
        }
    }

    /// Checks that every number is exact, both in the broker and in its record.
    fn verify(&mut self) {
        for change in self.accounts.take_changes() {
            change.repeat(&mut self.record).unwrap();
        }
        let credit: u64 = self.workers.values().map(|side| side.credit().bytes()).sum();
        let gpu = GPUS[0];
        let charged = self.accounts.ledger().account(VM, gpu).unwrap();
        let kept: u64 = self.workers.values().map(|side| side.kept).sum();
        assert_eq!(charged.used, self.used() + credit + kept);
        let recorded = self.record.account(VM, gpu).unwrap();
        assert_eq!((recorded.used, recorded.kinds), (charged.used, charged.kinds));
        let used = self.accounts.used();
        assert_eq!(used.account(VM, gpu).unwrap().used, self.used());
        for (&worker, side) in &self.workers {
            assert_eq!(used.held_by(worker)[0], (gpu, side.used));
            let free = |max: u64, used: u64| max.saturating_sub(used);
            let free = free(self.quota.max, self.used())
                .min(free(self.quota.session_max.unwrap_or(u64::MAX), side.used));
            let Usage { used, max } = self.accounts.usage_of(worker, 0).unwrap();
            assert_eq!(max.saturating_sub(used), free.min(max), "as the broker tells {worker}");
            assert_eq!(seen(&side.ends, 0), (used, max), "as worker {worker} sees it");
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Open(WorkerId),
    Allocate(WorkerId, u64),
    Free(WorkerId, u64),
    Keep(WorkerId, u64),
    Reuse(WorkerId),
    FollowRecalls,
    CreateStreams(WorkerId, u64),
    Convert(WorkerId),
    Close(WorkerId),
    Set(u64, Option<u64>),
    Idle,
    Restart,
    RestartWithout(WorkerId),
}

fn step() -> impl Strategy<Value = Step> {
    let worker = || 0..WORKERS;
    let bytes = || (1..12u64).prop_map(|pieces| pieces * 2 * MIB);
    prop_oneof![
        2 => worker().prop_map(Step::Open),
        8 => (worker(), bytes()).prop_map(|(worker, bytes)| Step::Allocate(worker, bytes)),
        6 => (worker(), bytes()).prop_map(|(worker, bytes)| Step::Free(worker, bytes)),
        6 => (worker(), bytes()).prop_map(|(worker, bytes)| Step::Keep(worker, bytes)),
        3 => worker().prop_map(Step::Reuse),
        1 => Just(Step::FollowRecalls),
        1 => worker().prop_map(|worker| Step::CreateStreams(worker, 2 * MIB)),
        1 => worker().prop_map(Step::Convert),
        1 => worker().prop_map(Step::Close),
        1 => (10..40u64, prop::option::of(10..40u64))
            .prop_map(|(max, of)| Step::Set(max * 2 * MIB, of.map(|max| max * 2 * MIB))),
        1 => Just(Step::Idle),
        1 => Just(Step::Restart),
        1 => worker().prop_map(Step::RestartWithout),
    ]
}

proptest! {
    /// After each step, the accounts are exact to the byte, as the broker, its record, and every
    /// session see them. A request is refused only if the programs use too much memory, and never
    /// because of another session's credit or because of memory that a worker keeps.
    #[test]
    fn credit_is_exact_and_refuses_nobody(steps in prop::collection::vec(step(), 0..100)) {
        let mut sessions = Sessions::new(quota(60 * MIB, None));
        for step in steps {
            let is_open = |worker: &WorkerId| sessions.workers.contains_key(worker);
            match step {
                Step::Open(worker) if !is_open(&worker) => sessions.open(worker),
                Step::Allocate(worker, bytes) if is_open(&worker) => {
                    let Quota { max, session_max } = sessions.quota;
                    let own = sessions.workers[&worker].used + bytes;
                    let fits = sessions.used() + bytes <= max
                        && session_max.is_none_or(|max| own <= max);
                    prop_assert_eq!(sessions.allocate(worker, bytes), fits);
                }
                Step::Free(worker, bytes) if is_open(&worker) => {
                    // The memory of streams can't be freed, because this test doesn't destroy
                    // streams.
                    let free = sessions.freeable(worker, bytes);
                    if free > 0 {
                        sessions.free(worker, free);
                    }
                }
                Step::Keep(worker, bytes) if is_open(&worker) => {
                    let free = sessions.freeable(worker, bytes);
                    if free > 0 && !sessions.keep(worker, free) {
                        sessions.free(worker, free);
                    }
                }
                Step::Reuse(worker) if is_open(&worker) => sessions.reuse(worker),
                Step::FollowRecalls => drop(sessions.follow_recalls()),
                Step::CreateStreams(worker, bytes) if is_open(&worker) => {
                    sessions.create_streams(worker, bytes);
                }
                Step::Convert(worker) if is_open(&worker) => sessions.convert(worker),
                Step::Close(worker) if is_open(&worker) => sessions.close(worker),
                Step::Set(max, session_max) => sessions.set(Quota { max, session_max }),
                Step::Idle => {
                    sessions.now += IDLE;
                    sessions.accounts.recall_idle(sessions.now);
                }
                Step::Restart => sessions.restart(None),
                Step::RestartWithout(worker) if is_open(&worker) => sessions.restart(Some(worker)),
                _ => {}
            }
            sessions.verify();
        }
        for worker in sessions.workers.keys() {
            sessions.accounts.close(*worker);
        }
        let left = sessions.accounts.ledger().account(VM, GPUS[0]).unwrap();
        prop_assert_eq!((left.used, left.kinds), (0, Default::default()));
    }
}

/// A limit is lowered after a worker has taken credit for a stream and before the broker converts
/// that credit. A broker that continues after a crash must accept the record.
#[test]
fn a_conversion_after_a_lowered_limit_can_be_repeated() {
    let mut sessions = Sessions::new(quota(60 * MIB, None));
    sessions.open(1);
    assert!(sessions.allocate(1, 20 * MIB));
    sessions.create_streams(1, 2 * MIB);
    sessions.set(quota(10 * MIB, None));
    sessions.convert(1);
    sessions.verify();
    let streams = sessions.record.account(VM, GPUS[0]).unwrap().kinds[Charge::Stream as usize];
    assert_eq!(streams, 2 * MIB);
    sessions.restart(None);
    sessions.verify();
}

/// Sessions of the previous version don't see what other sessions spend until the broker publishes
/// something. Sessions of the previous version don't disturb the others.
#[test]
fn sessions_of_the_previous_version_use_no_credit() {
    let mut sessions = Sessions::new(quota(60 * MIB, None));
    let older = open_older(&mut sessions.accounts, 9);
    sessions.open(1);
    assert!(sessions.allocate(1, 2 * MIB) && sessions.allocate(1, 4 * MIB));
    sessions.verify();
    sessions.accounts.reserve(9, 0, 6 * MIB, Charge::Memory).unwrap();
    assert_eq!(seen_by_older(&older), (12 * MIB, 60 * MIB));
    assert_eq!(seen(&sessions.workers[&1].ends, 0), (12 * MIB, 60 * MIB));
    assert_eq!(older.gpus[0].credit.bytes(), 0);
    // A worker of the previous version writes other values to this word, so a broker that takes
    // over must not use them.
    older.gpus[0].granted.store(77, Ordering::SeqCst);
    sessions.accounts.reopen(9, VM, None, None, Some(Arc::new(older)));
    sessions.accounts.publish_all();
    assert_eq!(seen(&sessions.workers[&1].ends, 0), (12 * MIB, 60 * MIB));
    sessions.accounts.close(9);
    sessions.verify();
}

#[test]
fn the_credit_of_an_idle_session_is_withdrawn() {
    let mut sessions = Sessions::new(quota(60 * MIB, None));
    sessions.open(1);
    assert!(sessions.allocate(1, 2 * MIB));
    sessions.accounts.recall_idle(1);
    sessions.accounts.recall_idle(IDLE);
    assert_eq!(sessions.workers[&1].credit().bytes(), CREDIT);
    // After a call, the session counts as busy for another while.
    sessions.workers[&1].ends.page.worker.calls.store(1, Ordering::Relaxed);
    sessions.accounts.recall_idle(IDLE + 1);
    sessions.accounts.recall_idle(2 * IDLE);
    assert_eq!(sessions.workers[&1].credit().bytes(), CREDIT);
    sessions.accounts.recall_idle(2 * IDLE + 1);
    assert_eq!(sessions.workers[&1].credit().bytes(), 0);
    sessions.verify();
}

/// Sets up two sessions, of which the first keeps all memory of the VM.
fn with_kept(bytes: u64) -> Sessions {
    let mut sessions = Sessions::new(quota(bytes, None));
    (1..=2).for_each(|worker| sessions.open(worker));
    assert!(sessions.allocate(1, bytes) && sessions.keep(1, bytes));
    sessions.verify();
    sessions
}

#[test]
fn an_idle_session_keeps_nothing() {
    let mut sessions = with_kept(20 * MIB);
    sessions.accounts.recall_idle(1);
    sessions.accounts.recall_idle(IDLE);
    assert!(!sessions.follow_recalls(), "it isn't idle for long enough");
    sessions.accounts.recall_idle(IDLE + 1);
    assert!(sessions.follow_recalls());
    sessions.accounts.recall_idle(IDLE + 2);
    assert_eq!(sessions.accounts.ledger().account(VM, GPUS[0]).unwrap().used, 0);
    // The broker offers again that the worker may keep memory.
    assert!(sessions.allocate(1, 4 * MIB) && sessions.keep(1, 4 * MIB));
}

/// A request for memory that another session keeps waits until that session has freed it. The
/// request doesn't wait if it wouldn't fit in any case, or if the session takes too long.
#[test]
fn a_request_waits_for_what_is_kept_but_not_for_long() {
    let mut sessions = with_kept(20 * MIB);
    let wait =
        |sessions: &mut Sessions, bytes, now| sessions.accounts.must_wait(2, 0, bytes, false, now);
    assert!(!wait(&mut sessions, 20 * MIB + 1, 0));
    assert!(sessions.workers[&1].keeping().is_taken(), "it isn't recalled");
    for now in [0, 1, PATIENCE - 1] {
        assert!(wait(&mut sessions, 2 * MIB, now));
        sessions.verify();
    }
    // The worker hasn't followed the recall in time, so requests are refused.
    for now in [PATIENCE, SHORTAGE - 1] {
        assert!(!wait(&mut sessions, 2 * MIB, now));
        let refused = sessions.accounts.reserve(2, 0, 2 * MIB, Charge::Memory);
        assert!(refused.is_err_and(|error| error.is_full()));
    }
    assert!(wait(&mut sessions, 2 * MIB, SHORTAGE), "another recall");
    assert!(sessions.follow_recalls());
    assert!(!wait(&mut sessions, 20 * MIB, SHORTAGE));
    assert!(sessions.allocate(2, 20 * MIB));
    sessions.free(2, 20 * MIB);
    // For a while after the shortage, workers keep no memory.
    assert!(sessions.allocate(1, 4 * MIB) && !sessions.keep(1, 4 * MIB));
    sessions.accounts.recall_idle(2 * SHORTAGE - 1);
    assert!(!sessions.keep(1, 4 * MIB));
    sessions.accounts.recall_idle(2 * SHORTAGE);
    assert!(sessions.keep(1, 4 * MIB));
    sessions.verify();
}

/// Memory that a session keeps counts against its own limit, so its request for shared memory waits
/// until it has freed the kept memory.
#[test]
fn a_session_that_joins_shared_memory_waits_for_what_it_keeps() {
    let mut sessions = Sessions::new(quota(60 * MIB, Some(20 * MIB)));
    (1..=2).for_each(|worker| sessions.open(worker));
    assert!(sessions.allocate(1, 16 * MIB) && sessions.keep(1, 16 * MIB));
    assert!(sessions.allocate(2, 8 * MIB));
    let share = sessions.accounts.share(2, 0, 8 * MIB).unwrap();
    assert!(sessions.accounts.must_wait_to_join(1, 0, share, 0));
    assert!(sessions.follow_recalls());
    assert!(!sessions.accounts.must_wait_to_join(1, 0, share, 0));
    assert_eq!(sessions.accounts.join(1, 0, share), Ok(8 * MIB));
}

/// A worker of the previous version doesn't know the reply that tells it to ask again, so it never
/// gets that reply.
#[test]
fn a_worker_of_the_previous_version_does_not_wait() {
    let mut sessions = with_kept(20 * MIB);
    let _older = open_older(&mut sessions.accounts, 9);
    assert!(!sessions.accounts.must_wait(9, 0, 2 * MIB, false, 0));
    assert!(sessions.follow_recalls(), "its next request has room");
    sessions.accounts.reserve(9, 0, 20 * MIB, Charge::Memory).unwrap();
    sessions.accounts.close(9);
}

#[test]
fn nothing_is_kept_while_memory_is_overcommitted_or_after_a_limit_was_lowered() {
    let mut sessions = with_kept(20 * MIB);
    sessions.accounts.set_keeping(false);
    assert!(sessions.follow_recalls());
    assert!(sessions.allocate(1, 4 * MIB) && !sessions.keep(1, 4 * MIB));
    sessions.accounts.set_keeping(true);
    assert!(sessions.keep(1, 4 * MIB));
    for max in [2 * MIB, 60 * MIB] {
        sessions.set(quota(max, None));
        assert!(sessions.follow_recalls() || max > 2 * MIB);
        sessions.verify();
    }
    assert!(sessions.allocate(1, 4 * MIB) && sessions.keep(1, 4 * MIB));
}

/// A worker can claim to keep any amount of memory. That changes no charge, and only delays
/// requests of its own VM for a while.
#[test]
fn a_worker_that_forges_what_it_keeps_gains_nothing() {
    let other = VmId(4);
    let mut sessions = Sessions::new(quota(2048 * MIB, None));
    sessions.accounts.set(other, &GPUS, quota(60 * MIB, None));
    sessions.accounts.open(9, other, None, &GPUS);
    sessions.accounts.reserve(9, 0, 30 * MIB, Charge::Memory).unwrap();
    (1..=2).for_each(|worker| sessions.open(worker));
    assert!(sessions.allocate(1, 1000 * MIB) && sessions.allocate(2, 1000 * MIB));
    for forged in [u64::MAX - 7, 1 << 63, 1 << 40] {
        sessions.workers[&1].keeping().withdraw();
        sessions.workers[&1].keeping().add(forged);
        let before = sessions.accounts.ledger().held_by(2)[0].1;
        assert!(!sessions.accounts.must_wait(9, 0, 31 * MIB, false, 0), "another VM");
        assert!(sessions.accounts.must_wait(2, 0, 100 * MIB, false, 0));
        assert!(!sessions.accounts.must_wait(2, 0, 100 * MIB, false, PATIENCE));
        assert!(sessions.accounts.reserve(2, 0, 100 * MIB, Charge::Memory).is_err());
        assert!(sessions.accounts.ledger().held_by(1)[0].1 >= 1000 * MIB);
        assert!(sessions.accounts.ledger().held_by(2)[0].1 <= before);
        // The worker seems to use less, by at most the amount that it may keep.
        assert!(sessions.accounts.used().held_by(1)[0].1 >= 1000 * MIB - MOST_KEPT);
        sessions.accounts.shortages.clear();
    }
    assert_eq!(sessions.accounts.ledger().account(other, GPUS[0]).unwrap().used, 30 * MIB);
}

/// Workers of the previous version don't use credit, so they don't get any.
#[test]
fn a_worker_that_does_not_use_credit_gets_none() {
    let mut accounts = Accounts::default();
    accounts.set(VM, &GPUS, quota(60 * MIB, None));
    let page = open_older(&mut accounts, 1);
    accounts.reserve(1, 0, 2 * MIB, Charge::Memory).unwrap();
    assert_eq!((page.gpus[0].credit.bytes(), seen_by_older(&page)), (0, (2 * MIB, 60 * MIB)));
    // A worker that uses credit, but has no slot, doesn't get credit, either.
    page.gpus[0].credit.take_offers();
    accounts.reserve(1, 0, 2 * MIB, Charge::Memory).unwrap();
    assert_eq!((page.gpus[0].credit.bytes(), seen_by_older(&page)), (0, (4 * MIB, 60 * MIB)));
}

/// A worker can claim any credit. The broker releases no more than the worker holds, so the account
/// of the rest of the VM, and those of other VMs, stay as they are.
#[test]
fn a_worker_that_forges_its_credit_gains_nothing() {
    let other = VmId(4);
    let mut sessions = Sessions::new(quota(60 * MIB, None));
    sessions.accounts.set(other, &GPUS, quota(60 * MIB, None));
    sessions.accounts.open(9, other, None, &GPUS);
    sessions.accounts.reserve(9, 0, 30 * MIB, Charge::Memory).unwrap();
    (1..=2).for_each(|worker| sessions.open(worker));
    assert!(sessions.allocate(1, 20 * MIB) && sessions.allocate(2, 20 * MIB));
    let held = sessions.accounts.ledger().held_by(2)[0].1;
    for forged in [u64::MAX - 7, 1 << 63, 1 << 40] {
        let forger = &sessions.workers[&1];
        forger.credit().withdraw();
        forger.credit().add(forged);
        // The words for spending and granted credit affect only the memory that the VM's programs
        // see.
        forger.ends.spending.spent(0, forged / 3);
        forger.ends.page.gpus[0].granted.store(forged / 5, Ordering::SeqCst);
        let _ = sessions.accounts.reserve(2, 0, 50 * MIB, Charge::Memory);
        let _ = sessions.accounts.release(1, 0, 0, Charge::Memory);
        sessions.accounts.set(VM, &GPUS, quota(10 * MIB, None));
        sessions.accounts.set(VM, &GPUS, quota(60 * MIB, None));
        let ledger = sessions.accounts.ledger();
        let [forger, honest] = [1, 2].map(|worker| ledger.held_by(worker)[0].1);
        assert!(honest >= 20 * MIB && honest <= held.max(20 * MIB + CREDIT), "{honest}");
        assert_eq!(ledger.account(VM, GPUS[0]).unwrap().used, forger + honest);
        assert_eq!(ledger.account(other, GPUS[0]).unwrap().used, 30 * MIB);
    }
    sessions.accounts.close(1);
    sessions.accounts.close(2);
    assert_eq!(sessions.accounts.ledger().account(VM, GPUS[0]).unwrap().used, 0);
    assert!(sessions.accounts.convert(9, 0, 31 * MIB, Charge::Stream).is_err());
}

/// Workers take and return memory while the broker withdraws and grants. The VM is never charged
/// for more than its limit, nor for less than what its programs use.
#[test]
fn withdrawal_races_with_workers() {
    let accounts = std::sync::Mutex::new(Accounts::default());
    let lock = || accounts.lock().unwrap();
    lock().set(VM, &GPUS, quota(24 * MIB, None));
    let pages: Vec<_> = (0..WORKERS).map(|worker| open(&mut lock(), worker)).collect();
    let used = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (worker, page) in (0..).zip(&pages) {
            let (lock, used) = (&lock, &used);
            scope.spawn(move || {
                let credit = &page.page.gpus[0].credit;
                credit.take_offers();
                for step in 0..3000u64 {
                    let bytes = (step % 3 + 1) * 2 * MIB;
                    let reserve = || lock().reserve(worker, 0, bytes, Charge::Memory).is_ok();
                    if !credit.spend(bytes) && !reserve() {
                        continue;
                    }
                    let all = used.fetch_add(bytes, Ordering::SeqCst) + bytes;
                    assert!(all <= 24 * MIB, "{all}");
                    if step % 16 == 0 {
                        let charged = lock().ledger().account(VM, GPUS[0]).unwrap().used;
                        assert!(charged <= 24 * MIB, "{charged}");
                    }
                    used.fetch_sub(bytes, Ordering::SeqCst);
                    assert!(credit.add(bytes));
                    if credit.bytes() > CREDIT {
                        lock().release(worker, 0, 0, Charge::Memory).unwrap();
                    }
                }
            });
        }
    });
    let credit: u64 = pages.iter().map(|page| page.page.gpus[0].credit.bytes()).sum();
    assert_eq!(lock().ledger().account(VM, GPUS[0]).unwrap().used, credit);
}
