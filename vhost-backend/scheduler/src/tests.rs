//! Tests for rules that users can observe, with single reports. Longer runs are tested in the
//! simulator.

use super::*;

mod contexts;
mod gangs;
mod hostile;
mod obstacles;
mod pauses;
mod slices;
mod standby;
mod strays;

const GPU: GpuKey = GpuKey(0);
const GPU1: GpuKey = GpuKey(1);
const A: VmKey = VmKey(1);
const B: VmKey = VmKey(2);
const C: VmKey = VmKey(3);

const LATENCY: Share =
    Share { weight: 100, max: WHOLE, min: 0, class: Class::Latency, kernel_timeout: None };

const IDLE: Report = Report {
    held: false,
    active: false,
    stalled: false,
    finished: 0,
    busy_ns: 0,
    begun_ns: 0,
    copying: false,
    copied_ns: 0,
    oldest_for: 0,
    ends_at: 0,
    evictable: false,
    sessions: 1,
    contexts: false,
    contexts_begun: 0,
};
const HELD: Report = Report { held: true, ..IDLE };
const BUSY: Report = Report { held: true, active: true, ..IDLE };

/// A scheduler, and the actions that it has emitted but the test hasn't taken yet.
struct Bench {
    scheduler: Scheduler,
    now: Nanos,
    out: Vec<Action>,
}

impl Bench {
    fn new(vms: &[(VmKey, Share)]) -> Self {
        let mut scheduler = Scheduler::new(Settings::default());
        for (vm, share) in vms {
            scheduler.set_vm(*vm, &[(GPU, *share)], 0);
        }
        Bench { scheduler, now: 0, out: Vec::new() }
    }

    fn report(&mut self, vm: VmKey, report: Report) -> Vec<Action> {
        self.report_on(vm, GPU, report)
    }

    fn report_on(&mut self, vm: VmKey, gpu: GpuKey, report: Report) -> Vec<Action> {
        self.scheduler.report(vm, gpu, report, self.now, &mut self.out);
        std::mem::take(&mut self.out)
    }

    fn set_paused(&mut self, vm: VmKey, paused: bool) -> Vec<Action> {
        self.scheduler.set_paused(vm, paused, self.now, &mut self.out);
        std::mem::take(&mut self.out)
    }

    /// Advances the clock to the next tick, but at most to `to`, and ticks. Returns the actions.
    fn tick(&mut self, to: Nanos) -> Vec<Action> {
        self.now = self.scheduler.wake_at().unwrap_or(to).clamp(self.now, to);
        self.scheduler.tick(self.now, &mut self.out);
        std::mem::take(&mut self.out)
    }

    /// Ticks while `busy` reports that it's working, until its gate closes and another VM's gate
    /// opens. Returns the time of that change, and the other VM.
    fn until_open(&mut self, busy: VmKey) -> (Nanos, VmKey) {
        for _ in 0..10_000 {
            let mut actions = self.tick(self.now + SEC);
            actions.extend(self.report(busy, BUSY));
            if actions.iter().any(|action| matches!(action, Action { kind: ActionKind::Close, .. }))
            {
                let actions = self.report(busy, HELD);
                return (self.now, opened(&actions).expect("no other gate opens").0);
            }
        }
        panic!("no gate closes");
    }
}

fn opened(actions: &[Action]) -> Option<(VmKey, OpenMode)> {
    actions.iter().find_map(|action| match action {
        Action { vm, kind: ActionKind::Open { mode, .. }, .. } => Some((*vm, *mode)),
        _ => None,
    })
}

fn closed(actions: &[Action]) -> Option<VmKey> {
    actions.iter().find_map(|action| match action {
        Action { vm, kind: ActionKind::Close, .. } => Some(*vm),
        _ => None,
    })
}

fn share(weight: u32) -> Share {
    Share { weight, ..Share::default() }
}

#[test]
fn a_vm_alone_and_uncapped_is_unlimited() {
    let mut bench = Bench::new(&[(A, share(100))]);
    assert_eq!(opened(&bench.report(A, HELD)), Some((A, OpenMode::Unlimited)));
    assert!(bench.scheduler.wake_at() >= Some(10 * MS), "and A is rarely sampled");
    bench.now += SEC;
    bench.report(A, BUSY);
    assert_eq!(bench.scheduler.stats(A, GPU, bench.now).unwrap().slowed, Slowed::default());
}

