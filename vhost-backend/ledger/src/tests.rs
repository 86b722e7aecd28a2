//! Tests for the limits, and a property test that compares the ledger with a simple model.

use proptest::prelude::*;

use super::*;

const VM: VmId = VmId(7);
const GPU: GpuId = GpuId(3);

/// Creates a ledger with one VM on one GPU, and workers 1 and 2.
fn ledger(max: u64, session_max: Option<u64>) -> Ledger {
    let mut ledger = Ledger::default();
    ledger.set(VM, GPU, Quota { max, session_max });
    ledger.open(1, VM, &[GPU]);
    ledger.open(2, VM, &[GPU]);
    ledger
}

fn used(ledger: &Ledger) -> u64 {
    ledger.account(VM, GPU).unwrap().used
}

#[test]
fn a_request_past_the_limit_changes_nothing() {
    let mut ledger = ledger(100, None);
    assert_eq!(ledger.reserve(1, 0, 60, Charge::Memory), Ok(()));
    let refused = ledger.reserve(2, 0, 41, Charge::Memory);
    assert_eq!(refused, Err(LedgerError::NoRoom { bytes: 41, used: 60, max: 100 }));
    assert_eq!(ledger.reserve(2, 0, 40, Charge::Module), Ok(()));
    let account = ledger.account(VM, GPU).unwrap();
    assert_eq!((account.used, account.peak, account.rejected), (100, 100, 1));
    assert_eq!(account.kinds[Charge::Memory as usize], 60);
    assert_eq!(account.kinds[Charge::Module as usize], 40);
}

#[test]
fn a_session_has_its_own_limit() {
    let mut ledger = ledger(100, Some(60));
    assert_eq!(ledger.reserve(1, 0, 60, Charge::Memory), Ok(()));
    let refused = ledger.reserve(1, 0, 1, Charge::Memory);
    assert_eq!(refused, Err(LedgerError::NoRoomInSession { bytes: 1, used: 60, max: 60 }));
    // Worker 2's session limit is higher than this, but it can use only the rest of the VM's limit.
    assert_eq!(ledger.usage_of(2, 0, (0, 0)), Ok(Usage { used: 20, max: 60 }));
    assert_eq!(ledger.usage_of(1, 0, (0, 0)), Ok(Usage { used: 60, max: 60 }));
}

#[test]
fn a_limit_below_the_usage_blocks_until_enough_is_released() {
    let mut ledger = ledger(100, None);
    ledger.reserve(1, 0, 80, Charge::Memory).unwrap();
    ledger.set(VM, GPU, Quota { max: 50, session_max: None });
    assert_eq!(used(&ledger), 80);
    assert_eq!(ledger.usage_of(1, 0, (0, 0)), Ok(Usage { used: 80, max: 50 }));
    assert!(ledger.reserve(1, 0, 1, Charge::Memory).unwrap_err().is_full());
    ledger.release(1, 0, 40, Charge::Memory).unwrap();
    assert_eq!(ledger.reserve(1, 0, 10, Charge::Memory), Ok(()));
    assert!(ledger.reserve(1, 0, 1, Charge::Memory).is_err());
}

#[test]
fn each_gpu_has_its_own_account() {
    let mut ledger = Ledger::default();
    let (first, second) = (GpuId(0), GpuId(5));
    ledger.set(VM, first, Quota { max: 10, session_max: None });
    ledger.set(VM, second, Quota { max: 20, session_max: None });
    // A device ordinal is an index into the worker's list of GPUs. It isn't a GPU's index on the
    // host.
    ledger.open(1, VM, &[second, first]);
    assert_eq!(ledger.reserve(1, 0, 20, Charge::Memory), Ok(()));
    assert_eq!(ledger.reserve(1, 1, 10, Charge::Memory), Ok(()));
    assert!(ledger.reserve(1, 0, 1, Charge::Memory).unwrap_err().is_full());
    let refused = ledger.reserve(1, 2, 1, Charge::Memory).unwrap_err();
    assert_eq!(refused, LedgerError::NoDevice { worker: 1, device: 2 });
    assert!(!refused.is_full());
    assert_eq!(ledger.held_by(1), [(second, 20), (first, 10)]);
    assert_eq!(ledger.close(1), 30);
    ledger.remove(VM);
    assert_eq!(ledger.account(VM, first), None);
}

