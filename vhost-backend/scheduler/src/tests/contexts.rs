//! Tests for contexts that VMs create while a latency VM is awake.

use super::*;

/// Reports that a VM's only call has finished, and ticks until its turn ends because others are
/// waiting. Returns the actions since the report.
fn finish_one(bench: &mut Bench, vm: VmKey) -> Vec<Action> {
    let mut actions = bench.report(vm, Report { finished: 1, ..IDLE });
    for _ in 0..10 {
        actions.extend(bench.tick(bench.now + MS));
        actions.extend(bench.report(vm, Report { finished: 1, ..IDLE }));
    }
    actions
}

/// Sets up a latency VM, `B`, that had work recently, and two batch VMs. `A` has a kernel that
/// never ends. `C` has got a turn, has begun to create a context, and was then reported twice.
/// Returns the actions of these two reports.
fn with_a_context_of_c(latency: Share) -> (Bench, Vec<Action>) {
    let mut bench = Bench::new(&[(A, share(100)), (B, latency), (C, share(100))]);
    bench.now = SEC;
    let endless = Report { held: false, evictable: true, ..BUSY };
    bench.report(B, HELD);
    bench.report(A, HELD);
    assert_eq!(opened(&finish_one(&mut bench, B)).map(|(vm, _)| vm), Some(A));
    bench.report(A, endless);
    bench.report(C, HELD);
    for _ in 0..1000 {
        let mut actions = bench.tick(bench.now + SEC);
        actions.extend(bench.report(A, endless));
        if opened(&actions).is_some_and(|(vm, _)| vm == C) {
            let creates = Report { contexts: true, contexts_begun: 1, ..IDLE };
            let actions = [bench.report(C, creates), bench.report(C, creates)].concat();
            return (bench, actions);
        }
    }
    panic!("C gets no turn");
}

/// Ticks until a VM's gate opens, but for at most a second. Returns the time until then, and the
/// VM.
fn next_opened(bench: &mut Bench, report: impl Fn(&mut Bench)) -> Option<(Nanos, VmKey)> {
    let since = bench.now;
    while bench.now < since + SEC {
        let mut actions = bench.tick(bench.now + 10 * MS);
        report(bench);
        actions.append(&mut bench.out);
        if let Some((vm, _)) = opened(&actions) {
            return Some((bench.now - since, vm));
        }
    }
    None
}

#[test]
fn while_a_context_is_created_only_a_latency_vm_runs() {
    let latency = Share { class: Class::Latency, ..share(100) };
    let (mut bench, actions) = with_a_context_of_c(latency);
    assert_eq!((closed(&actions), opened(&actions)), (Some(C), None));
    bench.now += 100 * MS;
    assert_eq!(opened(&bench.tick(bench.now)), None, "A waits");
    let actions = bench.report(B, HELD);
    assert_eq!(opened(&actions).map(|(vm, _)| vm), Some(B));
    assert!(
        !actions.iter().any(|one| matches!(one, Action { kind: ActionKind::Evict, .. })),
        "{actions:?}"
    );
    assert_eq!(opened(&finish_one(&mut bench, B)), None, "A still waits");
    let actions = bench.report(C, IDLE);
    assert_eq!(opened(&actions).map(|(vm, _)| vm), Some(A), "once C's context has been created");
}

#[test]
fn a_vm_is_charged_for_the_time_that_others_wait_for_its_context() {
    let latency = Share { class: Class::Latency, ..share(100) };
    let (mut bench, _) = with_a_context_of_c(latency);
    let before = bench.scheduler.stats(C, GPU, bench.now).unwrap().charged_ns;
    for _ in 0..100 {
        bench.now += MS;
        bench.report(C, Report { contexts: true, contexts_begun: 1, ..IDLE });
    }
    let actions = bench.report(C, Report { held: true, ..IDLE });
    assert_eq!(opened(&actions).map(|(vm, _)| vm), Some(A), "C has used 100 ms, and A less");
    let charged = bench.scheduler.stats(C, GPU, bench.now).unwrap().charged_ns - before;
    assert!((99 * MS..=100 * MS).contains(&charged), "{charged}");
}

#[test]
fn batch_vms_make_way_for_a_context_only_so_long() {
    let latency = Share { class: Class::Latency, ..share(100) };
    let (mut bench, _) = with_a_context_of_c(latency);
    let creates = |bench: &mut Bench| {
        bench.out = bench.report(C, Report { contexts: true, contexts_begun: 1, ..IDLE });
    };
    let (waited, vm) = next_opened(&mut bench, creates).unwrap();
    assert_eq!(vm, A);
    assert!((500 * MS..=511 * MS).contains(&waited), "{waited}");
}