#[test]
fn a_vm_alone_keeps_its_queue_short_beside_an_idle_latency_vm() {
    let latency = Share { class: Class::Latency, ..share(100) };
    let mut bench = Bench::new(&[(A, share(100)), (B, latency)]);
    assert_eq!(opened(&bench.report(A, HELD)), Some((A, OpenMode::Window)));
    bench.scheduler.set_share(B, GPU, share(100), bench.now);
    let mut actions = Vec::new();
    for _ in 0..100 {
        actions.extend(bench.tick(SEC));
        actions.extend(bench.report(A, BUSY));
    }
    assert_eq!(opened(&actions), Some((A, OpenMode::Unlimited)), "once B has class batch");
}

#[test]
fn a_vm_with_a_high_cap_gives_way_as_soon_as_one_without_a_cap() {
    let mut bench = Bench::new(&[(A, Share { max: WHOLE - 1, ..share(100) }), (B, share(100))]);
    bench.report(A, HELD);
    while bench.now < SEC {
        bench.tick(bench.now + MS);
        bench.report(A, BUSY);
    }
    assert_eq!(closed(&bench.report(B, HELD)), Some(A));
}

#[test]
fn a_second_vm_gets_a_window_once_the_first_has_drained() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    bench.report(A, HELD);
    bench.now = SEC;
    assert_eq!(closed(&bench.report(B, HELD)), Some(A));
    assert_eq!(opened(&bench.report(A, BUSY)), None, "A has work in flight");
    bench.now += MS / 2;
    let actions = bench.report(A, HELD);
    assert_eq!(opened(&actions), Some((B, OpenMode::Window)));
}

#[test]
fn a_kernel_that_never_ends_does_not_keep_others_out() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    bench.report(A, HELD);
    bench.report(A, Report { held: false, ..BUSY });
    bench.now = SEC;
    let mut actions = bench.report(B, HELD);
    while bench.now < 2 * SEC && opened(&actions).is_none() {
        bench.report(A, Report { held: false, ..BUSY });
        actions = bench.tick(2 * SEC);
    }
    assert_eq!(opened(&actions).map(|open| open.0), Some(B));
}

#[test]
fn an_idle_vm_loses_its_gate_at_once() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    bench.report(A, HELD);
    bench.report(A, IDLE);
    bench.now = SEC;
    assert_eq!(closed(&bench.report(B, HELD)), Some(A));
    assert_eq!(opened(&bench.report(A, IDLE)).map(|open| open.0), Some(B));
}

#[test]
fn a_window_ends_early_when_nothing_is_left_to_run() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    bench.report(A, HELD);
    bench.report(B, HELD);
    bench.report(A, HELD);
    bench.now += 2 * MS;
    bench.report(B, Report { finished: 1, ..IDLE });
    let mut actions = bench.tick(SEC);
    actions.extend(bench.tick(SEC));
    assert_eq!(closed(&actions), Some(B));
    assert!(bench.now <= 2 * MS + 60 * US, "after the grace, not {}", bench.now);
}

#[test]
fn gpu_time_is_proportional_to_weights() {
    let mut bench = Bench::new(&[(A, share(30)), (B, share(70))]);
    bench.report(A, HELD);
    bench.report(B, HELD);
    let (_, mut runs) = (0, B);
    bench.report(A, HELD);
    for _ in 0..400 {
        runs = bench.until_open(runs).1;
    }
    let a = bench.scheduler.stats(A, GPU, bench.now).unwrap().charged_ns as f64;
    let b = bench.scheduler.stats(B, GPU, bench.now).unwrap().charged_ns as f64;
    let part = a / (a + b);
    assert!((part - 0.3).abs() < 0.005, "A got {part}");
    for vm in [A, B] {
        let slowed = bench.scheduler.stats(vm, GPU, bench.now).unwrap().slowed;
        assert_eq!(slowed, Slowed { by_cap: false, by_turns: true });
    }
}