#[test]
fn memory_that_is_away_stays_charged_and_only_resident_memory_can_be_given_up() {
    let mut ledger = ledger(100, Some(90));
    let numbers = |ledger: &Ledger| {
        let account = ledger.account(VM, GPU).unwrap();
        (account.used, account.resident(), ledger.memory_of(1, 0))
    };
    let kind = Charge::Memory;
    ledger.reserve(1, 0, 60, kind).unwrap();
    ledger.reserve(1, 0, 10, Charge::Context).unwrap();
    ledger.send_away(1, 0, 50).unwrap();
    assert_eq!((numbers(&ledger), ledger.away(1)), ((70, 20, 10), vec![(GPU, 50)]));
    // Programs see what is charged, and no one else gets it.
    assert_eq!(ledger.usage_of(1, 0, (0, 0)), Ok(Usage { used: 70, max: 90 }));
    assert!(ledger.reserve(2, 0, 31, kind).unwrap_err().is_full());
    let not_held = |bytes| Err(LedgerError::NotHeld { worker: 1, kind, bytes, held: 10 });
    assert_eq!(ledger.send_away(1, 0, 11), not_held(11));
    assert_eq!(ledger.release(1, 0, 11, kind), not_held(11));
    assert_eq!(ledger.convert(1, 0, 11, Charge::Heap), not_held(11));
    assert_eq!(ledger.share(1, 0, 11).map(drop), not_held(11));
    assert_eq!(ledger.withdraw(1, 0, 11), 10);
    assert_eq!(numbers(&ledger), (60, 10, 0));
    let not_away = Err(LedgerError::NotAway { worker: 1, bytes: 51, away: 50 });
    assert_eq!(ledger.bring_back(1, 0, 51), not_away);
    ledger.bring_back(1, 0, 20).unwrap();
    assert_eq!(numbers(&ledger), (60, 30, 20));
    assert_eq!(ledger.close(1), 60);
    assert_eq!((used(&ledger), ledger.account(VM, GPU).unwrap().away), (0, 0));
}

/// Workers must not be able to use uncharged memory in place of memory that they sent away.
#[test]
fn the_audit_ignores_memory_that_is_away() {
    let mut ledger = ledger(100, None);
    let recent = |ledger: &Ledger| (ledger.recent(VM, GPU), ledger.recent_of(1, GPU));
    ledger.reserve(1, 0, 50, Charge::Memory).unwrap();
    ledger.send_away(1, 0, 40).unwrap();
    // The driver may have measured it a moment ago.
    for _ in 0..2 {
        assert_eq!(recent(&ledger), (50, Some((VM, 50, 10))));
        ledger.begin_interval(GPU);
    }
    assert_eq!(recent(&ledger), (10, Some((VM, 10, 10))));
    ledger.bring_back(1, 0, 15).unwrap();
    assert_eq!(recent(&ledger), (25, Some((VM, 25, 25))));
}

#[test]
fn sums_that_overflow_are_refused() {
    let mut ledger = ledger(u64::MAX, None);
    assert_eq!(ledger.reserve(1, 0, u64::MAX, Charge::Memory), Ok(()));
    assert!(ledger.reserve(1, 0, 1, Charge::Memory).is_err());
    assert!(ledger.reserve(1, 0, u64::MAX, Charge::Heap).is_err());
}

