//! Tests with random reports.

use super::*;
use proptest::prelude::*;
use std::collections::HashSet;

fn report() -> impl Strategy<Value = Report> {
    let any_time = prop_oneof![0u64..10_000_000, any::<u64>()];
    (any::<[bool; 6]>(), any_time.clone(), any_time.clone(), any_time.clone(), any_time).prop_map(
        |(
            [held, active, stalled, copying, evictable, contexts],
            finished,
            busy_ns,
            copied_ns,
            oldest_for,
        )| {
            Report {
                held,
                active,
                stalled,
                finished,
                busy_ns,
                begun_ns: busy_ns,
                copying,
                copied_ns,
                oldest_for,
                ends_at: oldest_for,
                evictable,
                sessions: finished as u32,
                contexts,
                contexts_begun: finished,
            }
        },
    )
}

proptest! {
    /// Any sequence of reports and pauses leaves the scheduler in a consistent state: every open
    /// gate belongs to a turn on that GPU, an open gate is never told to prepare, evictions and
    /// returns alternate, neither an evicted nor a paused VM has an open gate or may copy, and
    /// the timer always advances.
    #[test]
    fn reports_bring_nothing_into_disorder(
        steps in prop::collection::vec(
            (
                0u64..5,
                0u32..3,
                report(),
                prop_oneof![Just(0u64), 0u64..30_000_000],
                prop_oneof![4 => Just(None), 1 => any::<bool>().prop_map(Some)],
            ),
            0..300,
        ),
    ) {
        let mut bench = Bench::new(&[]);
        for vm in 1..4 {
            let gpus: Vec<_> = (0..vm as u32).map(|gpu| (GpuKey(gpu), share(100))).collect();
            bench.scheduler.set_vm(VmKey(vm), &gpus, 0);
        }
        let (mut open, mut off) = (HashSet::new(), HashSet::new());
        let (mut paused, mut pauses, mut copies) = (HashSet::new(), 0, HashSet::new());
        for (vm, gpu, report, passes, pause) in steps {
            bench.now += passes;
            bench.scheduler.tick(bench.now, &mut bench.out);
            let mut actions = std::mem::take(&mut bench.out);
            if let Some(pause) = pause {
                actions.extend(bench.set_paused(VmKey(vm), pause));
                match pause {
                    true => paused.insert(VmKey(vm)),
                    false => paused.remove(&VmKey(vm)),
                };
                pauses += 1;
            }
            actions.extend(bench.report_on(VmKey(vm), GpuKey(gpu), report));
            for action in actions {
                match action {
                    Action::Open { vm, gpu, .. } => {
                        prop_assert!(!off.contains(&(vm, gpu)));
                        open.insert((vm, gpu));
                    }
                    Action::Close { vm, gpu } => {
                        open.remove(&(vm, gpu));
                    }
                    Action::Evict { vm, gpu } => {
                        prop_assert!(!open.contains(&(vm, gpu)));
                        prop_assert!(off.insert((vm, gpu)));
                    }
                    Action::Restore { vm, gpu } => prop_assert!(off.remove(&(vm, gpu))),
                    Action::Copies { vm, gpu, depth } => {
                        copies.insert((vm, gpu, depth > 0));
                        copies.remove(&(vm, gpu, depth == 0));
                    }
                    Action::Prepare { vm, gpu } => prop_assert!(!open.contains(&(vm, gpu))),
                    Action::Timeout { .. } => prop_assert!(false, "no VM has a timeout"),
                }
            }
            for (vm, gpu) in &open {
                let turn = bench.scheduler.turn(*vm);
                prop_assert!(turn.is_some_and(|turn| turn.gpus.contains(gpu)));
                prop_assert!(!paused.contains(vm));
            }
            for vm in paused.iter().filter(|vm| (1..4).contains(&vm.0)) {
                for gpu in (0..vm.0 as u32).map(GpuKey) {
                    prop_assert_eq!(bench.scheduler.copies(*vm, gpu), 0);
                    prop_assert!(copies.contains(&(*vm, gpu, false)));
                }
            }
            if passes > 0 {
                let wake = bench.scheduler.wake_at();
                prop_assert!(wake.is_none_or(|at| at > bench.now), "the timer spins");
            }
            let charged: u64 = (1..4)
                .filter_map(|vm| bench.scheduler.stats(VmKey(vm), GPU, bench.now))
                .map(|stats| stats.charged_ns)
                .sum();
            // Work that continues after its window may be charged at the same time as another
            // VM's work. A VM that claims to copy in its own window is charged for both. Each
            // pause may cause an eviction. An eviction is charged when it begins, so each VM's
            // latest one may not be over.
            let settings = Settings::default();
            let eviction = settings.eviction + 63 * settings.eviction_more;
            prop_assert!(charged <= 2 * 3 * bench.now + (pauses + 3) * eviction);
        }
    }
}
