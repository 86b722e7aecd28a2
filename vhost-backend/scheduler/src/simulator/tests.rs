//! Tests of properties that must hold for any behavior of the VMs.

use proptest::prelude::*;

use super::simulator::{Load, Machine, World};
use super::{Class, GpuKey, MS, Nanos, OpenMode, SEC, Settings, Share, US, VmKey};

fn weight(weight: u32) -> Share {
    Share { weight, ..Share::default() }
}

fn saturate(kernel: Nanos) -> Load {
    Load::Saturate { kernel }
}

/// Returns a machine on which only little work can be in flight, so that work submitted before
/// other VMs start doesn't distort the measured time.
fn machine() -> Machine {
    Machine { in_flight: 32, ..Machine::default() }
}

fn world(gpus: u32, seed: u64) -> World {
    World::new(Settings::default(), machine(), gpus, seed)
}

/// Returns the fraction of GPU 0's time that each VM used between `from` and `to`.
fn parts(world: &mut World, vms: &[VmKey], from: Nanos, to: Nanos) -> Vec<f64> {
    world.run(from);
    let before: Vec<f64> = vms.iter().map(|vm| world.done(*vm, 0)).collect();
    world.run(to);
    let span = (to - from) as f64;
    vms.iter().zip(before).map(|(vm, before)| (world.done(*vm, 0) - before) / span).collect()
}

fn near(got: f64, wanted: f64, by: f64) {
    assert!((got - wanted).abs() <= by, "{got} is not {wanted}");
}

#[test]
fn two_saturating_vms_get_30_and_70_percent_whatever_their_kernels() {
    for (a, b) in [(20 * US, 20 * US), (400 * US, 400 * US), (20 * US, 400 * US), (2 * MS, 50 * US)]
    {
        let mut world = world(1, 1);
        let vms =
            [world.add(&[0], weight(30), saturate(a)), world.add(&[0], weight(70), saturate(b))];
        let parts = parts(&mut world, &vms, SEC, 11 * SEC);
        let all = parts[0] + parts[1];
        near(parts[0] / all, 0.3, 0.01);
        assert!(all >= 0.97, "the GPU was used {all} of the time");
    }
}

#[test]
fn the_scheduler_that_only_evicts_keeps_shares_and_answers_requests() {
    let mut world = world(1, 1).evict_only(4 * MS);
    let requests = Load::Requests { period: 20 * MS, count: 10, kernel: 10 * US, gap: 4 * US };
    let latency = Share { class: Class::Latency, ..weight(100) };
    let vms = [
        world.add(&[0], weight(30), saturate(20 * US)),
        world.add(&[0], weight(70), saturate(SEC * 3600)),
        world.add(&[0], latency, requests),
    ];
    let parts = parts(&mut world, &vms, SEC, 11 * SEC);
    near(parts[0] / (parts[0] + parts[1]), 0.3, 0.02);
    assert!(world.percentile(vms[2], 0.99) <= 2 * MS);
}

#[test]
fn ten_equal_vms_get_a_tenth_each() {
    let mut world = world(1, 2);
    let vms: Vec<_> = (0..10).map(|_| world.add(&[0], weight(10), saturate(20 * US))).collect();
    let parts = parts(&mut world, &vms, SEC, 11 * SEC);
    parts.iter().for_each(|part| near(*part, 0.1, 0.005));
    assert!(parts.iter().sum::<f64>() >= 0.97);
}

#[test]
fn a_weight_of_one_in_a_hundred_gets_a_hundredth() {
    let mut world = world(1, 3);
    let vms =
        [world.add(&[0], weight(1), saturate(20 * US)), world.add(&[0], weight(99), saturate(MS))];
    let parts = parts(&mut world, &vms, SEC, 11 * SEC);
    near(parts[0], 0.01, 0.002);
    assert!(parts[0] + parts[1] >= 0.97);
}

#[test]
fn a_guarantee_takes_precedence_over_weight() {
    let mut world = world(1, 4);
    let min = |min, weight| Share { min, weight, ..Share::default() };
    let vms = [
        world.add(&[0], min(5000, 1), saturate(20 * US)),
        world.add(&[0], min(3000, 1), saturate(400 * US)),
        world.add(&[0], weight(10_000), saturate(20 * US)),
    ];
    let parts = parts(&mut world, &vms, SEC, 11 * SEC);
    near(parts[0], 0.5, 0.015);
    near(parts[1], 0.3, 0.01);
}