#[test]
fn a_worker_releases_no_more_than_it_holds_of_a_kind() {
    let mut ledger = ledger(100, None);
    ledger.reserve(1, 0, 50, Charge::Memory).unwrap();
    let kind = Charge::Memory;
    let refused = ledger.release(2, 0, 1, kind);
    assert_eq!(refused, Err(LedgerError::NotHeld { worker: 2, kind, bytes: 1, held: 0 }));
    let kind = Charge::Heap;
    let refused = ledger.release(1, 0, 1, kind);
    assert_eq!(refused, Err(LedgerError::NotHeld { worker: 1, kind, bytes: 1, held: 0 }));
    assert_eq!(ledger.close(1), 50);
    assert_eq!(ledger.close(1), 0);
    assert_eq!(used(&ledger), 0);
}

#[test]
fn shared_memory_is_charged_once_until_the_last_holder_leaves() {
    let mut ledger = ledger(100, None);
    ledger.reserve(1, 0, 60, Charge::Memory).unwrap();
    let share = ledger.share(1, 0, 50).unwrap();
    assert_eq!(used(&ledger), 60);
    assert_eq!(ledger.join(2, 0, share), Ok(50));
    assert_eq!((used(&ledger), ledger.counted_again(GPU)), (60, 50));
    assert_eq!(ledger.held_by(1), [(GPU, 60)]);
    assert_eq!(ledger.held_by(2), [(GPU, 50)]);
    assert!(ledger.reserve(2, 0, 41, Charge::Memory).unwrap_err().is_full());
    // The exporter exits while the importer still holds the memory.
    assert_eq!(ledger.close(1), 10);
    assert_eq!((used(&ledger), ledger.counted_again(GPU)), (50, 0));
    assert_eq!(ledger.leave(2, 0, share), Ok(()));
    assert_eq!(used(&ledger), 0);
    assert_eq!(ledger.account(VM, GPU).unwrap().kinds, Kinds::default());
    ledger.open(1, VM, &[GPU]);
    assert_eq!(ledger.join(1, 0, share), Err(LedgerError::NoShare { worker: 1, share }));
}

#[test]
fn a_worker_can_hold_shared_memory_several_times() {
    let mut ledger = ledger(100, None);
    ledger.reserve(1, 0, 50, Charge::Memory).unwrap();
    let share = ledger.share(1, 0, 50).unwrap();
    assert_eq!(ledger.join(1, 0, share), Ok(50));
    assert_eq!(ledger.held_by(1), [(GPU, 50)]);
    assert_eq!(ledger.leave(1, 0, share), Ok(()));
    assert_eq!(used(&ledger), 50);
    assert_eq!(ledger.leave(1, 0, share), Ok(()));
    assert_eq!(used(&ledger), 0);
    assert_eq!(ledger.leave(1, 0, share), Err(LedgerError::NotJoined { worker: 1, share }));
}

#[test]
fn shared_memory_counts_against_the_limit_of_each_holder() {
    let mut ledger = ledger(100, Some(60));
    ledger.reserve(1, 0, 50, Charge::Memory).unwrap();
    ledger.reserve(2, 0, 11, Charge::Memory).unwrap();
    let share = ledger.share(1, 0, 50).unwrap();
    let refused = ledger.join(2, 0, share).unwrap_err();
    assert_eq!(refused, LedgerError::NoRoomInSession { bytes: 50, used: 11, max: 60 });
    ledger.release(2, 0, 1, Charge::Memory).unwrap();
    assert_eq!(ledger.join(2, 0, share), Ok(50));
    assert!(ledger.reserve(2, 0, 1, Charge::Memory).unwrap_err().is_full());
}

