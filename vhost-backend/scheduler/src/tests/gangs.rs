//! Tests of VMs that use several GPUs at the same time.

use super::*;

#[test]
fn several_gpus_open_together_and_in_order() {
    let mut bench = Bench::new(&[]);
    let gpus = [(GPU1, share(100)), (GPU, share(100))];
    for vm in [A, B] {
        bench.scheduler.set_vm(vm, &gpus, 0);
    }
    bench.report_on(A, GPU1, HELD);
    bench.report_on(A, GPU, HELD);
    bench.report_on(A, GPU, BUSY);
    bench.report_on(A, GPU1, BUSY);
    bench.now += MS;
    let mut actions = bench.report_on(B, GPU1, HELD);
    actions.extend(bench.report_on(B, GPU, HELD));
    let closes: Vec<_> = actions
        .iter()
        .filter(|action| matches!(action, Action { kind: ActionKind::Close, .. }))
        .collect();
    assert_eq!(
        closes,
        [
            &Action { vm: A, gpu: GPU, kind: ActionKind::Close },
            &Action { vm: A, gpu: GPU1, kind: ActionKind::Close }
        ]
    );
    assert_eq!(opened(&bench.report_on(A, GPU1, HELD)), None, "A has work on the other GPU");
    let actions = bench.report_on(A, GPU, HELD);
    let opens: Vec<_> = actions
        .iter()
        .filter_map(|action| match action {
            Action { vm, gpu, kind: ActionKind::Open { .. } } => Some((*vm, *gpu)),
            _ => None,
        })
        .collect();
    assert_eq!(opens, [(B, GPU), (B, GPU1)]);
}

#[test]
fn work_on_one_gpu_gets_the_other_gpus_that_the_vm_uses_too() {
    let mut bench = Bench::new(&[(B, share(100))]);
    bench.scheduler.set_vm(A, &[(GPU, share(100)), (GPU1, share(100))], 0);
    bench.report_on(A, GPU, HELD);
    bench.report_on(A, GPU, BUSY);
    bench.report(B, HELD);
    let actions = bench.report_on(A, GPU, IDLE);
    assert_eq!(opened(&actions).map(|(vm, _)| vm), Some(B));
    bench.report(B, Report { finished: 1, ..IDLE });
    bench.now += MS;
    assert_eq!(bench.tick(bench.now), [], "nobody wants the GPU of B's turn");
    // A's work on the second GPU may need the first one, which B has but no longer uses.
    assert_eq!(closed(&bench.report_on(A, GPU1, HELD)), Some(B));
    let actions = bench.report(B, Report { finished: 1, ..IDLE });
    for gpu in [GPU, GPU1] {
        let opens = |one: &Action| matches!(one, Action { vm: A, gpu: on, kind: ActionKind::Open { .. } } if *on == gpu);
        assert!(actions.iter().any(opens), "{actions:?}");
    }
}

#[test]
fn a_vm_that_takes_precedence_on_one_of_its_gpus_does_so_on_all() {
    let latency = Share { class: Class::Latency, ..share(100) };
    let mut bench = Bench::new(&[]);
    bench.scheduler.set_vm(A, &[(GPU, share(100)), (GPU1, share(100))], 0);
    bench.scheduler.set_vm(B, &[(GPU, share(100)), (GPU1, latency)], 0);
    let report = |bench: &mut Bench, vm, report| {
        [bench.report_on(vm, GPU, report), bench.report_on(vm, GPU1, report)].concat()
    };
    // B uses more time than A, but is within its share.
    report(&mut bench, B, HELD);
    report(&mut bench, A, HELD);
    for at in 1..=20 {
        bench.now = at * MS;
        report(&mut bench, B, Report { busy_ns: at * MS, begun_ns: at * MS, ..BUSY });
        bench.tick(bench.now);
    }
    let idle = Report { finished: 1, busy_ns: 20 * MS, begun_ns: 20 * MS, ..IDLE };
    report(&mut bench, B, idle);
    report(&mut bench, A, BUSY);
    bench.now += MS;
    assert_eq!(closed(&report(&mut bench, B, Report { held: true, ..idle })), Some(A));
    let actions = report(&mut bench, A, Report { finished: 1, ..HELD });
    assert_eq!(opened(&actions).map(|(vm, _)| vm), Some(B));
}

#[test]
fn vms_that_need_one_anothers_gpus_take_turns_even_if_one_needs_more_later() {
    const GPU2: GpuKey = GpuKey(2);
    let d = VmKey(4);
    let mut bench = Bench::new(&[(A, share(100))]);
    let all = [GPU, GPU1, GPU2].map(|gpu| (gpu, share(100)));
    bench.scheduler.set_vm(B, &all[..2], 0);
    bench.scheduler.set_vm(C, &all, 0);
    bench.scheduler.set_vm(d, &all[2..], 0);
    for (vm, gpu) in [(A, GPU), (d, GPU2)] {
        bench.report_on(vm, gpu, HELD);
        bench.report_on(vm, gpu, BUSY);
    }
    bench.report_on(C, GPU2, HELD);
    bench.report_on(C, GPU1, HELD);
    bench.report_on(B, GPU, HELD);
    bench.report_on(B, GPU1, HELD);
    // Now B has the first GPU and needs the second one, which C has.
    let mut actions = bench.report_on(A, GPU, Report { finished: 1, ..IDLE });
    actions.extend(bench.report_on(C, GPU, HELD));
    actions.extend(bench.report_on(d, GPU2, Report { finished: 1, ..IDLE }));
    assert_eq!(opened(&actions).map(|(vm, _)| vm), Some(B), "{actions:?}");
}

#[test]
fn a_turn_is_not_cut_short_for_a_vm_whose_gpu_is_kept_free_for_another_one() {
    let d = VmKey(4);
    let mut bench = Bench::new(&[(A, share(100))]);
    bench.scheduler.set_vm(d, &[(GPU1, LATENCY)], 0);
    for vm in [B, C] {
        bench.scheduler.set_vm(vm, &[(GPU, LATENCY), (GPU1, LATENCY)], 0);
    }
    let evictable = Report { evictable: true, ..BUSY };
    for (vm, gpu) in [(d, GPU1), (A, GPU)] {
        bench.report_on(vm, gpu, HELD);
        bench.report_on(vm, gpu, evictable);
    }
    bench.now += MS;
    let mut actions = Vec::new();
    for vm in [B, C] {
        actions.extend(bench.report_on(vm, GPU, HELD));
        actions.extend(bench.report_on(vm, GPU1, HELD));
    }
    // A leaves the first GPU to B. B can't have the second one yet, so A gets the first one back.
    let mut turns = 0;
    while actions.contains(&Action { vm: A, gpu: GPU, kind: ActionKind::Close }) && turns < 10 {
        turns += 1;
        actions = bench.report(A, HELD);
    }
    assert_eq!(turns, 1);
    assert_eq!(opened(&actions).map(|(vm, _)| vm), Some(A), "{actions:?}");
}