#[test]
fn a_cap_holds_even_if_nobody_else_wants_the_gpu() {
    let capped = Share { max: 2500, ..share(100) };
    let mut bench = Bench::new(&[(A, capped)]);
    assert_eq!(opened(&bench.report(A, HELD)), Some((A, OpenMode::Window)));
    let mut open = 0;
    while bench.now < 10 * SEC {
        let before = bench.now;
        let runs = bench.scheduler.turn(A).is_some();
        let actions = bench.tick(10 * SEC);
        open += if runs { bench.now - before } else { 0 };
        bench.report(A, if closed(&actions).is_some() { HELD } else { BUSY });
        if bench.scheduler.turn(A).is_none() {
            bench.report(A, HELD);
        }
    }
    let part = open as f64 / (10 * SEC) as f64;
    assert!((part - 0.25).abs() < 0.005, "A ran {part} of the time");
    let slowed = bench.scheduler.stats(A, GPU, bench.now).unwrap().slowed;
    assert_eq!(slowed, Slowed { by_cap: true, by_turns: false });
}

#[test]
fn a_latency_vm_takes_the_gpu_at_the_next_boundary() {
    let latency = Share { class: Class::Latency, ..share(100) };
    let mut bench = Bench::new(&[(B, latency), (C, share(100))]);
    bench.report(C, HELD);
    assert!(bench.scheduler.turn(C).is_some());
    bench.now += 100 * US;
    assert_eq!(closed(&bench.report(B, HELD)), Some(C), "before its window's end");
    bench.now += 50 * US;
    assert_eq!(opened(&bench.report(C, HELD)).map(|open| open.0), Some(B));
}

#[test]
fn batch_work_is_kept_shallow_while_a_latency_vm_is_awake() {
    let latency = Share { class: Class::Latency, ..share(100) };
    let mut bench = Bench::new(&[(A, share(100)), (B, latency)]);
    bench.report(B, HELD);
    bench.report(B, Report { finished: 1, ..IDLE });
    bench.now += 20 * MS;
    bench.report(A, HELD);
    let actions = bench.report(B, Report { finished: 1, ..IDLE });
    let depth = actions.iter().find_map(|action| match action {
        Action { vm: A, kind: ActionKind::Open { depth, mode: OpenMode::Window, .. }, .. } => {
            Some(*depth)
        }
        _ => None,
    });
    assert_eq!(depth, Some(100 * US));
}

#[test]
fn a_long_call_with_nothing_behind_it_just_drains() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    bench.report(A, HELD);
    let alone = Report { held: false, ..BUSY };
    bench.report(A, alone);
    bench.report(B, HELD);
    for _ in 0..100 {
        assert_eq!(opened(&bench.tick(bench.now + MS)), None);
        assert_eq!(opened(&bench.report(A, alone)), None);
    }
    assert_eq!(opened(&bench.report(A, IDLE)).map(|open| open.0), Some(B));
}

#[test]
fn streams_that_wait_for_the_host_count_as_drained() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    bench.report(A, HELD);
    bench.report(A, BUSY);
    bench.report(B, HELD);
    bench.now += 100 * US;
    let actions = bench.report(A, Report { stalled: true, ..BUSY });
    assert_eq!(opened(&actions).map(|open| open.0), Some(B));
}

/// Returns how long A's gate is open within 2 s while B saturates the GPU. While its gate is open,
/// A sends `report`, in which the number of finished calls increases each time.
fn open_for(report: Report) -> Nanos {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    let (mut open, mut b_open, mut sum, mut finished) = (false, false, 0, 0);
    while bench.now < 2 * SEC {
        // Make each check later than planned, as on a host with overloaded CPUs.
        let before = bench.now;
        let at = bench.scheduler.wake_at().unwrap_or(0);
        bench.now = at.clamp(before, before + MS) + 300 * US;
        sum += if open { bench.now - before } else { 0 };
        finished += 1;
        let mut actions = bench.report(A, Report { finished, ..if open { report } else { HELD } });
        actions.extend(bench.report(B, if b_open { BUSY } else { HELD }));
        actions.extend(bench.tick(bench.now));
        for action in actions {
            match action {
                Action { vm, kind: ActionKind::Open { .. }, .. } => {
                    *(if vm == A { &mut open } else { &mut b_open }) = true
                }
                Action { vm, kind: ActionKind::Close, .. } => {
                    *(if vm == A { &mut open } else { &mut b_open }) = false
                }
                _ => {}
            }
        }
    }
    sum
}