#[test]
fn a_latency_vm_waits_for_one_kernel_at_most() {
    let latency = Share { class: Class::Latency, ..weight(100) };
    let chain = Load::Requests { period: 20 * MS, count: 100, kernel: 20 * US, gap: 5 * US };
    let mut alone = world(1, 5);
    let vm = alone.add(&[0], latency, chain);
    alone.run(3 * SEC);
    let bare = alone.percentile(vm, 0.99);
    let mut world = world(1, 5);
    let batch = world.add(&[0], weight(100), saturate(MS));
    let vm = world.add(&[0], latency, chain);
    world.run(SEC);
    world.latencies.clear();
    let parts = parts(&mut world, &[batch], SEC, 6 * SEC);
    let (beside, most) = (world.percentile(vm, 0.99), bare + bare / 10 + MS);
    assert!(beside <= most, "{beside} ns, more than {most}");
    // The latency VM's request takes 2.5 ms out of every 20 ms.
    assert!(parts[0] >= 0.8 * (1.0 - 0.125), "the batch VM got {}", parts[0]);
}

#[test]
fn vms_with_gaps_share_as_well_as_with_the_drivers_slicing() {
    let chain = Load::Chain { kernel: 14 * US, gap: 6 * US };
    let run = |world: World| {
        let mut world = world;
        let vms = [world.add(&[0], weight(100), chain), world.add(&[0], weight(100), chain)];
        parts(&mut world, &vms, SEC / 2, 2 * SEC)
    };
    let driver = run(world(1, 6).unscheduled());
    let ours = run(world(1, 6));
    for (ours, driver) in ours.iter().zip(driver) {
        assert!(*ours >= 0.95 * driver, "{ours} where the driver gives {driver}");
    }
}

/// Requests whose kernels a CPU thread launches one by one. Most kernels run for less time than a
/// launch takes.
const REQUESTS: Load = Load::Eager { count: 180, launch: 8 * US, pause: 75 * US };

#[test]
fn requests_share_as_well_as_with_the_drivers_slicing_and_wait_no_longer() {
    let run = |world: World| {
        let mut world = world;
        let vms = [world.add(&[0], weight(100), REQUESTS), world.add(&[0], weight(100), REQUESTS)];
        world.run(2 * SEC);
        world.latencies.clear();
        let parts = parts(&mut world, &vms, 2 * SEC, 4 * SEC);
        vms.map(|vm| world.percentile(vm, 0.99) as f64).into_iter().zip(parts).collect::<Vec<_>>()
    };
    let driver = run(world(1, 13).unscheduled());
    for ((late, part), (late_there, part_there)) in run(world(1, 13)).into_iter().zip(driver) {
        assert!(part >= 0.97 * part_there, "{part} where the driver gives {part_there}");
        assert!(late <= 1.2 * late_there, "{late} ns where the driver takes {late_there}");
    }
}

#[test]
fn a_vm_that_wants_half_keeps_sharing_with_one_that_wants_nearly_all() {
    let run = |world: World| {
        let mut world = world;
        let half = Load::Chain { kernel: 14 * US, gap: 14 * US };
        let vms = [world.add(&[0], weight(100), half), world.add(&[0], weight(100), REQUESTS)];
        parts(&mut world, &vms, 2 * SEC, 4 * SEC)
    };
    let driver = run(world(1, 14).unscheduled());
    for (ours, driver) in run(world(1, 14)).iter().zip(driver) {
        assert!(*ours >= 0.95 * driver, "{ours} where the driver gives {driver}");
    }
}

#[test]
fn ten_vms_with_gaps_keep_sharing() {
    let mut world = world(1, 15);
    let vms: Vec<_> = (0..10).map(|_| world.add(&[0], weight(10), REQUESTS)).collect();
    world.spans = Some(Vec::new());
    world.run(4 * SEC);
    let spans = world.spans.take().unwrap();
    let shared = spans.iter().filter(|span| span.vm == vms[0] && span.mode == OpenMode::Shared);
    let times: Vec<_> = shared.map(|span| span.to - span.from).collect();
    // Each period of sharing is longer than the one before, because measurements become rarer.
    assert!(times.windows(2).all(|pair| pair[1] > pair[0]), "{times:?}");
    assert!(times.iter().sum::<Nanos>() > 2 * SEC, "{times:?}");
}

