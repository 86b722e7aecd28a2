//! Tests of latency VMs that begin work before they have a turn.

use super::*;

const RUNS: Report = Report { held: false, ..ENDLESS };

/// Sets up a batch VM, A, with a kernel that never ends, and the VMs `others`, each of which has
/// had a turn. Also returns the actions so far.
fn beside_a(others: &[(VmKey, Share)]) -> (Bench, Vec<Action>) {
    let mut bench = Bench::new(&[&[(A, share(100))], others].concat());
    bench.now = SEC;
    let mut actions = Vec::new();
    for (vm, _) in others {
        actions.extend(bench.report(*vm, HELD));
        actions.extend(bench.report(*vm, RUNS));
        actions.extend(bench.report(*vm, Report { finished: 1, ..IDLE }));
    }
    actions.extend(bench.report(A, HELD));
    for _ in 0..10 {
        bench.now += MS;
        actions.extend(bench.tick(bench.now));
        for (vm, _) in others {
            actions.extend(bench.report(*vm, Report { finished: 1, ..IDLE }));
        }
        actions.extend(bench.report(A, RUNS));
    }
    (bench, actions)
}

/// Returns true if the last change of a VM's gate put it on standby, and false if it opened or
/// closed the gate.
fn stands_by(actions: &[Action], of: VmKey) -> Option<bool> {
    actions.iter().rev().find_map(|action| match action {
        Action { vm, kind: ActionKind::StandBy { .. }, .. } if *vm == of => Some(true),
        Action { vm, kind: ActionKind::Close, .. }
        | Action { vm, kind: ActionKind::Open { .. }, .. }
            if *vm == of =>
        {
            Some(false)
        }
        _ => None,
    })
}

#[test]
fn work_that_a_latency_vm_begins_on_standby_gets_it_a_turn_at_once() {
    let (mut bench, actions) = beside_a(&[(B, LATENCY)]);
    assert_eq!(stands_by(&actions, B), Some(true), "{actions:?}");
    let mut actions = bench.report(B, RUNS);
    actions.extend(bench.tick(bench.now + Settings::default().drain_slack));
    assert_eq!(closed(&actions), Some(A));
    let evicts = |action: &Action| *action == Action { vm: A, gpu: GPU, kind: ActionKind::Evict };
    assert!(actions.iter().any(evicts), "{actions:?}");
    assert_eq!(opened(&actions).map(|open| open.0), Some(B));
    // After B's turn, its gate is on standby again.
    let mut actions = bench.report(B, Report { finished: 2, ..IDLE });
    for _ in 0..10 {
        bench.now += MS;
        actions.extend(bench.tick(bench.now));
        actions.extend(bench.report(B, Report { finished: 2, ..IDLE }));
    }
    assert_eq!(stands_by(&actions, B), Some(true), "{actions:?}");
    assert_eq!(opened(&actions).map(|open| open.0), Some(A));
}

#[test]
fn only_a_vm_that_would_get_a_turn_at_once_stands_by() {
    for (b, what) in [
        (share(100), "a batch VM"),
        (Share { max: WHOLE / 2, ..LATENCY }, "a VM that may have to wait for its cap"),
    ] {
        let (_, actions) = beside_a(&[(B, b)]);
        assert_ne!(stands_by(&actions, B), Some(true), "{what}: {actions:?}");
    }
    let (mut bench, _) = beside_a(&[(B, LATENCY)]);
    let actions = bench.report(A, Report { evictable: false, ..RUNS });
    assert_eq!(stands_by(&actions, B), Some(false), "beside work that can't be evicted");
    let (mut bench, _) = beside_a(&[(B, LATENCY)]);
    assert_eq!(stands_by(&bench.set_paused(B, true), B), Some(false), "a paused VM");
    let (mut bench, _) = beside_a(&[(B, LATENCY)]);
    bench.scheduler.set_share(B, GPU, share(100), bench.now);
    let actions = bench.tick(bench.now);
    assert_eq!(stands_by(&actions, B), Some(false), "a VM that is no longer a latency VM");
    let (mut bench, _) = beside_a(&[(B, LATENCY), (C, LATENCY)]);
    let mut actions = bench.report(C, RUNS);
    actions.extend(bench.tick(bench.now + Settings::default().drain_slack));
    assert_eq!(stands_by(&actions, B), Some(false), "another latency VM has its turn");
}

#[test]
fn work_begun_on_standby_just_before_another_latency_vms_turn_gets_a_turn_later() {
    let (mut bench, _) = beside_a(&[(B, LATENCY), (C, LATENCY)]);
    // B begins work on standby, but its report arrives only after C has got a turn.
    bench.report(C, RUNS);
    let mut actions = bench.tick(bench.now + Settings::default().drain_slack);
    assert_eq!(opened(&actions).map(|open| open.0), Some(C));
    let since = bench.now;
    while opened(&actions).is_none_or(|open| open.0 != B) {
        assert!(bench.now < since + 50 * MS, "B gets no turn");
        actions = bench.report(B, RUNS);
        actions.extend(bench.report(C, RUNS));
        actions.extend(bench.tick(bench.now + MS));
        assert!(
            !actions.contains(&Action { vm: B, gpu: GPU, kind: ActionKind::Evict }),
            "{actions:?}"
        );
    }
}

#[test]
fn work_on_standby_that_ends_before_the_scheduler_looks_is_charged() {
    let (mut bench, _) = beside_a(&[(B, LATENCY)]);
    let charged = |bench: &Bench| bench.scheduler.stats(B, GPU, bench.now).unwrap().charged_ns;
    let before = charged(&bench);
    bench.now += 100 * US;
    bench.report(B, Report { finished: 2, begun_ns: 30 * US, busy_ns: 20 * US, ..IDLE });
    assert_eq!(charged(&bench) - before, 50 * US);
}
