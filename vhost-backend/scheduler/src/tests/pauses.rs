//! Tests of pausing a VM.

use super::*;

/// Lets A run a kernel that never ends, pauses A, and returns the actions until A is off the GPU.
fn paused(bench: &mut Bench) -> Vec<Action> {
    bench.report(A, HELD);
    bench.report(A, ENDLESS);
    let mut actions = bench.set_paused(A, true);
    actions.extend(bench.report(A, ENDLESS));
    let since = bench.now;
    while !actions.contains(&Action { vm: A, gpu: GPU, kind: ActionKind::Evict }) {
        assert!(bench.now <= since + MS, "A isn't evicted: {actions:?}");
        actions.extend(bench.tick(bench.now + SEC));
    }
    actions
}

#[test]
fn a_paused_vm_leaves_the_gpu_to_others_and_returns() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    bench.now = SEC;
    let actions = paused(&mut bench);
    let none = Action { vm: A, gpu: GPU, kind: ActionKind::Copies { depth: 0 } };
    assert!(actions.contains(&none) && closed(&actions) == Some(A), "{actions:?}");
    assert_eq!(opened(&actions), None);
    let charged = bench.scheduler.stats(A, GPU, bench.now).unwrap().charged_ns;
    // A is paused, so B counts as alone, whatever A's workers report.
    bench.now += SEC;
    assert_eq!(opened(&bench.report(B, HELD)), Some((B, OpenMode::Unlimited)));
    bench.now += SEC;
    let busy_ns = 2 * SEC;
    assert_eq!(bench.report(A, Report { busy_ns, ..ENDLESS }), []);
    assert_eq!(bench.set_paused(A, true), [], "it is paused already");
    let stats = bench.scheduler.stats(A, GPU, bench.now).unwrap();
    assert_eq!(stats.charged_ns, charged);
    assert!(stats.throttled_ns < 10 * MS, "{stats:?}");

    let mut all = bench.set_paused(A, false);
    assert_eq!(closed(&all), Some(B), "{all:?}");
    all.extend(bench.report(B, IDLE));
    all.extend(bench.report(A, Report { busy_ns, ..ENDLESS }));
    let restore =
        all.iter().position(|one| *one == Action { vm: A, gpu: GPU, kind: ActionKind::Restore });
    let open = all
        .iter()
        .position(|one| matches!(one, Action { vm: A, kind: ActionKind::Open { .. }, .. }));
    assert!(restore.is_some() && restore < open, "{all:?}");
    assert!(
        all.iter().any(|one| matches!(
            one,
            Action { vm: A, kind: ActionKind::Copies { depth: 1.. }, .. }
        ))
    );
    assert_eq!(bench.set_paused(A, false), [], "it isn't paused");
}

#[test]
fn paused_time_does_not_count_for_the_timeout() {
    let timed = Share { kernel_timeout: Some(2 * SEC), ..share(100) };
    let mut bench = Bench::new(&[(A, timed)]);
    paused(&mut bench);
    let (since, before) = (bench.now, bench.now);
    bench.now = since + 60 * SEC;
    let running = |now: Nanos| Report { oldest_for: before + now - since, ..ENDLESS };
    assert_eq!(bench.report(A, running(bench.now)), []);
    bench.set_paused(A, false);
    assert!(opened(&bench.report(A, running(bench.now))).is_none(), "it is open already");
    bench.now += SEC;
    let timed_out = |actions: &[Action]| {
        actions
            .iter()
            .any(|action| matches!(action, Action { vm: A, kind: ActionKind::Timeout { .. }, .. }))
    };
    assert!(!timed_out(&bench.report(A, running(bench.now))));
    bench.now += 2 * SEC;
    assert!(timed_out(&bench.report(A, running(bench.now))), "its time on the GPU counts");
}