#[test]
fn a_vm_that_begins_to_saturate_while_sharing_is_soon_set_apart() {
    for seed in 0..4 {
        let mut world = world(1, seed);
        let chain = Load::Chain { kernel: 8 * US, gap: 12 * US };
        let vms = [world.add(&[0], weight(30), chain), world.add(&[0], weight(70), chain)];
        world.run(2 * SEC + seed * 77 * MS);
        vms.iter().for_each(|vm| world.becomes(*vm, saturate(100 * US)));
        let from = world.now + 100 * MS;
        let parts = parts(&mut world, &vms, from, from + SEC);
        near(parts[0] / (parts[0] + parts[1]), 0.3, 0.02);
    }
}

#[test]
fn a_vm_that_saturates_with_one_call_at_a_time_is_found_by_a_measurement() {
    let mut world = world(1, 16);
    let chain = Load::Chain { kernel: 8 * US, gap: 12 * US };
    let vms = [world.add(&[0], weight(46), chain), world.add(&[0], weight(54), chain)];
    world.run(2 * SEC);
    vms.iter().for_each(|vm| world.becomes(*vm, Load::Chain { kernel: 400 * US, gap: 1 }));
    let parts = parts(&mut world, &vms, 8 * SEC, 12 * SEC);
    near(parts[0] / (parts[0] + parts[1]), 0.46, 0.01);
}

#[test]
fn a_vm_that_was_promised_more_is_as_fast_as_in_windows() {
    let mut world = world(1, 17);
    let chain = |gap| Load::Chain { kernel: 14 * US, gap };
    let vms =
        [world.add(&[0], weight(1), chain(6 * US)), world.add(&[0], weight(99), chain(20 * US))];
    let parts = parts(&mut world, &vms, 2 * SEC, 6 * SEC);
    assert!(parts[1] >= 0.9 * 14.0 / 34.0, "{parts:?}");
}

#[test]
fn a_vm_that_begins_to_saturate_ends_the_sharing() {
    let chain = Load::Chain { kernel: 14 * US, gap: 6 * US };
    let mut world = world(1, 7);
    let a = world.add(&[0], weight(100), chain);
    world.add(&[0], weight(100), chain);
    world.run(SEC / 2);
    world.spans = Some(Vec::new());
    world.add(&[0], weight(100), saturate(100 * US));
    world.run(SEC);
    let parts = parts(&mut world, &[a], SEC, 2 * SEC);
    assert!(parts[0] > 0.7 * 0.33 * 0.9, "{}", parts[0]);
    let spans = world.spans.take().unwrap();
    assert!(spans.iter().any(|span| span.mode == OpenMode::Shared));
    assert!(spans.iter().rev().take(10).all(|span| span.mode == OpenMode::Window));
}

/// The VMs first leave gaps and then saturate the GPU, as real programs do.
#[test]
fn two_sharing_vms_that_both_begin_to_saturate_are_set_apart() {
    for seed in 0..40 {
        let mut world = world(1, seed);
        let chain = Load::Chain { kernel: 8 * US, gap: 12 * US };
        let vms = [world.add(&[0], weight(30), chain), world.add(&[0], weight(70), chain)];
        world.run(SEC / 2);
        let kernel = [100 * US, 400 * US, MS, 2 * MS][seed as usize % 4];
        vms.iter().for_each(|vm| world.becomes(*vm, saturate(kernel)));
        let parts = parts(&mut world, &vms, SEC, 3 * SEC);
        let share = parts[0] / (parts[0] + parts[1]);
        assert!((share - 0.3).abs() < 0.02, "{share} of 0.3: {kernel} ns, seed {seed}");
    }
}

