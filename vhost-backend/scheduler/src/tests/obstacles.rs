//! Tests that the one function names what keeps a VM from running.

use super::*;
use crate::obstacle::Obstacle;

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
    assert_eq!(of(&bench, B), Some(Obstacle::Turn));
    bench.set_paused(B, true);
    bench.report(B, HELD);
    assert_eq!(of(&bench, B), Some(Obstacle::Paused));
    bench.scheduler.member_mut(C, GPU).unwrap().charge(SEC, 0);
    bench.report(C, HELD);
    assert_eq!(of(&bench, C), Some(Obstacle::Cap));
}