#[test]
fn a_vm_that_reports_finished_calls_but_no_busy_time_pays_for_its_window() {
    for report in [HELD, Report { stalled: true, ..BUSY }] {
        let open = open_for(report);
        assert!(open <= 1_200 * MS, "{report:?}: open for {} of 2000 ms", open / MS);
    }
}

#[test]
fn a_drain_without_reports_is_given_up_even_with_a_kernel_timeout() {
    let timed = Share { kernel_timeout: Some(SEC), ..share(100) };
    let mut bench = Bench::new(&[(A, timed), (B, share(100))]);
    bench.report(A, HELD);
    let runs = Report { held: false, ..BUSY };
    bench.report(A, runs);
    bench.report(B, HELD);
    let end = 2 * SEC;
    while bench.now < end {
        let mut actions = bench.tick(end);
        actions.extend(bench.report(A, runs));
        if opened(&actions).is_some_and(|open| open.0 == B) {
            assert!(bench.now >= SEC, "it waits for the kernel timeout");
            assert_eq!(bench.scheduler.draining().next(), None);
            return;
        }
        let drains = bench.scheduler.presence(A, GPU).is_some_and(|a| !a.is_running());
        assert_eq!(bench.scheduler.draining().next(), drains.then_some((A, GPU)));
    }
    panic!("the other VM never gets the GPU");
}

#[test]
fn a_vm_that_waits_for_the_host_and_can_start_nothing_leaves_the_gpu_to_others() {
    let stands = Report { stalled: true, ..BUSY };
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    let (mut a, mut b) = (stands, HELD);
    let (mut opened, mut b_open) = (0, 0);
    while bench.now < SEC {
        let before = bench.now;
        let mut actions = bench.report(A, a);
        actions.extend(bench.report(B, b));
        actions.extend(bench.tick(before + MS));
        // A closed gate must be reported immediately. The resulting actions may close another gate.
        while let Some(action) = (!actions.is_empty()).then(|| actions.remove(0)) {
            match action {
                Action { vm: A, kind: ActionKind::Open { .. }, .. } => opened += 1,
                Action { vm: B, kind: ActionKind::Open { .. }, .. } => b = BUSY,
                Action { vm: B, kind: ActionKind::Close, .. } => {
                    b = HELD;
                    actions.extend(bench.report(B, b));
                }
                Action { vm: A, kind: ActionKind::Close, .. } => actions.extend(bench.report(A, a)),
                _ => {}
            }
            assert!(opened < 200, "A was opened {opened} times by {}", bench.now);
        }
        if b == BUSY {
            b_open += bench.now - before;
        }
        bench.now = bench.now.max(before + 10 * US);
    }
    assert!(b_open > SEC * 8 / 10, "B had {b_open} ns");
    // Once the host function has ended, A gets its share.
    a = HELD;
    bench.report(A, a);
    let (at, vm) = bench.until_open(B);
    assert!(vm == A && at < SEC + 50 * MS, "{vm:?} at {at}");
}

#[test]
fn a_call_that_runs_too_long_is_reported_once() {
    let share = Share { kernel_timeout: Some(2 * SEC), ..share(100) };
    let mut bench = Bench::new(&[(A, share)]);
    bench.report(A, HELD);
    bench.report(A, BUSY);
    bench.now = 3 * SEC;
    let long = Report { oldest_for: 2 * SEC + 1, ..BUSY };
    assert_eq!(
        bench.report(A, long),
        [Action { vm: A, gpu: GPU, kind: ActionKind::Timeout { off_for: 0 } }]
    );
    assert_eq!(bench.report(A, long), []);
}