#[test]
fn a_vm_that_shares_is_paused_and_shares_again() {
    let mut world = world(1, 18);
    let chain = Load::Chain { kernel: 14 * US, gap: 6 * US };
    let vms = [(); 3].map(|()| world.add(&[0], weight(100), chain));
    world.run(2 * SEC);
    world.set_paused(vms[0], true);
    world.set_paused(vms[1], true);
    let alone = parts(&mut world, &vms, 2 * SEC + 100 * MS, 4 * SEC);
    assert_eq!(alone[..2], [0.0, 0.0]);
    near(alone[2], 14.0 / 20.0, 0.02);
    world.set_paused(vms[0], false);
    world.set_paused(vms[1], false);
    world.spans = Some(Vec::new());
    let again = parts(&mut world, &vms, 5 * SEC, 9 * SEC);
    again.iter().for_each(|part| near(*part, 0.92 / 3.0, 0.02));
    let spans = world.spans.take().unwrap();
    assert!(
        vms.iter()
            .all(|vm| { spans.iter().any(|span| span.vm == *vm && span.mode == OpenMode::Shared) })
    );
}

#[test]
fn unused_time_goes_to_the_others() {
    let mut world = world(1, 12);
    let burst = Load::OnOff { kernel: 20 * US, on: 10 * MS, off: 190 * MS };
    let vms = [
        world.add(&[0], weight(100), saturate(100 * US)),
        world.add(&[0], weight(900), burst),
        world.add(&[0], weight(9000), Load::Idle),
    ];
    let parts = parts(&mut world, &vms, SEC, 3 * SEC);
    assert!(parts[0] > 0.9 && parts[0] + parts[1] > 0.97, "{parts:?}");
    assert!(parts[1] > 0.03, "most of each burst runs within it: {parts:?}");
}

#[test]
fn no_other_gate_is_open_during_a_window() {
    let mut world = world(1, 8);
    world.spans = Some(Vec::new());
    for (at, kernel) in [20, 100, 700].into_iter().enumerate() {
        world.add(&[0], weight(10 + at as u32), saturate(kernel * US));
    }
    world.run(2 * SEC);
    let mut spans = world.spans.take().unwrap();
    spans.sort_by_key(|span| span.from);
    assert!(spans.len() > 50);
    for pair in spans.windows(2) {
        assert!(pair[0].to <= pair[1].from, "{pair:?}");
        assert_eq!(pair[0].gpu, GpuKey(0));
        assert!(pair[0].vm != pair[1].vm || pair[0].to == pair[1].from);
    }
}

#[test]
fn two_vms_with_the_same_gpus_never_deadlock() {
    let mut world = world(2, 9);
    let collective = |kernel| Load::Collective { kernel };
    let vms = [
        world.add(&[0, 1], weight(30), collective(50 * US)),
        world.add(&[0, 1], weight(70), collective(MS)),
    ];
    let parts = parts(&mut world, &vms, SEC, 6 * SEC);
    let all = parts[0] + parts[1];
    near(parts[0] / all, 0.3, 0.02);
    assert!(all > 0.95, "{all}");
}

#[test]
fn a_new_weight_takes_effect_within_100_ms() {
    let mut world = world(1, 10);
    let vms = [
        world.add(&[0], weight(10), saturate(100 * US)),
        world.add(&[0], weight(90), saturate(100 * US)),
    ];
    world.run(SEC);
    let now = world.now;
    world.change(vms[0], 0, weight(90));
    world.change(vms[1], 0, weight(10));
    let parts = parts(&mut world, &vms, now + 100 * MS, now + 2 * SEC);
    near(parts[0] / (parts[0] + parts[1]), 0.9, 0.02);
}

#[test]
fn thousands_of_mostly_idle_vms_cost_little() {
    let mut world = world(4, 11);
    let mut vms = Vec::new();
    for vm in 0..2000u64 {
        world.run(vm * MS);
        let period = 5 * SEC + vm * 7 * MS;
        let load = Load::Requests { period, count: 3, kernel: 300 * US, gap: 50 * US };
        vms.push(world.add(&[(vm % 4) as u32], weight(1 + (vm % 100) as u32), load));
    }
    world.run(12 * SEC);
    for vm in vms {
        let answered = world.latencies.get(&vm.0).map_or(0, Vec::len) as u64;
        let asked = 10 * SEC / (5 * SEC + (vm.0 - 1) * 7 * MS);
        assert!(answered >= asked.max(1), "VM {vm:?} had {answered} answers");
        assert!(world.percentile(vm, 1.0) < SEC);
    }
}