#[test]
fn a_context_that_a_vm_begins_without_a_turn_does_not_prolong_the_wait() {
    let latency = Share { class: Class::Latency, ..share(100) };
    let (mut bench, _) = with_a_context_of_c(latency);
    let creates = Report { contexts: true, contexts_begun: 1, ..IDLE };
    bench.now += 490 * MS;
    bench.report(C, creates);
    // A second session of C begins to create a context. C has no turn, so this must not prolong the
    // wait.
    bench.report(C, Report { contexts_begun: 2, ..creates });
    let still = |bench: &mut Bench| {
        bench.out = bench.report(C, Report { contexts_begun: 2, ..creates });
    };
    let (waited, vm) = next_opened(&mut bench, still).unwrap();
    assert_eq!(vm, A);
    assert!(waited <= 21 * MS, "C had no turn: {waited}");
}

#[test]
fn a_context_that_a_vm_begins_in_its_turn_counts_even_if_another_is_not_over() {
    let latency = Share { class: Class::Latency, ..share(100) };
    let (mut bench, _) = with_a_context_of_c(latency);
    let first = Report { contexts: true, contexts_begun: 1, ..IDLE };
    // With this weight, C is first in the queue as soon as its first context no longer counts.
    bench.scheduler.set_share(C, GPU, share(10_000), bench.now);
    let waits = |bench: &mut Bench| {
        bench.out = bench.report(C, Report { held: true, ..first });
    };
    let (waited, vm) = next_opened(&mut bench, waits).unwrap();
    assert!(vm == C && waited >= 500 * MS, "{vm:?} after {waited}");
    let second = Report { contexts_begun: 2, ..first };
    let actions = [bench.report(C, second), bench.report(C, second)].concat();
    assert_eq!((closed(&actions), opened(&actions)), (Some(C), None), "A makes way again");
}

#[test]
fn batch_vms_run_while_contexts_are_created_if_no_latency_vm_is_awake() {
    let (_, actions) = with_a_context_of_c(share(100));
    assert_eq!(opened(&actions), None, "C's window begins as usual");
    let latency = Share { class: Class::Latency, ..share(100) };
    let (mut bench, _) = with_a_context_of_c(latency);
    let creates = |bench: &mut Bench| {
        bench.out = bench.report(C, Report { contexts: true, contexts_begun: 1, ..IDLE });
    };
    bench.scheduler.set_share(B, GPU, share(100), bench.now);
    let (waited, vm) = next_opened(&mut bench, creates).unwrap();
    assert_eq!(vm, A);
    assert!(waited <= 11 * MS, "{waited}");
}

#[test]
fn nobody_makes_way_for_a_context_outside_of_its_vms_turns() {
    let latency = Share { class: Class::Latency, ..share(100) };
    let mut bench = Bench::new(&[(A, share(100)), (B, latency), (C, share(100))]);
    bench.now = SEC;
    bench.report(B, HELD);
    bench.report(A, HELD);
    assert_eq!(opened(&finish_one(&mut bench, B)).map(|(vm, _)| vm), Some(A));
    bench.report(A, Report { held: false, evictable: true, ..BUSY });
    let actions = bench.report(C, Report { contexts: true, contexts_begun: 1, ..IDLE });
    assert_eq!(closed(&actions), None);
    assert_eq!(closed(&bench.tick(bench.now)), None, "A's turn goes on");
}

#[test]
fn a_vm_that_makes_way_does_not_end_other_turns() {
    let latency = Share { class: Class::Latency, ..share(100) };
    let (mut bench, _) = with_a_context_of_c(latency);
    // Make B use more than its share, and A fall far behind its guarantee.
    let endless = Report { held: false, evictable: true, ..BUSY };
    bench.scheduler.set_share(A, GPU, Share { min: WHOLE / 2, ..share(100) }, bench.now);
    let mut actions = bench.report(B, HELD);
    let since = bench.now;
    while bench.now < since + 400 * MS {
        actions.extend(bench.report(A, endless));
        let open = actions.iter().rev().find_map(|one| match one {
            Action { vm: B, kind: ActionKind::Open { .. }, .. } => Some(true),
            Action { vm: B, kind: ActionKind::Close, .. } => Some(false),
            _ => None,
        });
        let report = if open == Some(true) { BUSY } else { HELD };
        actions.extend(bench.report(B, report));
        actions.extend(bench.tick(bench.now + MS));
    }
    let turns = actions
        .iter()
        .filter(|one| matches!(one, Action { vm: B, kind: ActionKind::Close, .. }))
        .count();
    assert!(turns < 100, "B has {turns} turns in 400 ms");
}