/// Lets A, whose kernel never ends, be evicted for B, and returns the time of the eviction.
fn evicted(bench: &mut Bench) -> Nanos {
    let endless = Report { held: false, evictable: true, ..BUSY };
    bench.report(A, HELD);
    bench.report(A, endless);
    assert_eq!(closed(&bench.report(B, HELD)), Some(A));
    bench.report(A, endless);
    let since = bench.now;
    for _ in 0..100 {
        let actions = bench.tick(bench.now + SEC);
        if actions.contains(&Action { vm: A, gpu: GPU, kind: ActionKind::Evict }) {
            assert!(bench.now <= since + MS, "it took {}", bench.now - since);
            assert_eq!(opened(&actions).map(|open| open.0), Some(B), "without waiting");
            return bench.now;
        }
    }
    panic!("nothing is evicted");
}

#[test]
fn an_evicted_vm_returns_even_if_it_has_no_more_work() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    bench.now = SEC;
    evicted(&mut bench);
    let mut all = Vec::new();
    for _ in 0..10 {
        all.extend(bench.report(B, IDLE));
        all.extend(bench.tick(2 * SEC));
    }
    let restore =
        all.iter().position(|one| *one == Action { vm: A, gpu: GPU, kind: ActionKind::Restore });
    let open = all
        .iter()
        .position(|one| matches!(one, Action { vm: A, kind: ActionKind::Open { .. }, .. }));
    assert!(restore.is_some() && restore < open, "{all:?}");
}

#[test]
fn time_off_the_gpu_is_neither_charged_nor_counts_for_the_timeout() {
    let share_a = Share { kernel_timeout: Some(2 * SEC), ..share(100) };
    let mut bench = Bench::new(&[(A, share_a), (B, share(100))]);
    bench.now = SEC;
    let since = evicted(&mut bench);
    let charged = bench.scheduler.stats(A, GPU, bench.now).unwrap().charged_ns;
    // To A's worker, the evicted kernel seems to run, so it reports this time as busy.
    bench.now = since + 3 * SEC;
    let busy_ns = 3 * SEC;
    let report = Report { busy_ns, oldest_for: 3 * SEC, held: false, evictable: true, ..BUSY };
    let actions = bench.report(A, report);
    assert!(
        !actions.iter().any(|one| matches!(one, Action { kind: ActionKind::Timeout { .. }, .. })),
        "{actions:?}"
    );
    assert_eq!(bench.scheduler.stats(A, GPU, bench.now).unwrap().charged_ns, charged);
}

#[test]
fn a_latency_vm_does_not_wait_for_a_kernel_unless_it_ends_soon() {
    let latency = Share { class: Class::Latency, ..share(100) };
    for (ends_in, evicts) in [(300 * US, false), (700 * US, true), (0, true)] {
        let mut bench = Bench::new(&[(A, share(100)), (B, latency)]);
        bench.now = SEC;
        let ends_at = bench.now + ends_in;
        let busy = Report { held: false, evictable: true, ends_at, ..BUSY };
        bench.report(A, HELD);
        bench.report(A, busy);
        let mut actions = bench.report(B, HELD);
        actions.extend(bench.report(A, busy));
        actions.extend(bench.tick(SEC + 100 * US));
        let evicted = actions.contains(&Action { vm: A, gpu: GPU, kind: ActionKind::Evict });
        assert_eq!(evicted, evicts, "a kernel that ends in {ends_in} ns");
        assert_eq!(opened(&actions).map(|open| open.0) == Some(B), evicts);
    }
}

#[test]
fn work_that_ends_soon_after_a_window_is_not_evicted() {
    for (ends_in, evicted_after) in [(1000 * US, 1100 * US), (1200 * US, 700 * US), (0, 700 * US)] {
        let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
        bench.now = SEC;
        let busy = Report { held: false, evictable: true, ..BUSY };
        bench.report(A, HELD);
        bench.report(A, busy);
        assert_eq!(closed(&bench.report(B, HELD)), Some(A));
        let since = bench.now;
        bench.report(A, Report { ends_at: if ends_in == 0 { 0 } else { since + ends_in }, ..busy });
        let mut actions = Vec::new();
        while !actions.contains(&Action { vm: A, gpu: GPU, kind: ActionKind::Evict }) {
            assert!(bench.now < since + 2 * MS, "nothing is evicted");
            actions = bench.tick(bench.now + SEC);
        }
        assert_eq!(bench.now - since, evicted_after, "a kernel that ends in {ends_in} ns");
    }
}