/// Runs until `to`, and returns the most GPU time that the VM used within any second, checked every
/// 5 ms.
fn busiest_second(world: &mut World, vm: VmKey, to: Nanos) -> f64 {
    let mut done = vec![world.done(vm, 0)];
    while world.now < to {
        world.run(world.now + 5 * MS);
        done.push(world.done(vm, 0));
    }
    done.windows(201).map(|span| span[200] - span[0]).fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn shares_are_within_a_point_over_ten_seconds(
        vms in prop::collection::vec((1u32..=1000, 20u64..4000), 2..6),
        seed in any::<u64>(),
    ) {
        let mut world = world(1, seed);
        let keys: Vec<_> = vms
            .iter()
            .map(|(share, kernel)| world.add(&[0], weight(*share), saturate(kernel * US)))
            .collect();
        let parts = parts(&mut world, &keys, 2 * SEC, 12 * SEC);
        let all: u32 = vms.iter().map(|vm| vm.0).sum();
        let used: f64 = parts.iter().sum();
        let idle = world.idle(0) as f64 / world.now as f64;
        prop_assert!(idle < 0.04, "the GPU was idle {} of the time", idle);
        prop_assert!(used >= 0.96, "the GPU was used {} of the time", used);
        for (part, (share, _)) in parts.iter().zip(&vms) {
            let promised = f64::from(*share) / f64::from(all);
            prop_assert!((part / used - promised).abs() < 0.01, "{} for {}", part, promised);
        }
        // Every VM runs, and no VM has more debt than one window and one kernel can cause.
        for (vm, (share, _)) in keys.iter().zip(&vms) {
            let stats = world.stats(*vm, 0);
            prop_assert!(f64::from(*share) / f64::from(all) < 0.002 || stats.windows > 2);
            prop_assert!(stats.debt_ns <= 30 * MS, "{} ns of debt", stats.debt_ns);
        }
    }

    #[test]
    fn no_vm_is_above_its_cap_by_more_than_a_window_and_a_kernel(
        cap in 100u32..=9000,
        kernel in 20u64..5000,
        rival in prop::option::of((1u32..=1000, 20u64..2000)),
        seed in any::<u64>(),
    ) {
        let mut world = world(1, seed);
        let share = Share { max: cap, ..weight(100) };
        let vm = world.add(&[0], share, saturate(kernel * US));
        if let Some((share, kernel)) = rival {
            world.add(&[0], weight(share), saturate(kernel * US));
        }
        let most = busiest_second(&mut world, vm, 6 * SEC);
        let settings = Settings::default();
        let bound = f64::from(cap) / 10_000.0 * SEC as f64
            + (settings.max_window + kernel * US) as f64;
        prop_assert!(most <= bound, "{} ns in a second, more than {}", most, bound);
        if rival.is_none() {
            let cap = f64::from(cap) / 10_000.0;
            let part = world.done(vm, 0) / world.now as f64;
            prop_assert!(part > 0.9 * cap - 0.01, "{} of {}", part, cap);
        }
    }

    /// For any VMs, and any times of pauses: a paused VM does nothing and isn't charged, the other
    /// VMs divide its time among themselves, and after the pauses, all VMs get their shares again.
    #[test]
    fn a_paused_vm_does_nothing_and_the_others_have_their_shares(
        vms in prop::collection::vec((50u32..=1000, 20u64..30_000), 3..5),
        pauses in prop::collection::vec((1u64..300, 1u64..300), 0..20),
        seed in any::<u64>(),
    ) {
        let mut world = world(1, seed);
        let add = |world: &mut World, (share, kernel): &(u32, u64)| {
            world.add(&[0], weight(*share), saturate(kernel * US))
        };
        let keys: Vec<_> = vms.iter().map(|vm| add(&mut world, vm)).collect();
        world.run(SEC);
        for (run, pause) in pauses {
            world.set_paused(keys[0], true);
            world.run(world.now + pause * MS);
            world.set_paused(keys[0], false);
            world.run(world.now + run * MS);
        }
        world.set_paused(keys[0], true);
        // Leave time for the paused VM's drain and eviction.
        world.run(world.now + 5 * MS);
        let now = world.now;
        let (done, charged) = (world.done(keys[0], 0), world.stats(keys[0], 0).charged_ns);
        let there = parts(&mut world, &keys, now + SEC, now + 11 * SEC);
        prop_assert_eq!(world.done(keys[0], 0), done);
        prop_assert_eq!(world.stats(keys[0], 0).charged_ns, charged);
        world.set_paused(keys[0], false);
        let back = parts(&mut world, &keys, now + 12 * SEC, now + 22 * SEC);
        for (parts, first) in [(there, 1), (back, 0)] {
            let used: f64 = parts.iter().sum();
            prop_assert!(used >= 0.95, "the GPU was used {} of the time", used);
            let all: u32 = vms[first..].iter().map(|vm| vm.0).sum();
            for (part, (share, _)) in parts.iter().zip(&vms).skip(first) {
                let promised = f64::from(*share) / f64::from(all);
                prop_assert!((part / used - promised).abs() < 0.015, "{} for {}", part, promised);
            }
        }
    }

    /// Kernels on several GPUs that wait for one another make progress, because a VM's kernels are
    /// evicted and put back on all GPUs together.
    #[test]
    fn paused_gangs_go_on(
        vms in prop::collection::vec((1u8..8, 20u64..20_000, any::<bool>()), 2..5),
        pauses in prop::collection::vec((0usize..5, any::<bool>(), 1u64..200), 0..40),
        seed in any::<u64>(),
    ) {
        let mut world = world(3, seed);
        let mut keys = Vec::new();
        for (mask, kernel, collective) in &vms {
            let gpus: Vec<u32> = (0..3).filter(|gpu| mask & (1 << gpu) != 0).collect();
            let kernel = kernel * US;
            let load = if *collective { Load::Collective { kernel } } else { saturate(kernel) };
            keys.push((world.add(&gpus, weight(100), load), gpus));
        }
        world.run(SEC);
        for (vm, paused, run) in pauses {
            world.set_paused(keys[vm % keys.len()].0, paused);
            world.run(world.now + run * MS);
        }
        keys.iter().for_each(|(vm, _)| world.set_paused(*vm, false));
        let before: Vec<f64> = keys.iter().map(|(vm, gpus)| world.done(*vm, gpus[0])).collect();
        world.run(world.now + 10 * SEC);
        for ((vm, gpus), before) in keys.iter().zip(before) {
            let done = world.done(*vm, gpus[0]) - before;
            prop_assert!(done > 0.0, "{:?} on {:?} makes no progress", vm, gpus);
        }
    }

    #[test]
    fn gangs_and_others_all_go_on(
        vms in prop::collection::vec((1u8..8, 1u32..=100, 20u64..1000, any::<bool>()), 2..6),
        seed in any::<u64>(),
    ) {
        let mut world = world(3, seed);
        let mut keys = Vec::new();
        for (mask, share, kernel, collective) in &vms {
            let gpus: Vec<u32> = (0..3).filter(|gpu| mask & (1 << gpu) != 0).collect();
            let kernel = kernel * US;
            let load = if *collective { Load::Collective { kernel } } else { saturate(kernel) };
            keys.push((world.add(&gpus, weight(*share), load), gpus));
        }
        world.run(SEC);
        // With 6 VMs and weights of 1 to 100, the smallest share is 1/500, or about one window per
        // second. A VM that used the GPU before the other VMs started may be delayed by up to 10 s
        // because it owes that time.
        for second in [12, 16] {
            let before: Vec<f64> =
                keys.iter().map(|(vm, gpus)| world.done(*vm, gpus[0])).collect();
            world.run(second * SEC);
            for ((vm, gpus), before) in keys.iter().zip(before) {
                let done = world.done(*vm, gpus[0]) - before;
                prop_assert!(done > 0.0, "{:?} on {:?} makes no progress until {} s", vm, gpus, second);
            }
        }
    }
}