#[test]
fn a_paused_vms_work_waits_and_its_kernels_end_where_they_cannot_be_evicted() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    bench.report(A, HELD);
    bench.report(A, BUSY);
    let mut actions = bench.set_paused(A, true);
    assert_eq!(closed(&actions), Some(A));
    // A's held work isn't let through, although its running kernel may be waiting for that work.
    for _ in 0..100 {
        actions.extend(bench.report(A, BUSY));
        actions.extend(bench.tick(bench.now + SEC));
    }
    assert_eq!(opened(&actions), None);
    assert_eq!(bench.report(A, HELD), []);
    assert_eq!(opened(&bench.report(B, HELD)).map(|open| open.0), Some(B));
    bench.report(B, IDLE);
    assert_eq!(bench.report(A, HELD), []);
    bench.set_paused(A, false);
    let mut actions = bench.report(A, HELD);
    for _ in 0..10 {
        actions.extend(bench.report(B, IDLE));
        actions.extend(bench.tick(bench.now + SEC));
    }
    assert!(
        actions
            .iter()
            .any(|one| matches!(one, Action { vm: A, kind: ActionKind::Open { .. }, .. })),
        "{actions:?}"
    );
}

#[test]
fn work_that_waited_for_the_host_is_evicted_from_a_paused_vm() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    let stalled = Report { held: false, stalled: true, ..ENDLESS };
    bench.report(A, HELD);
    bench.report(A, stalled);
    assert_eq!(closed(&bench.report(B, HELD)), Some(A));
    bench.report(A, stalled);
    let actions = bench.set_paused(A, true);
    assert!(actions.contains(&Action { vm: A, gpu: GPU, kind: ActionKind::Evict }), "{actions:?}");
    // The host function has returned, so to the worker, its evicted kernel seems to be running.
    let actions = bench.report(A, Report { held: false, ..ENDLESS });
    assert_eq!(opened(&actions), Some((B, OpenMode::Unlimited)), "B is alone");
}

#[test]
fn a_paused_latency_vm_does_not_count() {
    let latency = Share { class: Class::Latency, ..share(100) };
    let mut bench = Bench::new(&[(A, share(100)), (B, latency)]);
    bench.report(B, HELD);
    bench.set_paused(B, true);
    bench.report(B, HELD);
    bench.now = MS;
    assert_eq!(opened(&bench.report(A, HELD)), Some((A, OpenMode::Unlimited)));
    bench.set_paused(B, false);
    assert_eq!(closed(&bench.report(B, HELD)), Some(A), "its request waits for A's work only");
}

#[test]
fn a_paused_vm_leaves_all_its_gpus_and_returns_to_all_at_once() {
    let mut bench = Bench::new(&[]);
    bench.scheduler.set_vm(A, &[(GPU, share(100)), (GPU1, share(100))], 0);
    bench.report_on(A, GPU, HELD);
    bench.report_on(A, GPU1, HELD);
    for gpu in [GPU, GPU1] {
        bench.report_on(A, gpu, ENDLESS);
    }
    let mut actions = bench.set_paused(A, true);
    for gpu in [GPU, GPU1] {
        assert!(actions.contains(&Action { vm: A, gpu, kind: ActionKind::Close }), "{actions:?}");
        actions.extend(bench.report_on(A, gpu, ENDLESS));
    }
    for _ in 0..10 {
        actions.extend(bench.tick(bench.now + SEC));
    }
    let actions: Vec<_> = [actions, bench.set_paused(A, false)].concat();
    for gpu in [GPU, GPU1] {
        for action in [
            Action { vm: A, gpu, kind: ActionKind::Evict },
            Action { vm: A, gpu, kind: ActionKind::Restore },
        ] {
            assert_eq!(actions.iter().filter(|one| **one == action).count(), 1, "{actions:?}");
        }
    }
}

#[test]
fn vms_whose_work_was_evicted_long_ago_do_not_share() {
    let latency = Share { class: Class::Latency, ..share(100) };
    // C is a latency VM, so A doesn't get unlimited mode.
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100)), (C, latency)]);
    paused(&mut bench);
    bench.report(B, HELD);
    bench.report(B, ENDLESS);
    bench.set_paused(B, true);
    bench.report(B, ENDLESS);
    bench.now += SEC;
    bench.tick(bench.now);
    bench.now += SEC;
    let mut actions = bench.set_paused(A, false);
    actions.extend(bench.set_paused(B, false));
    let opened: Vec<_> = actions.chunks(1).filter_map(opened).collect();
    assert!(opened.iter().all(|open| *open == (A, OpenMode::Window)), "{actions:?}");
}