/// A kernel that never ends but can be evicted, and more work that waits at the gate.
const ENDLESS: Report = Report { evictable: true, ..BUSY };

#[test]
fn a_removed_vms_window_goes_to_the_next() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    bench.report(A, HELD);
    bench.report(A, BUSY);
    bench.report(B, HELD);
    let mut out = Vec::new();
    bench.scheduler.remove_vm(A, bench.now, &mut out);
    assert_eq!(opened(&out).map(|open| open.0), Some(B));
    bench.report(A, BUSY);
    assert!(bench.scheduler.stats(A, GPU, 0).is_none());
}

/// A simulated worker that reports its busy time with a small, varying delay.
#[derive(Default)]
struct Teller {
    open: bool,
    /// Whether the VM's gate is open in shared mode.
    shares: bool,
    greedy: bool,
    shared: Nanos,
    ran: Nanos,
    reported: Nanos,
    looks: u64,
}

impl Teller {
    fn report(&mut self, held: bool) -> Report {
        self.looks += 1;
        let late = if self.looks.is_multiple_of(2) { 200 * US } else { 0 };
        self.reported = self.reported.max(self.ran.saturating_sub(late));
        let busy_ns = self.reported;
        let held = held || !self.open || self.shares && self.greedy;
        let active = self.open;
        Report { held, active, busy_ns, finished: self.looks, ..IDLE }
    }
}

/// Simulates VMs A and B for `span`. While its gate is open, each VM is busy for the fraction of
/// the time in `parts`. If `held` is true, both VMs always have held work. Returns the modes in
/// which gates were opened.
fn play(
    bench: &mut Bench,
    tellers: &mut [Teller; 2],
    parts: [f64; 2],
    held: bool,
    span: Nanos,
) -> Vec<OpenMode> {
    let mut modes = Vec::new();
    let end = bench.now + span;
    while bench.now < end {
        let before = bench.now;
        bench.now = bench.scheduler.wake_at().unwrap_or(end).clamp(before + 50 * US, before + MS);
        for (teller, part) in tellers.iter_mut().zip(parts).filter(|(teller, _)| teller.open) {
            let part = if teller.shares && teller.greedy { 1.0 } else { part };
            teller.ran += (part * (bench.now - before) as f64) as Nanos;
            teller.shared += if teller.shares { bench.now - before } else { 0 };
        }
        let mut actions = Vec::new();
        // Report before the tick, and report again after each round of resulting actions.
        for round in 0..3 {
            for (at, vm) in [A, B].into_iter().enumerate() {
                let report = tellers[at].report(held);
                actions.extend(bench.report(vm, report));
            }
            if round == 0 {
                actions.extend(bench.tick(bench.now));
            }
            for action in actions.drain(..) {
                match action {
                    Action { vm, kind: ActionKind::Open { mode, .. }, .. } => {
                        let teller = &mut tellers[usize::from(vm == B)];
                        (teller.open, teller.shares) = (true, mode == OpenMode::Shared);
                        modes.push(mode);
                    }
                    Action { vm, kind: ActionKind::Close, .. } => {
                        let teller = &mut tellers[usize::from(vm == B)];
                        (teller.open, teller.shares) = (false, false);
                    }
                    _ => {}
                }
            }
        }
    }
    modes
}

#[test]
fn vms_with_gaps_share_and_saturating_vms_get_windows_despite_late_reports() {
    // With equal weights, sharing ends because one VM saturates the GPU: its gate always holds
    // work. With different weights, sharing ends even without that, because one VM gets less than
    // its share.
    for (weight, held) in [(100, true), (300, false)] {
        let mut bench = Bench::new(&[(A, share(100)), (B, share(weight))]);
        let mut tellers = Default::default();
        let modes = play(&mut bench, &mut tellers, [0.4; 2], false, SEC);
        assert!(modes.contains(&OpenMode::Shared), "with gaps they share");
        play(&mut bench, &mut tellers, [1.0; 2], held, SEC / 4);
        let modes = play(&mut bench, &mut tellers, [1.0; 2], held, SEC);
        assert!(modes.len() > 10, "they take turns");
        assert!(modes.iter().all(|mode| *mode == OpenMode::Window), "{modes:?}");
    }
}

