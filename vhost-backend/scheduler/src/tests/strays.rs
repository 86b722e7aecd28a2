//! Tests of work that runs although its VM has no turn, because it was waiting for the host when
//! the turn ended.

use super::*;

const WAITS: Report = Report { held: false, stalled: true, ..ENDLESS };
const RUNS: Report = Report { held: false, ..ENDLESS };

/// Lets B get the GPU while all of A's work is waiting for the host.
fn with_waiting_work(a: Share, b: Share) -> Bench {
    let mut bench = Bench::new(&[(A, a), (B, b)]);
    bench.now = SEC;
    bench.report(A, HELD);
    bench.report(A, WAITS);
    assert_eq!(closed(&bench.report(B, HELD)), Some(A));
    assert_eq!(opened(&bench.report(A, WAITS)).map(|open| open.0), Some(B));
    bench
}

/// Ticks for up to a second while A reports `a` and B is busy. Returns the time until an action
/// for which `is_it` is true.
fn until(bench: &mut Bench, a: Report, is_it: impl Fn(&Action) -> bool) -> Option<Nanos> {
    let since = bench.now;
    let mut actions = bench.report(A, a);
    while !actions.iter().any(&is_it) {
        if bench.now >= since + SEC {
            return None;
        }
        actions = bench.tick(since + SEC);
        actions.extend(bench.report(A, a));
        actions.extend(bench.report(B, ENDLESS));
    }
    Some(bench.now - since)
}

fn evicts_a(action: &Action) -> bool {
    *action == Action::Evict { vm: A, gpu: GPU }
}

#[test]
fn work_that_continues_without_a_turn_is_evicted_and_gets_turns() {
    let mut bench = with_waiting_work(share(1), share(99));
    let settings = Settings::default();
    let after = until(&mut bench, RUNS, evicts_a).expect("it isn't evicted");
    assert!(after >= settings.drain_wait, "it may finish in its time slices");
    assert!(after <= settings.drain_wait + settings.drain_wait_other + MS, "{after} ns");
    let restores_a = |action: &Action| *action == Action::Restore { vm: A, gpu: GPU };
    assert!(until(&mut bench, RUNS, restores_a).is_some(), "it gets no turn");
}

#[test]
fn work_without_a_turn_leaves_the_gpu_to_a_latency_vm_at_once() {
    let mut bench = with_waiting_work(share(100), Share { class: Class::Latency, ..share(100) });
    bench.report(B, ENDLESS);
    assert!(bench.report(A, RUNS).iter().any(evicts_a));
}

#[test]
fn work_without_a_turn_counts_for_the_cap() {
    let mut bench = Bench::new(&[(A, Share { max: WHOLE / 10, ..share(100) })]);
    bench.now = SEC;
    bench.report(A, HELD);
    // It uses up its tokens, and then waits for the host.
    let closes = |action: &Action| matches!(action, Action::Close { vm: A, .. });
    until(&mut bench, RUNS, closes).expect("its turn doesn't end");
    bench.report(A, WAITS);
    bench.now += MS;
    let after = until(&mut bench, RUNS, evicts_a).expect("it isn't evicted");
    assert!(after <= 2 * MS, "{after} ns");
}

#[test]
fn waiting_again_does_not_give_work_without_a_turn_more_time() {
    let mut bench = with_waiting_work(share(100), share(100));
    let (since, mut actions) = (bench.now, Vec::new());
    while !actions.iter().any(evicts_a) {
        assert!(bench.now <= since + 20 * MS, "it isn't evicted");
        actions = bench.report(A, WAITS);
        bench.now += MS;
        actions.extend(bench.report(A, RUNS));
    }
}

#[test]
fn work_without_a_turn_that_finishes_soon_is_not_evicted() {
    let mut bench = with_waiting_work(share(100), share(100));
    bench.report(A, RUNS);
    bench.now += 2 * MS;
    bench.tick(bench.now);
    assert_eq!(until(&mut bench, Report { finished: 1, ..IDLE }, evicts_a), None);
}

#[test]
fn work_without_a_turn_continues_where_it_cannot_be_evicted() {
    let mut bench = with_waiting_work(share(100), share(100));
    let runs = Report { evictable: false, ..RUNS };
    let touches_a = |action: &Action| {
        matches!(action, Action::Evict { vm: A, .. } | Action::Open { vm: A, .. })
    };
    assert_eq!(until(&mut bench, runs, touches_a), None);
}