#[test]
fn a_vm_with_rare_short_pauses_keeps_its_share_beside_a_saturating_one() {
    for (own, others, least) in [(50, 50, 0.45), (70, 30, 0.64)] {
        let mut world = world(1, 24);
        let requests = Load::Eager { count: 180, launch: 8 * US, pause: 80 * US };
        let vms = [
            world.add(&[0], weight(own), requests),
            world.add(&[0], weight(others), saturate(100 * US)),
        ];
        let parts = parts(&mut world, &vms, SEC, 11 * SEC);
        assert!(parts[0] >= least && parts[0] + parts[1] >= 0.95, "{parts:?}");
    }
}

#[test]
fn copies_do_not_take_the_gpu_from_another_vm() {
    let mut world = world(1, 20);
    let vms = [
        world.add(&[0], weight(50), saturate(400 * US)),
        world.add(&[0], weight(50), Load::Copies { copy: MS }),
    ];
    let parts = parts(&mut world, &vms, SEC, 11 * SEC);
    assert!(parts[0] >= 0.99, "{}", parts[0]);
    let copied = world.moved(vms[1], 0) as f64 / (11 * SEC) as f64;
    assert!(copied >= 0.97, "{copied}");
    let stats = world.stats(vms[1], 0);
    assert!(stats.copied_ns as f64 >= 0.97 * (11 * SEC) as f64, "it is charged: {stats:?}");
}