#[test]
fn a_vm_that_fills_its_windows_does_not_share_despite_late_reports() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    let modes = play(&mut bench, &mut Default::default(), [1.0; 2], false, SEC);
    assert!(modes.len() > 10 && !modes.contains(&OpenMode::Shared), "{modes:?}");
}

#[test]
fn sharing_continues_after_each_measurement() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    let mut tellers: [Teller; 2] = Default::default();
    play(&mut bench, &mut tellers, [0.9, 0.5], false, 2 * SEC);
    tellers[0].shared = 0;
    play(&mut bench, &mut tellers, [0.9, 0.5], false, 10 * SEC);
    let shared = tellers[0].shared;
    assert!(shared > 9 * SEC + SEC / 2 && shared < 10 * SEC, "{shared} of 10 s");
}

#[test]
fn vms_that_saturate_only_while_sharing_are_kept_apart_ever_longer() {
    let mut bench = Bench::new(&[(A, share(1)), (B, share(99))]);
    let mut tellers = [Teller { greedy: true, ..Teller::default() }, Teller::default()];
    let modes = play(&mut bench, &mut tellers, [0.3; 2], false, 20 * SEC);
    assert!(modes.contains(&OpenMode::Shared));
    assert!(tellers[0].shared < SEC / 2, "{} ns of 20 s", tellers[0].shared);
}

#[test]
fn a_vm_is_not_owed_the_share_that_it_did_not_want_while_sharing() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    let mut tellers: [Teller; 2] = Default::default();
    let modes = play(&mut bench, &mut tellers, [0.6, 0.2], false, 4 * SEC);
    assert_eq!(modes.last(), Some(&OpenMode::Shared));
    play(&mut bench, &mut tellers, [1.0; 2], true, SEC / 5);
    let before = tellers[0].ran;
    play(&mut bench, &mut tellers, [1.0; 2], true, SEC / 5);
    let ran = tellers[0].ran - before;
    assert!(ran > SEC / 5 * 4 / 10, "A ran for {ran} ns of 200 ms");
}

/// Returns the fraction of the GPU that a VM gets with a cap of 25% if its worker spends the first
/// 200 us of each window launching. If `reported` is true, the worker later reports that time in
/// `busy_ns`. Otherwise, it reports it only in `begun_ns`.
fn capped(reported: bool) -> f64 {
    let mut bench = Bench::new(&[(A, Share { max: 2500, ..share(100) })]);
    let (mut open, mut active) = (false, false);
    let (mut ran, mut busy, mut begun, mut launching): (Nanos, Nanos, Nanos, Nanos) = (0, 0, 0, 0);
    // Skip the first second, in which the VM uses the tokens that it has saved up.
    let mut before = 0;
    while bench.now < 5 * SEC {
        before = if bench.now < SEC { ran } else { before };
        let now = bench.now;
        let report =
            |active, busy_ns, begun_ns| Report { held: true, active, busy_ns, begun_ns, ..IDLE };
        let mut actions = bench.report(A, report(active, busy, begun));
        actions.extend(bench.tick(now));
        while !actions.is_empty() {
            for action in actions.drain(..) {
                open = match action {
                    Action { kind: ActionKind::Open { .. }, .. } => true,
                    Action { kind: ActionKind::Close, .. } => false,
                    _ => open,
                };
            }
            if !open {
                busy += if reported { ran - busy } else { 0 };
                (active, launching) = (false, 0);
            }
            actions = bench.report(A, report(active, busy, begun));
        }
        let wake = bench.scheduler.wake_at().unwrap_or(now);
        bench.now = wake.clamp(now + 10 * US, now + MS);
        if open {
            let passed = bench.now - now;
            let launches = passed.min(200 * US - launching);
            active = true;
            launching += launches;
            ran += passed;
            busy += passed - launches;
            begun += if reported { 0 } else { launches };
        }
    }
    (ran - before) as f64 / (bench.now - SEC) as f64
}

#[test]
fn a_cap_holds_despite_late_reports() {
    for reported in [true, false] {
        let part = capped(reported);
        assert!((0.245..0.2525).contains(&part), "{part}");
    }
}