#[test]
fn a_worker_shares_only_what_it_holds_and_joins_only_on_its_own_gpus() {
    let other = VmId(8);
    let mut ledger = ledger(100, None);
    ledger.set(other, GPU, Quota { max: 100, session_max: None });
    ledger.set(VM, GpuId(4), Quota { max: 100, session_max: None });
    ledger.open(3, other, &[GPU]);
    ledger.open(4, VM, &[GpuId(4), GPU]);
    ledger.reserve(1, 0, 50, Charge::Memory).unwrap();
    ledger.reserve(1, 0, 50, Charge::Heap).unwrap();
    let too_much = ledger.share(1, 0, 51).unwrap_err();
    let kind = Charge::Memory;
    assert_eq!(too_much, LedgerError::NotHeld { worker: 1, kind, bytes: 51, held: 50 });
    let share = ledger.share(1, 0, 50).unwrap();
    // The shared bytes can't be released or shared again.
    assert!(matches!(ledger.release(1, 0, 1, kind), Err(LedgerError::NotHeld { held: 0, .. })));
    assert!(matches!(ledger.share(1, 0, 1), Err(LedgerError::NotHeld { held: 0, .. })));
    assert_eq!(ledger.join(3, 0, share), Err(LedgerError::NoShare { worker: 3, share }));
    assert_eq!(ledger.join(4, 0, share), Err(LedgerError::NoShare { worker: 4, share }));
    assert_eq!(ledger.join(4, 1, share), Ok(50));
    assert!(!ledger.join(1, 0, share + 1).unwrap_err().is_full());
    assert_eq!(ledger.leave(3, 0, share), Err(LedgerError::NotJoined { worker: 3, share }));
    for worker in [1, 3, 4] {
        ledger.close(worker);
    }
    assert_eq!(used(&ledger), 0);
    assert_eq!(ledger.counted_again(GPU), 0);
}

#[test]
fn the_number_of_shared_pieces_is_limited() {
    let mut ledger = ledger(MAX_SHARES as u64 + 1, None);
    ledger.reserve(1, 0, MAX_SHARES as u64 + 1, Charge::Memory).unwrap();
    let shares: Vec<_> = (0..MAX_SHARES).map(|_| ledger.share(1, 0, 1).unwrap()).collect();
    assert_eq!(ledger.share(1, 0, 1), Err(LedgerError::TooManyShares));
    ledger.leave(1, 0, shares[0]).unwrap();
    assert!(ledger.share(1, 0, 1).is_ok());
}

#[test]
fn the_shared_pieces_that_a_user_holds_are_limited() {
    let mut ledger = ledger(2 * MAX_SHARES as u64, None);
    ledger.open(3, VM, &[GPU]);
    for worker in [1, 2, 3] {
        ledger.reserve(worker, 0, MAX_SHARES as u64 / 2, Charge::Memory).unwrap();
    }
    let mut last = 0;
    let mut fill = |ledger: &mut Ledger, worker, users: &[WorkerId], most| {
        let mut share = |_: &usize| {
            ledger.check_shares(VM, None, |worker| users.contains(&worker))?;
            last = ledger.share(worker, 0, 1)?;
            Ok::<_, LedgerError>(())
        };
        let number = (0..most).find(|index| share(index).is_err()).unwrap_or(most);
        (number, last)
    };
    assert_eq!(fill(&mut ledger, 1, &[1, 2], MAX_SHARES / 2).0, MAX_SHARES / 2);
    let (number, own) = fill(&mut ledger, 2, &[1, 2], MAX_SHARES / 2);
    assert_eq!(number, MAX_SHARES / 4);
    let (number, others) = fill(&mut ledger, 3, &[3], MAX_SHARES / 2);
    assert_eq!(number, MAX_SHARES / 4);
    // More workers of the user can hold memory that the user already holds, but they can't hold
    // other memory.
    let check = |share| ledger.check_shares(VM, Some(share), |worker| [1, 2].contains(&worker));
    assert_eq!(check(own), Ok(()));
    assert_eq!(check(others), Err(LedgerError::TooManySharesOfOne));
}

