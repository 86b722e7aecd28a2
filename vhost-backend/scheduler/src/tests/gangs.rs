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
    let closes: Vec<_> =
        actions.iter().filter(|action| matches!(action, Action::Close { .. })).collect();
    assert_eq!(closes, [&Action::Close { vm: A, gpu: GPU }, &Action::Close { vm: A, gpu: GPU1 }]);
    assert_eq!(opened(&bench.report_on(A, GPU1, HELD)), None, "A has work on the other GPU");
    let actions = bench.report_on(A, GPU, HELD);
    let opens: Vec<_> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Open { vm, gpu, .. } => Some((*vm, *gpu)),
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
    // A's work on the second GPU may need the first one, where nothing happens any more.
    assert_eq!(closed(&bench.report_on(A, GPU1, HELD)), Some(B));
    let actions = bench.report(B, Report { finished: 1, ..IDLE });
    for gpu in [GPU, GPU1] {
        let opens = |one: &Action| matches!(one, Action::Open { vm: A, gpu: on, .. } if *on == gpu);
        assert!(actions.iter().any(opens), "{actions:?}");
    }
}
