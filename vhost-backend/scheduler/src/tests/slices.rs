//! Tests of the time slices of VMs' kernels.

use super::*;

/// Returns whether the last change of a VM's time slices made them short. Returns `None` if there
/// was no change.
fn short(actions: &[Action], of: VmKey) -> Option<bool> {
    actions.iter().rev().find_map(|action| match action {
        Action { vm, kind: ActionKind::Slices { short }, .. } if *vm == of => Some(*short),
        _ => None,
    })
}

/// Runs kernels of `sessions` sessions of a VM for a while, and returns the actions. If a VM
/// `beside` is given, it gets a short request every 4 ms.
fn run(bench: &mut Bench, vm: VmKey, sessions: u32, beside: Option<VmKey>) -> Vec<Action> {
    let mut actions = Vec::new();
    for finished in 0..12 {
        if let Some(beside) = beside {
            actions.extend(bench.report(beside, HELD));
            actions.extend(bench.tick(bench.now + 200 * US));
            actions.extend(bench.report(beside, Report { finished, ..BUSY }));
        }
        let end = bench.now + 4 * MS;
        while bench.now < end {
            actions.extend(bench.report(vm, Report { sessions, ..ENDLESS }));
            if let Some(beside) = beside {
                actions.extend(bench.report(beside, Report { finished: finished + 1, ..IDLE }));
            }
            actions.extend(bench.tick(end));
        }
    }
    actions
}

#[test]
fn a_batch_vms_slices_are_short_while_a_latency_vm_is_awake() {
    let mut bench = Bench::new(&[(A, share(100)), (B, LATENCY)]);
    bench.now = SEC;
    let actions = run(&mut bench, A, 1, None);
    assert_eq!(short(&actions, A), None, "the latency VM sleeps");
    let actions = run(&mut bench, A, 1, Some(B));
    assert_eq!((short(&actions, A), short(&actions, B)), (Some(true), None));
    bench.now += 2 * SEC;
    let actions = run(&mut bench, A, 1, None);
    assert_eq!(short(&actions, A), Some(false), "the latency VM sleeps again");
}

#[test]
fn vms_that_run_together_without_a_latency_vm_keep_their_slices() {
    let mut bench = Bench::new(&[(A, share(100)), (B, share(100))]);
    bench.now = SEC;
    let actions = run(&mut bench, A, 1, Some(B));
    assert_eq!((short(&actions, A), short(&actions, B)), (None, None));
}

/// Two sessions of a VM share its windows in time slices. Short time slices would slow the sessions
/// down.
#[test]
fn slices_are_not_short_until_a_second_after_sessions_ran_together() {
    let mut bench = Bench::new(&[(A, share(100)), (B, LATENCY)]);
    bench.now = SEC;
    let actions = run(&mut bench, A, 2, Some(B));
    assert_eq!(short(&actions, A), None);
    let mut before = Vec::new();
    let since = bench.now;
    while bench.now < since + SEC - 200 * MS {
        before.extend(run(&mut bench, A, 1, Some(B)));
    }
    assert_eq!(short(&before, A), None);
    bench.now = since + SEC;
    assert_eq!(short(&run(&mut bench, A, 1, Some(B)), A), Some(true));
    assert_eq!(short(&run(&mut bench, A, 2, Some(B)), A), Some(false));
}

#[test]
fn a_vm_that_becomes_a_latency_vm_gets_its_usual_slices_back() {
    let mut bench = Bench::new(&[(A, share(100)), (B, LATENCY)]);
    bench.now = SEC;
    assert_eq!(short(&run(&mut bench, A, 1, Some(B)), A), Some(true));
    bench.scheduler.set_share(A, GPU, LATENCY, bench.now);
    assert_eq!(short(&run(&mut bench, A, 1, Some(B)), A), Some(false));
}