#[test]
fn a_copying_vm_gets_no_more_than_its_share() {
    let mut world = world(1, 21);
    let vms = [
        world.add(&[0], weight(70), saturate(20 * US)),
        world.add(&[0], weight(30), Load::Copies { copy: 500 * US }),
    ];
    world.run(SEC);
    let before = world.moved(vms[1], 0);
    let parts = parts(&mut world, &vms[..1], SEC, 11 * SEC);
    assert!(parts[0] >= 0.98, "{}", parts[0]);
    let copied = (world.moved(vms[1], 0) - before) as f64 / (10 * SEC) as f64;
    near(copied, 30.0 / 70.0, 0.02);
}

#[test]
fn a_cap_holds_for_copies() {
    let mut world = world(1, 22);
    let share = Share { max: 2500, ..Share::default() };
    let vms = [
        world.add(&[0], Share::default(), saturate(MS)),
        world.add(&[0], share, Load::Copies { copy: 300 * US }),
    ];
    world.run(11 * SEC);
    near(world.moved(vms[1], 0) as f64 / (11 * SEC) as f64, 0.25, 0.01);
}

#[test]
fn a_vm_that_copies_between_its_kernels_keeps_its_window() {
    let mut world = world(1, 23);
    let vms = [
        world.add(&[0], weight(50), saturate(100 * US)),
        world.add(&[0], weight(50), Load::Pipeline { copy: 2 * MS, kernel: MS }),
    ];
    let parts = parts(&mut world, &vms, SEC, 11 * SEC);
    assert!(parts[0] >= 0.49 && parts[1] >= 0.49 / 3.0, "{parts:?}");
}

#[test]
fn a_vm_is_found_on_the_gpu_as_often_as_it_uses_it() {
    for kernel in [20 * US, 400 * US] {
        let mut world = world(1, 31);
        let vms = [(); 2].map(|()| world.add(&[0], weight(100), saturate(kernel)));
        world.run(SEC);
        world.spans = Some(Vec::new());
        world.run(61 * SEC);
        let mut spans = world.spans.take().unwrap_or_default();
        spans.sort_by_key(|span| span.from);
        // The driver samples a few times a second which process uses the GPU. In the worst case,
        // both VMs have the same number of windows in each sampling interval.
        let windows = spans.iter().filter(|span| span.vm == vms[0]).count() as u64;
        let interval = 5 * 60 * SEC / windows;
        let (mut ahead, mut most) = (0i64, 0);
        for look in (2 * SEC..60 * SEC).step_by(interval as usize) {
            let at = spans.partition_point(|span| span.to <= look);
            ahead += match spans.get(at) {
                Some(span) if span.from > look => 0,
                Some(span) if span.vm == vms[0] => 1,
                _ => -1,
            };
            most = most.max(ahead.abs());
        }
        // If each sample were the toss of a fair coin, one VM would be ahead by about 17 at some
        // time.
        assert!(
            most <= 40,
            "with kernels of {kernel} ns, one VM was found {most} times more often"
        );
    }
}

/// A kernel that never ends.
const ENDLESS: Nanos = 3600 * SEC;

#[test]
fn shares_do_not_depend_on_how_long_kernels_are() {
    for (a, b) in [
        (5 * MS, 5 * MS),
        (50 * MS, 50 * MS),
        (500 * MS, 500 * MS),
        (20 * US, 500 * MS),
        (500 * MS, 20 * US),
    ] {
        let mut world = world(1, 41);
        let vms =
            [world.add(&[0], weight(30), saturate(a)), world.add(&[0], weight(70), saturate(b))];
        let parts = parts(&mut world, &vms, SEC, 11 * SEC);
        let all = parts[0] + parts[1];
        near(parts[0] / all, 0.3, 0.01);
        assert!(all >= 0.95, "with kernels of {a} and {b} ns, the GPU was used {all} of the time");
    }
}