#[test]
fn unknown_workers_are_refused() {
    let mut ledger = Ledger::default();
    let unknown = LedgerError::NoWorker(7);
    assert_eq!(ledger.reserve(7, 0, 1, Charge::Memory), Err(unknown));
    assert_eq!(ledger.release(7, 0, 1, Charge::Memory), Err(unknown));
    assert_eq!(ledger.usage_of(7, 0, (0, 0)), Err(unknown));
}

#[derive(Clone, Debug)]
enum Step {
    Open(u64, usize),
    Reserve(u64, u32, u64, usize),
    Release(u64, u32, u64, usize),
    SendAway(u64, u32, u64),
    BringBack(u64, u32, u64),
    Close(u64),
    Set(usize, u32, u64, Option<u64>),
}

const VMS: usize = 2;
/// The only kind of memory that can be away.
const MEMORY: usize = Charge::Memory as usize;
const GPUS: u32 = 2;

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![8 => 0u64..2000, 1 => Just(u64::MAX), 1 => Just(u64::MAX / 2)];
    let asks = || (0u64..6, 0..GPUS + 1, bytes.clone(), 0usize..3);
    prop_oneof![
        2 => (0u64..6, 0..VMS).prop_map(|(worker, vm)| Step::Open(worker, vm)),
        4 => asks().prop_map(|(worker, gpu, bytes, kind)| Step::Reserve(worker, gpu, bytes, kind)),
        3 => asks().prop_map(|(worker, gpu, bytes, kind)| Step::Release(worker, gpu, bytes, kind)),
        2 => asks().prop_map(|(worker, gpu, bytes, _)| Step::SendAway(worker, gpu, bytes)),
        1 => asks().prop_map(|(worker, gpu, bytes, _)| Step::BringBack(worker, gpu, bytes)),
        1 => (0u64..6).prop_map(Step::Close),
        1 => (0..VMS, 0..GPUS, 0u64..4000, prop::option::of(0u64..3000))
            .prop_map(|(vm, gpu, max, session)| Step::Set(vm, gpu, max, session)),
    ]
}

/// Bytes per GPU and kind of charge.
type Parts = HashMap<(u32, usize), u128>;

/// A model of the ledger that can't overflow. It stores each worker's bytes, and adds them up as
/// u128.
#[derive(Default)]
struct Model {
    held: HashMap<u64, (usize, Parts)>,
    away: HashMap<(u64, u32), u128>,
}

impl Model {
    fn of_worker(&self, worker: u64, gpu: u32) -> u128 {
        let parts = self.held.get(&worker).into_iter().flat_map(|(_, parts)| parts);
        parts.filter(|((of, _), _)| *of == gpu).map(|(_, bytes)| bytes).sum()
    }

    fn away(&self, worker: u64, gpu: u32) -> u128 {
        self.away.get(&(worker, gpu)).copied().unwrap_or(0)
    }

    /// Returns the bytes of a kind that a worker holds on the GPU. `None` if there is no such worker.
    fn at_hand(&self, worker: u64, gpu: u32, kind: usize) -> Option<u128> {
        let (_, parts) = self.held.get(&worker).filter(|_| gpu < GPUS)?;
        let away = if kind == MEMORY { self.away(worker, gpu) } else { 0 };
        Some(parts.get(&(gpu, kind)).copied().unwrap_or(0) - away)
    }

    fn sum(&self, vm: usize, of: impl Fn(u64) -> u128) -> u128 {
        let workers = self.held.iter().filter(|(_, held)| held.0 == vm);
        workers.map(|(worker, _)| of(*worker)).sum()
    }

    fn of_vm(&self, vm: usize, gpu: u32) -> u128 {
        self.sum(vm, |worker| self.of_worker(worker, gpu))
    }
}

