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

/// Ticks for up to a second. Meanwhile, A reports `a` and, if its work is running, that it has been
/// busy half of the time. B reports that it's busy. Returns the actions up to one for which `is_it`
/// is true, and the time until then.
fn actions_until(
    bench: &mut Bench,
    a: Report,
    is_it: impl Fn(&Action) -> bool,
) -> Option<(Vec<Action>, Nanos)> {
    let (since, mut all) = (bench.now, Vec::new());
    while bench.now < since + SEC {
        let busy_ns = if a.active && !a.stalled { bench.now / 2 } else { 0 };
        let mut actions = bench.report(A, Report { busy_ns, ..a });
        actions.extend(bench.report(B, ENDLESS));
        actions.extend(bench.tick(since + SEC));
        let ends = actions.iter().any(&is_it);
        all.extend(actions);
        if ends {
            return Some((all, bench.now - since));
        }
    }
    None
}

fn until(bench: &mut Bench, a: Report, is_it: impl Fn(&Action) -> bool) -> Option<Nanos> {
    actions_until(bench, a, is_it).map(|(_, after)| after)
}

fn evicts_a(action: &Action) -> bool {
    *action == Action { vm: A, gpu: GPU, kind: ActionKind::Evict }
}

fn opens_a(action: &Action) -> bool {
    matches!(action, Action { vm: A, kind: ActionKind::Open { .. }, .. })
}

#[test]
fn work_that_continues_without_a_turn_is_evicted_and_gets_turns() {
    let mut bench = with_waiting_work(share(1), share(99));
    let settings = Settings::default();
    let after = until(&mut bench, RUNS, evicts_a).expect("it isn't evicted");
    assert!(after >= settings.drain_wait, "it may finish in its time slices");
    assert!(after <= settings.period + MS, "{after} ns");
    let restores_a =
        |action: &Action| *action == Action { vm: A, gpu: GPU, kind: ActionKind::Restore };
    let mut restored = None;
    for _ in 0..20 {
        restored = restored.or_else(|| until(&mut bench, RUNS, restores_a));
    }
    assert!(restored.is_some(), "it gets no turn");
}

#[test]
fn work_without_a_turn_continues_if_the_turn_comes_soon() {
    let mut bench = with_waiting_work(share(100), share(100));
    let (actions, after) = actions_until(&mut bench, RUNS, opens_a).expect("it gets no turn");
    assert!(!actions.iter().any(evicts_a), "{actions:?}");
    assert!(after >= 10 * MS, "after B's window, {after} ns");
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
    // A uses up its tokens, and then its work waits for the host.
    let closes = |action: &Action| matches!(action, Action { vm: A, kind: ActionKind::Close, .. });
    until(&mut bench, RUNS, closes).expect("its turn doesn't end");
    bench.report(A, WAITS);
    bench.now += MS;
    let after = until(&mut bench, RUNS, evicts_a).expect("it isn't evicted");
    assert!(after <= 2 * MS, "{after} ns");
}

#[test]
fn waiting_again_does_not_give_work_without_a_turn_more_time() {
    let mut bench = with_waiting_work(share(1), share(99));
    let (since, mut actions) = (bench.now, Vec::new());
    while !actions.iter().any(evicts_a) {
        assert!(bench.now <= since + 70 * MS, "it isn't evicted");
        let busy_ns = bench.now - since;
        actions = bench.report(A, Report { busy_ns, ..WAITS });
        bench.now += MS;
        actions.extend(bench.tick(bench.now));
        actions.extend(bench.report(B, ENDLESS));
        actions.extend(bench.report(A, Report { busy_ns, ..RUNS }));
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
    assert_eq!(until(&mut bench, runs, |action| evicts_a(action) || opens_a(action)), None);
}

#[test]
fn work_without_a_turn_that_cannot_be_evicted_has_its_timeout() {
    let timed = Share { kernel_timeout: Some(SEC / 2), ..share(100) };
    let mut bench = with_waiting_work(timed, share(100));
    let since = bench.now;
    bench.report(A, Report { evictable: false, ..RUNS });
    loop {
        assert!(bench.now < since + SEC, "it doesn't time out");
        bench.now = bench.scheduler.wake_at().expect("a check is planned").max(bench.now);
        if bench.scheduler.watched(bench.now).any(|watched| watched == (A, GPU)) {
            let oldest_for = bench.now - since;
            let actions = bench.report(A, Report { evictable: false, oldest_for, ..RUNS });
            if actions.iter().any(|action| {
                matches!(action, Action { vm: A, kind: ActionKind::Timeout { .. }, .. })
            }) {
                return;
            }
        }
        bench.tick(bench.now);
        bench.report(B, ENDLESS);
    }
}

#[test]
fn work_that_continues_on_one_gpu_while_another_drains_is_noticed() {
    let mut bench = Bench::new(&[]);
    bench.now = SEC;
    bench.scheduler.set_vm(A, &[(GPU, share(1)), (GPU1, share(1))], bench.now);
    bench.scheduler.set_vm(B, &[(GPU, share(99))], bench.now);
    bench.scheduler.set_vm(C, &[(GPU1, share(99))], bench.now);
    for gpu in [GPU, GPU1] {
        bench.report_on(A, gpu, HELD);
    }
    bench.report_on(A, GPU, RUNS);
    bench.report_on(A, GPU1, WAITS);
    let mut actions = bench.report(B, HELD);
    actions.extend(bench.report_on(C, GPU1, HELD));
    // A's work on the first GPU continues while its work on the second one waits for the host.
    while closed(&actions) != Some(A) {
        actions = bench.tick(bench.now + SEC);
        actions.extend(bench.report_on(A, GPU, RUNS));
        actions.extend(bench.report_on(A, GPU1, WAITS));
    }
    bench.report_on(A, GPU1, WAITS);
    bench.report_on(A, GPU1, RUNS);
    let evicts =
        |gpu| move |action: &Action| *action == Action { vm: A, gpu, kind: ActionKind::Evict };
    while !actions.iter().any(evicts(GPU)) {
        actions = bench.tick(bench.now + SEC);
    }
    let since = bench.now;
    while !actions.iter().any(evicts(GPU1)) {
        assert!(bench.now < since + 70 * MS, "it isn't evicted");
        actions = bench.tick(bench.now + SEC);
        for (vm, gpu) in [(B, GPU), (C, GPU1)] {
            actions.extend(bench.report_on(vm, gpu, ENDLESS));
        }
    }
}