#[test]
fn an_endless_kernel_takes_only_its_share() {
    let mut world = world(1, 42);
    let vms = [
        world.add(&[0], weight(50), saturate(ENDLESS)),
        world.add(&[0], weight(50), saturate(20 * US)),
    ];
    let parts = parts(&mut world, &vms, SEC, 31 * SEC);
    near(parts[1], 0.5, 0.01);
    assert!(parts[0] >= 0.45, "the endless kernel ran {} of the time", parts[0]);
}

#[test]
fn a_cap_holds_for_kernels_that_outlast_their_windows() {
    let mut world = world(1, 43);
    let capped = Share { max: 2500, ..Share::default() };
    let vm = world.add(&[0], capped, saturate(200 * MS));
    let parts = parts(&mut world, &[vm], SEC, 11 * SEC);
    near(parts[0], 0.25, 0.01);
}

#[test]
fn ten_vms_whose_kernels_outlast_their_windows_lose_little() {
    let mut world = world(1, 44);
    let vms: Vec<_> = (0..10).map(|_| world.add(&[0], weight(10), saturate(20 * MS))).collect();
    let parts = parts(&mut world, &vms, SEC, 11 * SEC);
    parts.iter().for_each(|part| near(*part, 0.1, 0.01));
    assert!(parts.iter().sum::<f64>() >= 0.95, "{}", parts.iter().sum::<f64>());
}

#[test]
fn a_request_does_not_wait_for_another_vms_kernel() {
    let latency = Share { class: Class::Latency, ..weight(100) };
    let chain = Load::Requests { period: 20 * MS, count: 100, kernel: 20 * US, gap: 5 * US };
    let mut alone = world(1, 45);
    let vm = alone.add(&[0], latency, chain);
    alone.run(3 * SEC);
    let bare = alone.percentile(vm, 0.99);
    for kernel in [MS, 100 * MS, ENDLESS] {
        let mut world = world(1, 45);
        let batch = world.add(&[0], weight(100), saturate(kernel));
        let vm = world.add(&[0], latency, chain);
        world.run(SEC);
        world.latencies.clear();
        let parts = parts(&mut world, &[batch], SEC, 6 * SEC);
        let (beside, most) = (world.percentile(vm, 0.99), bare + 800 * US);
        assert!(beside <= most, "beside kernels of {kernel} ns: {beside} ns, more than {most}");
        let left = 1.0 - 0.125;
        assert!(parts[0] >= 0.9 * left, "the batch VM got {} of {left}", parts[0]);
    }
}

#[test]
fn a_request_does_not_wait_for_vms_that_share() {
    let latency = Share { class: Class::Latency, ..weight(100) };
    // Between its requests, the latency VM is idle for so long that it no longer counts as awake.
    let rare = Load::Requests { period: 3 * SEC, count: 100, kernel: 20 * US, gap: 5 * US };
    let mut alone = world(1, 47);
    let vm = alone.add(&[0], latency, rare);
    alone.run(60 * SEC);
    let bare = alone.percentile(vm, 0.99);
    let mut world = world(1, 47);
    for _ in 0..2 {
        world.add(&[0], weight(100), Load::Chain { kernel: 5 * MS, gap: 3 * MS });
    }
    let vm = world.add(&[0], latency, rare);
    world.run(60 * SEC);
    // The two batch VMs share the GPU, so their kernels are evicted one after the other.
    let beside = world.percentile(vm, 0.99);
    assert!(beside <= bare + 1500 * US, "{beside} ns, alone {bare}");
}

#[test]
fn a_changed_weight_is_followed_between_two_windows() {
    let mut world = world(1, 46);
    let vms = [(); 2].map(|()| world.add(&[0], weight(100), saturate(500 * MS)));
    world.run(2 * SEC);
    world.change(vms[0], 0, weight(25));
    let parts = parts(&mut world, &vms, 2 * SEC + 100 * MS, 12 * SEC);
    near(parts[0] / (parts[0] + parts[1]), 0.2, 0.01);
}