proptest! {
    /// After any sequence of operations, all accounts match the model, no limit is exceeded, the
    /// peak is the highest usage so far, and every refusal is counted.
    #[test]
    fn the_account_is_exact(steps in prop::collection::vec(step(), 0..200)) {
        let mut quotas = [[Quota { max: 1000, session_max: None }; GPUS as usize]; VMS];
        let mut ledger = Ledger::default();
        let id = |vm: usize| VmId(vm as u64 + 10);
        let all = || (0..VMS).flat_map(|vm| (0..GPUS).map(move |gpu| (vm, gpu)));
        for (vm, gpu) in all() {
            ledger.set(id(vm), GpuId(gpu), quotas[vm][gpu as usize]);
        }
        let mut model = Model::default();
        let (mut peaks, mut refusals) = (HashMap::new(), 0);
        for step in steps {
            match step {
                Step::Open(worker, vm) => {
                    ledger.open(worker, id(vm), &[GpuId(0), GpuId(1)]);
                    model.held.entry(worker).or_insert((vm, HashMap::new()));
                }
                Step::Reserve(worker, gpu, bytes, kind) => {
                    let booked = ledger.reserve(worker, gpu, bytes, Charge::ALL[kind]);
                    let vm = model.held.get(&worker).map(|held| held.0).filter(|_| gpu < GPUS);
                    let fits = vm.is_some_and(|vm| {
                        let Quota { max, session_max } = quotas[vm][gpu as usize];
                        let more = u128::from(bytes);
                        model.of_vm(vm, gpu) + more <= max.into()
                            && session_max.is_none_or(|max| {
                                model.of_worker(worker, gpu) + more <= max.into()
                            })
                    });
                    prop_assert_eq!(booked.is_ok(), fits);
                    prop_assert_eq!(booked.is_err_and(|error| error.is_full()), vm.is_some() && !fits);
                    refusals += u64::from(vm.is_some() && !fits);
                    if fits {
                        let parts = &mut model.held.get_mut(&worker).unwrap().1;
                        *parts.entry((gpu, kind)).or_default() += u128::from(bytes);
                    }
                }
                Step::Release(worker, gpu, bytes, kind) => {
                    let given = ledger.release(worker, gpu, bytes, Charge::ALL[kind]).is_ok();
                    let at_hand = model.at_hand(worker, gpu, kind);
                    prop_assert_eq!(given, at_hand.is_some_and(|held| held >= bytes.into()));
                    if given {
                        let parts = &mut model.held.get_mut(&worker).unwrap().1;
                        *parts.entry((gpu, kind)).or_default() -= u128::from(bytes);
                    }
                }
                Step::SendAway(worker, gpu, bytes) => {
                    let sent = ledger.send_away(worker, gpu, bytes).is_ok();
                    let at_hand = model.at_hand(worker, gpu, MEMORY);
                    prop_assert_eq!(sent, at_hand.is_some_and(|held| held >= bytes.into()));
                    if sent {
                        *model.away.entry((worker, gpu)).or_default() += u128::from(bytes);
                    }
                }
                Step::BringBack(worker, gpu, bytes) => {
                    let is_back = ledger.bring_back(worker, gpu, bytes).is_ok();
                    let is_known = model.held.contains_key(&worker) && gpu < GPUS;
                    let away = model.away(worker, gpu);
                    prop_assert_eq!(is_back, is_known && away >= bytes.into());
                    if is_back {
                        *model.away.entry((worker, gpu)).or_default() -= u128::from(bytes);
                    }
                }
                Step::Close(worker) => {
                    let held: u128 = (0..GPUS).map(|gpu| model.of_worker(worker, gpu)).sum();
                    prop_assert_eq!(u128::from(ledger.close(worker)), held);
                    model.held.remove(&worker);
                    model.away.retain(|(of, _), _| *of != worker);
                }
                Step::Set(vm, gpu, max, session_max) => {
                    quotas[vm][gpu as usize] = Quota { max, session_max };
                    ledger.set(id(vm), GpuId(gpu), quotas[vm][gpu as usize]);
                }
            }
            let mut rejected = 0;
            for (vm, gpu) in all() {
                let account = ledger.account(id(vm), GpuId(gpu)).unwrap();
                let expected = model.of_vm(vm, gpu);
                let peak = peaks.entry((vm, gpu)).or_insert(0);
                *peak = expected.max(*peak);
                prop_assert_eq!(u128::from(account.used), expected);
                prop_assert_eq!(u128::from(account.peak), *peak);
                prop_assert_eq!(account.kinds.iter().sum::<u64>(), account.used);
                let away = model.sum(vm, |worker| model.away(worker, gpu));
                prop_assert_eq!(u128::from(account.resident()), expected - away);
                prop_assert!(ledger.recent(id(vm), GpuId(gpu)) >= account.resident());
                rejected += account.rejected;
            }
            prop_assert_eq!(rejected, refusals);
            for (worker, (vm, _)) in &model.held {
                for gpu in 0..GPUS {
                    let usage = ledger.usage_of(*worker, gpu, (0, 0)).unwrap();
                    let quota = quotas[*vm][gpu as usize];
                    prop_assert_eq!(usage.max, quota.max.min(quota.session_max.unwrap_or(u64::MAX)));
                    let free = |max: u64, used: u128| max.saturating_sub(used.try_into().unwrap_or(max));
                    let free = free(quota.max, model.of_vm(*vm, gpu)).min(free(
                        quota.session_max.unwrap_or(u64::MAX),
                        model.of_worker(*worker, gpu),
                    ));
                    prop_assert_eq!(usage.max.saturating_sub(usage.used), free.min(usage.max));
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
enum ShareStep {
    Reserve(u64, u64),
    Share(u64, u64),
    Join(u64, ShareId),
    Leave(u64, ShareId),
    Close(u64),
}

fn share_step() -> impl Strategy<Value = ShareStep> {
    let (worker, share) = (1..4u64, 1..8u64);
    prop_oneof![
        (worker.clone(), 1..50u64).prop_map(|(w, bytes)| ShareStep::Reserve(w, bytes)),
        (worker.clone(), 1..50u64).prop_map(|(w, bytes)| ShareStep::Share(w, bytes)),
        (worker.clone(), share.clone()).prop_map(|(w, share)| ShareStep::Join(w, share)),
        (worker.clone(), share).prop_map(|(w, share)| ShareStep::Leave(w, share)),
        worker.prop_map(ShareStep::Close),
    ]
}

proptest! {
    /// After any sequence of operations, the VM is charged for what its workers hold alone, and
    /// once for each piece of shared memory that any of them holds.
    #[test]
    fn shared_memory_is_never_lost_or_charged_twice(
        steps in prop::collection::vec(share_step(), 0..200),
    ) {
        let mut ledger = ledger(1000, Some(200));
        ledger.open(3, VM, &[GPU]);
        let mut alone = HashMap::from([(1, 0), (2, 0), (3, 0)]);
        let mut shares: HashMap<ShareId, (u64, Vec<u64>)> = HashMap::new();
        for step in steps {
            match step {
                ShareStep::Reserve(worker, bytes) => {
                    if ledger.reserve(worker, 0, bytes, Charge::Memory).is_ok() {
                        *alone.get_mut(&worker).unwrap() += bytes;
                    }
                }
                ShareStep::Share(worker, bytes) => {
                    let shared = ledger.share(worker, 0, bytes);
                    prop_assert_eq!(shared.is_ok(), alone[&worker] >= bytes);
                    if let Ok(share) = shared {
                        *alone.get_mut(&worker).unwrap() -= bytes;
                        shares.insert(share, (bytes, vec![worker]));
                    }
                }
                ShareStep::Join(worker, share) => {
                    let joined = ledger.join(worker, 0, share);
                    prop_assert!(joined.is_err() || shares.contains_key(&share));
                    if let Ok(bytes) = joined {
                        let (expected, holders) = shares.get_mut(&share).unwrap();
                        prop_assert_eq!(bytes, *expected);
                        holders.push(worker);
                    }
                }
                ShareStep::Leave(worker, share) => {
                    let holders = shares.get_mut(&share).map(|(_, holders)| holders);
                    let at = holders.as_ref().and_then(|h| h.iter().position(|of| *of == worker));
                    prop_assert_eq!(ledger.leave(worker, 0, share).is_ok(), at.is_some());
                    if let (Some(holders), Some(at)) = (holders, at) {
                        holders.swap_remove(at);
                    }
                }
                ShareStep::Close(worker) => {
                    ledger.close(worker);
                    ledger.open(worker, VM, &[GPU]);
                    alone.insert(worker, 0);
                    shares.values_mut().for_each(|(_, holders)| holders.retain(|of| *of != worker));
                }
            }
            shares.retain(|_, (_, holders)| !holders.is_empty());
            let shared: u64 = shares.values().map(|(bytes, _)| bytes).sum();
            prop_assert_eq!(used(&ledger), alone.values().sum::<u64>() + shared);
            let mut again = 0;
            for (worker, alone) in &alone {
                let held = shares.values().filter(|(_, holders)| holders.contains(worker));
                let held: u64 = held.map(|(bytes, _)| bytes).sum();
                prop_assert_eq!(ledger.held_by(*worker), [(GPU, alone + held)]);
                again += held;
            }
            prop_assert_eq!(ledger.counted_again(GPU), again - shared);
        }
    }
}

#[test]
fn memory_that_was_freed_since_the_last_interval_counts_as_recent() {
    let mut ledger = ledger(100, None);
    let recent = |ledger: &Ledger| {
        (ledger.recent(VM, GPU), ledger.recent_of(1, GPU), ledger.recent_of(2, GPU))
    };
    ledger.reserve(1, 0, 50, Charge::Memory).unwrap();
    let share = ledger.share(1, 0, 40).unwrap();
    ledger.join(2, 0, share).unwrap();
    ledger.begin_interval(GPU);
    ledger.leave(2, 0, share).unwrap();
    ledger.leave(1, 0, share).unwrap();
    for _ in 0..2 {
        assert_eq!(recent(&ledger), (50, Some((VM, 50, 10)), Some((VM, 40, 0))));
        ledger.begin_interval(GPU);
    }
    assert_eq!(recent(&ledger), (10, Some((VM, 10, 10)), Some((VM, 0, 0))));
    assert_eq!((ledger.recent_of(3, GPU), ledger.recent_of(1, GpuId(9))), (None, None));
}

#[test]
fn a_ledger_that_is_passed_on_continues() {
    let mut first = ledger(100, Some(90));
    first.reserve(1, 0, 50, Charge::Memory).unwrap();
    first.reserve(2, 0, 20, Charge::Module).unwrap();
    let share = first.share(1, 0, 30).unwrap();
    first.join(2, 0, share).unwrap();
    first.send_away(1, 0, 15).unwrap();
    let text = serde_json::to_string(&first).unwrap();
    let mut next: Ledger = serde_json::from_str(&text).unwrap();
    let account = |ledger: &Ledger| {
        let Account { quota, used, away, peak, rejected, kinds, .. } =
            ledger.account(VM, GPU).unwrap();
        (quota, used, away, peak, rejected, kinds)
    };
    assert_eq!(account(&next), account(&first));
    assert_eq!(next.usage_of(2, 0, (0, 0)), first.usage_of(2, 0, (0, 0)));
    assert!(next.reserve(1, 0, 31, Charge::Memory).unwrap_err().is_full());
    // The next broker doesn't use a number of shared memory again.
    assert_ne!(next.share(1, 0, 1).unwrap(), share);
    assert_eq!((next.away(1), next.bring_back(1, 0, 16).is_ok()), (vec![(GPU, 15)], false));
    assert_eq!(next.close(1), 20);
    assert_eq!(next.leave(2, 0, share), Ok(()));
    assert_eq!((next.close(2), used(&next)), (20, 0));
}
