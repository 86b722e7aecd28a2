//! Tests that `Scheduler::obstacle` names what keeps a VM from running.

use super::*;

#[test]
fn each_reason_is_named() {
    let capped = Share { max: 100, ..share(100) };
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100)), (C, capped)]);
    let of = |bench: &Bench, vm| bench.scheduler.obstacle(vm, GPU, None, bench.now);
    assert_eq!(of(&bench, A), Some(Obstacle::Idle));
    bench.report(A, HELD);
    assert_eq!(of(&bench, A), Some(Obstacle::Idle), "it has a turn");
    bench.report(A, BUSY);
    bench.report(B, HELD);
    assert_eq!(of(&bench, B), Some(Obstacle::Turn(A)));
    bench.set_paused(B, true);
    bench.report(B, HELD);
    assert_eq!(of(&bench, B), Some(Obstacle::Paused));
    bench.scheduler.member_mut(C, GPU).charge(SEC, 0);
    bench.report(C, HELD);
    assert_eq!(of(&bench, C), Some(Obstacle::Cap));
    let waits = |vm| bench.scheduler.stats(vm, GPU, bench.now).unwrap().waits_for;
    assert_eq!([A, B, C].map(waits), [Obstacle::Drains, Obstacle::Paused, Obstacle::Cap].map(Some));
}

#[test]
fn a_vm_waits_for_the_vm_with_the_turn_and_its_kernels_are_evicted_meanwhile() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    bench.report(A, HELD);
    let endless = Report { held: false, evictable: true, ..BUSY };
    bench.report(A, endless);
    bench.report(B, HELD);
    bench.report(A, Report { held: true, ..endless });
    let of = |bench: &Bench, vm| {
        let stats = bench.scheduler.stats(vm, GPU, bench.now).unwrap();
        (stats.waits_for, stats.evicted)
    };
    assert_eq!(of(&bench, A), (Some(Obstacle::Drains), false));
    assert_eq!(of(&bench, B), (Some(Obstacle::Turn(A)), false));
    while opened(&bench.tick(bench.now + MS)).is_none() {}
    assert_eq!(of(&bench, A), (Some(Obstacle::Turn(B)), true));
    assert_eq!(of(&bench, B), (None, false));
}
